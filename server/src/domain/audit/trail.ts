import { NO_TERMS, overridesColumn } from '../accounts/terms.ts'
import type { AuditAction } from '../core/audit-log.ts'
import { check, hex, NOW, SKEW, type Checks, type Rules } from './rules.ts'

// Every decision has a line in the audit log, which agrees with the rows.

const ACTOR = `l.actor_kind || ' ' || l.actor`

// The newest line of a decision counts. A refund that failed opens the exception again; the log has both.
const decision = `
  with lines as (select distinct on (subject) * from audit_log where action = 'exception.resolved' order by subject, id desc),
  counts as (
    select subject, count(*) filter (where action = 'exception.resolved') as resolved, count(*) filter (where action = 'exception.reopened') as reopened
    from audit_log where action in ('exception.resolved', 'exception.reopened') group by 1
  ), failed as (select exception_id, count(*) as count from refunds where status = 'FAILED' and exception_id is not null group by 1)
  ${check({
    subject: `'exception ' || ${hex('x.id')}`,
    from: `(select * from exceptions where resolution is not null) x
  left join payments p on p.id = x.payment_id
  left join charges c on c.id = x.charge_id
  left join refunds f on f.id = x.refund_id
  left join refunds r on r.exception_id = x.id and r.status <> 'FAILED'
  left join lines l on l.subject = 'exception ' || ${hex('x.id')}`,
    exists: { 'is decided, and the audit log has no line of it': 'l.id is not null' },
    rules: {
      'who decided, by the log': [ACTOR, `x.resolved_by_kind || ' ' || x.resolved_by`],
      'the reason in the log': ['l.reason', 'x.reason'],
      'the account in the log': ['l.account_id', 'x.account_id'],
      'the log says that it completed another charge': `coalesce(l.details ->> 'chargeId' = ${hex('p.charge_id')}, true)`,
      'the way in the log': [`l.details ->> 'how'`, 'x.resolution'],
      'the amount in the log': [
        `(l.details ->> 'amountCents')::bigint`,
        'coalesce(f.amount_cents, p.amount_cents, c.value_cents)',
      ],
      'the time in the log': ['l.at', `case when x.resolution = 'refund' then r.created_at else x.resolved_at end`],
    },
  })}
  union all
  select coalesce(c.subject, 'exception ' || ${hex('x.id')}), format('was resolved %s times and opened again %s times by the audit log, and is %s with %s failed refunds',
    coalesce(c.resolved, 0), coalesce(c.reopened, 0), case when x.id is null then 'not there' when x.resolution is null then 'open' else 'decided' end,
    coalesce(f.count, 0))
  from exceptions x
  left join failed f on f.exception_id = x.id
  full join counts c on c.subject = 'exception ' || ${hex('x.id')}
  where x.id is null or coalesce(c.reopened, 0) <> coalesce(f.count, 0)
    or coalesce(c.resolved, 0) <> coalesce(f.count, 0) + (x.resolution is not null)::int`

/** Each of `rows` has one line of this action in the log, with the same values; and each line has its row. */
function logged(action: AuditAction, kind: 'exception' | 'refund', rows: string, rules: Rules): string {
  const subject = `'${kind} ' || ${hex('r.id')}`
  return check({
    subject: `coalesce(l.subject, ${subject})`,
    from: `(${rows}) r full join (select * from audit_log where action = '${action}') l on l.subject = ${subject}`,
    exists: {
      [`the audit log has no line ${action} of it`]: 'l.id is not null',
      [`the audit log has a line ${action} of it, and no ${kind} says so`]: 'r.id is not null',
    },
    rules,
  })
}

const exceptionOpened = logged(
  'exception.opened',
  'exception',
  `select * from exceptions where kind in ('foreign_refund', 'undone_refund')`,
  {
    'the time in the log': ['l.at', 'r.opened_at'],
    'the kind in the log': [`l.details ->> 'kind'`, 'r.kind'],
    'the refund in the log': [`l.details ->> 'refundId'`, hex('r.refund_id')],
  },
)

