import { Fault } from '../../base/fault.ts'
import { prepared } from '../../db/prepared.ts'
import { query, queryOne } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { CURRENT_HISTORY } from './heads.ts'
import type { HistoryFeed, Reading, Told } from './history-feed.ts'

export type HistoryCursor = { historyId: string | undefined; position: number }

/** `3fa4…c1.17`, or `17` from a caller who knows no other history. */
export function parseHistoryCursor(text: string): HistoryCursor | undefined {
  const [, historyId, position] = /^(?:([0-9a-f]{32})\.)?(0|[1-9]\d{0,14})$/.exec(text) ?? []
  return position === undefined ? undefined : { historyId, position: Number(position) }
}

export function historyCursor(historyId: string, position: number): string {
  return `${historyId}.${position}`
}

/** In SQL, the positions of the account $1 after $2, at most $3, of `history h`. There is no gap between them. */
export const NEXT_POSITIONS = `h.account_id = $1 and h.position > $2 and h.position <= $2 + $3
  and h.first_position <= $2 + $3 and h.first_position >= coalesce(
    (select max(first_position) from history_runs where account_id = $1 and first_position <= $2 + 1), 0)`

const LAST_POSITION = `coalesce((
  select first_position + cardinality(event_ids) - 1 from history_runs where account_id = $1
  order by first_position desc limit 1
), 0)`

const READ = prepared(`
  select h.position, e.body from history h cross join lateral (select body from events where id = h.event_id limit 1) e
  where ${NEXT_POSITIONS} order by h.position`)

export function readHistory(core: Core, { accountId, after, limit }: Reading): Promise<Told[]> {
  return query<Told>(core.pool, READ, [accountId, after, limit])
}

export type Stand = { historyId: string; last: number }

/** Where an account's history ends. */
export async function readStand(core: Core, accountId: string): Promise<Stand> {
  return queryOne<Stand>(core.pool, `select "historyId", ${LAST_POSITION} as last from (${CURRENT_HISTORY}) c`, [
    accountId,
  ])
}

/** Refuses a cursor of another history, and one that is past the end: silence would hide a loss. */
export async function checkCursor(core: Core, accountId: string, cursor: HistoryCursor): Promise<string> {
  const { historyId, last } = await readStand(core, accountId)
  if ((cursor.historyId ?? historyId) === historyId && cursor.position <= last) return historyId
  throw new Fault(
    'history_changed',
    'This position is not in the history: it was never given, or the service was restored from a backup that lacks it. Read again from after=0',
    { details: { historyId, last } },
  )
}

/**
 * The events after a position, in order. Waits for the first one until `signal` is aborted, and then returns none. What
 * the feed of this process has in memory costs no query, so that a thousand readers of one account cost as much as one.
 */
export async function readOrWait(
  core: Core & { historyFeed: HistoryFeed },
  reading: Reading,
  signal: AbortSignal,
): Promise<Told[]> {
  const { historyFeed } = core
  const generation = historyFeed.generation()
  while (!signal.aborted && historyFeed.generation() === generation) {
    const recent = historyFeed.recentAfter(reading)
    if (recent.length > 0) return recent
    // What is committed before this is read below, and what comes after it is told.
    const { news } = await historyFeed.follow(reading.accountId, signal)
    const stored = await readHistory(core, reading)
    if (stored.length > 0) return stored
    await news
  }
  return []
}
