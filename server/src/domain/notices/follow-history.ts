import { transact, type Tx } from '../../db/tx.ts'
import { SENT_KINDS, type SentKind } from '../webhooks/event-kinds.ts'
import type { Core } from '../core/core.ts'
import { isTrouble, NOTICE_KIND_NAMES, noticeFacts } from './notice-kinds.ts'
import type { NoticeData } from './notice-words.ts'
import { lockNotices, tellNotices, type NewNotice } from './tell-notices.ts'

// Reads the history of all accounts in the order of the tree's leaves, and writes what people are told of it. The
// position moves in the same transaction, so each event is told once, whoever is killed when.

const FOLLOWER = 'notices'
// A short transaction: most leaves tell nobody anything, and are not read.
const MAX_LEAVES = 5_000

/** full: there may be more. busy: another process is at it. */
export type Followed = 'full' | 'done' | 'idle' | 'busy'

export async function followHistory(core: Core): Promise<Followed> {
  return transact(core.pool, async (tx) => {
    if (!(await lockNotices(tx))) return 'busy'
    const { position, end } = await tx.one<{ position: number; end: number }>(
      `select coalesce((select position from followers where name = $1), ${TREE_END}) as position, ${TREE_END} as end`,
      [FOLLOWER],
    )
    const next = Math.min(end, position + MAX_LEAVES)
    if (next > position) await tellNotices(tx, core.now(), await readNews(tx, position, next))
    await tx.run(
      `insert into followers (name, position, moved_at) values ($1, $2, $3)
       on conflict (name) do update set position = excluded.position, moved_at = excluded.moved_at
       where followers.position <> excluded.position`,
      [FOLLOWER, next, core.now()],
    )
    if (next === position) return 'idle'
    return next < end ? 'full' : 'done'
  })
}

// What was told before this service had notices stays untold.
const TREE_END = `coalesce((
  select first_leaf + length(hashes) / 32 from history_leaves order by first_leaf desc limit 1
), 0)`

type Source = { kind: SentKind; accountId: string; subject: string; createdAt: Date; data: NoticeData }

const TELLS = NOTICE_KIND_NAMES.flatMap((notice) => {
  const { begins, ends, to } = noticeFacts(notice)
  const isForOperators = to === 'operators'
  return [
    ...(begins ? [{ by: begins, notice, what: isTrouble(notice) ? 'began' : 'news', isForOperators } as const] : []),
    ...(ends ? [{ by: ends, notice, what: 'ended', isForOperators } as const] : []),
  ]
})

const WATCHED = SENT_KINDS.filter((kind) => TELLS.some(({ by }) => by === kind))

// A run begins before the first leaf at the latest.
const READ = `
  select e.kind, e.account_id as "accountId", e.subject_id::text as subject, e.created_at as "createdAt",
    e.body::json -> 'data' as data
  from history h cross join lateral (select * from events where id = h.event_id and kind = any($3) limit 1) e
  where h.leaf >= $1 and h.leaf < $2 and h.first_leaf < $2 and h.event_id is not null
    and h.first_leaf >= coalesce((select max(first_leaf) from history_runs where first_leaf <= $1), 0)
  order by h.leaf`

const READ_SIGN_INS = `
  select l.account_id as "accountId", u.id as "userId", l.id::text as subject, l.at as "happenedAt", l.details as data
  from history_lines h join audit_log l on l.id = h.line_id join users u on l.subject = 'user ' || u.id
  where h.leaf >= $1 and h.leaf < $2 and l.action = 'session.opened' and l.details ->> 'isNew' = 'true'
  order by h.leaf`

async function readNews(tx: Tx, from: number, until: number): Promise<NewNotice[]> {
  const events = await tx.rows<Source>(READ, [from, until, WATCHED])
  const signIns = await tx.rows<Omit<NewNotice, 'kind' | 'what'>>(READ_SIGN_INS, [from, until])
  return [
    ...events.flatMap(({ kind, accountId, createdAt: happenedAt, ...source }) =>
      TELLS.filter(({ by }) => by === kind).flatMap(({ notice, what, isForOperators }): NewNotice[] => {
        if (what === 'began' && noticeFacts(notice).isQuiet?.(source.data)) return []
        return [{ ...source, kind: notice, what, accountId: isForOperators ? null : accountId, happenedAt }]
      }),
    ),
    ...signIns.map((signIn): NewNotice => ({ ...signIn, kind: 'new_sign_in', what: 'news' })),
  ]
}
