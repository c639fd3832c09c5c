import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

// The attempts table has a part for each day (UTC). These are made ahead and dropped behind.

const DAY_MS = 24 * 3_600_000
const KEPT_DAYS = 30
// A worker that does not run for a week costs nothing: what has no part of its own goes to the default one.
const AHEAD_DAYS = 7
const PARTS_LOCK = 4_782_114

export async function keepAttemptPartitions(core: Core, now: Date): Promise<{ made: string[]; dropped: string[] }> {
  return transact(core.pool, async (tx) => {
    // Processes take turns; dropping waits for nobody but readers of that very day.
    await tx.rows('select pg_advisory_xact_lock($1)', [PARTS_LOCK])
    const existing = await tx.rows<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'attempts'::regclass`,
    )
    const names = new Set(existing.map((row) => row.name))
    const wanted = Array.from({ length: AHEAD_DAYS + 1 }, (_, day) => new Date(now.getTime() + day * DAY_MS))
    const made = wanted.filter((day) => !names.has(partName(day)))
    for (const day of made) {
      // Rows that went to the default part before this one existed move over, or PostgreSQL would refuse to make it.
      await tx.run(
        `create temporary table moved on commit drop as select * from attempts_default where at >= '${dateOf(day)}' and at < '${dateOf(day, 1)}'`,
      )
      await tx.run(`delete from attempts_default where at >= '${dateOf(day)}' and at < '${dateOf(day, 1)}'`)
      await tx.run(
        `create table ${partName(day)} partition of attempts for values from ('${dateOf(day)}') to ('${dateOf(day, 1)}')`,
      )
      await tx.run('insert into attempts select * from moved')
      await tx.run('drop table moved')
    }
    const oldest = partName(new Date(now.getTime() - KEPT_DAYS * DAY_MS))
    const dropped = [...names].filter((name) => /^attempts_\d{8}$/.test(name) && name < oldest)
    for (const name of dropped) await tx.run(`drop table ${name}`)
    await tx.run('delete from attempts_default where at < $1', [new Date(now.getTime() - KEPT_DAYS * DAY_MS)])
    return { made: made.map((day) => partName(day)), dropped }
  })
}

function partName(day: Date): string {
  return `attempts_${dateOf(day).replaceAll('-', '')}`
}

function dateOf(day: Date, plusDays = 0): string {
  return new Date(day.getTime() + plusDays * DAY_MS).toISOString().slice(0, 10)
}
