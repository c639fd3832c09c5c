import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { readBalance, readStatement } from '../src/domain/ledger/account-statement.ts'
import { endDispute, openDispute } from '../src/domain/disputes/dispute-states.ts'
import { listDisputes, listOpenDisputes } from '../src/domain/disputes/disputes.ts'
import { giveEvidence } from '../src/domain/disputes/evidence.ts'
import { reservePayout } from '../src/domain/payouts/payout-states.ts'
import { requestPayout } from '../src/domain/payouts/payouts.ts'
import { watchStates } from '../src/domain/notices/watch-states.ts'
import { runDueDisputes } from '../src/workers/dispute.ts'
import { corrupt } from './corrupt.ts'
import { bookDifferences, holdings, OPERATOR } from './refund-steps.ts'
import { serveWithWoovi } from './woovi-world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Served = Awaited<ReturnType<typeof serveWithWoovi>>

/** A deposit of R$ 50,00 that was paid and credited with R$ 49,50. */
async function paid() {
  const s = await serveWithWoovi()
  const charge = await s.open()
  const endToEndId = await s.woovi.pay(charge.id)
  await s.checkAll()
  return { s, charge, endToEndId }
}

/** Does what is due of disputes, until nothing is. */
async function ask({ ctx }: Served) {
  while ((await runDueDisputes(ctx)) === 'more');
}

async function disputesOf({ ctx }: Served) {
  return (await listDisputes(ctx, { limit: 100 })).disputes
}

/** Of the account: owed, available, held. */
async function balanceOf({ ctx, account }: Served) {
  const { balanceCents, availableCents, heldCents } = await readBalance(ctx, account.accountId)
  return [balanceCents, availableCents, heldCents]
}

async function eventsOf({ pool }: Served) {
  const sql = `select kind, body::json->'data' as data from events where kind like 'DISPUTE_%' order by id`
  return (await pool.query<{ kind: string; data: Record<string, unknown> }>(sql)).rows
}

// ---- The states ----

test('a dispute holds its value, tells the account holder, and the books stay right', async () => {
  const { s, charge, endToEndId } = await paid()
  await s.woovi.contest(endToEndId, { value: 30_00, reason: 'Golpe' })
  expect(await disputesOf(s)).toEqual([]) // a notification is only a hint
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([
    {
      status: 'OPEN',
      endToEndId,
      paymentLinkId: charge.paymentLinkId,
      accountId: s.account.accountId,
      amountCents: 30_00,
      heldCents: 30_00,
      reason: 'Golpe',
      endedAt: null,
      evidence: [],
    },
  ])
  expect(await balanceOf(s)).toEqual([49_50, 19_50, 30_00])
  expect(await holdings(s.w)).toEqual({ cash: 50_00, balance: 19_50, held: 30_00, fees: 50 })
  expect(await eventsOf(s)).toMatchObject([
    {
      kind: 'DISPUTE_OPENED',
      data: { status: 'OPEN', disputedValue: 30_00, heldValue: 30_00, disputeReason: 'Golpe' },
    },
  ])
  expect(await s.isClean()).toEqual([])
})

test.each(['REJECTED', 'CANCELED'] as const)('a dispute that is %s gives back what it held', async (status) => {
  const { s, endToEndId } = await paid()
  await s.woovi.contest(endToEndId)
  await ask(s)
  expect(await balanceOf(s)).toEqual([49_50, 0, 49_50])
  s.clock.advance(DAY_MS)
  await s.woovi.decide(endToEndId, status)
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status, endedAt: s.clock.now() }])
  expect(await balanceOf(s)).toEqual([49_50, 49_50, 0])
  expect((await eventsOf(s)).map(({ kind, data }) => [kind, data.status])).toEqual([
    ['DISPUTE_OPENED', 'OPEN'],
    ['DISPUTE_ENDED', status],
  ])
  const { lines } = await readStatement(s.ctx, s.account.accountId, { limit: 10 })
  expect(lines.map((line) => [line.kind, line.netCents, line.endToEndId])).toEqual([
    ['dispute_released', 49_50, endToEndId],
    ['dispute_held', -49_50, endToEndId],
    ['deposit', 49_50, endToEndId],
  ])
  expect(await s.count('refunds')).toBe(0)
  expect(await s.isClean()).toEqual([])
})

