import type { Log } from './log.ts'

type Outage = { beganAt: number; failedAt: number; saidAt: number; failures: number; unsaid: number }

const SAY_EVERY_MS = 10_000
/** An outage is over when no call has failed for this long. */
const OVER_AFTER_MS = 3_000
/** Bounds memory if a message takes the place of a code. */
const MAX_CAUSES = 20

/** Logs an outage once per cause and interval, and not once per request that meets it. */
export function makeCollapsedLog(
  log: Log,
  { began, ended, fields = {} }: { began: string; ended: string; fields?: object },
  nowMs: () => number,
) {
  const outages = new Map<string, Outage>()

  return {
    failed(cause: string, more: object) {
      const now = nowMs()
      const known = outages.get(cause)
      if (!known && outages.size >= MAX_CAUSES) return
      const outage = known ?? { beganAt: now, failedAt: now, saidAt: -Infinity, failures: 0, unsaid: 0 }
      outages.set(cause, outage)
      outage.failures += 1
      outage.unsaid += 1
      outage.failedAt = now
      if (now - outage.saidAt < SAY_EVERY_MS) return
      log.warn({ ...fields, ...more, failures: outage.unsaid }, began)
      outage.saidAt = now
      outage.unsaid = 0
    },
    worked() {
      if (outages.size === 0) return
      const now = nowMs()
      const all = [...outages.values()]
      if (all.some((outage) => now - outage.failedAt < OVER_AFTER_MS)) return
      const beganAt = Math.min(...all.map((outage) => outage.beganAt))
      const failedAt = Math.max(...all.map((outage) => outage.failedAt))
      const sum = (of: (outage: Outage) => number) => all.reduce((total, outage) => total + of(outage), 0)
      log.info(
        {
          ...fields,
          failures: sum((outage) => outage.failures),
          unsaid: sum((outage) => outage.unsaid),
          seconds: Math.round((failedAt - beganAt) / 1000),
        },
        ended,
      )
      outages.clear()
    },
  }
}
