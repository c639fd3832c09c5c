import { signNote, checkpointText, type NoteKey } from '../../base/signed-note.ts'
import type { Tx } from '../../db/tx.ts'
import { IS_PERSONAL } from '../core/audit-log.ts'
import { appendLeaves, EMPTY_EDGE, rootOf, type Edge, type Hash, type Node } from '../history/merkle.ts'
import { commitmentOf, hashesOf, leafHashOf, LINE_TEXT, OPERATORS, STORED_LEVELS } from '../history/number-pending.ts'
import { check, hex, type Checks } from './rules.ts'

// Each event and each line of the audit log has one position; the positions have no gap; the tree is made of them, and
// every head that we signed is a head of this tree.

const WHOSE = (row: string) =>
  `case when ${row}.account_id = '${OPERATORS}' then 'the operators' else 'account ' || ${row}.account_id end`

const position = check({
  subject: `${WHOSE('h')} || ', position ' || h.position`,
  from: `history h left join events e on e.id = h.event_id left join audit_log l on l.id = h.line_id`,
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
    'what stands there is not what was told: its commitment differs': `h.salt is null or h.commitment = ${commitmentOf('h', `coalesce(e.body, ${LINE_TEXT})`)}`,
  },
})

const dense = `
  select ${WHOSE('h')} as subject, format('has %s positions, and the last is %s', count(*), max(position)) as text
  from history h group by account_id having count(*) <> max(position)
  union all
  select 'the tree', format('has %s leaves by the history, from %s to %s, and %s by its edge', count(*), min(leaf), max(leaf),
    (select max(size) from history_edges))
  from history having coalesce(max(leaf) + 1, 0) <> count(*) or count(*) <> (select max(size) from history_edges)`

const numbered = `
  select 'event ' || split_part(e.body, '"', 4) as subject, 'has no position, and waits for none' as text from events e
  where not exists (select from history h where h.event_id = e.id) and not exists (select from unnumbered u where u.event_id = e.id)
  union all
  select 'line ' || l.id || ' of the audit log', 'has no position, and waits for none' from audit_log l
  where not exists (select from history h where h.line_id = l.id) and not exists (select from unnumbered u where u.line_id = l.id)`

export const HISTORY_CHECKS: Checks = { position, dense, numbered }

// ---- The tree, which SQL cannot check ----

type Found = { subject: string; text: string }
export type TreeOptions = {
  headKeys: (name: string) => NoteKey[]
  /** The newest head that was kept outside the database. */
  outside: string | undefined
  limit: number
}

// A third of a megabyte of hashes.
const LEAVES_AT_ONCE = 10_000

/** Makes the tree again from its leaves. */
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
    for (const leaf of hashesOf(hashes)) {
      edge = appendLeaves(edge, [leaf], (node) => isStored(node) && nodes.push(node))
      for (const head of heads.get(edge.size) ?? []) checkHead(head, rootOf(edge))
    }
    found.push(...(await wrongNodes(tx, nodes)))
    if (found.length > options.limit) return found
  }
  const { stored } = await tx.one<{ stored: Buffer }>(
    'select edge as stored from history_edges order by size desc limit 1',
  )
  if (!stored.equals(Buffer.concat(edge.hashes)))
    found.push({ subject: 'the tree', text: 'its stored edge is not that of its leaves' })
  for (const size of heads.keys())
    if (size > edge.size)
      found.push({ subject: `the head of ${size} leaves`, text: `was signed, and the tree has ${edge.size}` })
  const outside = options.outside
  const known = [...heads.values()].flat().some(({ note }) => note === outside)
  if (outside !== undefined && !known)
    found.push({ subject: 'the head outside the database', text: 'is not in the database: the newest events are gone' })
  return found
}

const READ_LEAVES = `
  select coalesce(string_agg(${leafHashOf('h')}, ''::bytea order by leaf), '') as hashes
  from (select * from history where leaf >= $1 order by leaf limit ${LEAVES_AT_ONCE}) h`

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
