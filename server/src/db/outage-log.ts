import { makeCollapsedLog } from '../base/collapsed-log.ts'
import type { Log } from '../base/log.ts'
import { sqlState } from './failure.ts'

export type OutageLog = ReturnType<typeof makeOutageLog>

export function makeOutageLog(log: Log, nowMs: () => number = Date.now) {
  const { failed, worked } = makeCollapsedLog(
    log,
    { began: 'database unavailable', ended: 'the database works again' },
    nowMs,
  )
  return {
    failed(error: unknown) {
      const reason = error instanceof Error ? error.message || error.name : String(error)
      const code = sqlState(error) || undefined
      failed(code ?? (error instanceof Error ? error.message : 'unknown'), { reason, code })
    },
    worked,
  }
}
