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

/** Does at most `size` pieces of work at a time, in the order of arrival. */
export function makeSlidingWindow(size: number) {
  const waiting: (() => void)[] = []
  let free = size
  return {
    async run<Result>(work: () => Promise<Result>): Promise<Result> {
      if (free > 0) free--
      else await new Promise<void>((start) => waiting.push(start))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        // The place passes to the next one, so that no newcomer takes it.
        if (next) next()
        else free++
      }
    },
    /** Starts all who wait at once, for a stop. */
    release: () => waiting.splice(0).forEach((start) => start()),
  }
}
