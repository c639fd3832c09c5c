/**
 * Opens some time after it was closed. It bounds real calls, so it runs on the monotonic clock and not on the injected
 * one.
 */
export type Pace = {
  /** 0 when it is open. */
  waitMs(): number
  closeFor(ms: number): void
}

export function makePace(): Pace {
  let openAtMs = -Infinity
  return {
    waitMs: () => Math.max(0, openAtMs - performance.now()),
    closeFor: (ms) => void (openAtMs = performance.now() + ms),
  }
}

/** Milliseconds since the call. */
export function startStopwatch(): () => number {
  const beganMs = performance.now()
  return () => performance.now() - beganMs
}
