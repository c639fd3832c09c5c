import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { audit } from '../src/domain/audit/audit.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { endRefund } from '../src/domain/refunds/refund-states.ts'
import { corrupt } from './corrupt.ts'
import {
  changeProvider,
  completedCharge,
  followToEnd,
  OPERATOR,
  refund,
  refundAtBank,
  strayPayment,
  untilMade,
} from './refund-steps.ts'
import { OPERATOR_DECIDES, world, type World } from './world.ts'

// Books with every kind of refund. A deposit of R$ 50,00 has four: done, failed, under way, and made at the bank. Money
// without a charge was credited, written off, refunded, and left open.
async function books() {
  const w = await world({ settings: { ...OPERATOR_DECIDES, refunds: { byAccounts: false, returnFee: true } } })
  const { charge, payment, account } = await completedCharge(w, { valueCents: 50_00 })
  const failed = await refund(w, charge, { amountCents: 4_00 })
  await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), failed.id, { status: 'failed', failure: 'no' }))
  await untilMade(w, { endToEndId: failed.endToEndId, refundId: failed.id })
  const atBank = await refundAtBank(w, payment.endToEndId, 3_00)
  const found = await w.ctx.providers[0]!.findPayment(payment.endToEndId)
  if (found !== 'absent') await w.ctx.settlements.add([found])
  const ways = [{ how: 'credit', accountId: account.accountId }, { how: 'write_off' }, { how: 'refund' }] as const
  for (const [index, way] of ways.entries()) {
    await strayPayment(w, 100 + index)
    const { exceptions } = await listExceptions(w.ctx, { state: 'open', kind: 'unknown_charge', limit: 1 })
    await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, way, 'because')
  }
  await strayPayment(w, 2_00)
  const done = await refund(w, charge, { amountCents: 10_00 })
  await followToEnd(w, done)
  const underWay = await refund(w, charge, { amountCents: 20_00 })
  return { w, charge, payment, account, other: await w.account(), done, underWay, atBank }
}

type Books = Awaited<ReturnType<typeof books>>

test('books in which money went back in every way agree, and the report adds it up', async () => {
  const { w } = await books()
  expect(await audit(w.ctx)).toMatchObject({
    differences: [],
    creditedCents: 49_50,
    // Our own refunds, done or under way, returned their share of the fee.
    feesCents: 50 - 10 - 20,
    suspenseCents: 2_00,
    refundedCents: 10_00 + 3_00 + 4_00 + 1_02,
    refundingCents: 20_00,
    missingCents: 7_00,
    writtenOffCents: 1_01,
  })
})

// ---- Corrupted on purpose, past the triggers: each lie is found by the check that is there for it ----

const isAbout = ({ id }: { id: string }) => `body like '%"refundId":"${id}"%'`
const decided = `resolved_by_kind = 'console', resolved_by = 'x', reason = 'x'`
const undecided = `resolution = null, account_id = null, resolved_by_kind = null, resolved_by = null, reason = null, resolved_at = null`

// Each lie has the checks that find it, and what one of them says.
test.each<[lie: string, sql: (books: Books) => string, checks: string[], found: (books: Books) => object]>([
  [
    'a refund that another account bears',
    ({ done, other }) => `update refunds set account_id = '${other.accountId}' where id = '${done.id}'`,
    ['transfer', 'refund', 'row'],
    ({ done }) => ({ check: 'refund', subject: `refund ${done.id}`, text: containing('account_id is') }),
  ],
  [
    'a refund of another amount',
    ({ underWay }) => `update refunds set amount_cents = amount_cents - 1 where id = '${underWay.id}'`,
    ['transfer', 'total', 'row'],
    () => ({ check: 'transfer', text: 'refund_reserved: the amount is 2000 and should be 1999' }),
  ],
  [
    'a share of the fee that was never returned',
    ({ underWay }) => `update refunds set fee_returned_cents = 0 where id = '${underWay.id}'`,
    ['transfer', 'total', 'row'],
    () => ({ check: 'transfer', text: containing('fee_returned of 20 cents from fees to balance') }),
  ],
  [
    'a charge that says it was refunded more',
    () => 'update charges set refunded_cents = refunded_cents + 1',
    ['charge'],
    ({ charge }) => ({
      check: 'charge',
      subject: `charge ${charge.id}`,
      text: containing('refunded_cents is 1701 and should be 1700'),
    }),
  ],
  [
    'a refund of which nobody was told',
    ({ done }) => `delete from events where ${isAbout(done)}`,
    ['refund_event'],
    ({ done }) => ({ check: 'refund_event', subject: `refund ${done.id}`, text: 'is DONE, and has no event' }),
  ],
  [
    'an event of a refund that is only under way',
    ({
      underWay,
      done,
    }) => `insert into events select gen_random_uuid(), account_id, kind, '${underWay.id}', replace(body, '${done.id}', '${underWay.id}'), created_at
      from events where ${isAbout(done)}`,
    ['refund_event', 'event_seal', 'numbered'],
    ({ underWay }) => ({
      check: 'refund_event',
      subject: `event evt_DEPOSIT_REFUNDED_${underWay.id}`,
      text: 'has an event, and is not such a refund of a deposit that is done',
    }),
  ],
  [
    'an exception that went to another account than it says',
    ({ other }) => `update exceptions set account_id = '${other.accountId}' where resolution = 'credit'`,
    ['transfer', 'row'],
    () => ({ check: 'transfer', text: containing('exception_credited: the credited account is balance') }),
  ],
  [
    'an open exception that is called written off',
    () => `update exceptions set resolution = 'write_off', ${decided}, resolved_at = opened_at
      where resolution is null and kind = 'unknown_charge'`,
    ['transfer', 'total', 'row'],
    () => ({ check: 'row', text: 'is there, and no line of the audit log tells of it' }),
  ],
  [
    'an exception whose money is gone and that is called open',
    () => `update exceptions set ${undecided} where resolution = 'write_off'`,
    ['transfer', 'total', 'row'],
    () => ({
      check: 'transfer',
      text: containing('exception_written_off of 101 cents from suspense to written_off follows'),
    }),
  ],
  [
    'an exception that was refunded and is called open',
    () => `update exceptions set ${undecided} where resolution = 'refund'`,
    ['total', 'refund', 'exception', 'row'],
    () => ({ check: 'exception', text: containing('the refund of it is DONE and should be empty') }),
  ],
  [
    'a refund made without us that nobody is asked about',
    ({ atBank }) =>
      `delete from exceptions using refunds r where r.id = refund_id and r.provider_refund_id = '${atBank}'`,
    ['total', 'refund', 'row'],
    () => ({ check: 'refund', text: containing('was made without us, and is no exception') }),
  ],
])('the audit names %s, by each check that it touches and no other', async (_, sql, checks, found) => {
  const made = await books()
  await corrupt(made.w, sql(made))
  const differences = (await made.w.differences()).filter(({ check }) => check !== 'provider')
  expect(differences).toContainEqual(expect.objectContaining(found(made)))
  expect(new Set(differences.map(({ check }) => check))).toEqual(new Set(checks))
})

