import type {
  CreateWebhookBody,
  Operations,
  RetryWebhookBody,
  RotateWebhookSecretBody,
  TestWebhookBody,
  UpdateWebhookBody,
} from './api.ts'
import { GuicheError } from './errors.ts'
import type { Call, CallOptions } from './http.ts'
import type { Webhook, WebhookTest } from './types.ts'

/**
 * `create` and `rotateSecret` are not repeated when their answer is lost. A repeated `create` would add a second
 * webhook. A repeated `rotateSecret` would end the secret that receivers still have.
 */
export type Webhooks = {
  /** Returns all webhooks at once: an account has few. */
  list(options?: CallOptions): Promise<Webhook[]>
  /** Store `secret`: it is shown only here. */
  create(webhook: CreateWebhookBody, options?: CallOptions): Promise<Operations['createWebhook']['answer']>
  get(webhookId: string, options?: CallOptions): Promise<Webhook>
  /** `test` is null unless the URL changed. */
  update(
    webhookId: string,
    changes: UpdateWebhookBody,
    options?: CallOptions,
  ): Promise<Operations['updateWebhook']['answer']>
  delete(webhookId: string, options?: CallOptions): Promise<void>
  /** Sends a `WEBHOOK_TEST` now, or the example of a kind, and tells what the receiver answered. */
  test(webhookId: string, sample?: TestWebhookBody, options?: CallOptions): Promise<WebhookTest>
  /** How it fares: attempts of the last day and week, and what waits. */
  stats(webhookId: string, options?: CallOptions): Promise<Operations['getWebhookStats']['answer']>
  /** Makes waiting deliveries due now, all or that of one event. Returns how many. */
  retry(webhookId: string, which?: RetryWebhookBody, options?: CallOptions): Promise<number>
  /**
   * Store `secret`: it is shown only here. The old one also signs for a day, unless `overlapSeconds` says otherwise.
   */
  rotateSecret(
    webhookId: string,
    rotation?: RotateWebhookSecretBody,
    options?: CallOptions,
  ): Promise<Operations['rotateWebhookSecret']['answer']>
}

export function makeWebhooks(call: Call): Webhooks {
  return {
    list: async (options) => (await call('listWebhooks', {}, options)).webhooks,
    create: (body, options) => call('createWebhook', { body }, options),
    get: async (webhookId, options) => (await call('getWebhook', { path: { webhookId } }, options)).webhook,
    update: (webhookId, body, options) => call('updateWebhook', { path: { webhookId }, body }, options),
    delete: (webhookId, options) => deleteWebhook(call, webhookId, options),
    test: async (webhookId, body = {}, options) =>
      (await call('testWebhook', { path: { webhookId }, body }, options)).test,
    stats: (webhookId, options) => call('getWebhookStats', { path: { webhookId } }, options),
    retry: async (webhookId, body = {}, options) =>
      (await call('retryWebhook', { path: { webhookId }, body }, options)).queued,
    rotateSecret: (webhookId, body = {}, options) =>
      call('rotateWebhookSecret', { path: { webhookId }, body }, options),
  }
}

async function deleteWebhook(call: Call, webhookId: string, options?: CallOptions): Promise<void> {
  try {
    await call('deleteWebhook', { path: { webhookId } }, options)
  } catch (error) {
    // An earlier attempt deleted it, and its answer was lost.
    if (error instanceof GuicheError && error.code === 'not_found' && error.attempts > 1) return
    throw error
  }
}
