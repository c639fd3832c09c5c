import { expect, test } from 'vitest'
import { openDeposit, type DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { ProviderError, type Provider } from '../src/domain/ports/provider.ts'
import { checkDue } from '../src/workers/check.ts'
import { world, type World } from './world.ts'

const request: DepositRequest = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }
const COOL_DOWN_MS = 60_000

test('while the first provider is down deposits go on through the second, and they return when it is back', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  expect((await w.deposit(account)).provider).toBe('sandbox')

  await w.sandbox.goDown()
  const failedOver = await w.deposit(account)
  expect(failedOver).toMatchObject({ provider: 'second', status: 'PENDING' })
  await w.second.pay({ emv: failedOver.emv })
  expect((await queryDeposit(w.ctx, account.accountId, failedOver.paymentLinkId)).charge.status).toBe('COMPLETED')

  await w.sandbox.comeBack()
  w.clock.advance(COOL_DOWN_MS)
  expect((await w.deposit(account)).provider).toBe('sandbox')
  expect(await w.differences()).toEqual([])
})

test('a provider whose breaker is open is not asked at all', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  // Until the breaker opens, the outcome of each charge is unknown. Its deposit is refused rather than made twice.
  while (w.ctx.providers[0]!.health().breaker !== 'open') await w.deposit(account).catch(() => {})
  const before = (await w.sandbox.stats()).calls['PUT /cob/:txid']
  expect((await w.deposit(account)).provider).toBe('second')
  expect((await w.sandbox.stats()).calls['PUT /cob/:txid']).toBe(before)
})

test('a next provider that is known to be down is passed over, and with none left the deposit stays where it is', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  const asked: string[] = []
  replaceFirst(w, {
    create: () => Promise.reject(new ProviderError('unknown', 'no answer')),
    cancel: async () => (asked.push('withdraw at the first'), 'withdrawn'),
  })
  const [first, second] = w.ctx.providers
  const down = { ...second!, name: 'down', isCallable: () => false }
  const refuse = () => (asked.push('make at the one that is down'), second!.create(request as never))
  w.ctx.providers = [first!, { ...down, create: refuse }]
  await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_unavailable' })
  expect(asked).toEqual([])
  expect(await w.count('charges', `provider = 'sandbox' and status = 'OPENING'`)).toBe(1)
  w.ctx.providers = [first!, { ...down, create: refuse }, second!]
  expect((await w.deposit(account)).provider).toBe('second')
  expect(asked).toEqual(['withdraw at the first'])
})

test('with every breaker open a deposit is refused at once, and nobody is asked', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  const banks = [w.sandbox, w.second]
  for (const bank of banks) await bank.faults({ errorRate: 1, seed: 1 })
  const isOpen = () => w.ctx.providers.every((provider) => provider.health().breaker === 'open')
  const fail = (provider: Provider) => provider.check('f'.repeat(32)).catch(() => {})
  while (!isOpen()) await Promise.all(w.ctx.providers.map(fail))
  const calls = () => Promise.all(banks.map(async (bank) => (await bank.stats()).calls['PUT /cob/:txid']))
  const before = await calls()
  await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_unavailable' })
  expect(await calls()).toEqual(before)
  expect(await w.count('charges')).toBe(0)
})

test('while the first provider probes, a deposit begins at the second at once', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  const [first, second] = w.ctx.providers
  const asked: string[] = []
  const create = () => (asked.push('first'), Promise.reject(new ProviderError('unreachable', 'down')))
  // The breaker of this provider is half-open, and has let its one call through.
  const probing = {
    ...first!,
    isCallable: () => false,
    health: () => ({ ...first!.health(), breaker: 'half-open' as const }),
  }
  w.ctx.providers = [{ ...probing, create }, second!]
  expect((await w.deposit(account)).provider).toBe('second')
  expect(asked).toEqual([])
})

// The first provider makes the charge, but its answer is lost and looking it up fails too. So nobody knows the outcome,
// and the charge is withdrawn before the deposit goes to the second.
test('a charge whose outcome is unknown is withdrawn at the first provider before the second makes one', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  createsAndForgets(w)
  const charge = await w.deposit(account)
  expect(charge.provider).toBe('second')
  await expect(w.sandbox.pay({ txid: charge.id })).rejects.toThrow(/409/)
  expect((await w.second.pay({ emv: charge.emv })).pix).toHaveLength(1)
})

