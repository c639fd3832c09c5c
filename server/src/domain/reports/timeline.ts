import type { Cents } from '../../base/money.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Charge } from '../deposits/charge-reads.ts'
import { eventName } from '../webhooks/events.ts'
import type { EventKind } from '../webhooks/event-kinds.ts'
import type { HeldPayment, ReleasedPayment } from '../deposits/held-payments.ts'
import { refundSubject } from '../refunds/refund-events.ts'
import { isReversal, type Refund } from '../refunds/refund-states.ts'
import type { Core } from '../core/core.ts'
import { readFullDeposit, type FullDeposit } from './full-deposit.ts'

export type Moment = { at: Date } & (
  | { kind: 'created'; provider: string; valueCents: Cents; feeCents: Cents }
  | { kind: 'paid'; endToEndId: string; valueCents: Cents; timing: Timing }
  | { kind: 'confirmed'; provider: string }
  | { kind: 'credited'; valueCents: Cents; feeCents: Cents; balanceAfterCents: Cents }
  | { kind: 'payment_held'; payment: HeldPayment }
  | { kind: 'payment_released'; payment: ReleasedPayment }
  | { kind: End }
  | { kind: 'refund_requested' | 'refund_done' | 'refund_failed' | 'reversed'; refund: Refund }
  | { kind: 'event'; eventId: string; event: string }
  | ({ kind: 'webhook_attempt' } & AttemptFacts)
  | { kind: 'next_check'; attempts: number }
)

type End = 'expired' | 'canceled'

/** In time is also what the payer paid in time and the provider reported after the end. */
export const TIMINGS = ['in_time', 'after_expiry', 'after_cancel'] as const
type Timing = (typeof TIMINGS)[number]

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

// Eleven attempts for each of many webhooks, and resends.
const MAX_ATTEMPTS = 1_000

export type Timeline = FullDeposit & { moments: Moment[] }

/** Oldest first, from one snapshot: a payment that arrives meanwhile is in all parts of the answer, or in none. */
export function readTimeline(core: Core, accountId: string, paymentLinkId: string): Promise<Timeline> {
  return transact(core.pool, (tx) => readTimelineIn(tx, accountId, paymentLinkId), { isolation: 'repeatable read' })
}

/** Null is any account. */
export async function readTimelineIn(tx: Tx, accountId: string | null, paymentLinkId: string): Promise<Timeline> {
  const { charge, held, heldPayments, refunds } = await readFullDeposit(tx, accountId, paymentLinkId)
  const moments = [
    ...(await momentsOfCharge(tx, charge)),
    ...heldPayments.flatMap(momentsOfHeld),
    ...refunds.toReversed().flatMap(momentsOfRefund),
    ...(await momentsOfEvents(tx, charge.accountId, [
      charge.id,
      ...refunds.map((refund) => refundSubject({ ...refund, chargeId: charge.id })),
    ])),
  ]
  return {
    charge,
    held,
    heldPayments,
    refunds,
    // The sort is stable: moments of one time stay in the order above, which is the order of events.
    moments: moments.toSorted((a, b) => a.at.getTime() - b.at.getTime()),
  }
}

/** The charge, with the payment that completed it and its next check, where it has them. */
type ChargeMoments = { closedAt: Date | null } & (
  | { paidAt: null }
  | {
      paidAt: Date
      endToEndId: string
      paidCents: Cents
      recordedAt: Date
      creditedCents: Cents
      creditedAt: Date
      balanceAfterCents: Cents
    }
) &
  ({ dueAt: null } | { dueAt: Date; attempts: number })

