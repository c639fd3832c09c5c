import { overridesColumn } from '../accounts/terms.ts'
import { broken, equal, hex, must, SKEW, sqlTime, there, type Checks } from './rules.ts'

// Of what people and guiche decided there is a line in the audit log, which says what the rows say.

const decisionRules = broken([
  there('l.id is not null', 'is decided, and the audit log has no line of it'),
  equal('who decided, by the log', `l.actor_kind || ' ' || l.actor`, `x.resolved_by_kind || ' ' || x.resolved_by`),
  equal('the reason in the log', 'l.reason', 'x.reason'),
  equal('the account in the log', 'l.account_id', 'x.account_id'),
  must(
    `coalesce(l.details ->> 'chargeId' = ${hex('p.charge_id')}, true)`,
    'the log says that it completed another charge',
  ),
  equal('the way in the log', `l.details ->> 'how'`, 'x.resolution'),
  equal('the amount in the log', `(l.details ->> 'amountCents')::bigint`, 'coalesce(f.amount_cents, p.amount_cents)'),
  equal('the time in the log', 'l.at', `case when x.resolution = 'refund' then r.created_at else x.resolved_at end`),
])

// The newest line of a decision counts; a refund that failed makes the decision open again, and both stand in the log.
const decision = `
  with lines as (select distinct on (subject) * from audit_log where action = 'exception.resolved' order by subject, id desc),
  counts as (
    select subject, count(*) filter (where action = 'exception.resolved') as resolved, count(*) filter (where action = 'exception.reopened') as reopened
    from audit_log where action in ('exception.resolved', 'exception.reopened') group by 1
  ), failed as (select exception_id, count(*) as count from refunds where status = 'FAILED' and exception_id is not null group by 1)
  select 'exception ' || ${hex('x.id')} as subject, ${decisionRules.text} as text
  from exceptions x
  join payments p on p.id = x.payment_id
  left join charges c on c.id = p.charge_id
  left join refunds f on f.id = x.refund_id
  left join refunds r on r.exception_id = x.id and r.status <> 'FAILED'
  left join lines l on l.subject = 'exception ' || ${hex('x.id')}
  where x.resolution is not null and ${decisionRules.where}
  union all
  select coalesce(c.subject, 'exception ' || ${hex('x.id')}), format('was resolved %s times and opened again %s times by the audit log, and is %s with %s failed refunds',
    coalesce(c.resolved, 0), coalesce(c.reopened, 0), case when x.id is null then 'not there' when x.resolution is null then 'open' else 'decided' end,
    coalesce(f.count, 0))
  from exceptions x
  left join failed f on f.exception_id = x.id
  full join counts c on c.subject = 'exception ' || ${hex('x.id')}
  where x.id is null or coalesce(c.reopened, 0) <> coalesce(f.count, 0)
    or coalesce(c.resolved, 0) <> coalesce(f.count, 0) + (x.resolution is not null)::int`

const openedRules = broken([
  there('l.id is not null', 'was opened by guiche, and the audit log has no line of it'),
  there('x.id is not null', 'was opened by the audit log, and is not there'),
  equal('the time in the log', 'l.at', 'x.opened_at'),
  equal('the kind in the log', `l.details ->> 'kind'`, 'x.kind'),
  equal('the refund in the log', `l.details ->> 'refundId'`, hex('x.refund_id')),
])

const opened = `
  select coalesce(l.subject, 'exception ' || ${hex('x.id')}) as subject, ${openedRules.text} as text
  from (select * from exceptions where kind in ('foreign_refund', 'undone_refund')) x
  full join (select * from audit_log where action = 'exception.opened') l on l.subject = 'exception ' || ${hex('x.id')}
  where ${openedRules.where}`

const requestRules = broken([
  there('l.id is not null', 'was asked for, and the audit log has no line of it'),
  there('r.id is not null', 'was asked for by the audit log, and is not there'),
  equal('who asked, by the log', `l.actor_kind || ' ' || l.actor`, `r.requested_by_kind || ' ' || r.requested_by`),
  equal('the reason in the log', 'l.reason', 'r.reason'),
  equal('the account in the log', 'l.account_id', 'r.account_id'),
  equal('the time in the log', 'l.at', 'r.created_at'),
  equal('the amount in the log', `(l.details ->> 'amountCents')::bigint`, 'r.amount_cents'),
  equal('the returned fee in the log', `(l.details ->> 'feeReturnedCents')::bigint`, 'r.fee_returned_cents'),
  equal('the deposit in the log', `l.details ->> 'paymentLinkId'`, 'c.payment_link_id::text'),
])

const request = `
  select coalesce(l.subject, 'refund ' || ${hex('r.id')}) as subject, ${requestRules.text} as text
  from (select * from refunds where source = 'balance') r
  left join charges c on c.id = r.charge_id
  full join (select * from audit_log where action = 'refund.requested') l on l.subject = 'refund ' || ${hex('r.id')}
  where ${requestRules.where}`

