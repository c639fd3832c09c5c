import type { GetHeadQuery, Operations } from './api.ts'
import { GuicheError } from './errors.ts'
import type { GuicheEvent } from './events.ts'
import type { Call, CallOptions } from './http.ts'
import type { HistoryPage as Answer } from './types.ts'

/** An event with its place in the history of the account: 1, 2, 3 … without a gap. */
export type HistoryEvent = GuicheEvent & { position: number }

/** The events are those of webhooks, oldest first. */
export type HistoryPage = Omit<Answer, 'success' | 'events'> & { events: HistoryEvent[] }

export type HistoryQuery = {
  /** The `next` of an earlier page. Defaults to `0`, the beginning. */
  after?: string
  /** From 1 to 100. Defaults to 50. */
  limit?: number
  /** How many seconds to wait for an event, if there is none yet. From 0, the default, to 30. */
  wait?: number
}

export type HistoryHead = Operations['getHead']['answer']

export type History = {
  /** Returns the events after a position, oldest first. Throws `history_changed` if the position is not known. */
  after(query?: HistoryQuery, options?: CallOptions): Promise<HistoryPage>
  /** Returns the last position and the signed head of the log. With `since`, also proves that it went on from there. */
  head(query?: GetHeadQuery, options?: CallOptions): Promise<HistoryHead>
  /** Returns the proof that the log holds the event, a C2SP tlog-proof. */
  receipt(eventId: string, options?: CallOptions): Promise<string>
}

/** How long an answer may take, besides the seconds that the server was asked to wait. */
const ANSWERED_WITHIN_MS = 15_000

export function makeHistory(call: Call): History {
  return {
    async after({ after = '0', wait = 0, ...query } = {}, options) {
      const timeoutMs = wait > 0 ? wait * 1000 + ANSWERED_WITHIN_MS : undefined
      const answer = await call('listEvents', { query: { ...query, after, wait } }, { timeoutMs, ...options })
      return checkPage(answer as unknown as HistoryPage, after)
    },
    head: (query = {}, options) => call('getHead', { query }, options),
    receipt: (eventId, options) => call('getReceipt', { path: { eventId } }, options),
  }
}

/** Whoever follows a history books money by it. An answer with a gap must not pass for the next page. */
function checkPage(page: HistoryPage, after: string): HistoryPage {
  const asked = Number(after.split('.').at(-1))
  const isNext = page.events.every(({ position }, place) => position === asked + 1 + place)
  if (isNext && typeof page.next === 'string') return page
  throw new GuicheError('unexpected_answer', `the answer does not go on from ${after}: is the server older than 1.0?`)
}
