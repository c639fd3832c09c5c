import { uuidFromHex } from '../base/ids.ts'
import type { Cents } from '../base/money.ts'
import { read } from '../db/tx.ts'
import { paidCents, type Charge } from './charges.ts'
import type { Context } from './context.ts'
import { readDeposit } from './deposits.ts'
import { eventName } from './events.ts'
import type { Refund } from './refund-life.ts'
import { listRefunds } from './refunds.ts'

/** What happened to a deposit, each with its time. */
export type Moment = { at: Date } & (
  | { kind: 'created'; provider: string; valueCents: Cents; feeCents: Cents }
  | { kind: 'paid'; endToEndId: string; valueCents: Cents }
  | { kind: 'confirmed'; provider: string }
  | { kind: 'credited'; valueCents: Cents; feeCents: Cents; balanceAfterCents: Cents }
  | { kind: 'expired' | 'canceled' }
  | { kind: 'refund_requested' | 'refund_done' | 'refund_failed'; refund: Refund }
  | { kind: 'event'; eventId: string; event: string }
  | ({ kind: 'webhook_attempt' } & AttemptFacts)
  | { kind: 'next_check'; attempts: number }
)

type AttemptFacts = {
  eventId: string
  endpointId: string
  endpointName: string
  number: number
  status: number | null
  error: string | null
  latencyMs: number
}

// A refund in many parts is rare, and beyond this the newest tell enough.
const MAX_REFUNDS = 100
// Eleven attempts for each of many endpoints, and resends.
const MAX_ATTEMPTS = 1_000

/** Oldest first. */
export async function readTimeline(
  ctx: Context,
  accountId: string,
  paymentLinkId: string,
): Promise<{ charge: Charge; refunds: Refund[]; moments: Moment[] }> {
  const charge = await readDeposit(ctx, accountId, paymentLinkId)
  const { refunds } = await listRefunds(ctx, { accountId, paymentLinkId, limit: MAX_REFUNDS })
  const moments = [
    ...(await momentsOfCharge(ctx, charge)),
    ...refunds.toReversed().flatMap(momentsOfRefund),
    ...(await momentsOfEvents(ctx, accountId, [charge.id, ...refunds.map((refund) => refund.id)])),
  ]
  // Within one moment they stand as they were put above, which is the order of a life.
  return { charge, refunds, moments: moments.toSorted((a, b) => a.at.getTime() - b.at.getTime()) }
}

type LifeRow = {
  closed_at: Date | null
  occurred_at: Date | null
  recorded_at: Date | null
  credited_at: Date | null
  balance_cents: number | null
  due_at: Date | null
  attempts: number | null
}

async function momentsOfCharge(ctx: Context, charge: Charge): Promise<Moment[]> {
  const [life] = await read<LifeRow>(
    ctx.pool,
    `select c.closed_at, p.occurred_at, p.recorded_at, t.recorded_at as credited_at, t.credit_after_cents as balance_cents, k.due_at,
       k.attempts
     from charges c
     left join payments p on p.charge_id = c.id and p.credited
     left join transfers t on t.payment_id = p.id and t.kind in ('deposit', 'matched_deposit') and t.refund_id is null
     left join checks k on k.provider = c.provider and k.subject = $2 and c.status = 'PENDING'
     where c.id = $1`,
    [uuidFromHex(charge.id), charge.id],
  )
  const { closed_at: closedAt, occurred_at: paidAt, recorded_at: recordedAt, due_at: dueAt } = life!
  const { provider, valueCents, feeCents } = charge
  const moments: Moment[] = [{ kind: 'created', at: charge.createdAt, provider, valueCents, feeCents }]
  if (charge.status === 'EXPIRED') moments.push({ kind: 'expired', at: closedAt! })
  if (charge.status === 'CANCELED') moments.push({ kind: 'canceled', at: closedAt! })
  if (paidAt && recordedAt) {
    const [creditedAt, balanceAfterCents, receivedCents] = [life!.credited_at!, life!.balance_cents!, paidCents(charge)]
    moments.push(
      { kind: 'paid', at: paidAt, endToEndId: charge.endToEndId!, valueCents: receivedCents },
      { kind: 'confirmed', at: recordedAt, provider },
      { kind: 'credited', at: creditedAt, valueCents: receivedCents - feeCents, feeCents, balanceAfterCents },
    )
  }
  if (dueAt) moments.push({ kind: 'next_check', at: dueAt, attempts: life!.attempts! })
  return moments
}

function momentsOfRefund(refund: Refund): Moment[] {
  const requested: Moment = { kind: 'refund_requested', at: refund.createdAt, refund }
  if (!refund.endedAt) return [requested]
  const kind = refund.status === 'DONE' ? 'refund_done' : 'refund_failed'
  return [requested, { kind, at: refund.endedAt, refund }]
}

async function momentsOfEvents(ctx: Context, accountId: string, subjects: string[]): Promise<Moment[]> {
  const events = await read<{ id: string; kind: string; at: Date }>(
    ctx.pool,
    `select id, kind, created_at as at from events
     where kind in ('DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED') and subject_id = any($2) and account_id = $1 order by id`,
    [accountId, subjects.map(uuidFromHex)],
  )
  const attempts = await read<AttemptFacts & { at: Date }>(
    ctx.pool,
    `select t.event_id as "eventId", t.endpoint_id as "endpointId", e.name as "endpointName", t.number, t.at, t.status, t.error,
       t.latency_ms as "latencyMs"
     from attempts t join webhook_endpoints e on e.id = t.endpoint_id
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
