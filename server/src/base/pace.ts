/** Opens some time after it was closed, by the monotonic clock. */
export function makePace() {
  let openAtMs = -Infinity
  return {
    /** 0 when it is open. */
    waitMs: () => Math.max(0, openAtMs - performance.now()),
    closeFor: (ms: number) => void (openAtMs = performance.now() + ms),
  }
}

/** Returns the milliseconds since the call. */
export function startStopwatch(): () => number {
  const beganMs = performance.now()
  return () => performance.now() - beganMs
}
