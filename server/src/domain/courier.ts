/** Carries a message to an address that a user typed. egress/courier.ts implements it, with the guard that such addresses need. */
export type Courier = {
  send(request: {
    url: string
    headers: Record<string, string>
    body: string | Buffer
    deadlineMs?: number
  }): Promise<CourierAnswer>
  /** What is wrong with an address, as far as it can be told without asking for it. */
  check(url: string): { reason: string } | undefined
  close(): Promise<void>
}

export type CourierAnswer =
  | { kind: 'answered'; status: number; latencyMs: number; retryAfterMs: number | null; excerpt: string }
  | { kind: 'failed'; latencyMs: number; reason: string }
