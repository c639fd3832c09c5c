import { autocommit, query, queryOne } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { commitmentOf, LINE_TEXT, leafHashOf } from './number-pending.ts'
import { signHead, verifierKeys } from './heads.ts'
import { coverOf, type Range } from './merkle.ts'
import { NEXT_POSITIONS } from './read-history.ts'
import { readRoots } from './stored-tree.ts'

// docs/history-format.md describes the lines.

// Some hundred kB in memory, and short queries.
const LEAVES_AT_ONCE = 500
const BLOCK = 256

type Own = {
  leaf: number
  position: number
  class: string
  salt: Buffer | null
  body: string | null
  commitment: Buffer
  hash: Buffer
}
/** A line that is written when the hash of its leaves is read. */
type Hashed = { range: Range; lineOf: (hash: string) => object }
type Piece = { line: object } | Hashed

/** All positions of an account, and hashes of what lies between them, up to a signed head. Each piece is some lines. */
export async function* exportHistory(core: Core, accountId: string): AsyncGenerator<string> {
  const { last } = await queryOne<{ last: number }>(core.pool, LAST_LEAF, [accountId])
  const { historyId, size, note } = await signHead(core, { leaf: last })
  const header = {
    format: 'guiche-history-1',
    historyId,
    accountId,
    keys: verifierKeys(core.settings, historyId),
    checkpoint: note,
  }
  yield lines([header])
  const path = makePath(size)
  for (let after = 0; ;) {
    const own = await query<Own>(core.pool, READ_OWN, [accountId, after, LEAVES_AT_ONCE, size])
    const pieces = own.flatMap((leaf) => path.to(leaf))
    if (own.length < LEAVES_AT_ONCE) pieces.push(...path.end())
    yield await written(core, pieces)
    if (own.length < LEAVES_AT_ONCE) return
    after = own.at(-1)!.position
  }
}

const LAST_LEAF = `
  select coalesce(
    (select first_leaf + cardinality(event_ids) - 1 from history_runs where account_id = $1
      order by first_position desc limit 1),
    (select max(leaf) from history_lines), 0) as last`

const READ_OWN = `
  select o.leaf, o.position, o.class, o.salt, o.body, o.commitment, ${leafHashOf('o', 'o.commitment')} as hash
  from (
    select t.*, coalesce(t.stored, ${commitmentOf('t', 't.body')}) as commitment
    from (
      select h.leaf, h.position, h.class, h.salt, h.account_id, h.commitment as stored,
        case when h.event_id is null then ${LINE_TEXT} else e.body::text end as body
      from history h left join events e on e.id = h.event_id left join audit_log l on l.id = h.line_id
      where ${NEXT_POSITIONS} and h.leaf < $4
    ) t
  ) o order by o.position`

/** The way through the leaves of the tree, from left to right. */
function makePath(size: number) {
  let next = 0
  /** The block of 256 leaves that has a leaf of this account and no line of its own yet. */
  let block: number | undefined

  function cross(to: number): Piece[] {
    const subtrees = coverOf(next, to).map(({ level, index }): Hashed => {
      const from = index * 2 ** level
      return { range: { from, to: from + 2 ** level }, lineOf: (hash) => ({ from, level, hash }) }
    })
    next = to
    return subtrees
  }

  function endBlock(): Piece[] {
    const from = block!
    block = undefined
    return [{ range: { from, to: Math.min(from + BLOCK, size) }, lineOf: (hash) => ({ block: from, hash }) }]
  }

  /** Up to a leaf that is not passed yet, or to the end. */
  function goTo(to: number): Piece[] {
    const end = block === undefined ? Infinity : Math.min(block + BLOCK, size)
    return end <= to ? [...cross(end), ...endBlock(), ...cross(to)] : cross(to)
  }

  return {
    to(own: Own): Piece[] {
      const before = goTo(own.leaf)
      block = own.leaf - (own.leaf % BLOCK)
      next = own.leaf + 1
      return [...before, { line: ownLine(own) }]
    },
    end: () => goTo(size),
  }
}

function ownLine({ leaf, position, class: kind, salt, body, commitment, hash }: Own): object {
  const first = { leaf, position, class: kind }
  const opened = salt === null ? { commitment: base64(commitment) } : { salt: base64(salt), body }
  return { ...first, ...opened, hash: base64(hash) }
}

async function written(core: Core, pieces: Piece[]): Promise<string> {
  const hashed = pieces.filter((piece) => 'range' in piece)
  const hashes = await readRoots(
    autocommit(core.pool),
    hashed.map(({ range }) => range),
  )
  const lineOf = new Map(hashed.map((piece, place) => [piece as Piece, piece.lineOf(base64(hashes[place]!))]))
  return lines(pieces.map((piece) => lineOf.get(piece) ?? (piece as { line: object }).line))
}

function lines(objects: object[]): string {
  return objects.map((object) => `${JSON.stringify(object)}\n`).join('')
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64')
}
