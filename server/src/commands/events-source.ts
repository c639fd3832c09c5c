import type { Context } from '../domain/context.ts'
import { findEvent, listEvents } from '../domain/webhooks/delivery-history.ts'
import type { DeliveryState } from '../domain/webhooks/event-search.ts'
import { resendEvent, resendMany } from '../domain/webhooks/resend.ts'
import { listWebhooksOf } from '../domain/webhooks/webhooks.ts'
import type { presentAttempt, presentEvent } from '../http/api/events.ts'
import { accountIdOf } from './account-source.ts'
import { path, type Service } from './service.ts'
import { refuseEmail, type Places } from './source.ts'
import { withContext } from './terminal.ts'

export type Event = ReturnType<typeof presentEvent> & { account?: string }
export type Attempt = ReturnType<typeof presentAttempt>
type Filter = { email?: string; state?: DeliveryState; limit: number }
/** One event, all that failed, or all since a time. */
export type Which = { id: string } | { failed: true } | { since: Date }

export type Events = {
  list(filter: Filter): Promise<{ events: Event[]; nextCursor: string | null }>
  find(id: string): Promise<{ event: Event; attempts: Attempt[] }>
  /** By webhook id. */
  webhookNames(event: Event): Promise<Map<string, string>>
  /** Resolves to how many deliveries were queued. */
  resend(which: Which, email: string | undefined, webhookId: string | undefined): Promise<number>
}

export const EVENTS: Places<Context, Events> = { open: withContext, inDatabase, atService }

async function inDatabase(ctx: Context): Promise<Events> {
  const { presentAttempt, presentEvent } = await import('../http/api/events.ts')
  return {
    async list({ email, ...filter }) {
      const { events, nextCursor } = await listEvents(ctx, await accountIdOf(ctx, email), filter)
      return { events: events.map((event) => ({ account: event.email, ...presentEvent(event) })), nextCursor }
    },
    async find(id) {
      const { event, attempts } = await findEvent(ctx, null, id)
      return { event: { account: event.email, ...presentEvent(event) }, attempts: attempts.map(presentAttempt) }
    },
    async webhookNames({ account }) {
      const webhooks = await listWebhooksOf(ctx, await accountIdOf(ctx, account))
      return new Map(webhooks.map(({ webhookId, name }) => [webhookId, name]))
    },
    async resend(which, email, webhookId) {
      const accountId = await accountIdOf(ctx, email)
      if ('id' in which) return resendEvent(ctx, accountId, which.id, webhookId ?? null)
      return resendMany(ctx, accountId, which, webhookId ?? null)
    },
  }
}

function atService({ ask, list }: Service): Events {
  return {
    async list({ email, ...query }) {
      refuseEmail(email)
      const { items, nextCursor } = await list<Event>('/api/events', 'events', query)
      return { events: items, nextCursor }
    },
    find: (id) => ask('GET', path`/api/events/${id}`),
    async webhookNames() {
      const { webhooks } = await ask<{ webhooks: { id: string; name: string }[] }>('GET', '/api/webhooks')
      return new Map(webhooks.map(({ id, name }) => [id, name]))
    },
    async resend(which, email, webhookId) {
      refuseEmail(email)
      const [to, body] = 'id' in which ? [path`/api/events/${which.id}/resend`, {}] : ['/api/events/resend', which]
      return (await ask<{ queued: number }>('POST', to, { body: { ...body, webhookId } })).queued
    },
  }
}
