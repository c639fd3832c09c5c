import { hexId, isoTime } from '../../db/sql-values.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { NEWEST_BACKUP } from '../core/backups.ts'
import type { Core } from '../core/core.ts'
import type { Settings } from '../core/settings.ts'
import { lockNotices, tellNotices, type NewNotice } from './tell-notices.ts'
import type { NoticeKind } from './notice-kinds.ts'
import type { NoticeData } from './notice-words.ts'

// Troubles that are no events: what is wrong is read from time to time, and compared with what people were told.

const WATCHER = 'states'
const EVERY_MS = 60_000
// A webhook that fails once or twice works again by itself.
const FAILING_FOR_MINUTES = 15
// Days before the end of a certificate, at each of which it is told again. Banks take days to sign a new one.
const CERTIFICATE_DAYS = [30, 14, 7, 1]
// Of each kind. More than anybody reads; the others are told when these are over.
const MAX_TROUBLES = 10_000

type State = { accountId: string | null; subject: string; data: NoticeData }

// What the processes say of their providers every two seconds.
const SAID = `said as (
  select p ->> 'name' as name, p ->> 'breaker' as breaker, (p ->> 'hasAnswered')::boolean as has_answered,
    (p ->> 'certificateExpiresAt')::timestamptz as expires_at
  from processes cross join jsonb_array_elements(
    case jsonb_typeof(status -> 'providers') when 'array' then status -> 'providers' else '[]' end
  ) p
  where leased_until > $1
)`

/** In SQL, a trouble that was told stays one as long as nobody can know that it is over. */
const stillTold = (kind: NoticeKind, isUnknown: string) => `
  select n.account_id, n.subject, n.data from notices n
  where n.kind = '${kind}' and n.what = 'began' and n.over_at is null and ${isUnknown}`

const OWED = 'b.debits_cents - b.credits_cents'
const DEBTORS = `ledger_accounts l
    join ledger_balances b on b.ledger_account_id = l.id
    join accounts a on a.id = l.account_id
    where l.kind = 'owed' and b.debits_cents > b.credits_cents and a.erased_at is null and $1::timestamptz is not null`

// Once more when so much of its time is left.
const DISPUTE_NEAR_HOURS = 48

const openDisputes = (account: string, which: string) => `
  select ${account} as "accountId", id::text as subject, jsonb_build_object(
    'disputeId', ${hexId('id')}, 'amountCents', amount_cents, 'deadlineAt', ${isoTime('deadline_at')},
    'stage', case when deadline_at <= $1::timestamptz + interval '${DISPUTE_NEAR_HOURS} hours' then 'near' else 'open' end
  ) as data
  from disputes where status = 'OPEN' and ${which}`

// A bank confirms a payer at once, or is believed after a minute.
const PAYER_CONFIRMED_WITHIN = `interval '15 minutes'`

