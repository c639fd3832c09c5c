import { GuicheError } from './errors.ts'
import type { GuicheEvent } from './events.ts'
import { pauseMs, sleep } from './pause.ts'
import type { History, HistoryPage } from './read-history.ts'

export type HandleEvent = (event: GuicheEvent, at: { cursor: string; position: number }) => unknown

export type ConsumeOptions = {
  /** Returns the cursor that was stored last, or nothing if there is none. Called once, at the start. */
  load?: (() => Cursor | Promise<Cursor>) | undefined
  /**
   * Stores the cursor after each event. Leave it out if the handler stores it, in the transaction of its own work: then
   * each event takes effect exactly once.
   */
  save?: ((cursor: string) => unknown) | undefined
  /** Where to begin without a stored cursor: `beginning`, the default, `now`, or a cursor. */
  from?: string | undefined
  /** Ends the consumer, after the event that the handler is working on. */
  signal?: AbortSignal | undefined
  /**
   * Gets each failure, of the handler or of the connection, after which the same is tried again. What it throws ends
   * the consumer. Defaults to `console.error`.
   */
  onError?: ((error: unknown, about: { event: GuicheEvent | undefined; retryInMs: number }) => void) | undefined
  /**
   * Returns the cursor from which to read on after the service was restored from a backup that lacks the stored one:
   * `0` reads everything again, and events keep their ids. Without it, the consumer then throws `history_changed`.
   */
  onHistoryChanged?: ((error: GuicheError) => string | Promise<string>) | undefined
}
type Cursor = string | null | undefined

/** Some proxies cut an answer that takes 30 seconds. */
const WAIT_SECONDS = 25
const PAGE_SIZE = 100
/** A receiver that is back after an outage gets its events within half a minute. */
const PACE = { firstMs: 1_000, factor: 2, maxMs: 30_000 }

/** Gives each event to the handler, in order. Ends only with the signal, or with an error that no retry can mend. */
export async function consumeHistory(
  history: Pick<History, 'after' | 'head'>,
  handle: HandleEvent,
  options: ConsumeOptions,
): Promise<void> {
  const { signal, save } = options
  try {
    let after = await startOf(history, options)
    for (;;) {
      const { events, next, historyId } = await readNext(history, after, options)
      for (const { position, ...event } of events) {
        signal?.throwIfAborted()
        const cursor = `${historyId}.${position}`
        await insist(async () => handle(event, { cursor, position }), options, { event })
        await insist(async () => save?.(cursor), options, { event })
      }
      after = next
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  }
}

async function startOf(history: Pick<History, 'head'>, options: ConsumeOptions): Promise<string> {
  const { load, save, from = 'beginning', signal } = options
  const stored = await load?.()
  if (stored) return stored
  if (from !== 'now') return from === 'beginning' ? '0' : from
  const { historyId, position } = await insist(() => history.head({}, { signal }), options, { isFinal })
  const now = `${historyId}.${position}`
  // Otherwise a restart before the first event would begin at a later now, and skip what happened in between.
  await insist(async () => save?.(now), options)
  return now
}

async function readNext(history: Pick<History, 'after'>, after: string, options: ConsumeOptions): Promise<HistoryPage> {
  const { signal, onHistoryChanged } = options
  const read = (from: string) =>
    insist(() => history.after({ after: from, limit: PAGE_SIZE, wait: WAIT_SECONDS }, { signal }), options, { isFinal })
  try {
    return await read(after)
  } catch (error) {
    if (!(error instanceof GuicheError && error.code === 'history_changed' && onHistoryChanged)) throw error
    return read(await onHistoryChanged(error))
  }
}

function isFinal(error: unknown): boolean {
  return !(error instanceof GuicheError && error.isTransient)
}

/** Tries until it succeeds: an event is never skipped. */
async function insist<Result>(
  work: () => Promise<Result>,
  { signal, onError = logError }: ConsumeOptions,
  { event, isFinal: isHopeless }: { event?: GuicheEvent; isFinal?: (error: unknown) => boolean } = {},
): Promise<Result> {
  for (let turn = 0; ; turn++) {
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      if (isHopeless?.(error)) throw error
      const { retryAfterSeconds = 0 } = error instanceof GuicheError ? error : {}
      const retryInMs = Math.round(Math.max(pauseMs(PACE, turn), retryAfterSeconds * 1000))
      onError(error, { event, retryInMs })
      await sleep(retryInMs, signal)
    }
  }
}

function logError(error: unknown): void {
  // Without `onError` there is no other place for the error, and nobody would know why an event is repeated.
  // oxlint-disable-next-line no-console
  console.error('following the events of guiche:', error)
}
