// How long to wait between two attempts.

type Pace = { firstMs: number; factor: number; maxMs: number }

/** Grows with each turn, counted from 0. Jitter takes off up to half, so that clients do not come back all at once. */
export function pauseMs({ firstMs, factor, maxMs }: Pace, turn: number, random = Math.random()): number {
  return Math.min(maxMs, firstMs * factor ** turn) * (1 - random / 2)
}

/** Resolves after the time. If the signal aborts first, rejects with its reason at once. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