test('a dispute that is ACCEPTED releases what it held and books the return, in one step', async () => {
  const { s, endToEndId } = await paid()
  await s.woovi.contest(endToEndId)
  await ask(s)
  await s.woovi.decide(endToEndId, 'ACCEPTED')
  s.woovi.changeEntry(endToEndId, { status: 'REFUNDED' })
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'ACCEPTED' }])
  const { rows } = await s.pool.query('select status, source, amount_cents, provider_refund_id from refunds')
  expect(rows).toEqual([
    { status: 'DONE', source: 'provider', amount_cents: 50_00, provider_refund_id: 'whole-payment' },
  ])
  expect(await bookDifferences(s.w)).toEqual([])
})

test('what is missing of the value is not held, and the dispute says how much is', async () => {
  const { s, endToEndId } = await paid()
  await requestPayout(s.ctx, OPERATOR, payoutOf(s, 45_00))
  await s.woovi.contest(endToEndId)
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ amountCents: 50_00, heldCents: 4_50 }])
  expect(await balanceOf(s)).toEqual([49_50, 0, 4_50])
  expect(await s.isClean()).toEqual([])
})

test('with an empty balance a dispute is open and holds nothing, and it can end', async () => {
  const { s, endToEndId } = await paid()
  await requestPayout(s.ctx, OPERATOR, payoutOf(s, 49_50))
  await s.woovi.contest(endToEndId)
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'OPEN', heldCents: 0 }])
  await s.woovi.decide(endToEndId, 'REJECTED')
  await ask(s)
  expect(await s.count('transfers', `kind like 'dispute_%'`)).toBe(0)
  expect(await s.isClean()).toEqual([])
})

function payoutOf({ account }: Served, valueCents: number) {
  return { accountId: account.accountId, valueCents, note: null, idempotencyKey: null }
}

// ---- What a provider tells twice, late, or out of order ----

test('each step that is told again changes nothing', async () => {
  const { s, endToEndId } = await paid()
  for (const status of ['CREATED', 'REJECTED'] as const) {
    await s.woovi.contest(endToEndId, { sent: false })
    s.woovi.disputes.get(endToEndId)!.id = 'one'
    for (let nth = 0; nth < 3; nth++) {
      await s.woovi.decide(endToEndId, status)
      await ask(s)
    }
  }
  expect(await disputesOf(s)).toMatchObject([{ status: 'REJECTED' }])
  expect(await s.count('transfers', `kind like 'dispute_%'`)).toBe(2)
  expect(await eventsOf(s)).toHaveLength(2)
  expect(await s.isClean()).toEqual([])
})

test('a dispute whose end is the first that we learn was never held, and its return is booked', async () => {
  const { s, endToEndId } = await paid()
  await s.woovi.contest(endToEndId, { sent: false })
  await s.woovi.decide(endToEndId, 'ACCEPTED')
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'ACCEPTED', heldCents: 0 }])
  expect((await eventsOf(s)).map(({ kind }) => kind)).toEqual(['DISPUTE_OPENED', 'DISPUTE_ENDED'])
  expect(await s.count('refunds')).toBe(1)
  expect(await bookDifferences(s.w)).toEqual([])
})

test('a dispute that no notification told of is found by the list, also when it is about to end', async () => {
  const { s, endToEndId } = await paid()
  await s.woovi.contest(endToEndId, { sent: false })
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'OPEN' }])
  const lists = s.woovi.count('GET /dispute')
  await ask(s)
  expect(s.woovi.count('GET /dispute')).toBe(lists) // every ten minutes
  await s.woovi.decide(endToEndId, 'CANCELED', { sent: false })
  s.clock.advance(10 * 60_000)
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'CANCELED' }])
})

test('an open dispute is asked about every hour, however old it is', async () => {
  const { s, endToEndId } = await paid()
  await s.woovi.contest(endToEndId)
  await ask(s)
  s.clock.advance(40 * DAY_MS)
  await s.woovi.decide(endToEndId, 'REJECTED', { sent: false })
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'REJECTED' }])
})

