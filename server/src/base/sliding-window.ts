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
