import { expect, test } from 'vitest'
import { uuidOfTime } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { purgeFailedCharges } from '../src/domain/deposits/failed-charges.ts'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { purgeIdempotencyKeys } from '../src/domain/deposits/intents.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { world, type TestAccount, type World } from './world.ts'

const DAY_MS = 24 * 3_600_000
const request = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }

test('a charge that no provider made is deleted after 90 days and no sooner, and no other charge is', async () => {
  const w = await world()
  const account = await w.account()
  const failed = await failDeposit(w, account)
  const [canceled, pending] = [await w.deposit(account), await w.deposit(account)]
  await w.pool.query(`update charges set status = 'CANCELED', closed_at = $2 where id = $1`, [
    canceled.id,
    w.clock.now(),
  ])
  w.clock.advance(90 * DAY_MS - 1)
  await purge(w)
  expect(await idsOf(w)).toEqual([failed, canceled.id, pending.id])
  w.clock.advance(1)
  await purge(w)
  expect(await idsOf(w)).toEqual([canceled.id, pending.id])
})

test('the books agree before and after charges that no provider made are deleted, also where daily totals passed them', async () => {
  const w = await world()
  const account = await w.account()
  await failDeposit(w, account)
  const { payment } = await w.paidCharge({ account })
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  w.clock.advance(2 * DAY_MS)
  const session = await w.session(account)
  expect((await session.ask('GET', '/dashboard/api/overview')).statusCode).toBe(200)
  w.clock.advance(90 * DAY_MS)
  const bookDifferences = async () => (await w.differences()).filter(({ check }) => check !== 'provider')
  expect(await bookDifferences()).toEqual([])
  await purge(w)
  expect(await w.count('charges')).toBe(1)
  expect(await bookDifferences()).toEqual([])
})

test('a charge that no provider made is kept if money came for it, or if it is still to be withdrawn somewhere', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  // This failed charge gets a Pix of another amount, although nobody was shown its code.
  const paid = await failDeposit(w, account)
  await settleWrongAmount(w, paid)
  // The first provider may have made the next charge, so a check withdraws it there once more. The second refuses it.
  const [first, second] = w.ctx.providers
  w.ctx.providers = [
    { ...first!, create: () => fail('unknown'), cancel: async () => 'absent' },
    { ...second!, create: () => fail('refused') },
  ]
  await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_refused' })
  expect(await w.count('checks', `kind = 'withdrawal' and provider = 'sandbox'`)).toBe(1)
  const gone = await failDeposit(w, account)
  w.clock.advance(91 * DAY_MS)
  await purge(w)
  expect(await w.count('charges', `status = 'FAILED'`)).toBe(2)
  expect(await idsOf(w)).not.toContain(gone)
  const found = new Set((await w.differences()).map(({ check }) => check))
  for (const check of ['charge', 'payment', 'check', 'idempotency_key']) expect(found).not.toContain(check)
})

// When the purge wants to delete the charge, the payment holds its lock and has not committed.
test('a charge that is paid at the moment of its purge is kept', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await failDeposit(w, account)
  w.clock.advance(91 * DAY_MS)
  await purgeIdempotencyKeys(w.ctx)
  let purged: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [paymentOf(w, charge, 1_00)])
    purged = purgeFailedCharges(w.ctx)
    await w.lockWait()
  })
  await purged
  expect(await idsOf(w)).toEqual([charge])
})

test('a batch reads a thousand charges, the next one goes on behind it, and one process at a time is at it', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const at = w.clock.now()
  await w.pool.query(
    `insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents,
       created_at, expires_at, closed_at)
     select ($1 || lpad(to_hex(nth), 12, '0'))::uuid, gen_random_uuid(), $2, 'sandbox', 'FAILED', 100, 100, 1, $3, $4, $3
     from generate_series(1, 1500) nth`,
    [uuidOfTime(at).slice(0, 24), accountId, at, new Date(at.getTime() + DAY_MS)],
  )
  w.clock.advance(91 * DAY_MS)
  const other = await w.anotherProcess()
  await transact(w.pool, async (tx) => {
    await tx.rows('select from purge_cursors for update')
    expect(await purgeFailedCharges(other.ctx)).toBe('idle')
  })
  expect(await w.count('charges')).toBe(1500)
  expect(await purgeFailedCharges(w.ctx)).toBe('more')
  expect(await w.count('charges')).toBe(500)
  expect(await purgeFailedCharges(other.ctx)).toBe('idle')
  expect(await w.count('charges')).toBe(0)
})

/** Purges as the worker does: keys before the charges that they name. */
async function purge(w: World): Promise<void> {
  await purgeIdempotencyKeys(w.ctx)
  await purgeFailedCharges(w.ctx)
}

/** Resolves to the id of a charge that the provider refused. */
async function failDeposit(w: World, { caller }: TestAccount): Promise<string> {
  let txid = ''
  const create = (asked: { txid: string }) => ((txid = asked.txid), fail('refused'))
  const ctx = { ...w.ctx, providers: [{ ...w.ctx.providers[0]!, create }] }
  await expect(openDeposit(ctx, caller, request, `order ${w.clock.now().getTime()}`)).rejects.toMatchObject({
    code: 'provider_refused',
  })
  w.clock.advance(1)
  return txid
}

function paymentOf(w: World, txid: string, amountCents: number) {
  const endToEndId = `E00000000202603021200${txid.slice(-11)}`
  return { provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: w.clock.now() }
}

async function settleWrongAmount(w: World, txid: string): Promise<void> {
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [paymentOf(w, txid, 1_00)]))
  expect(await w.count('exceptions', `kind = 'wrong_amount'`)).toBe(1)
}

function fail(outcome: ProviderError['outcome']): Promise<never> {
  return Promise.reject(new ProviderError(outcome, `sandbox: create: ${outcome}`))
}

async function idsOf(w: World): Promise<string[]> {
  const { rows } = await w.pool.query<{ id: string }>('select id from charges order by id')
  return rows.map(({ id }) => id.replaceAll('-', ''))
}