test('a hint about a payment that we do not know asks for the payment, and opens no dispute before it is booked', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  const endToEndId = await s.woovi.pay(charge.id, { sent: false })
  await s.woovi.contest(endToEndId)
  await ask(s)
  expect(await disputesOf(s)).toEqual([])
  await s.checkAll()
  s.clock.advance(60_000)
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'OPEN', heldCents: 49_50 }])
  expect(await s.isClean()).toEqual([])
})

test('a hint about a Pix that never arrives is given up, and one without a dispute is dropped', async () => {
  const { s, endToEndId } = await paid()
  const stranger = `E${'1'.repeat(31)}`
  await s.woovi.contest(stranger)
  await s.woovi.contest(endToEndId)
  s.woovi.disputes.delete(endToEndId)
  for (let nth = 0; nth < 15; nth++) {
    await ask(s)
    s.clock.advance(6 * 60_000)
  }
  expect([await s.count('dispute_checks'), await disputesOf(s)]).toEqual([0, []])
})

test('a provider that fails is asked again, and one that forgets an open dispute does not end it', async () => {
  const { s, endToEndId } = await paid()
  s.woovi.fail('GET /dispute/:id', 'error', 10)
  await s.woovi.contest(endToEndId)
  await ask(s)
  expect(await disputesOf(s)).toEqual([])
  s.woovi.heal()
  s.clock.advance(10_000)
  await ask(s)
  s.woovi.disputes.clear()
  s.clock.advance(HOUR_MS)
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'OPEN' }])
  expect(await s.isClean()).toEqual([])
})

test('a forged notification asks, and books nothing that the provider does not say', async () => {
  const { s, endToEndId } = await paid()
  const body = JSON.stringify({ event: 'OPENPIX:DISPUTE_ACCEPTED', dispute: { status: 'ACCEPTED', endToEndId } })
  const headers = { 'x-webhook-signature': s.woovi.sign(body) }
  const url = '/callbacks/woovi/secret-of-woovi'
  expect((await s.app.inject({ method: 'POST', url, headers, payload: body })).statusCode).toBe(200)
  await ask(s)
  expect([await disputesOf(s), await s.count('refunds')]).toEqual([[], 0])
})

// ---- The return, which the list tells of too ----

test('a return that the list told of first is not booked again by the dispute', async () => {
  const { s, endToEndId } = await paidByKey()
  s.woovi.changeEntry(endToEndId, { status: 'REFUNDED' })
  await learn(s, endToEndId)
  expect(await s.count('refunds')).toBe(1)
  await s.woovi.contest(endToEndId, { sent: false })
  await s.woovi.decide(endToEndId, 'ACCEPTED')
  await ask(s)
  expect(await disputesOf(s)).toMatchObject([{ status: 'ACCEPTED', accountId: null }])
  expect(await s.count('refunds')).toBe(1)
  expect(await bookDifferences(s.w)).toEqual([])
})

test('a return that the dispute told of first is not booked again by the list', async () => {
  const { s, endToEndId } = await paidByKey()
  await s.woovi.contest(endToEndId)
  await ask(s)
  await s.woovi.decide(endToEndId, 'ACCEPTED')
  s.woovi.changeEntry(endToEndId, { status: 'REFUNDED' })
  await ask(s)
  expect(await s.count('refunds')).toBe(1)
  await learn(s, endToEndId)
  expect(await s.count('refunds')).toBe(1)
  // It was in suspense, so the exception about it is decided.
  expect(await s.count('exceptions', 'resolved_at is null')).toBe(0)
  expect(await bookDifferences(s.w)).toEqual([])
})

test('a part that went back by a dispute leaves no more than the rest for another one', async () => {
  const { s, endToEndId } = await paid()
  const accept = async (value: number) => {
    await s.woovi.contest(endToEndId, { value })
    await ask(s)
    await s.woovi.decide(endToEndId, 'ACCEPTED')
    await ask(s)
  }
  await accept(20_00)
  await accept(40_00)
  const { rows } = await s.pool.query('select amount_cents from refunds order by id')
  expect(rows).toEqual([{ amount_cents: 20_00 }, { amount_cents: 30_00 }])
  expect(await bookDifferences(s.w)).toEqual([])
})

