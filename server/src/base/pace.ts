/** Opens some time after it was closed, by the monotonic clock. */
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

/** Returns the milliseconds since the call. */
export function startStopwatch(): () => number {
  const beganMs = performance.now()
  return () => performance.now() - beganMs
}
