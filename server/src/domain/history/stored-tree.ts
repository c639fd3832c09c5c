import type { Tx } from '../../db/tx.ts'
import {
  consistencyRanges,
  coverOf,
  EMPTY_EDGE,
  HASH_BYTES,
  hashesOf,
  inclusionRanges,
  nodeHash,
  rootOf,
  type Hash,
  type Range,
  type Subtree,
} from './merkle.ts'

// The leaves of each batch are stored, and the roots of complete subtrees of 256, 65536, … leaves. Every other root is
// made of these, and of at most 255 hashes of each stored level for each end of a range.

export const STORED_LEVELS = 8

export const TREE_SIZE = `coalesce((
  select first_leaf + length(hashes) / ${HASH_BYTES} from history_leaves order by first_leaf desc limit 1
), 0)`

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

export async function readTreeRoot(db: Reads, size: number): Promise<Hash> {
  if (size === 0) return rootOf(EMPTY_EDGE)
  const [root] = await readRoots(db, [{ from: 0, to: size }])
  return root!
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

// Of the batch that a range begins in, and of the one that it ends in, only a part.
const READ_LEAVES = `
  select string_agg(
    substring(l.hashes from greatest((r.first - l.first_leaf)::int * ${HASH_BYTES}, 0) + 1
      for (least(r.beyond - l.first_leaf, length(l.hashes) / ${HASH_BYTES}) - greatest(r.first - l.first_leaf, 0))::int * ${HASH_BYTES}),
    ''::bytea order by l.first_leaf) as hashes
  from unnest($1::bigint[], $2::bigint[]) with ordinality as r (first, beyond, place)
  left join history_leaves l on l.first_leaf < r.beyond
    and l.first_leaf >= (select max(first_leaf) from history_leaves where first_leaf <= r.first)
    and l.first_leaf + length(l.hashes) / ${HASH_BYTES} > r.first
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

/** Stores what became complete when the tree grew. */
export async function storeSubtrees(tx: Tx, before: number, after: number): Promise<void> {
  for (let level = STORED_LEVELS; ; level += STORED_LEVELS) {
    const from = Math.floor(before / 2 ** level)
    const to = Math.floor(after / 2 ** level)
    if (from === to) return
    const width = 2 ** STORED_LEVELS
    const indexes = Array.from({ length: to - from }, (_, place) => from + place)
    const runs = indexes.map((index) => ({
      level: level - STORED_LEVELS,
      from: index * width,
      to: (index + 1) * width,
    }))
    const roots = (await readRuns(tx, runs)).map(rootOfComplete)
    await tx.run(
      `insert into history_nodes (level, index, hash)
       select $1, n.index, n.hash from unnest($2::bigint[], $3::bytea[]) as n (index, hash)`,
      [level, indexes, roots],
    )
  }
}
