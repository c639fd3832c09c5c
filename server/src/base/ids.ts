import { randomInt, randomUUID } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

let lastMs = 0
let placeInMs = 0

/**
 * A UUID of version 7: the order of ids is the order of creation, within a millisecond too if one process made them.
 * PostgreSQL makes them from 18 on, and we support 15.
 */
export function newUuid7(now: Date): string {
  const head = headOf(now, 0x7000)
  // Half of a random UUID costs a tenth of our own random bytes: Node draws them in advance.
  return `${head.slice(0, 8)}-${head.slice(8, 12)}-${head.slice(12)}${randomUUID().slice(18)}`
}

/** A UUID of version 7 with 74 random bits, which nobody can guess. Unordered within a millisecond. */
export function newSecretUuid7(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/**
 * The same, as 32 hexadecimal digits. The ids of charges, refunds and exceptions have this form in the code as outside.
 * PostgreSQL takes it for a UUID as it is; hexId() of db/sql-values.ts reads it.
 */
export function newHexId(now: Date): string {
  return hexFromUuid(newUuid7(now))
}

/** In the order of creation. The second half is derived from the first. */
export function newSealedId(now: Date, seal: (head: string) => string): string {
  const head = headOf(now, 0x8000)
  return head + seal(head)
}

/** The first 16 hexadecimal digits: the time, the version and the place within the millisecond. */
function headOf(now: Date, version: number): string {
  const bytes = Buffer.alloc(8)
  const ms = now.getTime()
  placeInMs = ms === lastMs ? (placeInMs + 1) & 0xfff : 0
  lastMs = ms
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(version | placeInMs, 6)
  return bytes.toString('hex')
}

/** Greater than every newUuid7 before this time, and smaller than every one after it. */
export function uuidOfTime(at: Date): string {
  const time = Math.max(0, at.getTime()).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

export function hexFromUuid(uuid: string): string {
  return uuid.replaceAll('-', '')
}

export function isHexId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

/** The id of a charge that a txid names; null if it is not ours. Some banks return it in upper case. */
export function hexIdOf(txid: string | null): string | null {
  const id = txid?.toLowerCase() ?? ''
  return isHexId(id) ? id : null
}

const CODE_TXID_LENGTH = 25

/** The id of a code with 36 digits: the longest id fills the 25 characters that a static BR Code has for it. */
export function codeTxidOf(id: string): string {
  return BigInt(`0x${hexFromUuid(id)}`)
    .toString(36)
    .padStart(CODE_TXID_LENGTH, '0')
}

/** The txid as a code has it, in lower case; null if it is none of a code. */
export function readCodeTxid(txid: string | null): string | null {
  return txid?.length === CODE_TXID_LENGTH ? txid.toLowerCase() : null
}

/** The id that somebody gives us, with or without hyphens. Undefined if it is none. */
export function parseHexId(text: string): string | undefined {
  const id = hexFromUuid(text.toLowerCase())
  return isHexId(id) ? id : undefined
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)
}

/** Padded, so that all values of that many bytes have one length. */
export function base62(bytes: Buffer): string {
  const width = Math.ceil((bytes.length * 8) / Math.log2(62))
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  while (text.length < width) {
    text = BASE62[Number(rest % 62n)]! + text
    rest /= 62n
  }
  return text
}

/** About 118 bits, without characters that look alike. */
export function randomPassword(): string {
  const alphabet = 'abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
  return Array.from({ length: 20 }, () => alphabet[randomInt(alphabet.length)]!).join('')
}
