/** A token bucket: `perSecond` tokens flow in, up to `burst`. Time is passed in. */
export type TokenBucket = {
  /** Takes a token, or returns in how many milliseconds there will be one. */
  take(nowMs: number): { ok: true; left: number } | { ok: false; waitMs: number }
}

export function makeTokenBucket(rate: { perSecond: number; burst: number }): TokenBucket {
  let tokens = rate.burst
  let filledAtMs = Number.NEGATIVE_INFINITY

  return {
    take(nowMs) {
      // A clock that steps back must not drain the bucket.
      const elapsedMs = filledAtMs === Number.NEGATIVE_INFINITY ? 0 : Math.max(0, nowMs - filledAtMs)
      tokens = Math.min(rate.burst, tokens + (elapsedMs * rate.perSecond) / 1000)
      filledAtMs = nowMs
      if (tokens < 1) return { ok: false, waitMs: Math.ceil(((1 - tokens) * 1000) / rate.perSecond) }
      tokens -= 1
      return { ok: true, left: Math.floor(tokens) }
    },
  }
}
