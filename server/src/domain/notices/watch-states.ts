import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { lockNotices, tellNotices, type NewNotice } from './tell-notices.ts'
import type { NoticeData, NoticeKind } from './notice-kinds.ts'

// Troubles that are no events: what is wrong is read from time to time, and compared with what people were told.

const WATCHER = 'states'
const EVERY_MS = 60_000
// A webhook that fails once or twice works again by itself.
const FAILING_FOR_MINUTES = 15
// Of each kind. More than anybody reads; the others are told when these are over.
const MAX_TROUBLES = 10_000

type State = { accountId: string | null; subject: string; data: NoticeData }

/** In SQL, what is wrong now. $1: now. */
const STATES = {
  webhook_failing: `
    select account_id as "accountId", id::text as subject, json_build_object('webhookId', id, 'name', name) as data
    from webhooks where deleted_at is null
      and (failing_since <= $1::timestamptz - interval '${FAILING_FOR_MINUTES} minutes')`,
  webhook_disabled: `
    select account_id as "accountId", id::text as subject, json_build_object('webhookId', id, 'name', name) as data
    from webhooks where deleted_at is null and disabled_code in ('failed_for_days', 'receiver_gone')
      and $1::timestamptz is not null`,
  exception_open: `
    select null as "accountId", x.id::text as subject,
      json_build_object('exceptionId', x.id, 'kind', x.kind, 'amountCents', p.amount_cents) as data
    from exceptions x left join payments p on p.id = x.payment_id
    where x.resolved_at is null and x.resolution is null and x.opened_at <= $1
    order by x.opened_at`,
  provider_down: `
    select distinct null as "accountId", p ->> 'name' as subject, jsonb_build_object('provider', p ->> 'name') as data
    from processes cross join jsonb_array_elements(status -> 'providers') p
    where leased_until > $1 and jsonb_typeof(status -> 'providers') = 'array' and p ->> 'breaker' <> 'closed'`,
  closing_differs: `
    select null as "accountId", provider || ' ' || day as subject,
      json_build_object('provider', provider, 'day', day, 'count', difference_count) as data
    from (
      select distinct on (provider, day) * from closings where closed_at <= $1 order by provider, day, revision desc
    ) newest where difference_count > 0`,
} satisfies Partial<Record<NoticeKind, string>>

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
    for (const kind of Object.keys(STATES) as StateKind[]) changes.push(...(await changesOf(tx, now, kind)))
    await tellNotices(tx, now, changes)
    return 'done'
  })
}

async function changesOf(tx: Tx, now: Date, kind: StateKind): Promise<NewNotice[]> {
  const states = await tx.rows<State>(`select * from (${STATES[kind]}) s limit ${MAX_TROUBLES}`, [now])
  const told = await tx.rows<State>(
    `select account_id as "accountId", subject, data from notices where kind = $1 and what = 'began' and over_at is null`,
    [kind],
  )
  const [wrong, known] = [subjectsOf(states), subjectsOf(told)]
  const isAll = states.length < MAX_TROUBLES
  return [
    ...states
      .filter(({ subject }) => !known.has(subject))
      .map((state): NewNotice => ({ ...state, kind, what: 'began', happenedAt: now })),
    ...told
      .filter(({ subject }) => isAll && !wrong.has(subject))
      .map((state): NewNotice => ({ ...state, kind, what: 'ended', happenedAt: now })),
  ]
}

function subjectsOf(states: State[]): Set<string> {
  return new Set(states.map(({ subject }) => subject))
}
