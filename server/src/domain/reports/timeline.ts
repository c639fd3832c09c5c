import { uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { requireChargeIn, type Charge } from '../deposits/charge-reads.ts'
import { eventName } from '../webhooks/events.ts'
import { readHeldIn, SELECT_HELD_PAYMENTS, type HeldMoney, type HeldPayment } from '../deposits/held-payments.ts'
import { SELECT_REFUNDS, type Refund } from '../refunds/refund-states.ts'
import type { Core } from '../core/core.ts'

/** What happened to a deposit, each with its time. */
export type Moment = { at: Date } & (
  | { kind: 'created'; provider: string; valueCents: Cents; feeCents: Cents }
  | { kind: 'paid'; endToEndId: string; valueCents: Cents }
  | { kind: 'confirmed'; provider: string }
  | { kind: 'credited'; valueCents: Cents; feeCents: Cents; balanceAfterCents: Cents }
  | { kind: 'payment_held'; payment: HeldPayment }
  | { kind: 'payment_released'; payment: HeldPayment }
  | { kind: 'expired' | 'canceled' }
  | { kind: 'refund_requested' | 'refund_done' | 'refund_failed'; refund: Refund }
  | { kind: 'event'; eventId: string; event: string }
  | ({ kind: 'webhook_attempt' } & AttemptFacts)
  | { kind: 'next_check'; attempts: number }
)

type AttemptFacts = {
  eventId: string
  webhookId: string
  webhookName: string
  number: number
  status: number | null
  error: string | null
  errorCode: string | null
  errorDetail: string | null
  latencyMs: number
}

// A refund in many parts is rare, and beyond this the newest tell enough.
const MAX_REFUNDS = 100
// Who pays a code more often than this is not helped by a longer list.
const MAX_HELD = 100
// Eleven attempts for each of many webhooks, and resends.
const MAX_ATTEMPTS = 1_000

export type DepositLife = { charge: Charge; held: HeldMoney; refunds: Refund[]; moments: Moment[] }

/** Oldest first. All of it from one snapshot: a payment that arrives meanwhile is in all parts of the answer, or in none. */
export function readTimeline(core: Core, accountId: string, paymentLinkId: string): Promise<DepositLife> {
  return transact(core.pool, (tx) => readLife(tx, accountId, paymentLinkId), { isolation: 'repeatable read' })
}

async function readLife(tx: Tx, accountId: string, paymentLinkId: string): Promise<DepositLife> {
  const charge = await requireChargeIn(tx, accountId, paymentLinkId)
  const id = uuidFromHex(charge.id)
  const refunds = await tx.rows<Refund>(`${SELECT_REFUNDS} where r.charge_id = $1 order by r.id desc limit $2`, [
    id,
    MAX_REFUNDS,
  ])
  const held = await readHeldIn(tx, charge.id)
  const heldPayments = await tx.rows<HeldPayment>(SELECT_HELD_PAYMENTS, [id, MAX_HELD])
  const moments = [
    ...(await momentsOfCharge(tx, charge)),
    ...heldPayments.flatMap(momentsOfHeld),
    ...refunds.toReversed().flatMap(momentsOfRefund),
    ...(await momentsOfEvents(tx, accountId, [charge.id, ...refunds.map((refund) => refund.id)])),
  ]
  return {
    charge,
    held,
    refunds,
    // Within one moment they stand as they were put above, which is the order of a life.
    moments: moments.toSorted((a, b) => a.at.getTime() - b.at.getTime()),
  }
}

type LifeRow = {
  closed_at: Date | null
  amount_cents: number | null
  occurred_at: Date | null
  recorded_at: Date | null
  credited_cents: number | null
  credited_at: Date | null
  balance_cents: number | null
  due_at: Date | null
  attempts: number | null
}

async function momentsOfCharge(tx: Tx, charge: Charge): Promise<Moment[]> {
  const [life] = await tx.rows<LifeRow>(
    `select c.closed_at, p.amount_cents, p.occurred_at, p.recorded_at, t.amount_cents as credited_cents,
       t.recorded_at as credited_at, t.credit_after_cents as balance_cents, k.due_at, k.attempts
     from charges c
     left join payments p on p.charge_id = c.id and p.credited
     left join transfers t on t.payment_id = p.id and t.kind in ('deposit', 'matched_deposit') and t.refund_id is null
     left join checks k on k.provider = c.provider and k.subject = $2 and c.status = 'PENDING'
     where c.id = $1`,
    [uuidFromHex(charge.id), charge.id],
  )
  const { closed_at: closedAt, occurred_at: paidAt, recorded_at: recordedAt, due_at: dueAt } = life!
  const { provider, feeCents } = charge
  const moments: Moment[] = [
    { kind: 'created', at: charge.createdAt, provider, valueCents: charge.valueCents, feeCents },
  ]
  if (charge.status === 'EXPIRED') moments.push({ kind: 'expired', at: closedAt! })
  if (charge.status === 'CANCELED') moments.push({ kind: 'canceled', at: closedAt! })
  if (paidAt && recordedAt) {
    const balanceAfterCents = life!.balance_cents!
    moments.push(
      { kind: 'paid', at: paidAt, endToEndId: charge.endToEndId!, valueCents: life!.amount_cents! },
      { kind: 'confirmed', at: recordedAt, provider },
      { kind: 'credited', at: life!.credited_at!, valueCents: life!.credited_cents!, feeCents, balanceAfterCents },
    )
  }
  if (dueAt) moments.push({ kind: 'next_check', at: dueAt, attempts: life!.attempts! })
  return moments
}

function momentsOfHeld(payment: HeldPayment): Moment[] {
  const held: Moment = { kind: 'payment_held', at: payment.heldAt, payment }
  return payment.resolvedAt ? [held, { kind: 'payment_released', at: payment.resolvedAt, payment }] : [held]
}

function momentsOfRefund(refund: Refund): Moment[] {
  const requested: Moment = { kind: 'refund_requested', at: refund.createdAt, refund }
  if (!refund.endedAt) return [requested]
  const kind = refund.status === 'DONE' ? 'refund_done' : 'refund_failed'
  return [requested, { kind, at: refund.endedAt, refund }]
}

async function momentsOfEvents(tx: Tx, accountId: string, subjects: string[]): Promise<Moment[]> {
  const events = await tx.rows<{ id: string; kind: string; at: Date }>(
    `select id, kind, created_at as at from events
     where kind in ('DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED') and subject_id = any($2) and account_id = $1 order by id`,
    [accountId, subjects.map(uuidFromHex)],
  )
  const attempts = await tx.rows<AttemptFacts & { at: Date }>(
    `select t.event_id as "eventId", t.webhook_id as "webhookId", e.name as "webhookName", t.number, t.at, t.status, t.error,
       t.error_code as "errorCode", t.error_detail as "errorDetail", t.latency_ms as "latencyMs"
     from attempts t join webhooks e on e.id = t.webhook_id
     where t.event_id = any($1) order by t.at desc, t.number desc limit $2`,
    [events.map((event) => event.id), MAX_ATTEMPTS],
  )
  return [
    ...events.map(({ id, kind, at }): Moment => ({ kind: 'event', at, eventId: eventName(id), event: kind })),
    ...attempts
      .toReversed()
      .map((attempt): Moment => ({ kind: 'webhook_attempt', ...attempt, eventId: eventName(attempt.eventId) })),
  ]
}
