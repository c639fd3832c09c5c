import type { ListEventsQuery, ResendEventBody, ResendEventsBody } from './api.ts'
import { consumeHistory, type ConsumeOptions, type HandleEvent } from './consume.ts'
import type { GuicheEvent } from './events.ts'
import type { Call, CallOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import { makeHistory, type History } from './read-history.ts'
import type { DeliveryAttempt, Event } from './types.ts'

/**
 * The event as a webhook carries it, so that one handler takes both. `deliveries` says what became of its deliveries.
 */
export type SentEvent = GuicheEvent & Pick<Event, 'deliveries'>

export type SentEvents = History & {
  /**
   * Gives each event to the handler: every one, in order, one at a time, from where it left off. A handler that throws
   * gets the same event again. Resolves when the signal aborts.
   */
  consume(handle: HandleEvent, options?: ConsumeOptions): Promise<void>
  /** Lists events, newest first unless `order` is `asc`. */
  list(query?: ListEventsQuery, options?: CallOptions): Pages<SentEvent>
  /** Returns the event with the newest attempts to deliver it. */
  get(eventId: string, options?: CallOptions): Promise<{ event: SentEvent; attempts: DeliveryAttempt[] }>
  /** Sends the event again. Returns how many deliveries were queued. */
  resend(eventId: string, to?: ResendEventBody, options?: CallOptions): Promise<number>
  /** Sends again all that failed, or all since a time. Returns how many deliveries were queued. */
  resendMany(which: ResendEventsBody, options?: CallOptions): Promise<number>
}

export function makeSentEvents(call: Call): SentEvents {
  const history = makeHistory(call)
  return {
    ...history,
    consume: (handle, options = {}) => consumeHistory(history, handle, options),
    list: (query, options) =>
      pagesFrom(async (cursor) => {
        const { events, nextCursor } = await call(
          'listEvents',
          { query: { ...query, ...(cursor && { cursor }) } },
          options,
        )
        return { items: events as SentEvent[], nextCursor }
      }),
    async get(eventId, options) {
      const { event, attempts } = await call('getEvent', { path: { eventId } }, options)
      return { event: event as SentEvent, attempts }
    },
    resend: async (eventId, body = {}, options) =>
      (await call('resendEvent', { path: { eventId }, body }, options)).queued,
    resendMany: async (body, options) => (await call('resendEvents', { body }, options)).queued,
  }
}