const endRules = broken([
  there('l.id is not null', 'was ended by an operator, and the audit log has no line of it'),
  there('r.id is not null', 'was ended by an operator, by the audit log, and is not'),
  equal('who ended it, by the log', `l.actor_kind || ' ' || l.actor`, `r.ended_by_kind || ' ' || r.ended_by`),
  equal('the reason in the log', 'l.reason', 'r.ended_reason'),
  equal('the account in the log', 'l.account_id', 'r.account_id'),
  equal('the time in the log', 'l.at', 'r.ended_at'),
  equal('the outcome in the log', `upper(l.details ->> 'outcome')`, 'r.status'),
  equal('the amount in the log', `(l.details ->> 'amountCents')::bigint`, 'r.amount_cents'),
])

const refundEnd = `
  select coalesce(l.subject, 'refund ' || ${hex('r.id')}) as subject, ${endRules.text} as text
  from (select * from refunds where ended_by is not null) r
  full join (select * from audit_log where action = 'refund.ended') l on l.subject = 'refund ' || ${hex('r.id')}
  where ${endRules.where}`

// ---- The terms of accounts ----

const NO_TERMS = `(select ${overridesColumn('t')} from (select null::int as fee_bps, null::bigint as fee_fixed_cents, null::bigint as fee_min_cents,
  null::bigint as fee_max_cents, null::text as fee_bearer, null::bigint as value_min_cents, null::bigint as value_max_cents) t)`

const termsRules = broken([
  there(
    `l.id is not null or t.reason = 'as found when the history began'`,
    'changed the terms, and the audit log has no line of it',
  ),
  there('t.id is not null', 'changed the terms by the audit log, and the history of terms does not have it'),
  equal(
    'who set them, by the log',
    `l.actor_kind || ' ' || l.actor`,
    `case when l.id is not null then t.set_by_kind || ' ' || t.set_by end`,
  ),
  equal('the reason in the log', 'l.reason', 'case when l.id is not null then t.reason end'),
  must(
    `l.id is null or t.valid_from between l.at and l.at + ${SKEW}`,
    'the terms are valid from another time than the log has',
  ),
  must(`l.id is null or t.before || (l.details -> 'after') = t.terms`, 'the terms are other than the log says'),
  must(`l.id is null or t.before @> (l.details -> 'before')`, 'the terms before it are other than the log says'),
  must('t.earlier is null or t.valid_from >= t.earlier', 'the history of terms runs backwards'),
])

// The history of an account's terms and the log go line by line.
const terms = `
  with t as (
    select t.*, ${overridesColumn('t')} as terms, coalesce(lag(${overridesColumn('t')}) over w, ${NO_TERMS}) as before, lag(t.valid_from) over w as earlier,
      row_number() over (partition by t.account_id, t.reason = 'as found when the history began' order by t.id) as place
    from account_terms t window w as (partition by t.account_id order by t.id)
  ), l as (
    select *, row_number() over (partition by account_id order by id) as place from audit_log where action = 'account.terms_changed'
  )
  select 'account ' || coalesce(t.account_id, l.account_id) as subject, format('change %s: %s', coalesce(t.id, l.id), ${termsRules.text}) as text
  from t full join l on l.account_id = t.account_id and l.place = t.place and t.reason <> 'as found when the history began'
  where ${termsRules.where}
  union all
  select 'account ' || a.id, format('has the terms %s, but its history ends with %s', ${overridesColumn('a')}, coalesce(n.terms, ${NO_TERMS}))
  from accounts a
  left join (select distinct on (account_id) account_id, terms from t order by account_id, id desc) n on n.account_id = a.id
  where ${overridesColumn('a')} <> coalesce(n.terms, ${NO_TERMS})`

const suspensionRules = broken([
  equal('suspended_at', 'a.suspended_at', `case when l.action = 'account.suspended' then l.at end`),
  equal('suspended_reason', 'a.suspended_reason', `case when l.action = 'account.suspended' then l.reason end`),
])

const suspension = `
  select 'account ' || a.id as subject, ${suspensionRules.text} as text
  from accounts a
  left join (
    select distinct on (account_id) * from audit_log where action in ('account.suspended', 'account.resumed') order by account_id, id desc
  ) l on l.account_id = a.id
  where ${suspensionRules.where}`

// ---- Times ----

// By table: the columns that tell what has happened, and so cannot lie ahead.
const PAST: Record<string, string[]> = {
  charges: ['created_at', 'closed_at'],
  payments: ['recorded_at'],
  transfers: ['recorded_at'],
  refunds: ['created_at', 'sent_at', 'doubted_at', 'absent_since', 'ended_at'],
  exceptions: ['opened_at', 'resolved_at'],
  events: ['created_at'],
  audit_log: ['at'],
  account_terms: ['valid_from'],
  delivery_outcomes: ['ended_at'],
  idempotency_keys: ['created_at'],
}

// When a payment was made is the bank's word, which may lie ahead of our clock: the comparison with the bank sees to it.
const future = (now: string) =>
  Object.entries(PAST)
    .map(
      ([table, columns]) => `
  select '${table}' as subject, format('%s rows are dated in the future, up to %s', count(*), max(greatest(${columns.join(', ')}))) as text
  from ${table} where ${columns.map((column) => `${column} > ${now} + ${SKEW}`).join(' or ')} having count(*) > 0`,
    )
    .join('\n  union all')

export function trailChecks(now: Date): Checks {
  return {
    decision,
    exception_opened: opened,
    refund_request: request,
    refund_end: refundEnd,
    terms,
    suspension,
    future: future(sqlTime(now)),
  }
}
