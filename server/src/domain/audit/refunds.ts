import { EXCEPTION_STATE } from '../exceptions/exception-states.ts'
import { check, CODES, hex, isMadeAt, NOW, SKEW, VERSIONS, type Checks } from './rules.ts'

// The worker asks again within minutes; a refund that is due much later is forgotten.
const DUE_WITHIN = `interval '1 day'`

// The fee that a refund returns: the share of all our refunds so far, less what earlier ones returned. The ledger has
// the order.
const SHARES = `
  select h.id, least(h.amount_cents, greatest(0, div(2::numeric * c.fee_cents * (h.before + h.amount_cents) + p.amount_cents, 2 * p.amount_cents)
    - h.fees_before)) as fee
  from (
    select r.*, t.kind,
      coalesce(sum(case when t.kind = 'refund_reserved' then r.amount_cents else -r.amount_cents end) over before, 0) as before,
      coalesce(sum(case when t.kind = 'refund_reserved' then r.fee_returned_cents else -r.fee_returned_cents end) over before, 0) as fees_before
    from refunds r join transfers t on t.refund_id = r.id and t.kind in ('refund_reserved', 'refund_released')
    where r.source = 'balance'
    window before as (partition by r.payment_id order by t.id rows between unbounded preceding and 1 preceding)
  ) h
  join payments p on p.id = h.payment_id
  join charges c on c.id = h.charge_id
  where h.kind = 'refund_reserved' and h.fee_returned_cents > 0`

const refund = check({
  subject: `'refund ' || ${hex('r.id')}`,
  prefix: `format('(%s of %s cents, %s) ', r.source, r.amount_cents, r.status)`,
  from: `refunds r
  left join payments p on p.id = r.payment_id
  left join charges c on c.id = p.charge_id
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  left join exceptions x on x.id = r.exception_id
  left join exceptions f on f.refund_id = r.id and f.kind = 'foreign_refund'
  left join exceptions u on u.id = r.undone_exception_id
  left join refunds b on b.id = u.refund_id
  left join (${SHARES}) s on s.id = r.id`,
  rules: {
    // A refund of ours that was not in a restored backup has the id that it was given, and the time of its discovery.
    'its id was made at another time than created_at': `
      ${isMadeAt('r.id', 'r.created_at')} or (r.source = 'provider' and r.provider_refund_id = ${hex('r.id')})`,
    'has another id at the provider than it was given': `r.source = 'provider' or r.provider_refund_id = ${hex('r.id')}`,
    'does not name the charge that its payment completed, or names one that it did not complete': `
      (p.credited and r.charge_id = p.charge_id) or (r.charge_id is null and (r.source = 'suspense' or not p.credited or m.id is not null))`,
    account_id: ['r.account_id', `case when r.source = 'balance' and p.credited then c.account_id end`],
    'gives back an exception that is not of this payment and amount': `
      r.exception_id is null or r.exception_id = r.undone_exception_id
        or (x.payment_id = r.payment_id and x.kind not in ('foreign_refund', 'undone_refund') and r.amount_cents = p.amount_cents)`,
    'was made again after an undone_refund that is not its own': `
      r.undone_exception_id is null or (r.source = 'provider' and u.kind = 'undone_refund' and r.created_at >= u.opened_at - ${SKEW}
        and (b.payment_id, b.provider_refund_id, b.amount_cents) = (r.payment_id, r.provider_refund_id, r.amount_cents))`,
    'was not requested by the actor who resolved its exception': `r.exception_id is null or r.source <> 'suspense' or r.status = 'FAILED'
        or (x.resolution = 'refund' and (x.resolved_by_kind, x.resolved_by, x.reason) is not distinct from (r.requested_by_kind, r.requested_by, r.reason))`,
    'is not asked about any more: due_at is far away': `r.due_at <= ${NOW} + ${DUE_WITHIN} or r.due_at is null`,
    // A refund that was never sent can only end by an operator's decision.
    'ended without having been sent to the provider, or was made without us and was sent, or ended later': `
      case when r.source = 'provider' then num_nonnulls(r.sent_at, r.doubted_at, r.absent_since, r.ended_by) = 0 and r.ended_at = r.created_at
        else r.status = 'PROCESSING' or r.sent_at is not null or r.ended_by is not null end`,
    'was sent before it was asked for, or after it ended': `
      (r.sent_at >= r.created_at - ${SKEW} and r.sent_at <= coalesce(r.ended_at, r.sent_at) + ${SKEW}) or r.sent_at is null`,
    'was made without us, and is no exception': `r.source <> 'provider' or r.exception_id is not null or f.id is not null`,
    fee_returned_cents: ['r.fee_returned_cents', 'coalesce(s.fee, 0)'],
    'was asked for here and was made for a reason of the bank': `r.source = 'provider' or r.nature is null`,
  },
})

// We never refund more than the payment, less refunds that were undone. A bank may refund more by itself; an operator
// decides who bears what it refunded without us.
const overRefunded = check({
  subject: `'payment ' || p.end_to_end_id`,
  prefix: `format('brought %s cents, of which we promised back %s, and %s went back or will: ', p.amount_cents, r.ours, r.cents)`,
  from: `payments p join (
    select r.payment_id, sum(r.amount_cents) as cents, coalesce(sum(r.amount_cents) filter (where r.source <> 'provider'), 0) as ours,
      bool_or(f.id is not null and f.resolved_at is null) as is_undecided
    from refunds r
    left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
    left join exceptions f on f.refund_id = r.id and f.kind = 'foreign_refund'
    where r.status <> 'FAILED' and u.id is null group by 1
  ) r on r.payment_id = p.id`,
  rules: {
    'we give back more than it brought': 'r.ours <= p.amount_cents',
    'decide on its exceptions of kind foreign_refund': 'r.cents <= p.amount_cents or not r.is_undecided',
  },
})

