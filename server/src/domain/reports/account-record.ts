import { query, transact } from '../../db/tx.ts'
import { readAccountRow } from '../accounts/accounts.ts'
import { listAccountKeys, type ListedKey } from '../accounts/api-keys.ts'
import { listMembers, type Member } from '../accounts/members.ts'
import type { Core } from '../core/core.ts'
import { cursorNumber, page } from '../core/cursor.ts'
import { NEXT_POSITIONS, readStand } from '../history/read-history.ts'
import { ABOUT_EVENT } from '../search/finders.ts'
import { listWebhooks } from '../webhooks/webhooks.ts'
import { eventName } from '../webhooks/events.ts'
import type { Counts } from './daily-totals.ts'
import { readVolume } from './overview.ts'

// What an operator sees of an account besides its terms.

export type AccountRecord = {
  volume: { today: Counts; last30: Counts }
  keys: ListedKey[]
  webhooks: WebhookState[]
  members: (Member & { lastSignInAt: Date | null })[]
}

/** Without the path of its URL, which may be a secret of the account holder. */
export type WebhookState = {
  name: string
  host: string
  state: 'working' | 'failing' | 'disabled'
  failingSince: Date | null
}

export async function readAccountRecord(core: Core, accountId: string): Promise<AccountRecord> {
  // One after another, so that a page takes one connection.
  const volume = await readVolume(core, accountId)
  const keys = await listAccountKeys(core, accountId)
  const webhooks = await listWebhooks(core, accountId)
  const members = await listMembers(core, accountId)
  const signIns = await readLastSignIns(core, members)
  return {
    volume,
    keys,
    webhooks: webhooks.map(({ name, url, failingSince, disabledAt }) => ({
      name,
      host: new URL(url).host,
      state: disabledAt ? 'disabled' : failingSince ? 'failing' : 'working',
      failingSince,
    })),
    members: members.map((member) => ({ ...member, lastSignInAt: signIns.get(member.userId) ?? null })),
  }
}

/** As the audit log has them, which keeps them for RETAIN_SIGN_INS_DAYS. */
async function readLastSignIns(core: Core, members: Member[]): Promise<Map<string, Date>> {
  const rows = await query<{ userId: string; at: Date }>(
    core.pool,
    `select u.id as "userId", l.at from users u cross join lateral (
       select l.at from audit_log l
       where l.actor = u.email and l.action = 'session.opened' and l.subject = 'user ' || u.id
       order by l.id desc limit 1
     ) l where u.id = any($1)`,
    [members.map(({ userId }) => userId)],
  )
  return new Map(rows.map(({ userId, at }) => [userId, at]))
}

export type HistoryEntry = { position: number; event: string; id: string; at: Date; title: string | null }

/** Newest first. */
export async function readAccountHistory(
  core: Core,
  accountId: string,
  { cursor, limit }: { cursor?: string; limit: number },
): Promise<{ entries: HistoryEntry[]; nextCursor: string | null }> {
  await transact(core.pool, (tx) => readAccountRow(tx, accountId, 'a.id'))
  const { last } = await readStand(core, accountId)
  const newest = Math.min(last, cursorNumber(cursor) - 1)
  const after = Math.max(0, newest - limit - 1)
  const rows = await query<Omit<HistoryEntry, 'id'> & { subjectId: string }>(core.pool, POSITIONS, [
    accountId,
    after,
    Math.max(0, newest - after),
  ])
  const { items, nextCursor } = page(rows, limit, ({ position }) => String(position))
  const entries = items.map(({ subjectId, ...entry }) => ({
    ...entry,
    id: eventName({ kind: entry.event, subjectId }),
  }))
  return { entries, nextCursor }
}

const POSITIONS = `
  select h.position, v.kind as event, v.subject_id as "subjectId", v.created_at as at, ${ABOUT_EVENT} as title
  from history h cross join lateral (select * from events where id = h.event_id limit 1) v
  where ${NEXT_POSITIONS} order by h.position desc`
