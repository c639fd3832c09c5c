import { randomUUID } from 'node:crypto'
import { prepared } from '../../db/prepared.ts'
import { isoTime } from '../../db/sql-values.ts'
import { transact, query, type Tx } from '../../db/tx.ts'
import { IS_PERSONAL, SYSTEM, writeAudit } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { HASH_BYTES } from './merkle.ts'
import { storeSubtrees, TREE_SIZE } from './stored-tree.ts'

// Gives positions to what is committed. The numbers become visible only at the commit of a batch, and batches follow
// each other: so no position ever appears behind one that a reader has passed, whatever order transactions commit in.

/** The history of the operators: the lines of the audit log. */
export const OPERATORS = '00000000-0000-0000-0000-000000000000'

// One number for all processes on this database. The lock ends with its transaction, so it works through any pooler.
const NUMBERING_LOCK = 4_782_115
// A short transaction. At a thousand events a second, a batch of 20 ms has twenty. The events of a statement stay
// together, so a batch may have some more.
const MAX_BATCH = 500

/**
 * full: there may be more. busy: another process is at it, and may not have seen the newest. lost: the database has
 * fewer positions than before, or others, so another history began.
 */
export type Numbered = 'full' | 'done' | 'idle' | 'busy' | 'lost'

/** The newest leaf that this process saw: a database that lacks it has lost positions that readers know. */
export type NumberingMemory = { leaf: number; hash: Buffer | null }

export function makeNumberingMemory(): NumberingMemory {
  return { leaf: -1, hash: null }
}

export async function numberPending(core: Core, memory: NumberingMemory): Promise<Numbered> {
  const waiting = await query(core.pool, ANY_UNNUMBERED)
  if (waiting.length === 0) return 'idle'
  let newest = memory
  const numbered = await transact(core.pool, async (tx): Promise<Numbered> => {
    const { locked } = await tx.one<{ locked: boolean }>(LOCK, [NUMBERING_LOCK])
    if (!locked) return 'busy'
    const { size, known, hashes } = await tx.one<Batch>(NUMBER, [MAX_BATCH, core.now(), memory.leaf])
    const count = hashes.length / HASH_BYTES
    if (count > 0) newest = { leaf: size + count - 1, hash: hashes.subarray(-HASH_BYTES) }
    await storeSubtrees(tx, size, size + count)
    if (memory.hash !== null && !known?.equals(memory.hash)) {
      await beginHistory(tx, core.now(), LOST)
      return 'lost'
    }
    return count >= MAX_BATCH ? 'full' : 'done'
  })
  Object.assign(memory, newest)
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
  `sha256(${row}.salt || uuid_send(${row}.account_id) || int8send(${row}.position) || convert_to(${body}, 'UTF8'))`

export const leafHashOf = (row: string, commitment: string) =>
  `sha256('\\x00'::bytea || convert_to(${row}.class, 'UTF8') || '\\x00'::bytea || ${commitment})`

/** `known` is the hash of the leaf $3 as it is now. */
type Batch = { size: number; known: Buffer | null; hashes: Buffer }

const COUNT = 'coalesce(cardinality(event_ids), 1)'

// With a limit each event is looked up by its id. A plain join reads the whole table of events when many wait: with
// 12,000 events, positions for 600 of them took 16 ms in place of 7.
// Leaves are in the order of accounts, so that those of a run follow each other. A line that was erased before it got a
// position has none.
const NUMBER = prepared(`
  with tree as materialized (
    select ${TREE_SIZE} as size
  ), taken as (
    delete from unnumbered where place = any(array(
      select place from (
        select place, sum(${COUNT}) over (order by place) - ${COUNT} as before
        from (select * from unnumbered order by place limit $1) u
      ) waiting where before < $1
    ))
    returning place, event_ids, line_id
  ), written as materialized (
    select e.account_id, 'event' as class, t.place, i.place as part, e.id as event_id, t.line_id, e.body
    from taken t cross join unnest(t.event_ids) with ordinality as i (id, place)
    cross join lateral (select * from events where id = i.id limit 1) e
    union all
    select '${OPERATORS}', case when ${IS_PERSONAL} then 'personal' else 'line' end, t.place, 1, null, l.id, ${LINE_TEXT}
    from taken t join audit_log l on l.id = t.line_id
  ), owners as materialized (
    select account_id, gen_random_uuid() as salt, coalesce(
      (select first_position + cardinality(event_ids) - 1 from history_runs r where r.account_id = w.account_id
        order by first_position desc limit 1),
      (select max(position) from history_lines where w.account_id = '${OPERATORS}'), 0) as last
    from (select distinct account_id from written) w
  ), numbered as materialized (
    select w.*, case when line_id is null then o.salt else gen_random_uuid() end as run_salt,
      last + row_number() over (partition by account_id order by place, part) as position,
      (select size from tree) + row_number() over (order by account_id, place, part) - 1 as leaf
    from written w join owners o using (account_id)
  ), committed as materialized (
    select n.*, ${commitmentOf('n', 'n.body')} as commitment
    from (
      select n.*, substring(sha256(uuid_send(n.run_salt) || int8send(n.position)) for 16) as salt from numbered n
    ) n
  ), runs as (
    insert into history_runs (account_id, first_position, first_leaf, event_ids, salt, numbered_at)
    select account_id, min(position), min(leaf), array_agg(event_id order by position), run_salt, $2
    from numbered where event_id is not null group by account_id, run_salt
  ), lines as (
    insert into history_lines (position, leaf, line_id, class, salt, commitment)
    select position, leaf, line_id, class, run_salt, commitment from committed where line_id is not null
  ), leaves as (
    insert into history_leaves (first_leaf, hashes)
    select min(leaf), string_agg(${leafHashOf('c', 'c.commitment')}, ''::bytea order by leaf) from committed c
    having count(*) > 0
    returning hashes
  )
  select size, coalesce((select hashes from leaves), '') as hashes, (
    select substring(hashes from (($3 - first_leaf) * ${HASH_BYTES} + 1)::int for ${HASH_BYTES})
    from history_leaves where first_leaf <= $3 order by first_leaf desc limit 1
  ) as known
  from tree`)
