import type { Tx } from '../../db/tx.ts'
import { consistencyRanges, coverOf, inclusionRanges, nodeHash, type Hash, type Range, type Subtree } from './merkle.ts'
import { hashesOf, leafHashOf, STORED_LEVELS } from './number-pending.ts'

// Roots of parts of the tree, from the stored subtrees and at most 255 leaves for each end of a range.

type Reads = Pick<Tx, 'rows'>

/** Somebody removed rows of the history: a service never does. */
export class MissingLeaves extends Error {
  constructor(from: number, to: number) {
    super(`The history lacks leaves between ${from} and ${to}`)
  }
}

/** A run of stored hashes of one level: leaves are those of level 0. */
type Run = { level: number; from: number; to: number }

/** The root of each range of leaves, which must be there. A range is a complete subtree, or ends at the tree's end. */
export async function readRoots(db: Reads, ranges: Range[]): Promise<Hash[]> {
  const covers = ranges.map(({ from, to }) => coverOf(from, to))
  const runs = covers.flat().map(runOf)
  const hashes = await readRuns(db, runs)
  let place = 0
  return covers.map((cover) => {
    const roots = cover.map(() => rootOfComplete(hashes[place++]!))
    return roots.reduceRight((right, left) => nodeHash(left, right))
  })
}

export function readInclusion(db: Reads, leaf: number, size: number): Promise<Hash[]> {
  return readRoots(db, inclusionRanges(leaf, size))
}

export function readConsistency(db: Reads, older: number, size: number): Promise<Hash[]> {
  return readRoots(db, consistencyRanges(older, size))
}

/** Levels are stored in steps, so a subtree is made of at most 128 of a stored level. */
function runOf({ level, index }: Subtree): Run {
  const height = level % STORED_LEVELS
  const width = 2 ** height
  return { level: level - height, from: index * width, to: (index + 1) * width }
}

const READ_LEAVES = `
  select string_agg(${leafHashOf('h')}, ''::bytea order by h.leaf) as hashes
  from unnest($1::bigint[], $2::bigint[]) with ordinality as r (first, beyond, place)
  left join history h on h.leaf >= r.first and h.leaf < r.beyond
  group by r.place order by r.place`

const READ_NODES = `
  select string_agg(n.hash, ''::bytea order by n.index) as hashes
  from unnest($1::bigint[], $2::bigint[], $3::smallint[]) with ordinality as r (first, beyond, level, place)
  left join history_nodes n on n.level = r.level and n.index >= r.first and n.index < r.beyond
  group by r.place order by r.place`

async function readRuns(db: Reads, runs: Run[]): Promise<Hash[][]> {
  const leaves = runs.filter(({ level }) => level === 0)
  const nodes = runs.filter(({ level }) => level > 0)
  const found = new Map<Run, Hash[]>()
  const read = async (sql: string, some: Run[], params: unknown[][]) => {
    if (some.length === 0) return
    const rows = await db.rows<{ hashes: Buffer | null }>(sql, params)
    some.forEach((run, place) => found.set(run, hashesOf(rows[place]?.hashes ?? Buffer.alloc(0))))
  }
  const bounds = (some: Run[]) => [some.map(({ from }) => from), some.map(({ to }) => to)]
  await read(READ_LEAVES, leaves, bounds(leaves))
  await read(READ_NODES, nodes, [...bounds(nodes), nodes.map(({ level }) => level)])
  return runs.map((run) => {
    const hashes = found.get(run)!
    if (hashes.length !== run.to - run.from) throw new MissingLeaves(run.from * 2 ** run.level, run.to * 2 ** run.level)
    return hashes
  })
}

/** Of 2^n hashes of one level. */
function rootOfComplete(hashes: Hash[]): Hash {
  let level = hashes
  while (level.length > 1)
    level = Array.from({ length: level.length / 2 }, (_, place) => nodeHash(level[2 * place]!, level[2 * place + 1]!))
  return level[0]!
}
