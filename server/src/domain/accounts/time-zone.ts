import { query } from '../../db/tx.ts'
import { DAY_ZONE } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'

/** In SQL, the zone in which the days of account a begin. */
export const TIME_ZONE = `coalesce(a.time_zone, '${DAY_ZONE}')`

/** Whose statement it is, and in which zone its days begin. */
export type Holder = { name: string; timeZone: string }

export async function readHolder(core: Core, accountId: string): Promise<Holder> {
  const sql = `select a.name, ${TIME_ZONE} as "timeZone" from accounts a where a.id = $1`
  const [holder] = await query<Holder>(core.pool, sql, [accountId])
  if (!holder) throw new Error(`account ${accountId} is not there`)
  return holder
}
