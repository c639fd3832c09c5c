import type { Reason } from './delivery-reasons.ts'

/** Posts to URLs that users typed. egress/webhook-sender.ts implements it, with the checks that such URLs need. */
export type WebhookSender = {
  send(request: WebhookRequest): Promise<WebhookAnswer>
  /** Why a URL is refused as written. What its name resolves to is checked at each delivery. */
  check(url: string): { reason: Reason } | undefined
  close(): Promise<void>
}

export type WebhookRequest = {
  url: string
  /** Without `host`, which follows from the URL. */
  headers: Record<string, string>
  body: string | Buffer
  deadlineMs: number
  /** Requests of different groups never wait for each other, even to one host. */
  connectionGroup: string
}

export type WebhookAnswer =
  /** `excerpt`: the beginning of the body, safe to show and store. `retryAfterMs`: as requested, unbounded. */
  | { kind: 'answered'; status: number; latencyMs: number; retryAfterMs: number | null; excerpt: string }
  /** `reason` holds nothing of the response. */
  | { kind: 'failed'; latencyMs: number; reason: Reason }
