import type { QueryKey } from '@tanstack/react-query'
import type { EventKind } from '../contract/codes.ts'
import type { Session } from '../contract/types.ts'
import { fileUrl, get } from './api.ts'
import { noteAnswer } from './connection.ts'
import { queryClient, refresh } from './queries.ts'
import { leaveToSignIn, sessionQuery } from './session.ts'
import { makeStore } from './store.ts'

// The dashboard follows the history of its account. One stream tells of each event, and so which queries are out of
// date. It also says when there is a new deposit, or when money was set aside for a refund or a payout, of which the
// history has no event. What neither tells is read again by timers of the pages that show it, each with its reason.

const DEPOSIT: readonly QueryKey[] = [['overview'], ['open'], ['list', '/deposits'], ['takings']]
const MONEY: readonly QueryKey[] = [...DEPOSIT, ['list', '/statement'], ['balance']]
const PAYOUT: readonly QueryKey[] = [...MONEY, ['list', '/payouts']]
const DISPUTE: readonly QueryKey[] = [...MONEY, ['list', '/disputes'], ['dispute']]
const KEYS: readonly QueryKey[] = [['overview'], ['keys']]
const CODES: readonly QueryKey[] = [['code'], ['list', '/codes']]
/** What is out of date after a change that no event tells. */
const UNTOLD: readonly QueryKey[] = PAYOUT

/** What an event makes out of date, besides the page of its deposit and the deliveries. */
const OUT_OF_DATE: Record<EventKind | 'WEBHOOK_TEST', readonly QueryKey[]> = {
  DEPOSIT_ASSET_SUCCESS: MONEY,
  DEPOSIT_EXPIRED: DEPOSIT,
  DEPOSIT_CANCELED: DEPOSIT,
  DEPOSIT_HELD: [...DEPOSIT, ...CODES],
  DEPOSIT_RELEASED: [...MONEY, ...CODES],
  DEPOSIT_PAYER_CHECKED: DEPOSIT,
  DEPOSIT_REFUNDED: MONEY,
  DEPOSIT_REVERSED: MONEY,
  REFUND_FAILED: MONEY,
  PAYOUT_PAID: PAYOUT,
  PAYOUT_REJECTED: PAYOUT,
  DISPUTE_OPENED: DISPUTE,
  DISPUTE_ENDED: DISPUTE,
  WEBHOOK_DISABLED: [['overview'], ['webhooks']],
  KEY_CREATED: KEYS,
  KEY_REVOKED: KEYS,
  WEBHOOK_TEST: [['webhooks']],
}
const OF_ALL_KINDS: readonly QueryKey[] = [['list', '/deliveries']]

/** Of one query. Many events at once, such as those of a batch of payments, cause one. */
const REFETCH_AT_MOST_EVERY_MS = 1_000
/** The server is heard every 15 seconds. */
const SILENCE_MS = 45_000
/** A browser reconnects by itself after 1 to 5 seconds, and goes on from the last position. */
const RECONNECT_WITHIN_MS = 10_000
/** In the title. A number above this says as much as any greater one. */
const MOST_PAID = 99
/** Without a stream, everything shown is read again this often. */
const SLOW_POLL_MS = 30_000
/** After a longer time, reading anew is less work than what happened meanwhile. */
const RESUME_WITHIN_MS = 60_000
/** A working day. Most sessions end sooner, and with them the stream. */
const FOLLOW_HIDDEN_MS = 12 * 3_600_000

const isFollowing = makeStore(false)

/** False while no stream tells of changes, so that a page where somebody waits can ask by itself. */
export const useIsFollowing = isFollowing.use

