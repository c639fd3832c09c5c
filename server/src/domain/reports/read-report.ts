import { DatabaseUnavailable } from '../../db/failure.ts'
import { isTransient } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

/** `ageSeconds`: how old the data may be; null if they came from the primary. */
export type Report<Result> = { result: Result; ageSeconds: number | null }

/** Older data would puzzle whoever looks at them. A standby that is so far behind has a problem. */
const MAX_AGE_SECONDS = 60

/** Only for what may be old: never for a charge, a balance, or anything that money depends on. */
export async function readReport<Result>(core: Core, read: (core: Core) => Promise<Result>): Promise<Report<Result>> {
  const { standby } = core
  if (!standby) return { result: await read(core), ageSeconds: null }
  try {
    const ageSeconds = await standby.ageSeconds(core.now())
    if (ageSeconds !== undefined && ageSeconds <= MAX_AGE_SECONDS)
      return { result: await read({ ...core, pool: standby.pool }), ageSeconds }
    if (ageSeconds !== undefined)
      core.log.warn({ ageSeconds }, 'reports read from the primary: the standby at DATABASE_READ_URL is too far behind')
  } catch (error) {
    // A standby cancels a read that keeps it from following the primary, as a serialization failure.
    if (!(error instanceof DatabaseUnavailable) && !isTransient(error)) throw error
    core.log.warn({ err: error }, 'reports read from the primary: the standby at DATABASE_READ_URL failed')
  }
  return { result: await read(core), ageSeconds: null }
}
