import { createHash } from 'node:crypto'
import type { Tx } from '../../db/tx.ts'

// Events and lines of the audit log are append-only, so those that have no seal cannot get one. A line of the log, the
// mark, has their seals as they were found: one for each line, and one for each range of events.

/** `first` and `last` are ids of events. Only the events in between that do not fit a seal of their own count. */
export type Range = { name: string; first: string; last: string; seal: string }

/** What the newest mark says. A mark is several lines, of one transaction. */
export async function readAsFound(tx: Tx): Promise<{ ranges: Range[]; lines: Map<string, string> }> {
  const rows = await tx.rows<{ name: string; seal: string }>(
    `select r.key as name, r.value as seal
     from (select rows, at, max(at) over () as newest from audit_log where action = 'history.sealed') l
     cross join json_each_text(l.rows) r
     where l.at = l.newest and r.key ~ '^(line|events) ' order by r.key`,
  )
  const lines = new Map(rows.map(({ name, seal }) => [name, seal]))
  const ranges = rows.flatMap(({ name, seal }) => {
    const [kind, first, last] = name.split(' ')
    return kind === 'events' && first && last ? [{ name, first, last, seal }] : []
  })
  return { ranges, lines }
}

/** Counts and hashes rows by range. They come in the order of their ids, as the ranges do. */
export function makeTally(ranges: Pick<Range, 'first' | 'last'>[]) {
  const tallies = ranges.map(() => ({ count: 0, hash: createHash('sha256') }))
  let at = 0
  return {
    /** False if no range has it. */
    add({ id, texts }: { id: string; texts: string }): boolean {
      while (at < ranges.length && ranges[at]!.last < id) at++
      const range = ranges[at]
      if (range === undefined || id < range.first) return false
      const tally = tallies[at]!
      tally.count++
      tally.hash.update(`${texts}\n`)
      return true
    },
    textOf(index: number): string {
      const { count, hash } = tallies[index]!
      return `${count} ${hash.digest('hex')}`
    },
  }
}
