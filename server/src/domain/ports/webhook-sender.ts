import type { Reason } from './delivery-reasons.ts'

/** Carries a message to an address that a user typed. egress/webhookSender.ts implements it, with the guard that such addresses need. */
export type WebhookSender = {
  send(request: WebhookRequest): Promise<WebhookAnswer>
  /**
   * What is wrong with a URL on the face of it, for saving a webhook. What its name resolves to is judged at each
   * delivery.
   */
  check(url: string): { reason: Reason } | undefined
  /** Breaks off what is under way. */
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
  /**
   * `excerpt`: the beginning of the body as text that can be shown and stored. `retryAfterMs`: what the receiver asks
   * for, unbounded.
   */
  | { kind: 'answered'; status: number; latencyMs: number; retryAfterMs: number | null; excerpt: string }
  /** `reason`: without anything that the receiver sent. */
  | { kind: 'failed'; latencyMs: number; reason: Reason }
