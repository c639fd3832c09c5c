import { insertRows } from '../../db/insert-rows.ts'
import { query, queryOne, transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorNumber, page } from '../core/cursor.ts'
import { NOTICE_KIND_NAMES, noticeFacts, noticeText, type NoticeKind, type What } from './notice-kinds.ts'
import { NOTICE_LANGUAGES, type NoticeData, type NoticeLanguage } from './notice-words.ts'
import { LAST_NUMBER } from './tell-notices.ts'

/** Who reads: a person as a member of an account, or as an operator. */
export type NoticeReader = { userId: string; accountId: string | null; may: (to: string) => boolean }

/** As the bell shows it, newest first. */
export type ListedNotice = {
  number: number
  kind: NoticeKind
  what: What
  text: string
  path: string
  happenedAt: Date
  isSeen: boolean
}

type Row = Omit<ListedNotice, 'text' | 'path'> & { data: NoticeData; isOver: boolean }

// What the bell counts up to.
const MAX_UNSEEN = 99

/**
 * In SQL, the newest notices of a reader, $1 to $3. Those of the account and of the person are read by an index each:
 * an account with few notices must not read through those of all others.
 */
function newestOf({ accountId }: NoticeReader, where: string, limit: string): string {
  const ofAccount = accountId === null ? 'n.account_id is null and $1::uuid is null' : 'n.account_id = $1'
  const one = (whose: string) =>
    `(select * from notices n where ${whose} and n.kind = any($3) and ${where} order by n.number desc limit ${limit})`
  return `${one(`${ofAccount} and n.user_id is null`)} union all ${one('n.user_id = $2')}
    order by number desc limit ${limit}`
}

const SEEN = `coalesce((select position from followers where name = 'bell ' || $2::uuid), 0)`

export async function listNotices(
  core: Core,
  reader: NoticeReader,
  { cursor, limit, language }: { cursor?: string | undefined; limit: number; language: NoticeLanguage },
): Promise<{ notices: ListedNotice[]; unseen: number; nextCursor: string | null }> {
  const of = [reader.accountId, reader.userId, readableKinds(reader)]
  const rows = await query<Row>(
    core.pool,
    `select n.number, n.kind, n.what, n.over_at is not null as "isOver", n.data, n.happened_at as "happenedAt", n.number <= ${SEEN} as "isSeen"
     from (${newestOf(reader, 'n.number < $4', '$5')}) n order by n.number desc`,
    [...of, cursorNumber(cursor), limit + 1],
  )
  const { unseen, emailLanguage } = await queryOne<{ unseen: number; emailLanguage: NoticeLanguage | null }>(
    core.pool,
    `select (select count(*) from (${newestOf(reader, `n.number > ${SEEN}`, String(MAX_UNSEEN))}) n) as unseen,
       (select case when follows_dashboard then language else $4 end from notice_people where user_id = $2) as "emailLanguage"`,
    [...of, language],
  )
  // Only when it has changed: the bell asks every half minute.
  if (emailLanguage !== language) await keepLanguage(core, reader.userId, language)
  const { items, nextCursor } = page(rows, limit, ({ number }) => String(number))
  const notices = items.map(({ data, isOver, ...notice }) => ({
    ...notice,
    // A trouble that is over is not shown as open.
    what: isOver ? ('ended' as const) : notice.what,
    text: noticeText({ ...notice, data }, language),
    path: noticeFacts(notice.kind).path(data),
  }))
  return { notices, unseen, nextCursor }
}

/** All up to this number have been seen. */
export async function markSeen(core: Core, userId: string, number: number): Promise<void> {
  await query(
    core.pool,
    `insert into followers as f (name, position, moved_at)
     select 'bell ' || $1::uuid, least($2, ${LAST_NUMBER}), $3
     on conflict (name) do update set position = greatest(f.position, excluded.position), moved_at = excluded.moved_at`,
    [userId, number, core.now()],
  )
}

// ---- What a person wants by e-mail ----

/** dashboard: the one in which the person reads the dashboard. */
export const EMAIL_LANGUAGES = ['dashboard', ...NOTICE_LANGUAGES] as const
type EmailLanguage = (typeof EMAIL_LANGUAGES)[number]

export type NoticeChoice = { kind: NoticeKind; name: string; byEmail: boolean }

export async function readChoices(
  core: Core,
  reader: NoticeReader,
  language: NoticeLanguage,
): Promise<{ choices: NoticeChoice[]; emailLanguage: EmailLanguage }> {
  const { off, emailLanguage } = await queryOne<{ off: string[]; emailLanguage: NoticeLanguage | null }>(
    core.pool,
    `select array(select kind from notice_choices where user_id = $1) as off,
       (select language from notice_people where user_id = $1 and not follows_dashboard) as "emailLanguage"`,
    [reader.userId],
  )
  const choices = readableKinds(reader).map((kind) => ({
    kind,
    name: noticeFacts(kind).name[language],
    byEmail: !off.includes(kind),
  }))
  return { choices, emailLanguage: emailLanguage ?? 'dashboard' }
}

/**
 * The language in which the person reads the dashboard is that of e-mails too, unless another was chosen for them.
 * Spanish readers get Portuguese, as in the dashboard.
 */
export async function keepLanguage(core: Core, userId: string, language: string): Promise<void> {
  await query(
    core.pool,
    `insert into notice_people as p (user_id, language) values ($1, $2)
     on conflict (user_id) do update set language = excluded.language
     where p.follows_dashboard and p.language <> excluded.language`,
    [userId, language === 'en' ? 'en' : 'pt-BR'],
  )
}

/** `language` is that of the dashboard. */
export async function writeChoices(
  core: Core,
  userId: string,
  { off, language, emailLanguage }: { off: NoticeKind[]; language: NoticeLanguage; emailLanguage: EmailLanguage },
): Promise<void> {
  const follows = emailLanguage === 'dashboard'
  await transact(core.pool, async (tx) => {
    await tx.run(
      `insert into notice_people (user_id, language, follows_dashboard) values ($1, $2, $3)
       on conflict (user_id) do update set language = excluded.language, follows_dashboard = excluded.follows_dashboard`,
      [userId, follows ? language : emailLanguage, follows],
    )
    await tx.run('delete from notice_choices where user_id = $1', [userId])
    await insertRows(tx, 'notice_choices', off, { user_id: ['uuid', () => userId], kind: ['text', (kind) => kind] })
  })
}

function readableKinds({ may, accountId }: NoticeReader): NoticeKind[] {
  return NOTICE_KIND_NAMES.filter((kind) => {
    const { to } = noticeFacts(kind)
    if (to === 'person') return true
    return to === 'operators' ? accountId === null : accountId !== null && may(to)
  })
}

// ---- Retention ----

const KEPT_MS = 180 * 24 * 3_600_000
const PURGE_LIMIT = 1_000

/** Deletes what was told half a year ago, and is over. */
export async function purgeNotices(core: Core): Promise<'more' | 'idle'> {
  const before = new Date(core.now().getTime() - KEPT_MS)
  return transact(core.pool, async (tx) => {
    const deleted = await tx.run(
      `delete from notices where number in (
         select number from notices
         where told_at < $1 and (what <> 'began' or over_at is not null)
         order by number limit $2 for update skip locked
       )`,
      [before, PURGE_LIMIT],
    )
    await tx.run(
      'delete from notice_emails where id in (select id from notice_emails where created_at < $1 and due_at is null limit $2)',
      [before, PURGE_LIMIT],
    )
    return deleted === PURGE_LIMIT ? 'more' : 'idle'
  })
}