const refundRequest = logged(
  'refund.requested',
  'refund',
  `select r.*, c.payment_link_id from refunds r left join charges c on c.id = r.charge_id where r.source = 'balance'`,
  {
    'the actor in the log': [ACTOR, `r.requested_by_kind || ' ' || r.requested_by`],
    'the reason in the log': ['l.reason', 'r.reason'],
    'the account in the log': ['l.account_id', 'r.account_id'],
    'the time in the log': ['l.at', 'r.created_at'],
    'the amount in the log': [`(l.details ->> 'amountCents')::bigint`, 'r.amount_cents'],
    'the returned fee in the log': [`(l.details ->> 'feeReturnedCents')::bigint`, 'r.fee_returned_cents'],
    'the deposit in the log': [`l.details ->> 'paymentLinkId'`, 'r.payment_link_id::text'],
  },
)

const refundEnd = logged('refund.ended', 'refund', 'select * from refunds where ended_by is not null', {
  'the actor in the log': [ACTOR, `r.ended_by_kind || ' ' || r.ended_by`],
  'the reason in the log': ['l.reason', 'r.ended_reason'],
  'the account in the log': ['l.account_id', 'r.account_id'],
  'the time in the log': ['l.at', 'r.ended_at'],
  'the outcome in the log': [`upper(l.details ->> 'outcome')`, 'r.status'],
  'the amount in the log': [`(l.details ->> 'amountCents')::bigint`, 'r.amount_cents'],
})

const terms = `
  with t as (
    select t.*, ${overridesColumn('t')} as terms, coalesce(lag(${overridesColumn('t')}) over w, ${NO_TERMS}) as before, lag(t.valid_from) over w as earlier,
      row_number() over (partition by t.account_id order by t.id) as place
    from account_terms t window w as (partition by t.account_id order by t.id)
  ), l as (
    select *, row_number() over (partition by account_id order by id) as place from audit_log where action = 'account.terms_changed'
  )
  ${check({
    subject: `'account ' || coalesce(t.account_id, l.account_id)`,
    prefix: `format('change %s: ', coalesce(t.id, l.id))`,
    from: `t full join l on l.account_id = t.account_id and l.place = t.place`,
    exists: {
      'changed the terms, and the audit log has no line of it': 'l.id is not null',
      'changed the terms by the audit log, and the history of terms does not have it': 't.id is not null',
    },
    rules: {
      'who set them, by the log': [ACTOR, `t.set_by_kind || ' ' || t.set_by`],
      'the reason in the log': ['l.reason', 't.reason'],
      'the terms are valid from another time than the log has': `t.valid_from between l.at and l.at + ${SKEW}`,
      'the terms are other than the log says': `t.before || (l.details -> 'after') = t.terms`,
      'the terms before it are other than the log says': `t.before @> (l.details -> 'before')`,
      'the history of terms runs backwards': 't.earlier is null or t.valid_from >= t.earlier',
    },
  })}`

const suspension = check({
  subject: `'account ' || a.id`,
  from: `accounts a
  left join (
    select distinct on (account_id) * from audit_log where action in ('account.suspended', 'account.resumed')
    order by account_id, id desc
  ) l on l.account_id = a.id`,
  rules: {
    suspended_at: ['a.suspended_at', `case when l.action = 'account.suspended' then l.at end`],
    suspended_reason: ['a.suspended_reason', `case when l.action = 'account.suspended' then l.reason end`],
  },
})

const erasure = check({
  subject: `'account ' || a.id`,
  from: `accounts a left join (select account_id, max(at) as at from audit_log where action = 'account.erased' group by 1) l on l.account_id = a.id`,
  rules: {
    erased_at: ['a.erased_at', 'l.at'],
    'was erased, and still has the e-mail of a person': `a.erased_at is null or a.email = a.id || '@erased.invalid'`,
  },
})

// By table: the columns of what has happened, which cannot be in the future.
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

// The time of a payment is the bank's, which may be ahead of our clock: the comparison with the bank checks it.
const future = Object.entries(PAST)
  .map(([table, columns]) => {
    const latest = `max(greatest(${columns.join(', ')}))`
    return `
  select '${table}' as subject, format('%s rows are dated in the future, up to %s', count(*), ${latest}) as text
  from ${table} where ${columns.map((column) => `${column} > ${NOW} + ${SKEW}`).join(' or ')} having count(*) > 0`
  })
  .join('\n  union all')

export const TRAIL_CHECKS: Checks = {
  decision,
  exception_opened: exceptionOpened,
  refund_request: refundRequest,
  refund_end: refundEnd,
  terms,
  suspension,
  erasure,
  future,
}
