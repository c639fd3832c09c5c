import { bornAt, broken, equal, hex, must, SKEW, sqlTime, type Checks } from './rules.ts'

// The worker asks again within minutes; one that would be asked about much later is forgotten.
const DUE_WITHIN = `interval '1 day'`

const refundRules = (now: string) =>
  broken([
    bornAt('r.id', 'r.created_at'),
    must(
      `r.source = 'provider' or r.provider_refund_id = ${hex('r.id')}`,
      'has another id at the provider than it was given',
    ),
    equal(
      'charge_id',
      'r.charge_id',
      `case when r.source <> 'suspense' and p.credited and m.id is null then p.charge_id else r.charge_id end`,
    ),
    must(
      'r.charge_id is null or (p.credited and r.charge_id = p.charge_id)',
      'names a charge that its payment did not complete',
    ),
    equal('account_id', 'r.account_id', `case when r.source = 'balance' then c.account_id end`),
    must(`r.source <> 'balance' or p.credited`, 'an account bears it, and none was credited with its payment'),
    must(
      `r.exception_id is null or (x.payment_id = r.payment_id and x.kind not in ('foreign_refund', 'undone_refund') and r.amount_cents = p.amount_cents)`,
      'gives back an exception that is not of this payment and amount',
    ),
    must(`(r.source = 'suspense') <= (r.exception_id is not null)`, 'gives back money in suspense of no exception'),
    must(
      `r.exception_id is null or r.source <> 'suspense' or r.status = 'FAILED'
        or (x.resolution = 'refund' and (x.resolved_by_kind, x.resolved_by, x.reason) is not distinct from (r.requested_by_kind, r.requested_by, r.reason))`,
      'was not asked for by whoever resolved its exception',
    ),
    must(
      `(r.status = 'PROCESSING') = (r.ended_at is null) and (r.status = 'PROCESSING') = (r.due_at is not null)`,
      'has ended or not, and says both',
    ),
    must(
      `r.source <> 'provider' or (r.status = 'DONE' and r.ended_at = r.created_at)`,
      'was made without us, and is not done',
    ),
    must(`r.ended_at >= r.created_at - ${SKEW} or r.ended_at is null`, 'ended before it began'),
    must(`r.due_at <= ${now} + ${DUE_WITHIN} or r.due_at is null`, 'is not asked about any more: due_at is far away'),
    // Nothing that was never sent can have an end, but by an operator's word.
    must(
      `case when r.source = 'provider' then num_nonnulls(r.sent_at, r.doubted_at, r.absent_since, r.ended_by) = 0
        else r.status = 'PROCESSING' or r.sent_at is not null or r.ended_by is not null end`,
      'ended without having been sent to the provider, or was made without us and was sent',
    ),
    must(
      `(r.doubted_at is null or r.sent_at <= r.doubted_at + ${SKEW}) and (r.absent_since is null or r.sent_at <= r.absent_since + ${SKEW})
        and (r.absent_since is null or r.doubted_at is not null)`,
      'was in doubt before it was sent',
    ),
    must(
      `(r.sent_at >= r.created_at - ${SKEW} and r.sent_at <= coalesce(r.ended_at, r.sent_at) + ${SKEW}) or r.sent_at is null`,
      'was sent before it was asked for, or after it ended',
    ),
    must(
      `num_nonnulls(r.ended_by_kind, r.ended_by, r.ended_reason) in (0, 3) and (r.ended_by is null or r.status <> 'PROCESSING')`,
      'was ended by an operator in part',
    ),
    must(`r.attention is null or r.status = 'PROCESSING'`, 'has ended, and still wants attention'),
    must(`r.failure is null or r.status = 'FAILED'`, 'has a reason for failing, and did not fail'),
    must(
      `r.idempotency_key is null or r.request_hash in (
        sha256(convert_to(format('["%s",%s,%s]', c.payment_link_id, r.amount_cents, coalesce(to_json(r.reason)::text, 'null')), 'UTF8')),
        sha256(convert_to(format('["%s",null,%s]', c.payment_link_id, coalesce(to_json(r.reason)::text, 'null')), 'UTF8')))`,
      'its idempotency key was used with another request',
    ),
    must(
      `r.source <> 'provider' or r.exception_id is not null or f.id is not null`,
      'was made without us, and is no exception',
    ),
    equal(
      'fee_returned_cents',
      'r.fee_returned_cents',
      `case when r.fee_returned_cents = 0 then 0 else coalesce(s.fee, 0) end`,
    ),
  ])

// What of the fee goes back with a refund: the share of all that we gave back so far, less what went back before. The ledger knows the order.
const SHARES = `
  select h.id, least(h.amount_cents, greatest(0, div(2::numeric * c.fee_cents * (h.before + h.amount_cents) + p.amount_cents, 2 * p.amount_cents)
    - h.fees_before)) as fee
  from (
    select r.id, r.payment_id, r.charge_id, r.amount_cents, t.kind,
      sum(case when t.kind = 'refund_reserved' then r.amount_cents else -r.amount_cents end) over before as before,
      sum(case when t.kind = 'refund_reserved' then r.fee_returned_cents else -r.fee_returned_cents end) over before as fees_before
    from refunds r join transfers t on t.refund_id = r.id and t.kind in ('refund_reserved', 'refund_released')
    where r.source = 'balance'
    window before as (partition by r.payment_id order by t.id rows between unbounded preceding and 1 preceding)
  ) h0
  cross join lateral (select h0.id, h0.payment_id, h0.charge_id, h0.amount_cents, coalesce(h0.before, 0) as before, coalesce(h0.fees_before, 0) as fees_before) h
  join payments p on p.id = h.payment_id
  join charges c on c.id = h.charge_id
  where h0.kind = 'refund_reserved'`

const refund = (now: string) => {
  const { text, where } = refundRules(now)
  return `
  select 'refund ' || ${hex('r.id')} as subject, format('(%s of %s cents, %s) %s', r.source, r.amount_cents, r.status, ${text}) as text
  from refunds r
  left join payments p on p.id = r.payment_id
  left join charges c on c.id = p.charge_id
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  left join exceptions x on x.id = r.exception_id
  left join exceptions f on f.refund_id = r.id and f.kind = 'foreign_refund'
  left join (${SHARES}) s on s.id = r.id
  where ${where}`
}

// We never promise more than a payment brought, and was not taken back. A bank may give back more, and then says so itself.
const overRefunded = `
  select 'payment ' || p.end_to_end_id as subject, format('brought %s cents, and %s are promised back by us', p.amount_cents, r.cents) as text
  from payments p
  join (
    select r.payment_id, sum(r.amount_cents) as cents
    from refunds r left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
    where r.status <> 'FAILED' and r.source <> 'provider' and u.id is null group by 1
  ) r on r.payment_id = p.id
  where r.cents > p.amount_cents`

export function refundChecks(now: Date): Checks {
  return { refund: refund(sqlTime(now)), over_refunded: overRefunded }
}