test('a dispute that was rejected, and is called accepted later, stays rejected, and its return is booked once', async () => {
  const { s, endToEndId } = await paid()
  await s.woovi.contest(endToEndId)
  await ask(s)
  for (const status of ['REJECTED', 'ACCEPTED', 'ACCEPTED'] as const) {
    await s.woovi.decide(endToEndId, status)
    await ask(s)
  }
  expect(await disputesOf(s)).toMatchObject([{ status: 'REJECTED' }])
  expect(await s.count('refunds')).toBe(1)
  expect(await bookDifferences(s.w)).toEqual([])
})

/** Money for the key, which belongs to no deposit. */
async function paidByKey() {
  const s = await serveWithWoovi()
  const endToEndId = await s.woovi.payByKey(12_00)
  await s.checkAll()
  return { s, endToEndId }
}

async function learn({ ctx, provider }: Served, endToEndId: string) {
  const payment = await provider.findPayment(endToEndId)
  if (payment !== 'absent') await ctx.settlements.add([payment])
}

// ---- At the same time ----

test('a payout that is asked for while a dispute is opened gets no money that it holds', async () => {
  const { s, endToEndId } = await paid()
  const payment = await paymentOf(s, endToEndId)
  let second: Promise<unknown> | undefined
  await transact(s.pool, async (tx) => {
    await openDispute(tx, s.clock.now(), payment, found(endToEndId))
    second = requestPayout(s.ctx, OPERATOR, payoutOf(s, 10_00)).catch((error: unknown) => error)
    await s.lockWait()
  })
  expect(await second).toMatchObject({ code: 'balance_too_small' })
  expect(await balanceOf(s)).toEqual([49_50, 0, 49_50])
})

test('a dispute that is opened while a payout is asked for holds what the payout leaves', async () => {
  const { s, endToEndId } = await paid()
  const payment = await paymentOf(s, endToEndId)
  let second: Promise<unknown> | undefined
  await transact(s.pool, async (tx) => {
    await reservePayout(tx, s.clock.now(), OPERATOR, { ...payoutOf(s, 10_00), idempotency: null })
    second = transact(s.pool, (other) => openDispute(other, s.clock.now(), payment, found(endToEndId)))
    await s.lockWait()
  })
  expect(await second).toMatchObject({ heldCents: 39_50 })
  expect(await balanceOf(s)).toEqual([49_50, 0, 39_50])
})

test('a dispute that two processes open at once is opened once', async () => {
  const { s, endToEndId } = await paid()
  const payment = await paymentOf(s, endToEndId)
  let second: Promise<unknown> | undefined
  await transact(s.pool, async (tx) => {
    await openDispute(tx, s.clock.now(), payment, found(endToEndId))
    second = transact(s.pool, (other) => openDispute(other, s.clock.now(), payment, found(endToEndId)))
    await s.lockWait()
  })
  expect(await second).toBeUndefined()
  expect(await disputesOf(s)).toHaveLength(1)
  expect(await s.count('transfers', `kind = 'dispute_held'`)).toBe(1)
})

test('a dispute that two processes end at once ends once', async () => {
  const { s, endToEndId } = await paid()
  await s.woovi.contest(endToEndId)
  await ask(s)
  const { id } = (await disputesOf(s))[0]!
  let second: Promise<unknown> | undefined
  await transact(s.pool, async (tx) => {
    await endDispute(tx, s.clock.now(), id, 'REJECTED')
    second = transact(s.pool, (other) => endDispute(other, s.clock.now(), id, 'ACCEPTED')).catch(String)
    await s.lockWait()
  })
  expect(await second).toMatch('not OPEN')
  expect(await balanceOf(s)).toEqual([49_50, 49_50, 0])
})

function found(endToEndId: string) {
  return { id: 'one', endToEndId, status: 'open' as const, amountCents: null, reason: null, openedAt: null }
}

