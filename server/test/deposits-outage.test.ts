import { expect, onTestFinished, test } from 'vitest'
import { openDeposit, type DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { ProviderError, type Provider } from '../src/domain/ports/provider.ts'
import { checkDue, startCheckWorker } from '../src/workers/check.ts'
import { cob, connectScripted, ok, type Said } from './scripted-psp.ts'
import { countStatements } from './statements.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// What happens while no provider can be called: every breaker is open, or has let its one probe through.

const request: DepositRequest = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }
const COOL_DOWN_MS = 5_000

test('while no provider can be called a deposit is refused at once, and nothing is stored', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  await openBreakers(w)
  const putsOf = () =>
    Promise.all([w.sandbox, w.second].map(async (bank) => (await bank.stats()).calls['PUT /cob/:txid']))
  const puts = await putsOf()
  for (const headers of [{}, { 'idempotency-key': 'order-1' }]) {
    const answer = await post(w, account, headers)
    expect(answer.statusCode).toBe(503)
    expect(answer.headers).toMatchObject({ 'guiche-error': 'provider_unavailable', 'retry-after': '2' })
  }
  for (const table of ['charges', 'idempotency_keys', 'checks']) expect(await w.count(table)).toBe(0)
  expect(await putsOf()).toEqual(puts)
})

test('while no provider can be called a repeated key is answered with its charge, and another request under it is refused', async () => {
  const w = await world()
  const { caller } = await w.account()
  const { charge } = await openDeposit(w.ctx, caller, request, 'order-1')
  await openBreakers(w)
  expect(await openDeposit(w.ctx, caller, request, 'order-1')).toMatchObject({
    replayed: true,
    charge: { id: charge.id },
  })
  const other = { ...request, valueCents: 1 }
  await expect(openDeposit(w.ctx, caller, other, 'order-1')).rejects.toMatchObject({ code: 'idempotency_mismatch' })
  w.clock.advance(24 * 3_600_000 - 1)
  const down = { ...w.ctx, providers: w.ctx.providers.map((provider) => ({ ...provider, isCallable: () => false })) }
  expect((await openDeposit(down, caller, request, 'order-1')).replayed).toBe(true)
  w.clock.advance(1)
  await expect(openDeposit(down, caller, request, 'order-1')).rejects.toMatchObject({ code: 'provider_unavailable' })
})

// The second provider could make a charge. The first may have made one that only it can withdraw.
test.each([{ second: false }, { second: true }])(
  'a repeated key whose outcome is unknown is refused without touching its intent while its provider is down (another one is up: $second)',
  async ({ second }) => {
    const w = await world({ second, isDirect: true })
    const { caller } = await w.account()
    const [first, ...others] = w.ctx.providers
    const lost = { ...first!, create: () => fail('unknown'), cancel: () => fail('unknown') }
    w.ctx.providers = [lost, ...others]
    const open = () => openDeposit(w.ctx, caller, request, 'order-1')
    await expect(open()).rejects.toMatchObject({ code: 'provider_unavailable' })

    w.ctx.providers = [{ ...lost, isCallable: () => false }, ...others]
    const before = await rowOf(w)
    await expect(open()).rejects.toMatchObject({ code: 'provider_unavailable' })
    expect(await rowOf(w)).toEqual(before)
    // With another provider the request looks its key up as if it were new.
    expect(await countStatements(w.pool, () => open().catch(() => {}))).toBe(second ? 7 : 2)

    w.ctx.providers = [first!, ...others]
    expect((await open()).charge).toMatchObject({ status: 'PENDING', provider: 'sandbox' })
    expect(await w.count('charges')).toBe(1)
  },
)

test('a key whose attempt failed is refused while no provider can be called, and opens a deposit afterwards', async () => {
  const w = await world({ isDirect: true })
  const { caller } = await w.account()
  const bank = w.ctx.providers[0]!
  w.ctx.providers[0] = { ...bank, create: () => fail('unreachable') }
  const open = () => openDeposit(w.ctx, caller, request, 'order-1')
  await expect(open()).rejects.toMatchObject({ code: 'provider_unavailable' })
  w.ctx.providers[0] = { ...bank, isCallable: () => false }
  const before = await rowOf(w)
  expect(await countStatements(w.pool, () => open().catch(() => {}))).toBe(2)
  expect(await rowOf(w)).toEqual(before)
  w.ctx.providers[0] = bank
  expect(await open()).toMatchObject({ replayed: false, charge: { status: 'PENDING' } })
})