/** Call it when the page of an account holder is shown. Returns what ends it. */
export function followHistory(): (() => void) | undefined {
  let position = queryClient.getQueryData(sessionQuery.queryKey)?.me?.cursor
  if (typeof position !== 'string') return undefined
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let hiddenMs = Date.now()
  let shown = new AbortController()
  let mayFollow = !document.hidden

  function listen(heardWithinMs = RECONNECT_WITHIN_MS) {
    source?.close()
    expectWithin(heardWithinMs)
    source = new EventSource(fileUrl('/events/stream', { after: position }))
    source.addEventListener('alive', noteHeard)
    source.addEventListener('deposits', (event) => {
      noteHeard(event)
      gather(UNTOLD)
    })
    source.addEventListener('message', (event) => {
      noteHeard(event)
      noteEvent(event.data)
    })
    source.addEventListener('error', () => {
      if (isFollowing.get()) expectWithin(RECONNECT_WITHIN_MS)
      isFollowing.set(false)
    })
  }

  function noteHeard({ lastEventId }: MessageEvent) {
    position = lastEventId
    noteAnswer()
    isFollowing.set(true)
    expectWithin(SILENCE_MS)
  }

  function expectWithin(ms: number) {
    clearTimeout(timer)
    timer = setTimeout(() => void startAgain(), ms)
  }

  /** Reads everything once and follows from there: the old position may be unknown to a restored service. */
  async function startAgain() {
    isFollowing.set(false)
    expectWithin(SLOW_POLL_MS)
    // Not by its query: pages cannot be shown without the person, and the session may have ended.
    const session = await get<Session>('/me').catch(() => undefined)
    if (!mayFollow || !session) return
    if (!session.me) return leaveToSignIn(location.pathname + location.search)
    position = session.me.cursor
    listen(SLOW_POLL_MS)
    await refetchAll()
  }

  function noteVisibility() {
    if (document.hidden) {
      hiddenMs = Date.now()
      stop()
      void followHidden()
      return
    }
    shown.abort()
    mayFollow = true
    countPaid(0)
    if (source) refetchSoon()
    else if (Date.now() - hiddenMs > RESUME_WITHIN_MS) void startAgain()
    else listen()
  }

  // Over HTTP/1.1 a browser allows six connections per host, and tabs share them. So one hidden tab at a time follows,
  // for the count in its title. Plain http from another machine has no locks, and then no hidden tab does.
  async function followHidden() {
    shown = new AbortController()
    const end = AbortSignal.any([shown.signal, AbortSignal.timeout(FOLLOW_HIDDEN_MS)])
    const follow = async () => {
      mayFollow = true
      listen()
      await new Promise((resolve) => end.addEventListener('abort', resolve))
      if (document.hidden) stop()
    }
    // Rejected if it ends before this tab's turn has come.
    await navigator.locks?.request('guiche: the hidden tab that follows', { signal: end }, follow).catch(() => {})
  }

  function stop() {
    mayFollow = false
    clearTimeout(timer)
    source?.close()
    source = undefined
    isFollowing.set(false)
  }

  // The browser would wait for up to five seconds, and a connection may be dead without having ended.
  const listenAgain = () => void (mayFollow && listen())

  if (mayFollow) listen()
  else void followHidden()
  document.addEventListener('visibilitychange', noteVisibility)
  addEventListener('online', listenAgain)
  return () => {
    document.removeEventListener('visibilitychange', noteVisibility)
    removeEventListener('online', listenAgain)
    stop()
    shown.abort()
  }
}

function noteEvent(text: string): void {
  const { event, data } = JSON.parse(text) as { event: string; data: { paymentLinkId?: string | null } }
  if (event === 'DEPOSIT_ASSET_SUCCESS' && document.hidden) countPaid(paid + 1)
  const known: Readonly<Record<string, readonly QueryKey[] | undefined>> = OUT_OF_DATE
  const keys = known[event]
  // The service is newer than this page.
  if (!keys) return void refetchAll()
  gather([...keys, ...OF_ALL_KINDS])
  if (data.paymentLinkId) gather([['deposit', data.paymentLinkId]])
}

const gathered = new Map<string, QueryKey>()
let isRefetching = false

function gather(keys: readonly QueryKey[]): void {
  for (const key of keys) gathered.set(JSON.stringify(key), key)
  refetchSoon()
}

function refetchSoon(): void {
  if (!isRefetching) void refetchGathered()
}

/** The next round waits for the one before, because a refetch cancels one of the same query that is under way. */
async function refetchGathered(): Promise<void> {
  isRefetching = true
  // Nobody looks at a hidden page: it catches up when it is shown.
  while (gathered.size > 0 && !document.hidden) {
    // The other events of the same moment are on their way.
    await new Promise((resolve) => setTimeout(resolve))
    const keys = [...gathered.values()]
    gathered.clear()
    await Promise.all([refresh(...keys), new Promise((resolve) => setTimeout(resolve, REFETCH_AT_MOST_EVERY_MS))])
  }
  isRefetching = false
}

async function refetchAll(): Promise<void> {
  await queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
}

// ---- The title of the tab: before that of the page, how many deposits were paid while nobody saw it ----

let title = document.title
let paid = 0

export function nameTab(name: string): void {
  title = `${name} · guiche`
  countPaid(paid)
}

function countPaid(count: number): void {
  paid = count
  document.title = paid === 0 ? title : `(${paid > MOST_PAID ? `${MOST_PAID}+` : paid}) ${title}`
}
