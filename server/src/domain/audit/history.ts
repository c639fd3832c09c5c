import { signNote, checkpointText, type NoteKey } from '../../base/signed-note.ts'
import type { Tx } from '../../db/tx.ts'
import { IS_PERSONAL } from '../core/audit-log.ts'
import {
  appendLeaves,
  EMPTY_EDGE,
  HASH_BYTES,
  hashesOf,
  rootOf,
  type Edge,
  type Hash,
  type Node,
} from '../history/merkle.ts'
import { commitmentOf, leafHashOf, LINE_TEXT, OPERATORS } from '../history/number-pending.ts'
import { STORED_LEVELS, TREE_SIZE } from '../history/stored-tree.ts'
import { check, hex, type Checks } from './rules.ts'

// Each event and each line of the audit log has one position; the positions have no gap; the tree is made of them, and
// every head that we signed is a head of this tree.

const WHO = `case when h.account_id = '${OPERATORS}' then 'the operators' else 'account ' || h.account_id end`
const WHERE = `${WHO} || ', position ' || h.position`
const TELLS = 'left join events e on e.id = h.event_id left join audit_log l on l.id = h.line_id'

const position = check({
  subject: WHERE,
  from: `history h ${TELLS}`,
  exists: {
    'its event is not there': 'h.event_id is null or e.id is not null',
    'its line of the audit log is not there': 'h.line_id is null or l.id is not null or h.salt is null',
    'has no salt, and was not erased': 'h.salt is not null or l.id is null',
  },
  rules: {
    'the account': ['h.account_id', `coalesce(e.account_id, '${OPERATORS}')`],
    class: [
      'h.class',
      `case when e.id is not null then 'event' when l.id is null then 'personal' when ${IS_PERSONAL} then 'personal' else 'line' end`,
    ],
    'its commitment is not that of its line': `h.event_id is not null or h.salt is null or h.commitment = ${commitmentOf('h', LINE_TEXT)}`,
  },
})

/** In SQL, the rows of a table that do not begin where the one before ends. */
function gaps(
  who: string,
  table: string,
  { first, count, begins, of = '' }: Record<'first' | 'count' | 'begins', string> & { of?: string },
) {
  return `
  select ${who} as subject, format('a place is missing or given twice before %s', ${first}) as text
  from (select *, lag(${first} + ${count}, 1, ${begins}) over (${of} order by ${first}) as wanted from ${table}) h
  where ${first} <> wanted`
}

const dense = `
  ${gaps(WHO, 'history_runs', { first: 'first_position', count: 'cardinality(event_ids)', begins: '1', of: 'partition by account_id' })}
  union all
  ${gaps(`'the operators'`, 'history_lines', { first: 'position', count: '1', begins: '1' })}
  union all
  ${gaps(`'the tree'`, 'history_leaves', { first: 'first_leaf', count: 'length(hashes) / 32', begins: '0' })}
  union all
  select ${WHERE}, 'is not in the tree' from history h where leaf >= ${TREE_SIZE}`

const numbered = `
  select case when line_id is null then 'event ' || (select split_part(body, '"', 4) from events where id = event_id)
      else 'line ' || line_id || ' of the audit log' end as subject,
    format('has %s positions', count(place)) as text
  from (
    select id as event_id, null::bigint as line_id, null::bigint as place from events
    union all
    select null, id, null from audit_log
    union all
    select event_id, line_id, position from history
    union all
    select i.id, u.line_id, u.place from unnumbered u left join unnest(u.event_ids) as i (id) on true
  ) all_places group by event_id, line_id having count(place) <> 1`

// What the release before wrote was numbered by its time. It has no seal.
const order = `
  select 'account ' || account_id as subject, format('tells of the deposit %s before one that was credited earlier', charge) as text
  from (
    select h.account_id, ${hex('t.charge_id')} as charge, t.id > lead(t.id) over (partition by h.account_id order by h.position) as "isEarly"
    from history h
    join events e on e.id = h.event_id and e.kind = 'DEPOSIT_ASSET_SUCCESS' and e.seal is not null
    join transfers t on t.charge_id = e.subject_id and t.kind in ('deposit', 'matched_deposit')
  ) told where "isEarly"`

const begun = `
  select 'the history of ' || h.began_at as subject, 'began without a line of the audit log' as text from histories h
  where number > (select min(number) from histories)
    and not exists (select from audit_log l where l.action = 'history.began' and l.at = h.began_at)`

export const HISTORY_CHECKS: Checks = { position, dense, numbered, order, begun }

// ---- The tree, which SQL cannot check ----

type Found = { subject: string; text: string }
export type TreeOptions = {
  headKeys: (name: string) => NoteKey[]
  /** The newest head that was kept outside the database. */
  outside: string | undefined
  limit: number
}

// A third of a megabyte of hashes.
export const LEAVES_AT_ONCE = 10_000

