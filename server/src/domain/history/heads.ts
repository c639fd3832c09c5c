import { checkpointText, parseCheckpoint, signNote, verifierKey, type Checkpoint } from '../../base/signed-note.ts'
import { queryOne, transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import type { Settings } from '../core/settings.ts'
import { isConsistent, type Hash } from './merkle.ts'
import { beginHistory, LOST } from './number-pending.ts'
import { MissingLeaves, readConsistency, readTreeRoot, TREE_SIZE } from './stored-tree.ts'

// A head is the signed root of the tree at a size. It is shown only when it is stored and kept outside the database,
// and it is signed only if it goes on from the heads before it: two heads of one history never contradict each other.

export type Head = { historyId: string; size: number; root: Hash; note: string; signedAt: Date }

const SIGNING_LOCK = 4_782_116
// A caller who asks for the receipt of each event as it happens must not cost a signature each.
const SIGN_EVERY_MS = 1_000

/** The name of a log and of its key. A new history is another log, whose heads contradict nobody. */
export function originOf({ publicUrl }: Pick<Settings, 'publicUrl'>, historyId: string): string {
  return `${new URL(publicUrl).host}/${historyId}`
}

/** What verifiers are configured with: one key for each SECRET_KEY. The first signs, and so do all others. */
export function verifierKeys(settings: Pick<Settings, 'publicUrl' | 'headKeys'>, historyId: string): string[] {
  return settings.headKeys(originOf(settings, historyId)).map(verifierKey)
}

export const CURRENT_HISTORY = `select replace(id::text, '-', '') as "historyId" from histories order by number desc limit 1`

/**
 * The newest head, if it has more than `leaf`; otherwise one that has all positions that are given now. Begins another
 * history if the database does not go on from a head that was signed before.
 */
export async function signHead(core: Core, { leaf = 0 }: { leaf?: number } = {}): Promise<Head> {
  const { settings } = core
  const outside = parseCheckpoint((await settings.outsideHeads.newest()) ?? '')
  const newest = await queryOne<StoredHead>(core.pool, NEWEST)
  const isRecent = newest.note !== null && core.now().getTime() - newest.signedAt!.getTime() < SIGN_EVERY_MS
  const isBehind = isAhead(outside, newest)
  if (newest.note !== null && newest.size! > leaf && !isBehind && (isRecent || newest.size === newest.treeSize))
    return headOf(newest)
  const { head, hasBegun } = await transact(core.pool, (tx) => signIn(tx, core.now(), settings, outside))
  if (hasBegun) {
    core.metrics.historiesBegun.inc()
    core.log.error({ historyId: head.historyId }, `${LOST}, or others: a new history began`)
  }
  await keepOutside(core, head)
  return head
}

function isAhead(outside: Checkpoint | undefined, { historyId, treeSize }: StoredHead): boolean {
  return outside !== undefined && outside.origin.endsWith(`/${historyId}`) && outside.size > treeSize
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
  size: number | null
  root: Buffer | null
  note: string | null
  signedAt: Date | null
}

const NEWEST = `
  select i."historyId", ${TREE_SIZE} as "treeSize", h.size, h.root, h.note, h.signed_at as "signedAt"
  from (${CURRENT_HISTORY}) i
  left join lateral (
    select * from history_heads where history_id = i."historyId"::uuid order by size desc limit 1
  ) h on true`

/** `waitsSince`: the oldest leaf without a signed head. `unwitnessedSince`: the oldest head that no witness signed. */
export type HeadState = { signedAt: Date | null; waitsSince: Date | null; unwitnessedSince: Date | null }

export function readHeadState(core: Core): Promise<HeadState> {
  return queryOne<HeadState>(
    core.pool,
    `select n."signedAt", least(
       (select numbered_at from history_runs where first_leaf >= coalesce(n.size, 0) order by first_leaf limit 1),
       (select l.at from history_lines h join audit_log l on l.id = h.line_id
        where h.leaf >= coalesce(n.size, 0) order by h.leaf limit 1)
     ) as "waitsSince", (
       select signed_at from history_heads h where h.history_id = n."historyId"::uuid and h.size > coalesce((
         select size from history_heads where history_id = n."historyId"::uuid and cosigned is not null
         order by size desc limit 1
       ), 0) order by h.size limit 1
     ) as "unwitnessedSince"
     from (${NEWEST}) n`,
  )
}

function headOf({ historyId, size, root, note, signedAt }: StoredHead): Head {
  return { historyId, size: size!, root: root!, note: note!, signedAt: signedAt! }
}

async function signIn(
  tx: Tx,
  now: Date,
  settings: Pick<Settings, 'publicUrl' | 'headKeys'>,
  outside: Checkpoint | undefined,
): Promise<{ head: Head; hasBegun: boolean }> {
  await tx.run('select pg_advisory_xact_lock($1)', [SIGNING_LOCK])
  let newest = await tx.one<StoredHead>(NEWEST)
  if (newest.note !== null && newest.size === newest.treeSize && !isAhead(outside, newest))
    return { head: headOf(newest), hasBegun: false }
  const tree = { size: newest.treeSize, root: await readTreeRoot(tx, newest.treeSize) }
  const known = [
    ...(newest.note === null ? [] : [{ size: newest.size!, root: newest.root! }]),
    ...(outside?.origin.endsWith(`/${newest.historyId}`) ? [outside] : []),
  ]
  const hasBegun = !(await goesOn(tx, known, tree))
  if (hasBegun) {
    await beginHistory(tx, now, LOST)
    newest = await tx.one<StoredHead>(NEWEST)
  }
  const origin = originOf(settings, newest.historyId)
  const note = signNote(checkpointText({ origin, ...tree }), settings.headKeys(origin))
  const head = { historyId: newest.historyId, ...tree, note, signedAt: now }
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
    const proof = await readConsistency(tx, older.size, tree.size).catch(undefinedIfMissing)
    if (!proof || !isConsistent(older, tree, proof)) return false
  }
  return true
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof MissingLeaves)) throw error
}
