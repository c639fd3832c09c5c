import { BANK_SKEW, bornAt, broken, equal, hex, idMs, must, SKEW, there, timeMs, type Checks } from './rules.ts'

// What a charge received: its value, unless an operator completed it with a payment of another amount.
const RECEIVED = 'coalesce(c.received_cents, c.value_cents)'
// When the payment completed the charge: as it was recorded, or when an exception was matched with it.
const COMPLETED_AT = 'coalesce(m.resolved_at, p.recorded_at)'

const chargeRules = broken([
  there('c.id is not null', 'is not there, but a payment was credited to it'),
  there(
    `(c.status = 'COMPLETED') = (p.id is not null)`,
    'is COMPLETED without a credited payment, or has one and is not',
  ),
  equal('end_to_end_id', 'c.end_to_end_id', 'p.end_to_end_id'),
  equal('paid_at', 'c.paid_at', 'p.occurred_at'),
  must('p.id is null or p.provider = c.provider', 'was paid through another provider'),
  must(`p.id is null or p.txid = ${hex('c.id')}`, 'its payment names another txid'),
  must(`p.id is null or p.amount_cents = ${RECEIVED}`, 'its payment has another amount'),
  equal(
    'received_cents',
    'c.received_cents',
    'case when m.id is not null and p.amount_cents <> c.value_cents then p.amount_cents end',
  ),
  must(`p.id is null or p.occurred_at >= c.created_at - ${BANK_SKEW}`, 'was paid before it was made'),
  must(
    `case when c.status = 'COMPLETED' then c.closed_at = ${COMPLETED_AT} else (c.closed_at is null) = (c.status in ('OPENING', 'PENDING')) end`,
    'closed_at is not the time at which it was completed or closed',
  ),
  must(`c.status <> 'EXPIRED' or c.closed_at >= c.expires_at`, 'expired before its time'),
  must(`c.closed_at >= c.created_at - ${SKEW} or c.closed_at is null`, 'was closed before it was made'),
  must(
    `case when c.status in ('OPENING', 'FAILED') then c.emv is null when c.status = 'COMPLETED' then true else c.emv is not null end`,
    'has a code in a state that has none, or none in a state that has one',
  ),
  must(
    `c.opening_instance is null or c.status = 'OPENING' or (c.status = 'COMPLETED' and c.emv is null)`,
    'a process is opening it although it is open',
  ),
  must(`c.status = 'COMPLETED' or not c.paid_late`, 'was paid late, and is not paid'),
  equal('refunded_cents', 'c.refunded_cents', 'coalesce(r.cents, 0)'),
  must(`c.refunded_cents <= ${RECEIVED}`, 'more of it was refunded than it received'),
  must('c.fee_cents >= 0 and c.fee_cents < c.value_cents', 'its fee is not below its value'),
  must(
    'c.value_cents in (c.original_value_cents, c.original_value_cents + c.fee_cents)',
    'its value is not what was asked for',
  ),
  must('c.expires_at > c.created_at', 'expires before it was made'),
  // The id is made before the row is written, in the same process.
  must(
    `${timeMs('c.created_at')} - ${idMs('c.id')} between -1000 and 600000`,
    'its id was made at another time than created_at',
  ),
])

// A charge and the payment that completed it, column by column.
const charge = `
  select 'charge ' || ${hex('coalesce(c.id, p.charge_id)')} as subject,
    format('(%s, value %s, fee %s) %s', coalesce(c.status, 'gone'), c.value_cents, c.fee_cents, ${chargeRules.text}) as text
  from charges c
  full join (select * from payments where credited) p on p.charge_id = c.id
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  left join (
    select r.charge_id, sum(r.amount_cents) as cents
    from refunds r left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
    where r.status = 'DONE' and u.id is null group by 1
  ) r on r.charge_id = c.id
  where ${chargeRules.where}`

const paymentRules = broken([
  bornAt('p.id', 'p.recorded_at'),
  equal('charge_id', 'p.charge_id', 'c.id'),
  must('p.amount_cents > 0', 'has no amount'),
  must(
    `coalesce(x.count, 0) = case when p.credited and x.resolution is distinct from 'match' then 0 else 1 end`,
    'completed nothing and is no exception, or was credited and is one too',
  ),
])

// A payment belongs to the charge that its txid names. What completed none is an exception.
const payment = `
  select 'payment ' || p.end_to_end_id as subject, ${paymentRules.text} as text
  from payments p
  left join charges c on c.id = case when p.txid ~ '^[0-9a-f]{32}$' then p.txid::uuid end
  left join (
    select payment_id, count(*) as count, max(resolution) as resolution from exceptions
    where kind not in ('foreign_refund', 'undone_refund') group by 1
  ) x on x.payment_id = p.id
  where ${paymentRules.where}`

// An endToEndId is one payment in all of Pix.
const oneProvider = `
  select 'payment ' || end_to_end_id as subject, format('stands in the books %s times, of %s', count(*), string_agg(provider, ', ' order by provider)) as text
  from payments group by end_to_end_id having count(*) > 1`

// Whoever pays a code pays one charge.
const oneCode = `
  select 'charge ' || min(${hex('id')}) as subject, format('shares its code with %s more, and only one of them can be paid by it', count(*) - 1) as text
  from charges where emv is not null group by hashtextextended(emv, 0) having count(*) > 1`

export const PAYMENT_CHECKS: Checks = { charge, payment, one_provider: oneProvider, one_code: oneCode }