/** Makes the tree again from its leaves, and compares each leaf with what stands at its position. */
export async function checkTree(tx: Tx, options: TreeOptions): Promise<Found[]> {
  const heads = await readHeads(tx)
  const found: Found[] = []
  let edge: Edge = EMPTY_EDGE
  const checkHead = (head: StoredHead, root: Hash) => {
    const wrong = wrongHead(head, root, options)
    if (wrong) found.push({ subject: `the head of ${head.size} leaves`, text: wrong })
  }
  for (const head of heads.get(0) ?? []) checkHead(head, rootOf(edge))
  for (;;) {
    const nodes: Node[] = []
    const { hashes } = await tx.one<{ hashes: Buffer }>(READ_LEAVES, [edge.size])
    if (hashes.length === 0) break
    found.push(...(await tx.rows<Found>(WRONG_LEAVES, [edge.size, edge.size + hashes.length / HASH_BYTES])))
    for (const leaf of hashesOf(hashes)) {
      edge = appendLeaves(edge, [leaf], (node) => isStored(node) && nodes.push(node))
      for (const head of heads.get(edge.size) ?? []) checkHead(head, rootOf(edge))
    }
    found.push(...(await wrongNodes(tx, nodes)))
    if (found.length > options.limit) return found
  }
  for (const size of heads.keys())
    if (size > edge.size)
      found.push({ subject: `the head of ${size} leaves`, text: `was signed, and the tree has ${edge.size}` })
  const outside = options.outside
  const known = [...heads.values()].flat().some(({ note }) => note === outside)
  if (outside !== undefined && !known)
    found.push({ subject: 'the head outside the database', text: 'is not in the database: the newest events are gone' })
  return found
}

const BATCHES = `select * from history_leaves where first_leaf >= $1 and first_leaf < $1 + ${LEAVES_AT_ONCE}`

const READ_LEAVES = `
  select coalesce(string_agg(hashes, ''::bytea order by first_leaf), '') as hashes from (${BATCHES}) b`

// The last batch may go on behind them, and its runs of other accounts begin there.
const WRONG_LEAVES = `
  with leaves as (
    select b.first_leaf + i - 1 as leaf, substring(b.hashes from (i - 1) * 32 + 1 for 32) as hash
    from (${BATCHES}) b cross join generate_series(1, length(b.hashes) / 32) i
  ), told as (
    select h.*, case when e.id is not null then ${commitmentOf('h', 'e.body')} else h.commitment end as committed
    from history h ${TELLS} where h.first_leaf >= $1 and h.first_leaf < $2
  )
  select case when h.leaf is null then 'leaf ' || b.leaf else ${WHERE} end as subject,
    case when h.leaf is null then 'has no position' else 'what stands there is not what was told: the hash of its leaf differs' end as text
  from leaves b left join told h on h.leaf = b.leaf
  where b.hash is distinct from ${leafHashOf('h', 'h.committed')}`

function isStored({ level }: Node): boolean {
  return level > 0 && level % STORED_LEVELS === 0
}

async function wrongNodes(tx: Tx, nodes: Node[]): Promise<Found[]> {
  return tx.rows<Found>(
    `select format('leaves %s to %s', n.index * (2 ^ n.level)::bigint, (n.index + 1) * (2 ^ n.level)::bigint - 1) as subject,
       'one of them was altered, or their stored hash' as text
     from unnest($1::int[], $2::bigint[], $3::bytea[]) as n (level, index, hash)
     left join history_nodes s on s.level = n.level and s.index = n.index
     where s.hash is distinct from n.hash`,
    [nodes.map(({ level }) => level), nodes.map(({ index }) => index), nodes.map(({ hash }) => hash)],
  )
}

type StoredHead = { historyId: string; size: number; root: Buffer; note: string }

async function readHeads(tx: Tx): Promise<Map<number, StoredHead[]>> {
  const rows = await tx.rows<StoredHead>(
    `select ${hex('history_id')} as "historyId", size, root, note from history_heads order by size`,
  )
  const heads = new Map<number, StoredHead[]>()
  for (const row of rows) heads.set(row.size, [...(heads.get(row.size) ?? []), row])
  return heads
}

function wrongHead(
  { historyId, size, root, note }: StoredHead,
  wanted: Hash,
  { headKeys }: TreeOptions,
): string | undefined {
  if (!root.equals(wanted)) return 'was signed for other leaves than the tree has: one was altered, or the head was'
  const [origin = ''] = note.split('\n', 1)
  const signed = signNote(checkpointText({ origin, size, root }), headKeys(origin)).split('\n')
  const lines = note.split('\n')
  const isOurs = origin.endsWith(`/${historyId}`) && lines.slice(0, 4).join() === signed.slice(0, 4).join()
  return isOurs && lines.slice(4).some((line) => line !== '' && signed.includes(line))
    ? undefined
    : 'is not signed by this service'
}
