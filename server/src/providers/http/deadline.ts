/**
 * How long an operation may still take, with all its calls and pauses. It bounds real sockets, so it runs on the
 * monotonic clock and not on the injected one.
 */
export type Deadline = {
  remainingMs(): number
  /** The account whose caller waits; undefined for background work. Accounts share the provider's rate by it. */
  readonly onBehalfOf?: string | undefined
}

export function startDeadline(ms: number, onBehalfOf?: string): Deadline {
  const endsAtMs = performance.now() + ms
  return { remainingMs: () => Math.max(0, endsAtMs - performance.now()), onBehalfOf }
}
