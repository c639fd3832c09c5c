import { isoTime, jsonText } from '../../db/sql-values.ts'
import { IS_REVERSAL, MADE_BEFORE } from '../refunds/refund-states.ts'
import { IS_HELD_OF_CODE } from '../deposits/held-events.ts'
import { DEPOSIT_HELD, DEPOSIT_PAID, DEPOSIT_RELEASED } from '../webhooks/deposit-event-kinds.ts'
import type { FieldsInSql } from '../webhooks/event-fields.ts'
import { DISPUTE_ENDED, DISPUTE_OPENED } from '../webhooks/dispute-event-kinds.ts'
import { PAYOUT_PAID, PAYOUT_REJECTED } from '../webhooks/payout-event-kinds.ts'
import { DEPOSIT_REFUNDED, DEPOSIT_REVERSED } from '../webhooks/refund-event-kinds.ts'
import { check, hex, NOW, type Checks, type Rules } from './rules.ts'

// The id in the body, which receivers get as webhook-id.
const NAME = `split_part(e.body, '"', 4)`

/** As eventName() in webhooks/events.ts. */
function nameOf(subject: string): string {
  return `'evt_' || e.kind || '_' || ${hex(subject)}`
}

/**
 * The event was sealed when it was told, so the books cannot be altered without it. And an event that was altered
 * before it was sealed as found does not fit the books. Release 1.0.0-rc.1 writes no metadata, no code and no
 * payer, also beside this one.
 */
function told<Facts>({
  subject,
  account = 'c.account_id',
  at,
  fields,
}: {
  subject: string
  account?: string
  at: string
  fields: FieldsInSql<Facts>
}): Rules {
  const { metadata: _, code: __, payerMatch: ___, ...released } = fields
  const bodies = [fields, released].map((some) => {
    const data = Object.entries(some).map(([name, { sql }]) => `'"${name}":' || ${jsonText(sql)}`)
    return `'{"id":"' || ${NAME} || '","event":"' || e.kind || '","createdAt":"' || ${isoTime(at)} || '","data":{'
      || ${data.join(` || ',' || `)} || '}}'`
  })
  return {
    'the event’s account': ['e.account_id', account],
    'the event’s time': ['e.created_at', at],
    'the event’s id': [NAME, nameOf(subject)],
    'the event’s body is not what the books say': `e.body in (${bodies.join(', ')})`,
  }
}

const depositEvent = check({
  subject: `'charge ' || ${hex('coalesce(c.id, e.subject_id)')}`,
  from: `(select * from payments where credited) p
  join charges c on c.id = p.charge_id
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  full join (select * from events where kind = 'DEPOSIT_ASSET_SUCCESS') e on e.subject_id = c.id`,
  exists: {
    'is COMPLETED, and has no event': 'e.id is not null',
    'has an event, and no payment was credited to it': 'p.id is not null',
  },
  rules: told({ subject: 'c.id', at: 'coalesce(m.resolved_at, p.recorded_at)', fields: DEPOSIT_PAID }),
})

// As refundSubject() in refunds/refund-events.ts.
const REFUND_SUBJECT = `
  left(encode(sha256(convert_to(
    ${hex('r.charge_id')} || ' ' || r.provider_refund_id || ' ' || (${MADE_BEFORE}), 'UTF8'
  )), 'hex'), 32)::uuid`

