import { EXPIRY_GRACE_MS } from '../deposits/charge-states.ts'
import { DAY_ZONE } from '../core/business-days.ts'
import { OVERLAP_MS } from '../reconciliation/reconcile.ts'
import { broken, hex, idMs, must, SKEW, sqlTime, there, timeMs, type Checks } from './rules.ts'

// A question is put off by five minutes at the most, and a claim ends after two.
const PATIENCE = `interval '10 minutes'`
// The longest pause between sweeps that can be set.
const SWEEP_WITHIN = `interval '1 day'`
// What is booked while a day is being closed may be in its sums or not.
const CLOSING = `interval '10 minutes'`

// Every charge that can still be paid is asked about when its time is over, and no question is put off for ever or about nothing.
const check = (now: string) => `
  select 'charge ' || ${hex('c.id')} as subject, case when k.subject is null then format('is %s, and nobody will ask what became of it', c.status)
    else format('is %s, and will be asked about at %s only', c.status, k.due_at) end as text
  from charges c
  left join checks k on k.provider = c.provider and k.subject = ${hex('c.id')} and k.kind = 'charge'
  where c.status in ('OPENING', 'PENDING')
    and (k.subject is null or k.due_at > greatest(c.expires_at + ${EXPIRY_GRACE_MS} * interval '1 millisecond', ${now}) + ${PATIENCE})
  union all
  select 'check ' || k.subject, 'asks about a charge that is not there'
  from checks k left join charges c on ${hex('c.id')} = k.subject where k.kind in ('charge', 'withdrawal') and c.id is null
  union all
  select 'check ' || k.subject, format('will be asked at %s only', k.due_at)
  from checks k where k.kind <> 'charge' and k.due_at > ${now} + ${PATIENCE}`

// An external id is claimed by the one charge of its account that can be or was paid. A charge that was paid late may find it claimed by another.
const externalId = `
  select 'charge ' || ${hex('c.id')} as subject, format('is %s with external id %s, which %s', c.status, c.external_id,
    case when i.charge_id is null then 'nobody claims' else 'is claimed by charge ' || ${hex('i.charge_id')} end) as text
  from charges c
  left join external_ids i on i.account_id = c.account_id and i.external_id = c.external_id
  where c.external_id is not null and c.status in ('OPENING', 'PENDING', 'COMPLETED')
    and (i.charge_id is null or (i.charge_id <> c.id and not c.paid_late))
  union all
  select 'external id ' || i.external_id, format('of account %s is claimed by a charge that may not have it', i.account_id)
  from external_ids i left join charges c on c.id = i.charge_id
  where (c.account_id, c.external_id) is distinct from (i.account_id, i.external_id) or c.status in ('EXPIRED', 'CANCELED', 'FAILED')`

// What a request for a charge is hashed from, see base/request-hash.ts: with the default expiry or with its own, and as older versions wrote it.
const EXTERNAL_ID = `coalesce(to_json(c.external_id)::text, 'null')`
const DESCRIPTION = `coalesce(to_json(c.description)::text, 'null')`
const SECONDS = `div((${timeMs('c.expires_at')} - ${idMs('c.id')})::numeric, 1000)`
const REQUESTS = [`'null'`, SECONDS].flatMap((seconds) => [
  `format('[["description",%s],["expiresInSeconds",%s],["externalId",%s],["valueCents",%s]]', ${DESCRIPTION}, ${seconds}, ${EXTERNAL_ID},
    c.original_value_cents)`,
  `format('[%s,%s,%s,%s]', c.original_value_cents, ${EXTERNAL_ID}, ${DESCRIPTION}, ${seconds})`,
])

const keyRules = broken([
  there('c.id is not null', 'belongs to a charge that is not there'),
  must('c.account_id = k.account_id', 'belongs to a charge of another account'),
  must('k.created_at = c.created_at', 'was used at another time than its charge was made'),
  must(
    `k.request_hash in (${REQUESTS.map((text) => `sha256(convert_to(${text}, 'UTF8'))`).join(', ')})`,
    'was used with another request than its charge',
  ),
])

const idempotencyKey = `
  select 'idempotency key ' || k.key as subject, ${keyRules.text} as text
  from idempotency_keys k left join charges c on c.id = k.charge_id where ${keyRules.where}`