test('a refund of another amount is found in the books, and at the bank', async () => {
  const { w, underWay, payment } = await books()
  await corrupt(w, `update refunds set amount_cents = amount_cents - 1 where id = '${underWay.id}'`)
  const differences = await w.differences()
  expect(differences.map(({ check }) => check)).toEqual(['transfer', 'total', 'row', 'provider'])
  expect(differences.at(-1)).toEqual({
    check: 'provider',
    subject: `payment ${payment.endToEndId}`,
    text: `sandbox says that refund ${underWay.id} is of 2000 cents, our books 1999`,
  })
})

test('a refund under way that is called done is found by every check that it touches', async () => {
  const { w, underWay } = await books()
  await corrupt(
    w,
    `update refunds set status = 'DONE', ended_at = created_at, due_at = null where id = '${underWay.id}'`,
  )
  const checks = (await w.differences()).map(({ check }) => check)
  expect(new Set(checks)).toEqual(new Set(['transfer', 'total', 'charge', 'refund_event']))
})

// ---- Against the bank's own list ----

test('a refund that is done at the bank and stands in no book is named, on both sides', async () => {
  const { w, done, payment } = await books()
  await corrupt(w, `update refunds set provider_refund_id = 'other' where id = '${done.id}'`)
  const differ = { check: 'provider', subject: `payment ${payment.endToEndId}` }
  expect(await againstBank(w)).toEqual([
    { ...differ, text: `sandbox gave back 1000 cents (refund ${done.id}), but our books do not say so` },
    { ...differ, text: 'our books say that 1000 cents were given back (refund other), but sandbox does not' },
  ])
})

test('a refund that is done at the bank and that we still ask about is no difference', async () => {
  const { w, underWay } = await books()
  await untilMade(w, { endToEndId: underWay.endToEndId, refundId: underWay.id })
  expect(await w.differences()).toEqual([])
})

test('a provider that does not list refunds is asked about ours, and the report says what was not compared', async () => {
  const { w, done } = await books()
  const [provider] = w.ctx.providers
  changeProvider(w, {
    async *listReceived(window) {
      for await (const page of provider!.listReceived(window)) yield page.map(withoutRefunds)
    },
  })
  const why = 'it does not tell what was given back of 5 payments'
  expect(await audit(w.ctx)).toMatchObject({
    differences: [],
    notCompared: [{ provider: 'sandbox', what: 'refunds', why }],
  })
  await corrupt(w, `update refunds set provider_refund_id = 'other' where id = '${done.id}'`)
  expect(await againstBank(w)).toMatchObject([
    { text: 'our books say that 1000 cents were given back (refund other), but sandbox does not' },
  ])
})

/** Only the differences from the bank, without those that the books find in themselves. */
async function againstBank(w: World) {
  return (await w.differences()).filter(({ check }) => check === 'provider')
}

function withoutRefunds(payment: ReceivedPayment): ReceivedPayment {
  const { refunds: _, ...rest } = payment
  return rest
}

function containing(text: string): string {
  return expect.stringContaining(text) as string
}