/** In SQL, what is wrong now. $1: now. `data.stage`: another one is told again. */
const STATES = {
  webhook_failing: () => `
    select account_id as "accountId", id::text as subject, json_build_object('webhookId', id, 'name', name) as data
    from webhooks where deleted_at is null
      and (failing_since <= $1::timestamptz - interval '${FAILING_FOR_MINUTES} minutes')`,
  webhook_disabled: () => `
    select account_id as "accountId", id::text as subject, json_build_object('webhookId', id, 'name', name) as data
    from webhooks where deleted_at is null and disabled_code in ('failed_for_days', 'receiver_gone')
      and $1::timestamptz is not null`,
  balance_owed: () => `
    select l.account_id as "accountId", l.account_id::text as subject, json_build_object('owedCents', ${OWED}) as data
    from ${DEBTORS}`,
  account_owes: () => `
    select null as "accountId", l.account_id::text as subject,
      json_build_object('accountId', l.account_id, 'email', a.email, 'owedCents', ${OWED}) as data
    from ${DEBTORS}`,
  exception_open: () => `
    select null as "accountId", x.id::text as subject,
      json_build_object('exceptionId', x.id, 'kind', x.kind, 'amountCents', p.amount_cents) as data
    from exceptions x left join payments p on p.id = x.payment_id
    where x.resolved_at is null and x.resolution is null
      and x.opened_at <= $1::timestamptz - case when x.kind = 'payer_unconfirmed' then ${PAYER_CONFIRMED_WITHIN} else '0' end
    order by x.opened_at`,
  dispute_open: () => openDisputes('account_id', 'account_id is not null'),
  dispute_waits: () => openDisputes('null::uuid', 'true'),
  // A process that has just begun has closed breakers, and knows nothing. A provider that no process has is over.
  provider_down: () => `
    with ${SAID}, down as (select distinct name from said where breaker <> 'closed')
    select null::uuid as "accountId", name as subject, jsonb_build_object('provider', name) as data from down
    union all ${stillTold(
      'provider_down',
      `n.subject not in (select name from down)
       and not exists (select from said where name = n.subject and has_answered)
       and (exists (select from said where name = n.subject) or not exists (select from said))`,
    )}`,
  closing_differs: () => `
    select null as "accountId", provider || ' ' || day as subject,
      json_build_object('provider', provider, 'day', day, 'count', difference_count) as data
    from (
      select distinct on (provider, day) * from closings where closed_at <= $1 order by provider, day, revision desc
    ) newest where difference_count > 0`,
  certificate_ends: () => `
    with ${SAID}, ending as (
      select name, min(expires_at) as ends_at from said group by name
      having min(expires_at) <= $1::timestamptz + interval '${Math.max(...CERTIFICATE_DAYS)} days'
    )
    select null::uuid as "accountId", name as subject, jsonb_build_object(
      'provider', name,
      'day', (ends_at at time zone 'America/Sao_Paulo')::date,
      'stage', (select min(d) from unnest(array[${CERTIFICATE_DAYS.join(', ')}]) d where ends_at <= $1::timestamptz + d * interval '1 day')
    ) as data from ending
    union all ${stillTold('certificate_ends', 'not exists (select from said)')}`,
  backup_old: ({ backups: { maxHours, isExpected } }: Settings) => `
    select null as "accountId", 'backup' as subject, jsonb_build_object('lastAt', newest, 'hours', ${maxHours}) as data
    from (select ${NEWEST_BACKUP} as newest) b
    where ${maxHours > 0} and (newest is not null or ${isExpected})
      and coalesce(newest, (select min(applied_at) from migrations)) < $1::timestamptz - interval '${maxHours} hours'`,
} satisfies Partial<Record<NoticeKind, (settings: Settings) => string>>

type StateKind = keyof typeof STATES

/** Looks at most once a minute, in whichever process does. */
export async function watchStates(core: Core): Promise<'done' | 'idle' | 'busy'> {
  return transact(core.pool, async (tx) => {
    if (!(await lockNotices(tx))) return 'busy'
    const now = core.now()
    const looked = await tx.run(
      `insert into followers as f (name, position, moved_at) values ($1, 0, $2)
       on conflict (name) do update set position = f.position + 1, moved_at = excluded.moved_at
       where f.moved_at <= $3`,
      [WATCHER, now, new Date(now.getTime() - EVERY_MS)],
    )
    if (looked === 0) return 'idle'
    const changes: NewNotice[] = []
    for (const kind of Object.keys(STATES) as StateKind[])
      changes.push(...(await changesOf(tx, now, { kind, sql: STATES[kind](core.settings) })))
    await tellNotices(tx, now, changes)
    return 'done'
  })
}

async function changesOf(tx: Tx, now: Date, { kind, sql }: { kind: StateKind; sql: string }): Promise<NewNotice[]> {
  const states = await tx.rows<State>(`select * from (${sql}) s limit ${MAX_TROUBLES}`, [now])
  const told = await tx.rows<State>(
    `select account_id as "accountId", subject, data from notices where kind = $1 and what = 'began' and over_at is null`,
    [kind],
  )
  const wrong = new Set(states.map(({ subject }) => subject))
  const known = new Map(told.map(({ subject, data }) => [subject, data]))
  const isAll = states.length < MAX_TROUBLES
  const change = (what: NewNotice['what']) => (state: State) => ({ ...state, kind, what, happenedAt: now })
  return [
    ...states.filter(({ subject }) => !known.has(subject)).map(change('began')),
    ...states
      .filter(({ subject, data }) => known.has(subject) && known.get(subject)!.stage !== data.stage)
      .map(change('worse')),
    ...told.filter(({ subject }) => isAll && !wrong.has(subject)).map(change('ended')),
  ]
}
