import { withClient } from '../../db/connect.ts'
import { query } from '../../db/tx.ts'
import type { Core } from './core.ts'

// What is known of backups. A restored database knows of those that ended before the one it came from.

type Backup = {
  /** Everything that was committed before is in it. */
  endedAt: Date
  /** A directory, or the operator's name for where it is. */
  place: string
  /** Null: made by other means than `guiche backup`. */
  bytes: number | null
}

const RECORD_WITHIN_MS = 10_000
const KEPT = '180 days'

/** Without `endedAt` it is now. */
export async function recordBackup(
  databaseUrl: string,
  { endedAt, place, bytes }: Omit<Backup, 'endedAt'> & { endedAt: Date | null },
): Promise<void> {
  const options = { name: 'guiche-backup', queryTimeoutMs: RECORD_WITHIN_MS }
  await withClient(databaseUrl, options, async (client) => {
    // A machine whose clock is ahead must not hide that the next backup is missing.
    await client.query(
      `insert into backups (ended_at, place, bytes) values (least($1::timestamptz, clock_timestamp()), $2, $3)
       on conflict (ended_at) do nothing`,
      [endedAt, place, bytes],
    )
    await client.query(`delete from backups where ended_at < ${NEWEST_BACKUP} - interval '${KEPT}'`)
  })
}

export async function readNewestBackup(core: Core): Promise<Backup | undefined> {
  const sql = 'select ended_at as "endedAt", place, bytes from backups order by ended_at desc limit 1'
  return (await query<Backup>(core.pool, sql))[0]
}

/** In SQL; null if none was ever recorded. */
export const NEWEST_BACKUP = '(select max(ended_at) from backups)'
