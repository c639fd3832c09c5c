import { checkpointText, parseCheckpoint, signNote, verifierKey, type Checkpoint } from '../../base/signed-note.ts'
import { queryOne, transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { isConsistent, rootOf, type Hash } from './merkle.ts'
import { beginHistory, edgeOf, LOST } from './number-pending.ts'
import { readConsistency } from './stored-tree.ts'

// A head is the signed root of the tree at a size. It is shown only when it is stored and kept outside the database, and
// it is signed only if it goes on from the heads before it: two heads of one history never contradict each other.

export type Head = { historyId: string; size: number; root: Hash; note: string; signedAt: Date }

const SIGNING_LOCK = 4_782_116
// A caller who asks for the receipt of each event as it happens must not cost a signature each.
const SIGN_EVERY_MS = 1_000

/** The name of a log and of its key. A new history is another log, whose heads contradict nobody. */
export function originOf(core: Core, historyId: string): string {
  return `${new URL(core.settings.publicUrl).host}/${historyId}`
}

/** What verifiers are configured with: one key for each SECRET_KEY. The first signs, and so do all others. */
export function verifierKeys(core: Core, historyId: string): string[] {
  return core.settings.headKeys(originOf(core, historyId)).map(verifierKey)
}

export const CURRENT_HISTORY = `select replace(id::text, '-', '') as "historyId" from histories order by number desc limit 1`

export async function readHistoryId(core: Core): Promise<string> {
  return (await queryOne<{ historyId: string }>(core.pool, CURRENT_HISTORY)).historyId
}

/** The newest head, if it has more than `leaf`; otherwise a new one, which has all positions that are given now. */
export async function signHead(core: Core, { leaf = 0 }: { leaf?: number } = {}): Promise<Head> {
  const newest = await queryOne<StoredHead & { now: Date }>(core.pool, NEWEST)
  const isRecent = newest.note !== null && core.now().getTime() - newest.signedAt!.getTime() < SIGN_EVERY_MS
  if (newest.note !== null && newest.size! > leaf && (isRecent || newest.size === newest.treeSize))
    return headOf(newest)
  const outside = parseCheckpoint((await core.settings.outsideHeads.newest()) ?? '')
  const { head, hasBegun } = await transact(core.pool, (tx) => signIn(tx, core, outside))
  if (hasBegun) {
    core.metrics.historiesBegun.inc()
    core.log.error({ historyId: head.historyId }, `${LOST}, or others: a new history began`)
  }
  await keepOutside(core, head)
  return head
}

/** Without a place to keep it, the database alone guards the heads. */
async function keepOutside(core: Core, { note }: Head): Promise<void> {
  try {
    await core.settings.outsideHeads.keep(note)
  } catch (err) {
    core.log.error(
      { err },
      'the head of the history cannot be kept outside the database: make GUICHE_HOME and ANCHOR_FILE writable',
    )
  }
}

type StoredHead = {
  historyId: string
  treeSize: number
  edge: Buffer
  size: number | null
  root: Buffer | null
  note: string | null
  signedAt: Date | null
}

const NEWEST = `
  select i."historyId", t.size as "treeSize", t.edge, h.size, h.root, h.note, h.signed_at as "signedAt"
  from (${CURRENT_HISTORY}) i
  cross join (select size, edge from history_edges order by size desc limit 1) t
  left join lateral (
    select * from history_heads where history_id = i."historyId"::uuid order by size desc limit 1
  ) h on true`

function headOf({ historyId, size, root, note, signedAt }: StoredHead): Head {
  return { historyId, size: size!, root: root!, note: note!, signedAt: signedAt! }
}

async function signIn(tx: Tx, core: Core, outside: Checkpoint | undefined): Promise<{ head: Head; hasBegun: boolean }> {
  await tx.run('select pg_advisory_xact_lock($1)', [SIGNING_LOCK])
  let newest = await tx.one<StoredHead>(NEWEST)
  if (newest.note !== null && newest.size === newest.treeSize) return { head: headOf(newest), hasBegun: false }
  const edge = edgeOf({ size: newest.treeSize, edge: newest.edge })
  const tree = { size: edge.size, root: rootOf(edge) }
  const known = [
    ...(newest.note === null ? [] : [{ size: newest.size!, root: newest.root! }]),
    ...(outside?.origin === originOf(core, newest.historyId) ? [outside] : []),
  ]
  const hasBegun = !(await goesOn(tx, known, tree))
  if (hasBegun) {
    await beginHistory(tx, core.now(), LOST)
    newest = await tx.one<StoredHead>(NEWEST)
  }
  const origin = originOf(core, newest.historyId)
  const note = signNote(checkpointText({ origin, ...tree }), core.settings.headKeys(origin))
  const head = { historyId: newest.historyId, ...tree, note, signedAt: core.now() }
  await tx.run('insert into history_heads (history_id, size, root, note, signed_at) values ($1, $2, $3, $4, $5)', [
    head.historyId,
    head.size,
    head.root,
    head.note,
    head.signedAt,
  ])
  return { head, hasBegun }
}

type Tree = { size: number; root: Hash }

async function goesOn(tx: Tx, known: Tree[], tree: Tree): Promise<boolean> {
  for (const older of known) {
    if (older.size > tree.size) return false
    if (!isConsistent(older, tree, await readConsistency(tx, older.size, tree.size))) return false
  }
  return true
}