test('a charge that can be neither withdrawn nor known absent keeps the deposit where it is', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  createsAndForgets(w, { cancel: () => Promise.reject(new ProviderError('unknown', 'no answer')) })
  await expect(openDeposit(w.ctx, account.caller, request, 'order-1')).rejects.toMatchObject({
    code: 'provider_unavailable',
  })
  expect(await w.count('charges', `provider = 'sandbox' and status = 'OPENING'`)).toBe(1)
  expect((await w.second.stats()).calls['PUT /cob/:txid'] ?? 0).toBe(0)
})

/** A bank that first makes each charge with another value. */
function makesAnotherValue(w: World): { madeId: () => string } {
  const bank = w.ctx.providers[0]!
  let made = ''
  const create: Provider['create'] = async (asked) => {
    made = asked.txid
    await bank.create({ ...asked, valueCents: asked.valueCents + 1 })
    return bank.create(asked)
  }
  w.ctx.providers[0] = { ...bank, create }
  return { madeId: () => made }
}

test('a charge that the bank made with another value is withdrawn, however often that fails', async () => {
  const w = await world()
  const { madeId } = makesAnotherValue(w)
  await expect(w.deposit(await w.account())).rejects.toMatchObject({ code: 'provider_unavailable' })
  const bank = w.ctx.providers[0]!
  expect(await bank.check(madeId())).toMatchObject({ status: 'active', valueCents: 50_01 })
  const { cancel } = bank
  bank.cancel = () => Promise.reject(new ProviderError('unknown', 'no answer'))
  w.clock.advance(61_000)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'OPENING'`)).toBe(1)
  bank.cancel = cancel
  w.clock.advance(600_000)
  await checkDue(w.ctx)
  await expect(w.sandbox.pay({ txid: madeId() })).rejects.toThrow(/409/)
  expect(await w.count('charges', `status = 'FAILED'`)).toBe(1)
  expect(await w.count('checks')).toBe(0)
})

test('a charge that the first provider made with another value is withdrawn there before the second makes one', async () => {
  const w = await world({ second: true })
  makesAnotherValue(w)
  const charge = await w.deposit(await w.account())
  expect(charge).toMatchObject({ provider: 'second', status: 'PENDING', valueCents: 50_00 })
  await expect(w.sandbox.pay({ txid: charge.id })).rejects.toThrow(/409/)
})

test('a request that reaches the first provider after its charge was withdrawn is withdrawn again', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  const real = w.ctx.providers[0]!
  // There is no charge yet when we withdraw it; the bank makes it afterwards.
  replaceFirst(w, { create: () => Promise.reject(new ProviderError('unknown', 'no answer')) })
  const charge = await w.deposit(account)
  await real.create({ txid: charge.id, valueCents: charge.valueCents, expiresInSeconds: 3600, description: null })
  replaceFirst(w, real)
  w.clock.advance(60_000)
  await checkDue(w.ctx)
  await expect(w.sandbox.pay({ txid: charge.id })).rejects.toThrow(/409/)
})

test('money that arrives at a provider that the charge does not belong to is an exception, and the charge stays open', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  const charge = await w.deposit(account)
  const { pix } = await w.second.pay({ txid: charge.id, amountCents: charge.valueCents })
  await w.ctx.hints.add({ provider: 'second', hints: [{ txid: charge.id, endToEndId: pix[0]!.endToEndId }] })
  await w.ctx.hints.add({ provider: 'second', hints: [{ txid: null, endToEndId: pix[0]!.endToEndId }] })
  await checkDue(w.ctx)
  expect(await w.count('exceptions', `kind = 'wrong_provider'`)).toBe(1)
  expect(await w.balanceCents(account.accountId)).toBe(0)
  expect((await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)).charge.status).toBe('PENDING')
})

function replaceFirst(w: World, part: Partial<Provider>): void {
  w.ctx.providers[0] = { ...w.ctx.providers[0]!, ...part }
}

function createsAndForgets(w: World, part: Partial<Provider> = {}): void {
  const real = w.ctx.providers[0]!
  replaceFirst(w, {
    async create(wanted) {
      await real.create(wanted)
      throw new ProviderError('unknown', 'no answer')
    },
    ...part,
  })
}
