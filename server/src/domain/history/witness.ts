import { verifyCosignature } from '../../base/signed-note.ts'
import { autocommit, query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { signHead, type Head } from './heads.ts'
import { readConsistency } from './stored-tree.ts'

/** The protocol of C2SP tlog-witness: somebody else remembers our newest head, and signs only what goes on from it. */
export type Witness = {
  addCheckpoint(body: string): Promise<{ status: number; text: string }>
}

export type Witnessed = 'cosigned' | 'known' | 'refused'

const CONFLICT = 409
// One answer tells the witness's size, and the next one is about that size.
const MAX_TRIES = 2

/** Asks the witness to sign the newest head. A witness that refuses has seen a history that this one contradicts. */
export async function submitHead(core: Core, witness: Witness, key: string): Promise<Witnessed> {
  const head = await signHead(core)
  const newest = await newestCosigned(core, head)
  if (newest === head.size) return 'known'
  let old = newest
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { status, text } = await witness.addCheckpoint(await bodyOf(core, head, old))
    if (status === 200) return recordCosignature(core, head, text, key)
    const known = Number(/^(0|[1-9]\d{0,15})\n?$/.exec(text)?.[1] ?? Number.NaN)
    if (status !== CONFLICT || !Number.isSafeInteger(known) || known > head.size)
      return refuse(core, head, status, text)
    old = known
  }
  return refuse(core, head, CONFLICT, `it has another size than ${old}, which it said itself`)
}

async function bodyOf(core: Core, { size, note }: Head, old: number): Promise<string> {
  const proof = await readConsistency(autocommit(core.pool), old, size)
  return [`old ${old}`, ...proof.map((hash) => hash.toString('base64')), '', note].join('\n')
}

async function newestCosigned(core: Core, { historyId }: Head): Promise<number> {
  const [row] = await query<{ size: number | null }>(
    core.pool,
    'select max(size) as size from history_heads where history_id = $1 and cosigned is not null',
    [historyId],
  )
  return row?.size ?? 0
}

async function recordCosignature(core: Core, head: Head, text: string, key: string): Promise<Witnessed> {
  const line = text.split('\n').find((signature) => verifyCosignature(head.note, signature, key))
  if (line === undefined) return refuse(core, head, 200, 'its signature is not of WITNESS_KEY')
  await query(core.pool, 'update history_heads set cosigned = $3 where history_id = $1 and size = $2', [
    head.historyId,
    head.size,
    `${line}\n`,
  ])
  return 'cosigned'
}

const EXCERPT = 200

function refuse(core: Core, { size }: Head, status: number, text: string): Witnessed {
  core.log.error(
    { status, answer: text.slice(0, EXCERPT), size },
    'the witness does not sign the head of the history: it knows another one. See docs/operations.md, "The history"',
  )
  return 'refused'
}
