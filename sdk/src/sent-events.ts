import type { ListEventsQuery, Operations, ResendEventBody, ResendEventsBody } from './api.ts'
import type { Call, CallOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Event } from './types.ts'

export type SentEvents = {
  /** Newest first. */
  list(query?: ListEventsQuery, options?: CallOptions): Pages<Event>
  /** With the newest attempts to deliver it. */
  get(eventId: string, options?: CallOptions): Promise<Operations['getEvent']['answer']>
  /** Sends it again. Tells how many deliveries were queued. */
  resend(eventId: string, to?: ResendEventBody, options?: CallOptions): Promise<number>
  /** Sends again all that failed, or all since a time. Tells how many deliveries were queued. */
  resendMany(which: ResendEventsBody, options?: CallOptions): Promise<number>
}

export function makeSentEvents(call: Call): SentEvents {
  return {
    list: (query, options) =>
      pagesFrom(async (cursor) => {
        const { events, nextCursor } = await call(
          'listEvents',
          { query: { ...query, ...(cursor && { cursor }) } },
          options,
        )
        return { items: events, nextCursor }
      }),
    get: (eventId, options) => call('getEvent', { path: { eventId } }, options),
    resend: async (eventId, body = {}, options) =>
      (await call('resendEvent', { path: { eventId }, body }, options)).queued,
    resendMany: async (body, options) => (await call('resendEvents', { body }, options)).queued,
  }
}
