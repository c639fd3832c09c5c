import { bytesOfUuid, commitTo, fromBase64, hashLeaf, type LeafClass } from './history-hashes.ts'

// The lines of an export, as docs/history-format.md says.

export type Header = { historyId: string; accountId: string; account: Uint8Array; checkpoint: string }
/** `claimed` is the hash that the line says it has. */
export type OwnLine = {
  kind: 'own'
  leaf: number
  position: number
  hash: Uint8Array
  claimed: Uint8Array | undefined
  isErased: boolean
}
export type OthersLine = { kind: 'others'; from: number; level: number; hash: Uint8Array }
export type BlockLine = { kind: 'block'; from: number; hash: Uint8Array }

const FORMAT = 'guiche-history-1'
const SALT_BYTES = 16
const HASH_BYTES = 32
/** A subtree of more leaves could not begin at a number that is exact here. */
const MAX_LEVEL = 52
const CLASSES: readonly unknown[] = ['event', 'line', 'personal'] satisfies LeafClass[]

type Fields = Record<string, unknown>

export function parseHeader(text: string): Header | undefined {
  const { format, historyId, accountId, checkpoint } = fieldsOf(text)
  const account = bytesOfUuid(accountId)
  if (format !== FORMAT || typeof historyId !== 'string' || typeof checkpoint !== 'string' || !account) return undefined
  return { historyId, accountId: accountId as string, account, checkpoint }
}

export function parseLine(text: string, account: Uint8Array): OwnLine | OthersLine | BlockLine | undefined {
  const fields = fieldsOf(text)
  if ('leaf' in fields) return parseOwn(fields, account)
  const { from, level, block } = fields
  const hash = fromBase64(fields['hash'], HASH_BYTES)
  if (!hash) return undefined
  if (isCount(block)) return { kind: 'block', from: block, hash }
  if (!isCount(from) || !isCount(level) || level > MAX_LEVEL || from % 2 ** level !== 0) return undefined
  return { kind: 'others', from, level, hash }
}

function parseOwn(fields: Fields, account: Uint8Array): OwnLine | undefined {
  const { leaf, position, class: leafClass, body } = fields
  const claimed = fromBase64(fields['hash'], HASH_BYTES)
  if (!isCount(leaf) || !isCount(position) || !CLASSES.includes(leafClass)) return undefined
  if ('hash' in fields && !claimed) return undefined
  const isErased = body === undefined
  const salt = fromBase64(fields['salt'], SALT_BYTES)
  let commitment: Uint8Array | undefined
  // Nothing erases a line of the operators' log that is no sign-in.
  if (isErased) commitment = leafClass === 'line' ? undefined : fromBase64(fields['commitment'], HASH_BYTES)
  else if (typeof body === 'string' && salt) commitment = commitTo({ salt, account, position }, body)
  if (!commitment) return undefined
  return { kind: 'own', leaf, position, hash: hashLeaf(leafClass as LeafClass, commitment), claimed, isErased }
}

function fieldsOf(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Fields) : {}
  } catch {
    return {}
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
