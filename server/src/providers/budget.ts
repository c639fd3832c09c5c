import { makeTokenBucket } from '../base/token-bucket.ts'

/**
 * Keeps within the rate that a provider allows. A call over it waits its turn, first come first served, if it can have one before its deadline;
 * one that cannot is told at once, because a full queue of calls that will all be too late helps nobody.
 */
export type Budget = {
  take(remainingMs: number): Promise<boolean>
  /** Sends the waiting away. */
  close(): void
}

type Waiting = { answer: (granted: boolean) => void }

export function makeBudget(options: {
  /** 0: no limit. */
  callsPerSecond: number
  maxWaiting: number
  now: () => Date
  sleep: (ms: number) => Promise<void>
}): Budget {
  if (options.callsPerSecond <= 0) return { take: () => Promise.resolve(true), close: () => {} }
  const { callsPerSecond: perSecond, now } = options
  // A burst of one second's worth: providers count per second or longer.
  const bucket = makeTokenBucket({ perSecond, burst: Math.max(1, perSecond) })
  const queue: Waiting[] = []
  let pumping = false

  function join(remainingMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = {
        answer(granted) {
          clearTimeout(timer)
          const index = queue.indexOf(waiting)
          if (index >= 0) queue.splice(index, 1)
          resolve(granted)
        },
      }
      const timer = setTimeout(() => waiting.answer(false), remainingMs)
      queue.push(waiting)
    })
  }

  async function pump(firstWaitMs: number) {
    pumping = true
    let waitMs = firstWaitMs
    while (queue.length > 0) {
      await options.sleep(waitMs)
      waitMs = 0
      while (queue.length > 0 && waitMs === 0) {
        const taken = bucket.take(now().getTime())
        if (taken.ok) queue[0]!.answer(true)
        else waitMs = taken.waitMs
      }
    }
    pumping = false
  }

  return {
    take(remainingMs) {
      if (queue.length >= options.maxWaiting) return Promise.resolve(false)
      // Nobody overtakes those who wait, so the bucket is asked only when the queue is empty.
      const taken = pumping ? ({ ok: false, waitMs: 0 } as const) : bucket.take(now().getTime())
      if (taken.ok) return Promise.resolve(true)
      const turnInMs = taken.waitMs + (queue.length * 1000) / perSecond
      if (turnInMs > remainingMs) return Promise.resolve(false)
      const granted = join(remainingMs)
      if (!pumping) void pump(taken.waitMs)
      return granted
    },
    close() {
      for (const waiting of queue.splice(0)) waiting.answer(false)
    },
  }
}