// Each event counts the refunds of its charge up to its own; the ledger has their order.
function refundEvent<Facts>(
  kind: 'DEPOSIT_REFUNDED' | 'DEPOSIT_REVERSED',
  isOfKind: string,
  fields: FieldsInSql<Facts>,
): string {
  return `(
  with done as (
    select r.*, ${REFUND_SUBJECT} as subject from refunds r where r.status = 'DONE' and r.charge_id is not null
  ), s as (
    select r.id, t.kind, sum(case when t.kind = 'refund_undone' then -r.amount_cents else r.amount_cents end)
      over (partition by r.charge_id order by t.id) as cents
    from done r join transfers t on t.refund_id = r.id and t.kind in ('refund_paid', 'refund_seen', 'refund_undone')
  )
  ${check({
    subject: `coalesce('refund ' || ${hex('r.id')}, 'event ' || ${nameOf('e.subject_id')})`,
    from: `(select * from done r where ${isOfKind}) r
  join payments p on p.id = r.payment_id
  join charges c on c.id = r.charge_id
  left join exceptions x on x.refund_id = r.id and x.kind = 'foreign_refund'
  left join s on s.id = r.id and s.kind <> 'refund_undone'
  full join (select * from events where kind = '${kind}') e on e.subject_id = r.subject`,
    exists: {
      'is DONE, and has no event': 'e.id is not null',
      'has an event, and is not such a refund of a deposit that is done': 'r.id is not null',
    },
    rules: told({ subject: 'r.subject', at: 'r.ended_at', fields }),
  })})`
}

function payoutEvent<Facts>(status: 'PAID' | 'REJECTED', fields: FieldsInSql<Facts>): string {
  return check({
    subject: `'payout ' || ${hex('coalesce(o.id, e.subject_id)')}`,
    from: `(select * from payouts where status = '${status}') o
  full join (select * from events where kind = 'PAYOUT_${status}') e on e.subject_id = o.id`,
    exists: {
      [`is ${status}, and has no event`]: 'e.id is not null',
      [`has an event that it is ${status}, and is not`]: 'o.id is not null',
    },
    rules: told({ subject: 'o.id', account: 'o.account_id', at: 'o.ended_at', fields }),
  })
}

// As sendEvent() in disputes/dispute-states.ts.
const DISPUTE_SUBJECT = `
  left(encode(sha256(convert_to('dispute ' || r.provider || ' ' || r.provider_dispute_id, 'UTF8')), 'hex'), 32)::uuid`

function disputeEvent<Facts>(kind: 'OPENED' | 'ENDED', fields: FieldsInSql<Facts>): string {
  const [at, which] = kind === 'OPENED' ? ['d.recorded_at', 'true'] : ['d.ended_at', `r.status <> 'OPEN'`]
  return check({
    subject: `coalesce('dispute ' || ${hex('d.id')}, 'event ' || ${nameOf('e.subject_id')})`,
    from: `(select r.*, ${DISPUTE_SUBJECT} as subject from disputes r where r.account_id is not null and ${which}) d
  join payments p on p.id = d.payment_id
  join charges c on c.id = d.charge_id
  full join (select * from events where kind = 'DISPUTE_${kind}') e on e.subject_id = d.subject`,
    exists: {
      [`has no event that it ${kind}`]: 'e.id is not null',
      [`has an event that it ${kind}, and is no such dispute of an account`]: 'd.id is not null',
    },
    rules: told({ subject: 'd.subject', account: 'd.account_id', at, fields }),
  })
}

// Of money that is held of a code. For a charge it is not known whether the account could see the charge by then.
function heldEvent<Facts>(
  kind: 'DEPOSIT_HELD' | 'DEPOSIT_RELEASED',
  { at, fields }: { at: string; fields: FieldsInSql<Facts> },
): string {
  const which = kind === 'DEPOSIT_HELD' ? 'held' : 'released'
  return check({
    subject: `'payment ' || coalesce(p.end_to_end_id, ${nameOf('e.subject_id')})`,
    from: `(
    exceptions x
    join payments p on p.id = x.payment_id
    join codes k on ${IS_HELD_OF_CODE} and ${at} is not null
    cross join lateral (
      select coalesce(sum(r.amount_cents), 0)::bigint as cents
      from exceptions o join refunds r on r.id = o.refund_id
      where o.payment_id = p.id and o.kind = 'foreign_refund' and o.resolved_at = x.resolved_at
    ) f
  )
  full join (
    select * from events where kind = '${kind}' and body::json -> 'data' ->> 'code' is not null
      and body::json -> 'data' ->> 'transactionId' is null
  ) e on e.subject_id = left(encode(sha256(convert_to(p.end_to_end_id, 'UTF8')), 'hex'), 32)::uuid`,
    exists: {
      [`is ${which} of a code, and has no event`]: 'e.id is not null',
      [`has an event that it is ${which} of a code, and is not`]: 'p.id is not null',
    },
    rules: told({ subject: 'e.subject_id', account: 'k.account_id', at, fields }),
  })
}

