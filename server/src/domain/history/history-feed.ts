import { prepared } from '../../db/prepared.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { CURRENT_HISTORY } from './heads.ts'
import { TREE_SIZE } from './stored-tree.ts'

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
const MAX_RUNS = 100
// How many events of an account stay in memory. A reader that needs older ones reads the database.
const MAX_RECENT = 200

type Followed = { recent: Told[]; readers: Set<() => void>; pollsWithout: number }
type Event = Told & { accountId: string | null }
type Stand = { historyId: string; size: number }

const STANDS_AT = `select "historyId", ${TREE_SIZE} as size from (${CURRENT_HISTORY}) c`
// Always a row, and no event in it if there is nothing new. `next` is the leaf after those that were read.
const READ_EVENTS = prepared(`
  with stand as materialized (${STANDS_AT}), runs as materialized (
    select * from history_runs where first_leaf >= $1 order by first_leaf limit ${MAX_RUNS}
  ), ends as (
    select count(*) = ${MAX_RUNS} as "isFull", max(first_leaf + cardinality(event_ids)) as beyond from runs
  )
  select s."historyId", s.size, n."isFull", case when n."isFull" then n.beyond else s.size end as next,
    r.account_id as "accountId", r.first_position + i.place - 1 as position, e.body
  from stand s cross join ends n
  left join (
    runs r cross join unnest(r.event_ids) with ordinality as i (id, place)
    cross join lateral (select body from events where id = i.id limit 1) e
  ) on r.account_id = any($2)
  order by r.first_leaf, i.place`)

export function makeHistoryFeed(core: Core): HistoryFeed {
  const followed = new Map<string, Followed>()
  let seen: Promise<Stand> | undefined
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
      const events = await query<Event & Stand & { isFull: boolean; next: number }>(core.pool, READ_EVENTS, [
        from.size,
        [...followed.keys()],
      ])
      const { historyId, size, isFull, next } = events[0]!
      const isChanged = historyId !== from.historyId || size < from.size
      if (isChanged) startAgain()
      else tell(events)
      seen = Promise.resolve({ historyId, size: isChanged ? size : next })
      if (isFull) pauseMs = 0
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

  function tell(events: Event[]) {
    const woken = new Set<Followed>()
    for (const { accountId, position, body } of events) {
      const account = accountId === null ? undefined : followed.get(accountId)
      if (!account) continue
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
    seen ??= query<Stand>(core.pool, STANDS_AT).then(([row]) => row!)
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
