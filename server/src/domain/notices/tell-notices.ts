import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import type { Tx } from '../../db/tx.ts'
import { TOLD_ROLES, type NoticeKind, type What } from './notice-kinds.ts'
import type { NoticeData } from './notice-words.ts'

// Writes what people are told, once, and makes their e-mails due.

export type NewNotice = {
  kind: NoticeKind
  /** worse: the open trouble is told again, as the newest notice. */
  what: What | 'worse'
  /** Null: for the operators. */
  accountId: string | null
  /** For this person alone. */
  userId?: string | null
  /** One trouble has one subject, at its beginning and at its end. */
  subject: string
  data: NoticeData
  happenedAt: Date
}

// One writer at a time in all processes: so numbers become visible in their order.
const NOTICES_LOCK = 4_782_116

/** False while another process writes notices. */
export async function lockNotices(tx: Tx): Promise<boolean> {
  const { locked } = await tx.one<{ locked: boolean }>('select pg_try_advisory_xact_lock($1) as locked', [NOTICES_LOCK])
  return locked
}

const COLUMNS: Columns<NewNotice> = {
  kind: ['text', ({ kind }) => kind],
  what: ['text', ({ what }) => what],
  account_id: ['uuid', ({ accountId }) => accountId],
  user_id: ['uuid', ({ userId }) => userId],
  subject: ['text', ({ subject }) => subject],
  data: ['json', ({ data }) => JSON.stringify(data)],
  happened_at: ['timestamptz', ({ happenedAt }) => happenedAt],
}

/** In SQL, the last number ever given. No number is given again, although an erased account takes its notices along. */
export const LAST_NUMBER = `greatest((select position from followers where name = 'told'), (select max(number) from notices), 0)`

const NEXT_NUMBER = `${LAST_NUMBER} + row_number() over (order by place)`
const NOW = `$${Object.keys(COLUMNS).length + 1}::timestamptz`

const insertNumbered = (what: string) => `
  insert into notices (number, account_id, user_id, kind, subject, data, what, happened_at, told_at)
  select ${NEXT_NUMBER}, account_id, user_id, kind, subject, data::jsonb, ${what}, happened_at, ${NOW}`

const RETURNING = 'returning number, kind, account_id as "accountId", user_id as "userId"'

// A trouble that is told already is not told again.
const BEGIN = `${insertNumbered('what')} from ${unnestOf(COLUMNS)}
  on conflict (kind, subject) where what = 'began' and over_at is null do nothing ${RETURNING}`

// The end of a trouble whose beginning was never told is news.
const END = `
  with given as (
    select * from ${unnestOf(COLUMNS)}
  ), over as (
    update notices n set over_at = g.happened_at from given g
    where n.kind = g.kind and n.subject = g.subject and n.what = 'began' and n.over_at is null
    returning n.kind, n.subject
  )
  ${insertNumbered("case when over.kind is null then 'news' else 'ended' end")}
  from given left join over using (kind, subject) ${RETURNING}`

// It stays one trouble, and is unread again.
const WORSE = `
  with given as (
    select *, ${NEXT_NUMBER} as next from ${unnestOf(COLUMNS)}
  )
  update notices n set number = g.next, data = g.data::jsonb, happened_at = g.happened_at, told_at = ${NOW} from given g
  where n.kind = g.kind and n.subject = g.subject and n.what = 'began' and n.over_at is null
  returning n.number, n.kind, n.account_id as "accountId", n.user_id as "userId"`

type Written = { number: number; kind: NoticeKind; accountId: string | null; userId: string | null }

/** The caller holds the lock. */
export async function tellNotices(tx: Tx, now: Date, notices: NewNotice[]): Promise<void> {
  const written: Written[] = []
  for (const [statement, whats] of STATEMENTS) {
    const some = notices.filter(({ what }) => whats.includes(what))
    if (some.length > 0) written.push(...(await tx.rows<Written>(statement, [...valuesOf(COLUMNS, some), now])))
  }
  if (written.length === 0) return
  await tx.run(
    `insert into followers (name, position, moved_at) values ('told', (select max(number) from notices), $1)
     on conflict (name) do update set position = excluded.position, moved_at = excluded.moved_at`,
    [now],
  )
  await makeEmailsDue(tx, now, written)
}

const STATEMENTS: [sql: string, whats: NewNotice['what'][]][] = [
  [BEGIN, ['began', 'news']],
  [WORSE, ['worse']],
  [END, ['ended']],
]

// What happens within some seconds comes in one e-mail.
const GATHER_MS = 10_000
/** After an e-mail, the next one gathers all that happens within this time. */
const DIGEST_EVERY_MS = 60 * 60_000

/**
 * A person has at most one e-mail an hour, and the first at once. While none is due, what was told before was for
 * others, or was not wanted by e-mail, and stays so.
 */
async function makeEmailsDue(tx: Tx, now: Date, written: Written[]): Promise<void> {
  await tx.run(
    `insert into followers (name, position, moved_at, due_at)
     select 'mail ' || r.user_id, min(n.number) - 1, 'epoch', $5
     from unnest($1::bigint[], $2::text[], $3::uuid[], $4::uuid[]) as n (number, kind, account_id, user_id)
     cross join lateral (${RECIPIENTS}) r
     where not exists (select from notice_choices where user_id = r.user_id and kind = n.kind)
     group by r.user_id order by r.user_id
     on conflict (name) do update
     set due_at = coalesce(followers.due_at, greatest(excluded.due_at, followers.moved_at + $6 * interval '1 ms')),
       position = case when followers.due_at is null then excluded.position else followers.position end`,
    [
      written.map(({ number }) => number),
      written.map(({ kind }) => kind),
      written.map(({ accountId }) => accountId),
      written.map(({ userId }) => userId),
      new Date(now.getTime() + GATHER_MS),
      DIGEST_EVERY_MS,
    ],
  )
}

/** In SQL, the people whom the notice n tells. */
const RECIPIENTS = `
  select n.user_id where n.user_id is not null
  union all
  select o.user_id from operators o where n.user_id is null and n.account_id is null and o.disabled_at is null
  union all
  select m.user_id from members m
  where n.user_id is null and m.account_id = n.account_id and m.removed_at is null and (n.kind, m.role) in (${TOLD_ROLES})`
