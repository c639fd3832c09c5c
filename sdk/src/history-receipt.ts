import { openCheckpoint, parseKey, type SignatureCode } from './history-checkpoint.ts'
import { commitTo, fromBase64, hashLeaf, hashNode, isSame, toBase64, uuidOf } from './history-hashes.ts'

export type ReceiptProblem = { code: 'unreadable' | 'checkpoint' | 'not_included' | SignatureCode; text: string }
export type ReceiptProof = {
  /** Whether one of the keys signed a log that holds exactly this event, for this account and at this position. */
  ok: boolean
  accountId?: string
  position?: number
  leaf?: number
  historyId?: string
  size?: number
  /** The root of the log, in Base64. */
  root?: string
  /** The verifier key, of those given, that signed the checkpoint. */
  signedBy?: string
  problems: ReceiptProblem[]
}

type Receipt = { salt: Uint8Array; account: Uint8Array; position: number; index: number; path: Uint8Array[] }

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
const EXTRA_BYTES = 16 + 16 + 8
const HASH_BYTES = 32
/** A path to a leaf below 2^53, the largest whole number that is exact here. */
const MAX_PATH = 53

/**
 * Proves that a log holds an event: its exact bytes, as a webhook delivers them. `keys` are the verifier keys of the
 * log, from its operator or `/.well-known/guiche-log.json`, and never from the receipt.
 *
 * It needs `node:crypto`, which Node, Bun and Deno have. Throws if a key is no verifier key.
 */
export function verifyReceipt(
  receipt: string,
  event: string | Uint8Array,
  { keys }: { keys: readonly string[] },
): ReceiptProof {
  const verifierKeys = keys.map(parseKey)
  const end = receipt.indexOf('\n\n')
  const parsed = end === -1 ? undefined : parseReceipt(receipt.slice(0, end).split('\n'))
  if (!parsed) return { ok: false, problems: [{ code: 'unreadable', text: 'This is not a receipt of an event.' }] }
  const opened = openCheckpoint(receipt.slice(end + 2), verifierKeys)
  const { checkpoint, signedBy } = opened
  const problems: ReceiptProblem[] = [...opened.problems]
  const leafHash = hashLeaf('event', commitTo(parsed, event))
  if (checkpoint && !isIncluded(parsed, leafHash, checkpoint))
    problems.push({
      code: 'not_included',
      text: 'The log does not hold these bytes at this place: the event or the receipt was altered.',
    })
  return {
    ok: problems.length === 0,
    accountId: uuidOf(parsed.account),
    position: parsed.position,
    leaf: parsed.index,
    ...(checkpoint && { historyId: checkpoint.historyId, size: checkpoint.size, root: toBase64(checkpoint.root) }),
    ...(signedBy === undefined ? {} : { signedBy }),
    problems,
  }
}

function parseReceipt([first, extraLine = '', indexLine = '', ...hashes]: string[]): Receipt | undefined {
  const extra = extraLine.startsWith('extra ') ? fromBase64(extraLine.slice(6), EXTRA_BYTES) : undefined
  const [, digits] = /^index (0|[1-9]\d{0,15})$/.exec(indexLine) ?? []
  const path = hashes.map((hash) => fromBase64(hash, HASH_BYTES))
  if (first !== FIRST_LINE || !extra || digits === undefined || path.length > MAX_PATH) return undefined
  const position = Number(new DataView(extra.buffer).getBigUint64(32))
  const index = Number(digits)
  if (!Number.isSafeInteger(position) || !Number.isSafeInteger(index) || !path.every((hash) => hash !== undefined))
    return undefined
  return { salt: extra.slice(0, 16), account: extra.slice(16, 32), position, index, path }
}

/** As RFC 9162, section 2.1.3.2, says. Bit operators would cut numbers to 32 bits. */
function isIncluded(
  { index, path }: Receipt,
  leafHash: Uint8Array,
  { size, root }: { size: number; root: Uint8Array },
): boolean {
  if (index >= size) return false
  let [node, last, hash] = [index, size - 1, leafHash]
  for (const sibling of path) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = hashNode(sibling, hash)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else {
      hash = hashNode(hash, sibling)
    }
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 && isSame(hash, root)
}