async function momentsOfCharge(tx: Tx, charge: Charge): Promise<Moment[]> {
  const row = await tx.one<ChargeMoments>(
    `select c.closed_at as "closedAt", p.occurred_at as "paidAt", p.end_to_end_id as "endToEndId",
       p.amount_cents as "paidCents", p.recorded_at as "recordedAt", t.amount_cents as "creditedCents",
       t.recorded_at as "creditedAt", t.credit_after_cents as "balanceAfterCents", k.due_at as "dueAt", k.attempts
     from charges c
     left join payments p on p.charge_id = c.id and p.credited
     left join transfers t on t.payment_id = p.id and t.kind in ('deposit', 'matched_deposit') and t.refund_id is null
     left join checks k on k.provider = c.provider and k.subject = $2 and c.status = 'PENDING'
     where c.id = $1`,
    [charge.id, charge.id],
  )
  const { provider, feeCents, createdAt } = charge
  const moments: Moment[] = [{ kind: 'created', at: createdAt, provider, valueCents: charge.valueCents, feeCents }]
  const end = endOf(charge, row)
  if (end) moments.push({ kind: end.kind, at: end.at })
  if (row.paidAt) {
    const { endToEndId, balanceAfterCents } = row
    const timing = timingOf(row.paidAt, charge, end)
    moments.push(
      { kind: 'paid', at: row.paidAt, endToEndId, valueCents: row.paidCents, timing },
      { kind: 'confirmed', at: row.recordedAt, provider },
      { kind: 'credited', at: row.creditedAt, valueCents: row.creditedCents, feeCents, balanceAfterCents },
    )
  }
  if (row.dueAt) moments.push({ kind: 'next_check', at: row.dueAt, attempts: row.attempts })
  return moments
}

/** How and when it ended without a payment, also if it was paid later. */
function endOf(charge: Charge, row: ChargeMoments): { kind: End; at: Date } | undefined {
  const at = row.closedAt
  if (!at) return undefined
  if (charge.status === 'EXPIRED') return { kind: 'expired', at }
  if (charge.status === 'CANCELED') return { kind: 'canceled', at }
  // Without a code it had FAILED, which nobody saw.
  const hadEnded = row.paidAt !== null && at < row.creditedAt && charge.emv !== ''
  // It expires at its time or later, so what ended earlier was canceled.
  return hadEnded ? { kind: at < charge.expiresAt ? 'canceled' : 'expired', at } : undefined
}

function timingOf(paidAt: Date, { paidLate, expiresAt }: Charge, end: ReturnType<typeof endOf>): Timing {
  if (!paidLate) return 'in_time'
  if (end?.kind === 'canceled' && paidAt >= end.at) return 'after_cancel'
  return paidAt > expiresAt ? 'after_expiry' : 'in_time'
}

function momentsOfHeld(payment: HeldPayment): Moment[] {
  const held: Moment = { kind: 'payment_held', at: payment.heldAt, payment }
  return payment.resolvedAt ? [held, { kind: 'payment_released', at: payment.resolvedAt, payment }] : [held]
}

function momentsOfRefund(refund: Refund): Moment[] {
  if (isReversal(refund)) return [{ kind: 'reversed', at: refund.createdAt, refund }]
  const requested: Moment = { kind: 'refund_requested', at: refund.createdAt, refund }
  if (!refund.endedAt) return [requested]
  const kind = refund.status === 'DONE' ? 'refund_done' : 'refund_failed'
  return [requested, { kind, at: refund.endedAt, refund }]
}

// The other kinds tell what has a moment of its own.
const SHOWN_KINDS: EventKind[] = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED', 'DEPOSIT_REVERSED']

async function momentsOfEvents(tx: Tx, accountId: string, subjects: string[]): Promise<Moment[]> {
  const events = await tx.rows<{ id: string; kind: string; subjectId: string; at: Date }>(
    `select id, kind, subject_id as "subjectId", created_at as at from events
     where kind = any($3) and subject_id = any($2) and account_id = $1 order by id`,
    [accountId, subjects, SHOWN_KINDS],
  )
  const names = new Map(events.map((event) => [event.id, eventName(event)]))
  const attempts = await tx.rows<AttemptFacts & { at: Date }>(
    `select t.event_id as "eventId", t.webhook_id as "webhookId", e.name as "webhookName", t.number, t.at, t.status, t.error,
       t.error_code as "errorCode", t.error_detail as "errorDetail", t.latency_ms as "latencyMs"
     from attempts t join webhooks e on e.id = t.webhook_id
     where t.event_id = any($1) order by t.at desc, t.number desc limit $2`,
    [events.map((event) => event.id), MAX_ATTEMPTS],
  )
  return [
    ...events.map(({ id, kind, at }): Moment => ({ kind: 'event', at, eventId: names.get(id)!, event: kind })),
    ...attempts
      .toReversed()
      .map((attempt): Moment => ({ kind: 'webhook_attempt', ...attempt, eventId: names.get(attempt.eventId)! })),
  ]
}
