import { randomUUID } from 'node:crypto'
import { prepared } from '../../db/prepared.ts'
import { isoTime } from '../../db/sql-values.ts'
import { transact, query, type Tx } from '../../db/tx.ts'
import { IS_PERSONAL, SYSTEM, writeAudit } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { appendLeaves, EMPTY_EDGE, type Edge, type Hash, type Node } from './merkle.ts'

// Gives positions to what is committed. The numbers become visible only at the commit of a batch, and batches follow
// each other: so no position ever appears behind one that a reader has passed, whatever order transactions commit in.

/** The history of the operators: the lines of the audit log. */
export const OPERATORS = '00000000-0000-0000-0000-000000000000'

// One number for all processes on this database. The lock ends with its transaction, so it works through any pooler.
const NUMBERING_LOCK = 4_782_115
// A short transaction. At a thousand events a second, a batch of 20 ms has twenty.
const MAX_BATCH = 500
const HASH_BYTES = 32

/**
 * full: there may be more. busy: another process is at it, and may not have seen the newest. lost: the database has
 * fewer positions than before, so another history began.
 */
export type Numbered = 'full' | 'done' | 'idle' | 'busy' | 'lost'

/** The edge that this process saw last: a database that is behind it has lost positions that readers know. */
export type NumberingMemory = { edge: Edge }

export function makeNumberingMemory(): NumberingMemory {
  return { edge: EMPTY_EDGE }
}

export async function numberPending(core: Core, memory: NumberingMemory): Promise<Numbered> {
  const waiting = await query(core.pool, ANY_UNNUMBERED)
  if (waiting.length === 0) return 'idle'
  let edge = memory.edge
  const numbered = await transact(core.pool, async (tx): Promise<Numbered> => {
    const { locked } = await tx.one<{ locked: boolean }>(LOCK, [NUMBERING_LOCK])
    if (!locked) return 'busy'
    const batch = await tx.one<Batch>(NUMBER, [MAX_BATCH])
    const before = edgeOf(batch)
    if (hasLost(before, memory.edge)) await beginHistory(tx, core.now(), LOST)
    edge = await grow(tx, before, batch.leaves)
    if (hasLost(before, memory.edge)) return 'lost'
    return edge.size - before.size === MAX_BATCH ? 'full' : 'done'
  })
  memory.edge = edge
  if (numbered === 'lost') {
    core.metrics.historiesBegun.inc()
    core.log.error(
      {},
      'the database has lost events that had positions: a new history began. Compare with docs/operations.md, "After a loss"',
    )
  }
  return numbered
}

export const LOST = 'the database has fewer positions than before'

/** Another name for positions that readers may know otherwise. */
export async function beginHistory(tx: Tx, now: Date, reason: string): Promise<void> {
  await tx.run('insert into histories (id, began_at, reason) values ($1, $2, $3)', [randomUUID(), now, reason])
  await writeAudit(tx, now, SYSTEM, { action: 'history.began', subject: 'history', reason })
}

/** A backup of a release without histories has no positions that anybody knows. */
export async function beginRestoredHistory(tx: Tx, now: Date): Promise<void> {
  const { isThere } = await tx.one<{ isThere: boolean }>(`select to_regclass('histories') is not null as "isThere"`)
  if (isThere) await beginHistory(tx, now, 'a backup was restored')
}

// By the index, which forgets deleted rows soon. The table keeps them until it is vacuumed.
const ANY_UNNUMBERED = prepared('select from unnumbered order by place limit 1')
const LOCK = prepared('select pg_try_advisory_xact_lock($1) as locked')

/** The text of a line of the audit log l that its commitment holds. Columns that are null are not in it. */
export const LINE_TEXT = `(
  select jsonb_object_agg(f.key, f.value)::text
  from jsonb_each(to_jsonb(l) || jsonb_build_object('at', ${isoTime('l.at')})) f where f.value <> 'null'
)`

export const commitmentOf = (row: string, body: string) =>
  `sha256(uuid_send(${row}.salt) || uuid_send(${row}.account_id) || int8send(${row}.position) || convert_to(${body}, 'UTF8'))`

export const leafHashOf = (row: string) =>
  `sha256('\\x00'::bytea || convert_to(${row}.class, 'UTF8') || '\\x00'::bytea || ${row}.commitment)`

type Batch = { size: number; edge: Buffer; leaves: Buffer }

// A line that was erased before it got a position has none.
const NUMBER = prepared(`
  with tree as materialized (
    select size, edge from history_edges order by size desc limit 1
  ), taken as (
    delete from unnumbered where place = any(array(select place from unnumbered order by place limit $1))
    returning place, event_id, line_id
  ), written as materialized (
    select t.*, e.account_id, 'event' as class, e.body from taken t join events e on e.id = t.event_id
    union all
    select t.*, '${OPERATORS}', case when ${IS_PERSONAL} then 'personal' else 'line' end, ${LINE_TEXT}
    from taken t join audit_log l on l.id = t.line_id
  ), last as materialized (
    select account_id, coalesce(
      (select position from history h where h.account_id = w.account_id order by position desc limit 1), 0
    ) as position
    from (select distinct account_id from written) w
  ), placed as materialized (
    select w.event_id, w.line_id, w.account_id, w.class, w.body, gen_random_uuid() as salt,
      l.position + row_number() over (partition by w.account_id order by w.place) as position,
      (select size from tree) + row_number() over (order by w.place) - 1 as leaf
    from written w join last l using (account_id)
  ), numbered as (
    insert into history (account_id, position, leaf, class, event_id, line_id, salt, commitment)
    select account_id, position, leaf, class, event_id, line_id, salt, ${commitmentOf('p', 'p.body')}
    from placed p order by leaf
    returning leaf, class, commitment
  )
  select size, edge, coalesce((select string_agg(${leafHashOf('n')}, ''::bytea order by n.leaf) from numbered n), '') as leaves
  from tree`)

export function edgeOf({ size, edge }: { size: number; edge: Buffer }): Edge {
  return { size, hashes: hashesOf(edge) }
}

export function hashesOf(bytes: Buffer): Hash[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, place) =>
    bytes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
  )
}

function hasLost(now: Edge, known: Edge): boolean {
  if (now.size !== known.size) return now.size < known.size
  return !Buffer.concat(now.hashes).equals(Buffer.concat(known.hashes))
}

export const STORED_LEVELS = 8

async function grow(tx: Tx, before: Edge, leaves: Buffer): Promise<Edge> {
  const nodes: Node[] = []
  const edge = appendLeaves(before, hashesOf(leaves), (node) => {
    if (node.level > 0 && node.level % STORED_LEVELS === 0) nodes.push(node)
  })
  if (edge.size === before.size) return edge
  await tx.run(GROW, [
    edge.size,
    Buffer.concat(edge.hashes),
    nodes.map(({ level }) => level),
    nodes.map(({ index }) => index),
    nodes.map(({ hash }) => hash),
  ])
  return edge
}

// The size is the key: two batches can never follow the same edge.
const GROW = prepared(`
  with nodes as (
    insert into history_nodes (level, index, hash) select * from unnest($3::smallint[], $4::bigint[], $5::bytea[])
  )
  insert into history_edges (size, edge) values ($1, $2)`)

/** Edges serve only the next batch. A few stay for whoever looks. */
export async function purgeEdges(core: Core): Promise<void> {
  await query(core.pool, 'delete from history_edges where size < (select max(size) from history_edges) - 10000')
}