// ---- Deliveries: their outcomes are sealed, and these rows are not ----

// The longest pause between attempts is a day, and a fifth of it.
const RETRIED_WITHIN = `interval '30 hours'`

// A webhook that has not changed since got every event of its kinds. While it was being created it may have missed the
// first ones: what it got before shows that it existed.
const delivery = `
  with sent as (
    select event_id, webhook_id, due_at from deliveries union all select event_id, webhook_id, null from delivery_outcomes
  ), wanting as (
    select w.id, w.account_id, w.event_kinds, coalesce(max(l.at) filter (where l.at < coalesce(w.disabled_at, 'infinity')), w.created_at) as since,
      coalesce(w.disabled_at, 'infinity') as until
    from webhooks w
    join accounts a on a.id = w.account_id and a.erased_at is null
    left join audit_log l on l.subject = 'webhook ' || w.id and l.action in ('webhook.changed', 'webhook.disabled', 'webhook.deleted')
    group by w.id
  ), there as (
    select w.id, least(w.since + interval '10 seconds', min(e.created_at)) as since
    from wanting w
    left join (sent s join events e on e.id = s.event_id) on s.webhook_id = w.id and e.created_at >= w.since
    group by w.id, w.since
  )
  select 'event ' || ${nameOf('e.subject_id')} as subject, format('was never sent to webhook %s, nor is it pending', w.id) as text
  from events e
  join wanting w on w.account_id = e.account_id
  join there t on t.id = w.id
  left join sent s on s.event_id = e.id and s.webhook_id = w.id
  where s.event_id is null and e.kind = any(w.event_kinds) and e.created_at >= t.since and e.created_at < w.until - interval '10 seconds'
  union all
  ${check({
    subject: `'event ' || coalesce(${nameOf('e.subject_id')}, ${hex('s.event_id')})`,
    prefix: `format('(to webhook %s%s) ', s.webhook_id, ', due at ' || s.due_at)`,
    from: 'sent s left join events e on e.id = s.event_id left join webhooks w on w.id = s.webhook_id',
    rules: {
      'is sent to another account than its own': 'w.account_id = e.account_id',
      'is not sent again soon': `s.due_at <= ${NOW} + ${RETRIED_WITHIN} or s.due_at is null`,
    },
  })}`

export const EVENT_CHECKS: Checks = {
  deposit_event: depositEvent,
  refund_event: `${refundEvent('DEPOSIT_REFUNDED', `not ${IS_REVERSAL}`, DEPOSIT_REFUNDED)}
    union all ${refundEvent('DEPOSIT_REVERSED', IS_REVERSAL, DEPOSIT_REVERSED)}`,
  payout_event: `${payoutEvent('PAID', PAYOUT_PAID)} union all ${payoutEvent('REJECTED', PAYOUT_REJECTED)}`,
  dispute_event: `${disputeEvent('OPENED', DISPUTE_OPENED)} union all ${disputeEvent('ENDED', DISPUTE_ENDED)}`,
  held_event: `${heldEvent('DEPOSIT_HELD', { at: 'x.opened_at', fields: DEPOSIT_HELD })}
  union all ${heldEvent('DEPOSIT_RELEASED', { at: 'x.resolved_at', fields: DEPOSIT_RELEASED })}`,
  delivery,
}