test('after the cool-down one deposit probes, others are refused meanwhile, and all are made once it succeeds', async () => {
  const w = await world()
  const account = await w.account()
  let answer: (said: Said) => void = () => {}
  const held = new Promise<Said>((resolve) => (answer = resolve))
  let isIll = true
  const timings = { breakerFailures: 3, breakerCoolDownMs: COOL_DOWN_MS, readAttempts: 1, writeTimeoutMs: 60_000 }
  const { psp, provider, clock } = await connectScripted(
    ({ path }) => {
      if (isIll) return { status: 503 }
      return psp.count('PUT') === 1 ? held : made(path)
    },
    { timings },
  )
  w.ctx.providers = [provider]
  while (provider.isCallable()) await provider.check('f'.repeat(32)).catch(() => {})
  await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_unavailable' })

  isIll = false
  clock.ms += COOL_DOWN_MS
  const probe = w.deposit(account)
  await until('the probe is at the bank', async () => psp.count('PUT') === 1)
  for (let nth = 0; nth < 3; nth++)
    await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_unavailable' })
  expect([psp.count('PUT'), await w.count('charges')]).toEqual([1, 1])

  answer(made(psp.seen.find(({ method }) => method === 'PUT')!.path))
  expect((await probe).status).toBe('PENDING')
  const after = await Promise.all(Array.from({ length: 5 }, () => w.deposit(account)))
  expect(after.every(({ status }) => status === 'PENDING')).toBe(true)
  expect(await w.count('charges')).toBe(6)
})

test('a deposit that surely came to nothing leaves no question for the provider, but keeps one that a notification asks', async () => {
  const w = await world()
  const account = await w.account()
  const bank = w.ctx.providers[0]!
  w.ctx.hintFollower.attach({ room: () => 100, follow: () => {} })
  const notify = (txid: string) => w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid, endToEndId: null }] })
  w.ctx.providers[0] = { ...bank, create: () => fail('refused') }
  await expect(w.deposit(account, { externalId: 'order-1' })).rejects.toMatchObject({ code: 'provider_refused' })
  expect([await w.count('checks'), await w.count('external_ids')]).toEqual([0, 0])
  w.ctx.providers[0] = { ...bank, create: async ({ txid }) => (await notify(txid), fail('refused')) }
  await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_refused' })
  expect([await w.count('checks'), await w.count('charges', `status = 'FAILED'`)]).toEqual([1, 2])
  expect(await w.differences()).toEqual([])
})

test('while its provider is down, a query answers what is stored after one read, and says that nobody was asked', async () => {
  const w = await world({ isDirect: true })
  const account = await w.account()
  const charge = await w.deposit(account)
  await openBreakers(w)
  const query = () => queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  expect(await query()).toMatchObject({ check: 'failed', charge: { status: 'PENDING' } })
  expect(await countStatements(w.pool, query)).toBe(1)
  expect(w.logged.filter(({ text }) => text.includes('queried charge'))).toEqual([])
})

test('checks that come due while no provider can be called are not put off: they are asked as soon as one can', async () => {
  const w = await world()
  const account = await w.account()
  await w.deposit(account)
  w.clock.advance(3_660_000)
  const bank = w.ctx.providers[0]!
  let [isCallable, rounds] = [false, 0]
  w.ctx.providers[0] = { ...bank, isCallable: () => (rounds++, isCallable) }
  const due = () => w.pool.query('select * from checks').then(({ rows }) => rows)
  const before = await due()
  const worker = startCheckWorker(w.ctx)
  onTestFinished(() => worker.stop())
  for (let nth = 1; nth <= 3; nth++) {
    worker.wake()
    await until('a round passed', async () => rounds >= nth)
  }
  expect(await due()).toEqual(before)
  isCallable = true
  worker.wake()
  await until('the charge expired', async () => (await w.count('charges', `status = 'EXPIRED'`)) === 1)
})

test('an intent is not claimed by the worker while its provider is down, and cleared once it is back', async () => {
  const w = await world()
  const account = await w.account()
  const bank = w.ctx.providers[0]!
  w.ctx.providers[0] = { ...bank, create: () => fail('unknown') }
  await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_unavailable' })
  w.clock.advance(61_000)
  w.ctx.providers[0] = { ...bank, isCallable: () => false }
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'OPENING' and opening_instance is null`)).toBe(1)
  w.ctx.providers[0] = bank
  w.clock.advance(10_000)
  await checkDue(w.ctx)
  expect([await w.count('charges', `status = 'FAILED'`), await w.count('checks')]).toEqual([1, 0])
})

function post(w: World, { key }: TestAccount, headers: Record<string, string>) {
  return w.app.inject({
    method: 'POST',
    url: '/api/deposit',
    headers: { authorization: `Bearer ${key}`, ...headers },
    payload: { value: 5000 },
  })
}

function fail(outcome: ProviderError['outcome']): Promise<never> {
  return Promise.reject(new ProviderError(outcome, `sandbox: create: ${outcome}`))
}

/** The scripted bank's answer to a charge that it makes. */
function made(path: string): Said {
  return ok(cob({ txid: path.split('/').at(-1) }))
}

async function openBreakers(w: World): Promise<void> {
  for (const bank of [w.sandbox, w.second]) await bank.faults({ errorRate: 1, seed: 1 })
  const ask = (provider: Provider) => provider.check('f'.repeat(32)).catch(() => {})
  while (w.ctx.providers.some((provider) => provider.isCallable())) await Promise.all(w.ctx.providers.map(ask))
}

/** The charge with its version, which any write would change. */
async function rowOf(w: World): Promise<unknown> {
  return (await w.pool.query('select xmin, * from charges')).rows
}
