import type { Log } from '../base/log.ts'
import { sqlState } from './failure.ts'

/** Logs an unusable database once per cause and interval, instead of once per request and worker round. */
export type OutageLog = {
  failed(error: unknown): void
  worked(): void
}

type Outage = { beganAt: number; failedAt: number; saidAt: number; failures: number; unsaid: number }

/** Often enough to see in the log that the outage continues. */
const SAY_EVERY_MS = 10_000
/** Some statements may work while others fail, so an outage is over when none has failed for this long. */
const OVER_AFTER_MS = 3_000
/** Error codes are few; this bounds memory if a message takes the place of a code. */
const MAX_CAUSES = 20

export function makeOutageLog(log: Log, nowMs: () => number = Date.now): OutageLog {
  const outages = new Map<string, Outage>()

  function say(error: unknown, outage: Outage, now: number) {
    const reason = error instanceof Error ? error.message || error.name : String(error)
    const fields = { reason, code: sqlState(error) || undefined, failures: outage.unsaid }
    log.warn(fields, 'database unavailable')
    outage.saidAt = now
    outage.unsaid = 0
  }

  return {
    failed(error) {
      const now = nowMs()
      const cause = sqlState(error) || (error instanceof Error ? error.message : 'unknown')
      const known = outages.get(cause)
      if (!known && outages.size >= MAX_CAUSES) return
      const outage = known ?? { beganAt: now, failedAt: now, saidAt: -Infinity, failures: 0, unsaid: 0 }
      outages.set(cause, outage)
      outage.failures += 1
      outage.unsaid += 1
      outage.failedAt = now
      if (now - outage.saidAt >= SAY_EVERY_MS) say(error, outage, now)
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
          failures: sum((outage) => outage.failures),
          unsaid: sum((outage) => outage.unsaid),
          seconds: Math.round((failedAt - beganAt) / 1000),
        },
        'the database works again',
      )
      outages.clear()
    },
  }
}
