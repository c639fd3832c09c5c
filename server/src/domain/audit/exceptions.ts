import { bornAt, broken, equal, hex, must, SKEW, there, type Checks } from './rules.ts'
import { EXCEPTION_STATE } from '../deposits/exception-states.ts'

// When the charge was completed: as its payment was recorded, or when that was matched with it.
const COMPLETED_AT = 'coalesce(m.resolved_at, d.recorded_at)'

// An exception's kind follows from its payment and the charge that it names. A second payment came after the first, wrong money for a charge
// that was paid by then is a second payment too; which came first is certain only beyond the skew of clocks.
const KIND = `
  case x.kind
    when 'foreign_refund' then f.source = 'provider' and f.exception_id is null
    when 'undone_refund' then f.status = 'DONE'
    when 'unknown_charge' then p.charge_id is null or x.resolution = 'match'
    when 'wrong_provider' then c.provider <> p.provider
    when 'second_payment' then c.provider = p.provider and d.id <> p.id and ${COMPLETED_AT} <= p.recorded_at + ${SKEW}
    when 'wrong_amount' then c.value_cents <> p.amount_cents and coalesce(d.id = p.id or ${COMPLETED_AT} >= p.recorded_at - ${SKEW}, true)
  end`

const exceptionRules = broken([
  bornAt('x.id', 'x.opened_at'),
  there('p.id is not null', 'is about a payment that is not there'),
  must(KIND, 'its kind does not follow from its payment and charge'),
  must(
    `(x.kind in ('foreign_refund', 'undone_refund')) = (x.refund_id is not null)`,
    'names a refund, or none, against its kind',
  ),
  must('x.refund_id is null or f.payment_id = x.payment_id', 'names a refund of another payment'),
  equal(
    'opened_at',
    'x.opened_at',
    `case x.kind when 'foreign_refund' then f.created_at when 'undone_refund' then x.opened_at else p.recorded_at end`,
  ),
  equal(
    'credited',
    'p.credited',
    `case when x.refund_id is null then coalesce(x.resolution = 'match', false) else p.credited end`,
  ),
  must(`num_nonnulls(x.resolution, x.resolved_by_kind, x.resolved_by, x.reason) in (0, 4)`, 'is decided in part'),
  must(`(x.resolution is null) <= (x.resolved_at is null)`, 'is resolved, and nothing says how'),
  must(`x.resolution is null or x.resolution = 'refund' or x.resolved_at is not null`, 'is decided, and not resolved'),
  must(
    `(x.account_id is not null) = coalesce(x.resolution in ('credit', 'charge_account'), false)`,
    'names an account, or none, against its resolution',
  ),
  must(
    `x.resolution is distinct from 'charge_account' or x.account_id = case when p.credited then c.account_id else o.account_id end`,
    'was borne by an account that was never credited with the payment',
  ),
  must(`x.resolved_at >= x.opened_at - ${SKEW} or x.resolved_at is null`, 'was resolved before it was opened'),
  equal(
    'the refund of it',
    'r.status',
    `case when x.resolution = 'refund' then case when x.resolved_at is null then 'PROCESSING' else 'DONE' end end`,
  ),
  must(
    `r.status is distinct from 'DONE' or x.resolved_at = r.ended_at`,
    'was resolved at another time than its refund ended',
  ),
])

// What is decided stands in its columns as its refund and its account have it. Its transfers are the check "transfer".
const exception = `
  select 'exception ' || ${hex('x.id')} as subject,
    format('(%s, %s by %s) %s', x.kind, ${EXCEPTION_STATE}, coalesce(x.resolution, 'nothing'), ${exceptionRules.text}) as text
  from exceptions x
  left join payments p on p.id = x.payment_id
  left join charges c on c.id = p.charge_id
  left join payments d on d.charge_id = p.charge_id and d.credited
  left join exceptions m on m.payment_id = d.id and m.resolution = 'match'
  left join refunds f on f.id = x.refund_id
  left join refunds r on r.exception_id = x.id and r.status <> 'FAILED'
  left join exceptions o on o.payment_id = x.payment_id and o.resolution = 'credit' and o.refund_id is null
  where ${exceptionRules.where}`

export const EXCEPTION_CHECKS: Checks = { exception }
