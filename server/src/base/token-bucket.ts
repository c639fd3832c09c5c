export type Rate = { perSecond: number; burst: number }

/** `left`: whole tokens that remain. `waitMs`: until there is one. */
export type Taken = { ok: true; left: number } | { ok: false; waitMs: number }

export type TokenBucket = ReturnType<typeof makeTokenBucket>

export function makeTokenBucket(rate: Rate) {
  let { perSecond, burst } = rate
  let tokens = burst
  let filledAtMs: number | undefined

  function fill(nowMs: number) {
    // A clock that steps back must not drain the bucket.
    const elapsedMs = filledAtMs === undefined ? 0 : Math.max(0, nowMs - filledAtMs)
    tokens = Math.min(burst, tokens + (elapsedMs * perSecond) / 1000)
    filledAtMs = nowMs
  }

  return {
    /** Takes a token if `reserve` others remain. */
    take(nowMs: number, reserve = 0): Taken {
      fill(nowMs)
      if (tokens < 1 + reserve) return { ok: false, waitMs: Math.ceil(((1 + reserve - tokens) * 1000) / perSecond) }
      tokens -= 1
      return { ok: true, left: Math.floor(tokens) }
    },
    nextTokenMs(nowMs: number): number {
      fill(nowMs)
      return Math.max(1, Math.ceil(((Math.floor(tokens) + 1 - tokens) * 1000) / perSecond))
    },
    /** Below zero, so many tokens must flow in first. `missing`: how many fit in. */
    level(nowMs: number) {
      fill(nowMs)
      return { tokens, missing: burst - tokens }
    },
    setLevel(level: number, atMs: number) {
      tokens = level
      filledAtMs = atMs
    },
    /** Makes it one of so many equal parts, of at least one token. */
    divide(parts: number) {
      perSecond = rate.perSecond / parts
      burst = Math.max(1, rate.burst / parts)
      tokens = Math.min(burst, tokens)
    },
  }
}
