import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { makeRecent } from '../../base/recent.ts'
import { ListTooLong, ProviderError, type ReceivedPayment, type UnreadEntry } from '../../domain/ports/provider.ts'
import { END_TO_END_ID, MalformedResponse, instant, matching } from './messages.ts'

// Received Pix as providers list them. Entries are read one by one, so that a malformed entry does not hide the others.

export type Window = { from: Date; to: Date }

export type Entries = { payments: ReceivedPayment[]; unread: UnreadEntry[] }

export type Page = Entries & {
  /** Entries of all kinds: the next page begins after them. */
  count: number
  /** Undefined where the provider does not say: then a page without anything new is the last. */
  isLast: boolean | undefined
}

/** `read` returns undefined for an entry that is not a received Pix. */
export function readEntries(
  entries: unknown[],
  read: (entry: unknown) => ReceivedPayment | undefined,
  identify: (entry: unknown) => { id: unknown; time: unknown; isMoney: boolean },
): Entries {
  const found: Entries = { payments: [], unread: [] }
  for (const entry of entries) {
    try {
      const payment = read(entry)
      if (payment) found.payments.push(payment)
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      const { id, time, isMoney } = identify(entry)
      const endToEndId = matching(id, END_TO_END_ID)
      const text = endToEndId === null ? error.message + showId(id) : error.message
      found.unread.push({ endToEndId, isMoney, occurredAt: instant.safeParse(time).data ?? null, text })
    }
  }
  return found
}

// Enough to find the entry at the provider.
const MAX_ID_LENGTH = 60

function showId(id: unknown): string {
  if (typeof id !== 'string' || id === '') return ''
  return ` (its id is ${id.replaceAll(/\p{C}/gu, '\u{fffd}').slice(0, MAX_ID_LENGTH)})`
}

// Far more Pix than can arrive while one list is read.
const MAX_SEEN = 50_000

/** All that the provider lists, each once. See Provider.listReceived for `onUnread`. */
export async function* listPages(options: {
  name: string
  maxPages: number
  readPage: (position: { page: number; skip: number }) => Promise<Page>
  reportUnread: (entry: UnreadEntry) => void
  onUnread: ((entry: UnreadEntry) => void) | undefined
}): AsyncGenerator<ReceivedPayment[]> {
  const { name, maxPages, onUnread } = options
  // Pix that arrive meanwhile push others to a later page, where they appear a second time.
  const seen = makeRecent<true>({ forMs: Infinity, max: MAX_SEEN })
  const isNew = (key: string) => {
    if (seen.get(key)) return false
    seen.set(key, true, 0)
    return true
  }
  const unread = new Map<string, UnreadEntry>()
  for (let page = 0, skip = 0; ; page++) {
    if (page >= maxPages) throw new ListTooLong(`${name}: listReceived: more than ${maxPages} pages, ask for less time`)
    const read = await options.readPage({ page, skip })
    const fresh = read.payments.filter(({ endToEndId }) => isNew(endToEndId))
    const freshUnread = read.unread.filter((entry) => isNew(keyOf(entry)))
    for (const entry of freshUnread) unread.set(keyOf(entry), entry)
    reportUnreadRefunds(options.reportUnread, fresh)
    if (fresh.length > 0) yield fresh
    skip += read.count
    if (read.isLast ?? fresh.length + freshUnread.length === 0) break
  }
  // Unread entries come last, so that no payment waits for them.
  const entries = [...unread.values()]
  entries.forEach(options.reportUnread)
  if (entries.length > 0 && !onUnread) throw unreadError(name, 'listReceived', entries)
  for (const entry of entries) onUnread?.(entry)
}

/** Unread entries may be money, so a result without them is not complete. The provider itself did not fail. */
export function unreadError(name: string, operation: string, unread: UnreadEntry[]): ProviderError {
  const text = `${unread.length} transactions cannot be read (${unread[0]!.text})`
  return new ProviderError('unknown', `${name}: ${operation}: ${text}`)
}

// Beyond this the log repeats itself.
const MAX_REPORTED = 1_000

/** Reports unread entries in the log and the metric, each once although every sweep and closing finds it again. */
export function makeReportUnread(options: { name: string; log: Log; metrics?: Metrics | undefined }) {
  const { name, log, metrics } = options
  const reported = new Set<string>()
  return (entry: UnreadEntry) => {
    const key = keyOf(entry)
    if (reported.has(key)) return
    if (reported.size === MAX_REPORTED) reported.clear()
    reported.add(key)
    const { endToEndId, text } = entry
    metrics?.unread.inc({ provider: name })
    log.error({ provider: name, endToEndId, text }, 'a transaction that may be money cannot be read: ask the provider')
  }
}

export function reportUnreadRefunds(report: (entry: UnreadEntry) => void, payments: ReceivedPayment[]): void {
  for (const { endToEndId, occurredAt, unreadRefunds = [] } of payments)
    for (const { refundId, text } of unreadRefunds)
      report({ endToEndId, isMoney: true, occurredAt, text: `its refund ${refundId ?? 'without an id'} ${text}` })
}

function keyOf({ endToEndId, text }: UnreadEntry): string {
  return `${endToEndId} ${text}`
}