async function paymentOf({ pool, account }: Served, endToEndId: string) {
  const sql = 'select id, charge_id, amount_cents from payments where end_to_end_id = $1'
  const { rows } = await pool.query<{ id: string; charge_id: string; amount_cents: number }>(sql, [endToEndId])
  const [{ id: paymentId, charge_id: chargeId, amount_cents: amountCents }] = rows as [(typeof rows)[0]]
  return { paymentId, provider: 'woovi', amountCents, chargeId, accountId: account.accountId }
}

// ---- Evidence ----

const PDF = Buffer.from('%PDF-1.4\nreceipt')

/** An open dispute, and what is needed to give evidence in it. */
async function contested() {
  const { s, endToEndId } = await paid()
  const atWoovi = await s.woovi.contest(endToEndId)
  await ask(s)
  const { id: disputeId } = (await disputesOf(s))[0]!
  const actor = { kind: 'account', name: s.account.email } as const
  const give = (content = PDF, fileName = 'receipt.pdf') =>
    giveEvidence(
      s.ctx,
      actor,
      { accountId: s.account.accountId, disputeId },
      { fileName, content, description: 'It came' },
    )
  return { s, endToEndId, atWoovi, disputeId, give }
}

test('evidence is stored, sent once, and its bytes are gone afterwards', async () => {
  const { s, atWoovi, give } = await contested()
  expect((await give()).evidence).toMatchObject([{ status: 'SENDING', fileType: 'application/pdf', fileBytes: 16 }])
  expect(atWoovi.evidence).toEqual([])
  await ask(s)
  expect(atWoovi.evidence).toMatchObject([{ description: 'It came', bytes: PDF }])
  const [dispute] = await disputesOf(s)
  const sha256 = createHash('sha256').update(PDF).digest('hex')
  expect(dispute!.evidence).toMatchObject([
    { status: 'SENT', sha256, failure: null, givenBy: { name: s.account.email } },
  ])
  expect(await s.count('dispute_evidence', 'content is not null or access is not null')).toBe(0)
  // The address that the provider had leads nowhere.
  expect((await fetch(atWoovi.evidence[0]!.url)).status).toBe(404)
  expect((await give()).evidence).toHaveLength(1)
  await ask(s)
  expect(atWoovi.evidence).toHaveLength(1)
  expect(await s.isClean()).toEqual([])
})

test('evidence whose outcome is unknown is sent again with the same id', async () => {
  const { s, atWoovi, give } = await contested()
  await give()
  s.woovi.fail('POST /dispute/:id', 'lose')
  await ask(s)
  expect((await disputesOf(s))[0]!.evidence).toMatchObject([{ status: 'SENDING' }])
  expect(await s.isClean()).toEqual([])
  s.clock.advance(HOUR_MS)
  await ask(s)
  expect((await disputesOf(s))[0]!.evidence).toMatchObject([{ status: 'SENT' }])
  expect(new Set(atWoovi.evidence.map(({ correlationID }) => correlationID)).size).toBe(1)
})

test('evidence that the provider refuses says why, and may be given again', async () => {
  const { s, atWoovi, give } = await contested()
  await give()
  atWoovi.status = 'ACCEPTED' // and we have not heard of it
  await ask(s)
  const failure = expect.stringContaining('You cannot send a evidence')
  expect((await disputesOf(s))[0]!.evidence).toMatchObject([{ status: 'REFUSED', failure }])
  expect((await give()).evidence).toHaveLength(2)
  expect(await bookDifferences(s.w)).toEqual([])
})

test('evidence is refused for a dispute that has ended, of another account, of a wrong type or size, and past ten files', async () => {
  const { s, endToEndId, disputeId, give } = await contested()
  await expect(give(Buffer.from('GIF89a'))).rejects.toMatchObject({ code: 'field_invalid' })
  const large = Buffer.concat([PDF, Buffer.alloc(3 * 1024 * 1024)])
  await expect(give(large)).rejects.toMatchObject({ code: 'field_invalid' })
  const other = await s.w.account()
  const of = { accountId: other.accountId, disputeId }
  const file = { fileName: 'x', content: PDF, description: null }
  await expect(giveEvidence(s.ctx, OPERATOR, of, file)).rejects.toMatchObject({ code: 'not_found' })
  for (let nth = 0; nth < 10; nth++) await give(Buffer.concat([PDF, Buffer.from([nth])]))
  await expect(give()).rejects.toMatchObject({ code: 'evidence_limit', details: { maxFiles: 10 } })
  await s.woovi.decide(endToEndId, 'REJECTED')
  await runDueDisputes(s.ctx)
  await expect(give()).rejects.toMatchObject({ code: 'dispute_ended', details: { status: 'REJECTED' } })
})