// A cursor in the future passes over what arrives until then.
const sweep = (now: string) => `
  select 'provider ' || s.provider as subject, format('is swept until %s, closed next on %s and swept again at %s, which lies in the future',
    s.swept_until, s.next_closing, s.due_at) as text
  from sweeps s
  where s.swept_until > ${now} + ${SKEW} or s.began_at > ${now} + ${SKEW} or s.due_at > ${now} + ${SWEEP_WITHIN}
    or s.next_closing > (${now} at time zone '${DAY_ZONE}')::date
  union all
  select 'provider ' || s.provider, format('day %s was passed over and not closed', d.day::date)
  from sweeps s
  cross join lateral generate_series((s.began_at at time zone '${DAY_ZONE}')::date, s.next_closing - 1, interval '1 day') as d (day)
  left join closings c on c.provider = s.provider and c.day = d.day::date and c.revision = 1
  where c.provider is null`

const closingRules = (now: string) =>
  broken([
    must('x.revision = x.place', 'revisions are missing before it'),
    must(`x.ends_at = (x.day + 1)::timestamp at time zone '${DAY_ZONE}'`, 'does not end with its day'),
    must(
      `x.starts_at = x.day::timestamp at time zone '${DAY_ZONE}' or (x.starts_at > x.day::timestamp at time zone '${DAY_ZONE}'
        and x.starts_at = date_trunc('second', s.began_at) - ${OVERLAP_MS} * interval '1 millisecond')`,
      'does not start with its day',
    ),
    must(`x.closed_at >= x.ends_at and x.closed_at <= ${now} + ${SKEW}`, 'was closed before its end, or in the future'),
    must(
      `x.ledger_count between x.count_before and x.count and x.ledger_total_cents between x.cents_before and x.cents`,
      'says another number or sum of our payments than the books have',
    ),
    must(
      `x.difference_count <> 0 or (x.provider_count, x.provider_total_cents) = (x.ledger_count, x.ledger_total_cents)`,
      'both sides differ, and no difference is counted',
    ),
    must(
      `(x.difference_count = 0) = (jsonb_array_length(x.differences) = 0) and jsonb_array_length(x.differences) <= x.difference_count`,
      'names other differences than it counts',
    ),
  ])

// What a day came to on our side is what the books say of it still. A history that was seeded later lies behind what was counted.
const closing = (now: string) => {
  const { text, where } = closingRules(now)
  return `
  with days as (
    select c.*, row_number() over (partition by c.provider, c.day order by c.revision) as place,
      coalesce(c.closed_at < (select max(at) from audit_log where action = 'history.seeded'), false) as is_seeded
    from closings c
  ), x as (
    select d.provider, d.day, d.revision, d.starts_at, d.ends_at, d.provider_count, d.provider_total_cents, d.ledger_count, d.ledger_total_cents,
      d.difference_count, d.differences, d.closed_at, d.place,
      count(p.id) filter (where p.recorded_at <= d.closed_at) as count,
      count(p.id) filter (where p.recorded_at <= d.closed_at - ${CLOSING} and not d.is_seeded) as count_before,
      coalesce(sum(p.amount_cents) filter (where p.recorded_at <= d.closed_at), 0) as cents,
      coalesce(sum(p.amount_cents) filter (where p.recorded_at <= d.closed_at - ${CLOSING} and not d.is_seeded), 0) as cents_before
    from days d
    left join payments p on p.provider = d.provider and (p.occurred_at at time zone '${DAY_ZONE}')::date = d.day
      and p.occurred_at >= d.starts_at and p.occurred_at < d.ends_at
    group by d.provider, d.day, d.revision, d.starts_at, d.ends_at, d.provider_count, d.provider_total_cents, d.ledger_count,
      d.ledger_total_cents, d.difference_count, d.differences, d.closed_at, d.place
  )
  select format('closing %s %s (%s)', x.provider, x.day, x.revision) as subject, ${text} as text
  from x left join sweeps s on s.provider = x.provider
  where ${where}`
}

export function queueChecks(now: Date): Checks {
  const at = sqlTime(now)
  return {
    check: check(at),
    external_id: externalId,
    idempotency_key: idempotencyKey,
    sweep: sweep(at),
    closing: closing(at),
  }
}
