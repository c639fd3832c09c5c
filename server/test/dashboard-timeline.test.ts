import { expect, test } from 'vitest'
import { markCanceled, markExpired } from '../src/domain/deposits/charge-states.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { startReceiver } from './receiver.ts'
import { completedCharge, followToEnd, refund } from './refund-steps.ts'
import { UNKNOWN_ID } from './requests.ts'
import { deliver, KIND } from './webhooks-client.ts'
import { world, type TestAccount, type World } from './world.ts'

const MINUTE_MS = 60_000

async function timelineOf(w: World, account: TestAccount, paymentLinkId: string) {
  const session = await w.session(account)
  const answer = await session.ask('GET', `/dashboard/api/deposit/${paymentLinkId}/timeline`)
  return { status: answer.statusCode, ...answer.json() }
}

test('a timeline tells a whole life in order: asked for, paid, credited, told, refunded', async () => {
  const w = await world()
  const account = await w.account()
  let isDown = true
  const receiver = await startReceiver((_, response) => {
    response.statusCode = isDown ? 503 : 200
    response.end(isDown ? 'down' : 'ok')
  })
  const fields = { name: 'shop', url: receiver.url, eventKinds: [KIND, 'DEPOSIT_REFUNDED'], authorization: null }
  await createWebhook(w.ctx, account.accountId, fields as Parameters<typeof createWebhook>[2])
  const charge = await w.deposit(account, { valueCents: 50_00 })
  w.clock.advance(MINUTE_MS)
  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  w.clock.advance(MINUTE_MS)
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  await deliver(w)
  isDown = false
  w.clock.advance(MINUTE_MS)
  await deliver(w)
  w.clock.advance(MINUTE_MS)
  const made = await refund(w, charge, { amountCents: 10_00 })
  await followToEnd(w, made)

  const { status, deposit, refunds, timeline } = await timelineOf(w, account, charge.paymentLinkId)
  expect(status).toBe(200)
  expect(deposit).toMatchObject({ id: charge.id, status: 'COMPLETED', refundedValue: 10_00 })
  expect(refunds).toMatchObject([{ id: made.id, value: 10_00, status: 'DONE' }])
  const at = (minutes: number) => new Date(Date.parse('2026-03-02T12:00:00Z') + minutes * MINUTE_MS).toISOString()
  expect(timeline).toMatchObject([
    { kind: 'created', at: at(0), provider: 'sandbox', value: 50_00, fee: 50 },
    { kind: 'paid', at: at(1), endToEndId: pix[0]!.endToEndId, value: 50_00, timing: 'in_time' },
    { kind: 'confirmed', at: at(2), provider: 'sandbox' },
    { kind: 'credited', at: at(2), value: 49_50, fee: 50, balanceAfter: 49_50 },
    { kind: 'event', at: at(2), event: KIND },
    { kind: 'webhook_attempt', at: at(2), webhookName: 'shop', number: 1, status: 503, error: null },
    { kind: 'webhook_attempt', at: at(3), webhookName: 'shop', number: 2, status: 200, error: null },
    { kind: 'refund_requested', at: at(4), refundId: made.id, value: 10_00, reason: null },
    { kind: 'refund_done', at: at(14), refundId: made.id, value: 10_00 },
    { kind: 'event', at: at(14), event: 'DEPOSIT_REFUNDED' },
  ])
  expect(timeline[5].eventId).toBe(timeline[4].eventId)
  expect(Object.keys(timeline[0])).toEqual(['at', 'kind', 'provider', 'value', 'fee'])
})

test('a deposit that waits tells when the provider is asked next, and one that was canceled when that was', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { expiresInSeconds: 600 })
  const pending = await timelineOf(w, account, charge.paymentLinkId)
  expect(pending.timeline).toMatchObject([
    { kind: 'created' },
    { kind: 'next_check', at: '2026-03-02T12:11:00.000Z', attempts: 0 },
  ])
  w.clock.advance(MINUTE_MS)
  await cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const { timeline } = await timelineOf(w, account, charge.paymentLinkId)
  expect(timeline).toMatchObject([{ kind: 'created' }, { kind: 'canceled', at: '2026-03-02T12:01:00.000Z' }])
})

// The numbers are minutes after the deposit was created: when it is canceled or expires, and when the bank says it was
// paid. It expires after 60.
test.each([
  ['canceled', 5, 10, ['canceled', 'paid'], 'after_cancel'],
  ['canceled', 5, 2, ['paid', 'canceled'], 'in_time'],
  ['expired', 61, 90, ['expired', 'paid'], 'after_expiry'],
  ['expired', 61, 30, ['paid', 'expired'], 'in_time'],
] as const)(
  'a deposit that was %s after %i minutes and is paid after %i keeps both in its history, and says what was late',
  async (end, endsAfter, paidAfter, story, timing) => {
    const w = await world()
    const { account, charge, payment } = await w.paidCharge()
    const at = (minutes: number) => new Date(charge.createdAt.getTime() + minutes * MINUTE_MS)
    w.clock.advance(endsAfter * MINUTE_MS)
    await (end === 'canceled' ? markCanceled : markExpired)(w.ctx, charge.id)
    w.clock.advance(60 * MINUTE_MS)
    await w.ctx.settlements.add([{ ...payment, occurredAt: at(paidAfter) }])

    const { deposit, timeline } = await timelineOf(w, account, charge.paymentLinkId)
    expect(deposit).toMatchObject({ status: 'COMPLETED', paidLate: true })
    const known: readonly string[] = story
    expect(timeline.filter((one: { kind: string }) => known.includes(one.kind))).toEqual(
      story.map((kind) =>
        kind === 'paid'
          ? { kind, at: at(paidAfter).toISOString(), endToEndId: payment.endToEndId, value: 50_00, timing }
          : { kind, at: at(endsAfter).toISOString() },
      ),
    )
    expect((await w.differences()).filter(({ subject }) => subject.startsWith('charge'))).toEqual([])
  },
)

test("a timeline of another account's deposit, or of none, is not found", async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const other = await w.account()
  for (const id of [charge.paymentLinkId, UNKNOWN_ID, 'nonsense']) {
    expect(await timelineOf(w, other, id)).toMatchObject({ status: 404, error: 'Charge not found' })
  }
})