// A check ends with the answer about its refund. One that is put off for ever leaves a contradiction undecided.
const refundCheck = `
  select 'refund ' || ${hex('k.refund_id')} as subject, format('contradicts itself, and is only asked about at %s', k.due_at) as text
  from refund_checks k where k.due_at > ${NOW} + ${DUE_WITHIN}`

// ---- Exceptions ----

// When the charge was completed: when its payment was recorded, or when the payment's exception was matched.
const COMPLETED_AT = 'coalesce(m.resolved_at, d.recorded_at)'

// An exception's kind follows from its payment and the charge that it names. A wrong amount for a charge that was paid
// before is a second payment too, as is any payment for an order that another charge paid. Which came first is certain
// only beyond the skew of clocks.
const KIND = `
  case x.kind
    when 'foreign_refund' then f.source = 'provider' and f.exception_id is null
    when 'undone_refund' then f.status = 'DONE'
    when 'unknown_charge' then (p.charge_id is null and k.id is null) or x.resolution = 'match'
    when 'wrong_provider' then c.provider <> p.provider
    when 'second_payment' then c.provider = p.provider and ((d.id <> p.id and ${COMPLETED_AT} <= p.recorded_at + ${SKEW}) or exists (
      select from charges o join payments q on q.charge_id = o.id and q.credited and q.recorded_at <= p.recorded_at + ${SKEW}
      where o.account_id = c.account_id and o.external_id = c.external_id and o.id <> c.id))
    when 'refunded_payment' then k.id is not null or (c.provider = p.provider and c.value_cents = p.amount_cents)
    when 'code_limits' then k.id is not null
    when 'code_closed' then k.id is not null and (v.closed_at <= p.recorded_at + ${SKEW} or v.made_at >= p.recorded_at - ${SKEW})
    when 'payer_unconfirmed'
      then c.payer::json ->> 'policy' = 'require' and c.provider = p.provider and c.value_cents = p.amount_cents
    when 'unnamed_payment' then exists (select from charges u where u.id = x.charge_id)
    when 'wrong_amount' then c.value_cents <> p.amount_cents and coalesce(d.id = p.id or ${COMPLETED_AT} >= p.recorded_at - ${SKEW}, true)
  end`

// The columns of a decision agree with its refund and its account. The check "transfer" covers its transfers.
const exception = check({
  subject: `'exception ' || ${hex('x.id')}`,
  prefix: `format('(%s, %s by %s) ', x.kind, ${EXCEPTION_STATE}, coalesce(x.resolution, 'nothing'))`,
  from: `exceptions x
  left join payments p on p.id = x.payment_id
  left join charges c on c.id = p.charge_id
  left join (${CODES}) k on k.txid = lower(p.txid) and k.provider = p.provider and p.charge_id is null
  left join (
    select subject, min(at) as made_at, min(at) filter (where not "isOpen") as closed_at from (${VERSIONS}) v group by 1
  ) v on v.subject = 'code ' || ${hex('k.id')}
  left join payments d on d.charge_id = p.charge_id and d.credited
  left join exceptions m on m.payment_id = d.id and m.resolution = 'match'
  left join refunds f on f.id = x.refund_id
  left join refunds r on r.exception_id = x.id and r.status <> 'FAILED'
  left join exceptions o on o.payment_id = x.payment_id and o.resolution = 'credit' and o.refund_id is null`,
  rules: {
    'its kind does not follow from its payment and charge, or one of them is not there': KIND,
    'names a refund of another payment': 'x.refund_id is null or f.payment_id = x.payment_id',
    'was opened at another time than its payment was recorded, or the refund that nobody asked for': `
      x.kind in ('undone_refund', 'unnamed_payment') or x.opened_at = coalesce(f.created_at, p.recorded_at)`,
    'was matched, and its payment is not credited': `x.resolution is distinct from 'match' or p.credited or x.payment_id is null`,
    'was borne by an account that was never credited with the payment': `
      x.resolution is distinct from 'charge_account' or x.account_id = case when p.credited then c.account_id else o.account_id end`,
    'left more to be owed than the refund': `x.owed_cents is null or x.owed_cents <= f.amount_cents`,
    'the refund of it': [
      'r.status',
      `case when x.resolution = 'refund' then case when x.resolved_at is null then 'PROCESSING' else 'DONE' end end`,
    ],
    'was resolved at another time than its refund ended': `r.status is distinct from 'DONE' or x.resolved_at = r.ended_at`,
  },
})

// Such a charge is PENDING past its time, and only the provider knows whether there is money.
const unnamedPayment = `
  select 'charge ' || ${hex('x.charge_id')} as subject,
    format('%s calls it paid, and names no Pix that paid it: decide on exception %s', c.provider, ${hex('x.id')}) as text
  from exceptions x join charges c on c.id = x.charge_id
  where x.kind = 'unnamed_payment' and x.resolved_at is null`

export const REFUND_CHECKS: Checks = {
  refund,
  over_refunded: overRefunded,
  refund_check: refundCheck,
  exception,
  unnamed_payment: unnamedPayment,
}
