import type { Core } from '../core/core.ts'
import { keepDayPartitions } from '../core/day-partitions.ts'

/** Makes the partitions of the days ahead, and drops those that RETAIN_ATTEMPTS_DAYS have passed. */
export function keepAttemptPartitions(core: Core): Promise<{ made: string[]; dropped: string[] }> {
  return keepDayPartitions(core, { table: 'attempts', keptDays: core.settings.retention.attemptsDays })
}