// ---- Who is told, and by when ----

test('account holder and operator are told when a dispute opens, again two days before its deadline, and when it ends', async () => {
  const { s, endToEndId } = await contested()
  const told = async () => {
    s.clock.advance(60_000)
    await watchStates(s.ctx)
    const sql = `select kind, what, account_id is null as operators, data->>'stage' as stage, over_at is not null as over
      from notices where kind like 'dispute_%' order by kind, what`
    return (await s.pool.query(sql)).rows
  }
  const both = (fields: object) => [
    { kind: 'dispute_open', operators: false, ...fields },
    { kind: 'dispute_waits', operators: true, ...fields },
  ]
  expect(await told()).toEqual(both({ what: 'began', stage: 'open', over: false }))
  s.clock.advance(5 * DAY_MS)
  expect(await told()).toEqual(both({ what: 'began', stage: 'near', over: false }))
  await s.woovi.decide(endToEndId, 'REJECTED')
  await ask(s)
  expect((await told()).filter(({ what }) => what === 'began')).toEqual(
    both({ what: 'began', stage: 'near', over: true }),
  )
})

test('operators see open disputes by their deadline', async () => {
  const { s, endToEndId } = await contested()
  s.clock.advance(HOUR_MS)
  const charge = await s.open()
  const later = await s.woovi.pay(charge.id)
  await s.checkAll()
  await s.woovi.contest(later)
  await ask(s)
  expect((await listOpenDisputes(s.ctx)).map((dispute) => dispute.endToEndId)).toEqual([endToEndId, later])
})

// ---- The schema, and what the audit names ----

test.each([
  `update disputes set amount_cents = 1`,
  `update disputes set held_cents = 0`,
  `delete from disputes`,
  `truncate dispute_evidence, disputes`,
])('what a dispute is never changes: %s', async (sql) => {
  const { s } = await contested()
  await expect(s.pool.query(sql)).rejects.toThrow('append only')
})

test.each<[lie: string, sql: string, checks: string[]]>([
  ['of another amount', 'update disputes set amount_cents = amount_cents - 1', ['row', 'dispute_event']],
  ['that holds less', 'update disputes set held_cents = held_cents - 1', ['row', 'transfer', 'total', 'dispute_event']],
  [
    'of another owner',
    `update disputes set account_id = (select id from accounts where id <> account_id limit 1)`,
    ['row', 'dispute'],
  ],
  ['that has another deadline', `update disputes set deadline_at = deadline_at + interval '1 day'`, ['row']],
  [
    'that is called ended',
    `update disputes set status = 'REJECTED', ended_at = recorded_at`,
    ['row', 'transfer', 'total', 'dispute_event'],
  ],
  ['that is gone', 'delete from dispute_evidence; delete from disputes', ['row', 'transfer', 'dispute_event', 'total']],
  ['whose transfer is gone', `delete from transfers where kind = 'dispute_held'`, ['transfer', 'balance']],
  ['whose event is gone', `delete from events where kind = 'DISPUTE_OPENED'`, ['dispute_event']],
  ['that nobody asks about', 'delete from dispute_checks', ['dispute']],
  ['with another file', `update dispute_evidence set content = 'x'`, ['evidence']],
  ['with a file of another name', `update dispute_evidence set file_name = 'x'`, ['row']],
])('a dispute %s is named by the audit', async (_, sql, checks) => {
  const { s, give } = await contested()
  await s.w.account()
  await give()
  await corrupt(s.w, sql)
  const named = new Set((await bookDifferences(s.w)).map(({ check }) => check))
  expect([...named]).toEqual(expect.arrayContaining(checks))
})
