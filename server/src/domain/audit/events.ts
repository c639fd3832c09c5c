import { isoTime, jsonText } from '../../db/sql-values.ts'
import { MADE_BEFORE } from '../refunds/refund-states.ts'
import { DEPOSIT_PAID } from '../webhooks/deposit-event-kinds.ts'
import type { FieldsInSql } from '../webhooks/event-fields.ts'
import type { SentKind } from '../webhooks/event-kinds.ts'
import { DEPOSIT_REFUNDED } from '../webhooks/refund-event-kinds.ts'
import { bornAt, check, hex, NOW, type Checks, type Rules } from './rules.ts'

// The id in the body, which receivers get as webhook-id.
const NAME = `split_part(e.body, '"', 4)`

/** As eventName() in webhooks/events.ts. */
function nameOf(subject: string): string {
  return `'evt_' || e.kind || '_' || ${hex(subject)}`
}

function named(subject: string): Rules {
  return { 'the event’s id': [NAME, nameOf(subject)] }
}

/** The exact bytes that receivers got. Release 1.0.0-rc.1 writes no metadata, also beside this one during an update. */
function isBodyOf<Facts>(kind: SentKind, fields: FieldsInSql<Facts>): string {
  const { metadata: _, ...withoutMetadata } = fields
  return `e.body in (${bodyOf(kind, fields)}, ${bodyOf(kind, withoutMetadata)})`
}

function bodyOf<Facts>(kind: SentKind, fields: FieldsInSql<Facts>): string {
  const data = Object.entries(fields).map(([name, { sql }]) => `'"${name}":' || ${jsonText(sql)}`)
  return `'{"id":"' || ${NAME} || '","event":"${kind}","createdAt":"' || ${isoTime('e.created_at')} || '","data":{'
    || ${data.join(` || ',' || `)} || '}}'`
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
  rules: {
    'the event’s account': ['e.account_id', 'c.account_id'],
    'the event’s time': ['e.created_at', 'coalesce(m.resolved_at, p.recorded_at)'],
    ...named('c.id'),
    'the event’s body is not what the charge and its payment say': isBodyOf('DEPOSIT_ASSET_SUCCESS', DEPOSIT_PAID),
    ...bornAt('e.id', 'e.created_at'),
  },
})

// As refundSubject() in refunds/refund-events.ts.
const REFUND_SUBJECT = `
  left(encode(sha256(convert_to(
    ${hex('r.charge_id')} || ' ' || r.provider_refund_id || ' ' || (${MADE_BEFORE}), 'UTF8'
  )), 'hex'), 32)::uuid`

// Each event counts the refunds of its charge up to its own; the ledger has their order.
const refundEvent = `
  with r as (
    select r.*, ${REFUND_SUBJECT} as subject from refunds r where r.status = 'DONE' and r.charge_id is not null
  ), s as (
    select r.id, t.kind, sum(case when t.kind = 'refund_undone' then -r.amount_cents else r.amount_cents end)
      over (partition by r.charge_id order by t.id) as cents
    from r join transfers t on t.refund_id = r.id and t.kind in ('refund_paid', 'refund_seen', 'refund_undone')
  )
  ${check({
    subject: `coalesce('refund ' || ${hex('r.id')}, 'event ' || ${nameOf('e.subject_id')})`,
    from: `r
  join payments p on p.id = r.payment_id
  join charges c on c.id = r.charge_id
  left join s on s.id = r.id and s.kind <> 'refund_undone'
  full join (select * from events where kind = 'DEPOSIT_REFUNDED') e on e.subject_id = r.subject`,
    exists: {
      'is DONE, and has no event': 'e.id is not null',
      'has an event, and is not a refund of a deposit that is done': 'r.id is not null',
    },
    rules: {
      'the event’s account': ['e.account_id', 'c.account_id'],
      'the event’s time': ['e.created_at', 'r.ended_at'],
      ...named('r.subject'),
      'the event’s body is not what the charge and its refunds say': isBodyOf('DEPOSIT_REFUNDED', DEPOSIT_REFUNDED),
      ...bornAt('e.id', 'e.created_at'),
    },
  })}`

// ---- Deliveries ----

const SENT = `
  select event_id, webhook_id from deliveries union select event_id, webhook_id from delivery_outcomes`

// The longest pause between attempts is a day, and a fifth of it.
const RETRIED_WITHIN = `interval '30 hours'`

// A webhook that has not changed since got every event of its kinds. While it was being created it may have missed the
// first ones: what it got before shows that it existed.
const delivery = `
  with sent as (${SENT}), wanting as (
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
  ), wrong as (
    select e.id as event_id, format('was never sent to webhook %s, nor is it pending', w.id) as text
    from events e
    join wanting w on w.account_id = e.account_id
    join there t on t.id = w.id
    left join sent s on s.event_id = e.id and s.webhook_id = w.id
    where s.event_id is null and e.kind = any(w.event_kinds) and e.created_at >= t.since and e.created_at < w.until - interval '10 seconds'
    union all
    select s.event_id, case when e.id is null then format('is not there, but was sent to webhook %s', s.webhook_id)
      else format('was sent to webhook %s, which is not its account’s', s.webhook_id) end
    from sent s
    left join events e on e.id = s.event_id
    left join webhooks w on w.id = s.webhook_id
    where w.account_id is distinct from e.account_id or e.id is null
    union all
    select event_id, format('is only sent again to webhook %s at %s', webhook_id, due_at)
    from deliveries where due_at > ${NOW} + ${RETRIED_WITHIN}
  )
  select 'event ' || coalesce((select ${nameOf('e.subject_id')} from events e where e.id = d.event_id), ${hex('d.event_id')}) as subject, d.text
  from wrong d`

export const EVENT_CHECKS: Checks = {
  deposit_event: depositEvent,
  refund_event: refundEvent,
  delivery,
}
