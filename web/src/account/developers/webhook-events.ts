import { queryOptions } from '@tanstack/react-query'
import { get } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { EventKind } from '../../contract/codes.ts'
import { EVENT_SUMMARIES } from '../../contract/events.ts'
import type { Delivery, Webhook } from '../../contract/types.ts'

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) => get<{ webhooks: Webhook[] }>('/webhooks', {}, { signal }),
})

export function deliveryPath({ eventId, webhookId }: Pick<Delivery, 'eventId' | 'webhookId'>): string {
  return `/developers/deliveries/${eventId}/${webhookId}`
}

/** True if another attempt, or the first one, is to come. */
export function isQueued(delivery: Pick<Delivery, 'status'> | undefined): boolean {
  return delivery?.status === 'pending' || delivery?.status === 'retrying'
}

export function isFuture(at: string): boolean {
  return Date.parse(at) > Date.now()
}

const useSummaries = translations(EVENT_SUMMARIES)

/** In one line, when an event is sent. */
export function useEventSummary(): (event: EventKind) => string {
  const summaries: Readonly<Record<EventKind, string>> = useSummaries()
  return (event) => `${summaries[event]}.`
}
