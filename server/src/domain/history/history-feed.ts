import { prepared } from '../../db/prepared.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { CURRENT_HISTORY } from './heads.ts'

/** An event with its place in its account's history. `body` is the exact text that webhooks get. */
export type Told = { position: number; body: string }
export type Reading = { accountId: string; after: number; limit: number }

/** Tells the readers of this process what gets a position. One query serves all of them. */
export type HistoryFeed = {
  /** What is in memory after a position, without a gap; empty if that is unknown. */
  recentAfter(reading: Reading): Told[]
  /**
   * Resolves when the feed knows from which leaf on it tells; to a promise that resolves at the next event of the
   * account, or when `signal` is aborted.
   */
  follow(accountId: string, signal: AbortSignal): Promise<{ news: Promise<void> }>
  /** Something got a position: readers need not wait for the next poll. */
  wake(): void
  /** Changes when another history began, or positions were lost: what a reader knows may be otherwise now. */
  generation(): number
}

// For what other processes number: a small part of the time that a reader may wait.
const POLL_MS = 25
// The database is unavailable; polling faster does not help.
const POLL_AFTER_FAILURE_MS = 1_000
// Readers come back at once after each event, so an account is followed for a second without any.
const LINGER_POLLS = 40
const MAX_BATCH = 1_000
// How many events of an account stay in memory. A reader that needs older ones reads the database.
const MAX_RECENT = 200

type Followed = { recent: Told[]; readers: Set<() => void>; pollsWithout: number }
type Leaf = { leaf: number; accountId: string; position: number; body: string | null }
type Seen = { historyId: string; leaf: number }

const NEWEST_LEAF = 'select coalesce(max(leaf), -1) as leaf from history'
const STANDS_AT = `select c."historyId", l.leaf from (${CURRENT_HISTORY}) c cross join (${NEWEST_LEAF}) l`
// Always a row, and no leaf in it if there is nothing new.
const READ_LEAVES = prepared(`
  with next as (select leaf, account_id, position, event_id from history where leaf > $1 order by leaf limit ${MAX_BATCH})
  select c."historyId", l.leaf as "newestLeaf", n.leaf, n.account_id as "accountId", n.position, e.body
  from (${CURRENT_HISTORY}) c cross join (${NEWEST_LEAF}) l
  left join (next n left join events e on e.id = n.event_id and n.account_id = any($2)) on true
  order by n.leaf`)

export function makeHistoryFeed(core: Core): HistoryFeed {
  const followed = new Map<string, Followed>()
  let seen: Promise<Seen> | undefined
  let timer: NodeJS.Timeout | undefined
  let isPolling = false
  let generation = 0

  function plan(afterMs: number) {
    if (seen && !isPolling) timer ??= setTimeout(() => void poll(), afterMs).unref()
  }

  async function poll() {
    clearTimeout(timer)
    timer = undefined
    forgetAbandoned()
    if (followed.size === 0) return void (seen = undefined)
    isPolling = true
    let pauseMs = POLL_MS
    try {
      const from = await seen!
      const rows = await query<Leaf & { historyId: string; newestLeaf: number }>(core.pool, READ_LEAVES, [
        from.leaf,
        [...followed.keys()],
      ])
      const { historyId, newestLeaf } = rows[0]!
      const isChanged = historyId !== from.historyId || newestLeaf < from.leaf
      const leaves = rows.filter(({ leaf }) => leaf !== null)
      if (isChanged) startAgain()
      else tell(leaves)
      seen = Promise.resolve({ historyId, leaf: isChanged ? newestLeaf : (leaves.at(-1)?.leaf ?? from.leaf) })
      if (leaves.length === MAX_BATCH) pauseMs = 0
    } catch (error) {
      core.log.warn({ err: error }, 'reading the newest events for streams failed')
      pauseMs = POLL_AFTER_FAILURE_MS
    }
    isPolling = false
    plan(pauseMs)
  }

  function forgetAbandoned() {
    for (const [accountId, account] of followed) {
      account.pollsWithout = account.readers.size > 0 ? 0 : account.pollsWithout + 1
      if (account.pollsWithout > LINGER_POLLS) followed.delete(accountId)
    }
  }

  function startAgain() {
    generation++
    for (const account of followed.values()) {
      account.recent = []
      wakeReaders(account)
    }
  }

  function tell(leaves: Leaf[]) {
    const woken = new Set<Followed>()
    for (const { accountId, position, body } of leaves) {
      const account = followed.get(accountId)
      if (!account || body === null) continue
      account.recent.push({ position, body })
      woken.add(account)
    }
    for (const account of woken) {
      account.recent.splice(0, account.recent.length - MAX_RECENT)
      wakeReaders(account)
    }
  }

  function addReader(account: Followed, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake)
        account.readers.delete(wake)
        resolve()
      }
      account.readers.add(wake)
      if (signal.aborted) wake()
      else signal.addEventListener('abort', wake)
    })
  }

  async function stand(): Promise<void> {
    seen ??= query<Seen>(core.pool, STANDS_AT).then(([row]) => row!)
    try {
      await seen
    } catch (error) {
      seen = undefined
      throw error
    }
    plan(POLL_MS)
  }

  return {
    generation: () => generation,
    recentAfter({ accountId, after, limit }) {
      const recent = followed.get(accountId)?.recent ?? []
      const first = recent.findIndex(({ position }) => position === after + 1)
      return first < 0 ? [] : recent.slice(first, first + limit)
    },
    async follow(accountId, signal) {
      const account = followed.get(accountId) ?? { recent: [], readers: new Set(), pollsWithout: 0 }
      followed.set(accountId, account)
      const news = addReader(account, signal)
      await stand()
      return { news }
    },
    wake() {
      if (seen && !isPolling && followed.size > 0) void poll()
    },
  }
}

function wakeReaders({ readers }: Followed): void {
  const woken = Array.from(readers)
  for (const wake of woken) wake()
}
