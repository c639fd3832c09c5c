import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from './core.ts'

// Tables with a partition per day (UTC) of their column `at`, which are created ahead and dropped whole.

const DAY_MS = 24 * 3_600_000
// After a week without a worker, rows go to the default partition.
const AHEAD_DAYS = 7
const PARTITIONS_LOCK = 4_782_114

type Kept = { table: 'attempts' | 'api_requests'; keptDays: number }

/** With 0 days to keep, nothing is made and everything is dropped. */
export async function keepDayPartitions(
  core: Core,
  { table, keptDays }: Kept,
): Promise<{ made: string[]; dropped: string[] }> {
  const now = core.now()
  return transact(core.pool, async (tx) => {
    // One process at a time. Dropping waits only for readers of that day.
    await tx.rows('select pg_advisory_xact_lock($1)', [PARTITIONS_LOCK])
    const existing = await readPartitions(tx, table)
    const names = new Set(existing.map((partition) => partition.name))
    const today = Date.parse(dateOf(now))
    const days = Array.from({ length: AHEAD_DAYS + 1 }, (_, day) => new Date(today + day * DAY_MS))
    const made: string[] = []
    for (const day of keptDays === 0 ? [] : days.filter((each) => !names.has(partitionName(table, each)))) {
      const free = freePart(day, existing)
      if (free.from >= free.to) continue
      const [from, to] = [free.from.toISOString(), free.to.toISOString()]
      // PostgreSQL refuses a partition while the default one has rows for it, so they move.
      await tx.run(
        `create temporary table moved on commit drop as
         select * from ${table}_default where at >= '${from}' and at < '${to}'`,
      )
      await tx.run(`delete from ${table}_default where at >= '${from}' and at < '${to}'`)
      const name = partitionName(table, day)
      await tx.run(`create table ${name} partition of ${table} for values from ('${from}') to ('${to}')`)
      await tx.run(`insert into ${table} select * from moved`)
      await tx.run('drop table moved')
      made.push(name)
    }
    const keptSince = new Date(now.getTime() - keptDays * DAY_MS)
    const oldest = partitionName(table, keptSince)
    const ofDay = new RegExp(`^${table}_\\d{8}$`)
    const dropped = [...names].filter((name) => ofDay.test(name) && (keptDays === 0 || name < oldest))
    for (const name of dropped) await tx.run(`drop table ${name}`)
    await tx.run(`delete from ${table}_default where at < $1`, [keptSince])
    return { made, dropped }
  })
}

type Bounds = { from: Date; to: Date }

/** The default partition has no bounds. */
function readPartitions(tx: Tx, table: string): Promise<(Bounds & { name: string })[]> {
  return tx.rows(
    `select name, bounds[1]::timestamptz as from, bounds[2]::timestamptz as to from (
       select c.relname as name, regexp_match(
         pg_get_expr(c.relpartbound, c.oid), $re$FROM \\('([^']+)'\\) TO \\('([^']+)'\\)$re$
       ) as bounds
       from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = '${table}'::regclass
     ) p where bounds is not null`,
  )
}

/** What no partition covers of this day. A partition that was made in a session of another zone reaches into it. */
function freePart(day: Date, partitions: Bounds[]): Bounds {
  const from = partitions.find((other) => other.from <= day && other.to > day)?.to ?? day
  const next = partitions.filter((other) => other.from >= from).map((other) => other.from.getTime())
  return { from, to: new Date(Math.min(day.getTime() + DAY_MS, ...next)) }
}

function partitionName(table: string, day: Date): string {
  return `${table}_${dateOf(day).replaceAll('-', '')}`
}

function dateOf(day: Date): string {
  return day.toISOString().slice(0, 10)
}
