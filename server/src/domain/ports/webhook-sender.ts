import type { Reason } from './delivery-reasons.ts'

/**
 * Sends a request to a URL that a user typed. egress/webhook-sender.ts implements it, with a guard against internal
 * hosts.
 */
export type WebhookSender = {
  send(request: WebhookRequest): Promise<WebhookAnswer>
  /** Checks a URL before it is saved, as it is written. What its name resolves to is checked at each delivery. */
  check(url: string): { reason: Reason } | undefined
  /** Aborts requests in flight. */
  close(): Promise<void>
}

export type WebhookRequest = {
  url: string
  /** Without `host`, which follows from the URL. */
  headers: Record<string, string>
  body: string | Buffer
  deadlineMs?: number
  /** Who shares connections: two lanes to one host never wait for each other. */
  lane?: string
}

export type WebhookAnswer =
  /** `excerpt`: the start of the body, safe to show and store. `retryAfterMs`: as the receiver asks, unbounded. */
  | { kind: 'answered'; status: number; latencyMs: number; retryAfterMs: number | null; excerpt: string }
  /** `reason` contains nothing that the receiver sent. */
  | { kind: 'failed'; latencyMs: number; reason: Reason }
