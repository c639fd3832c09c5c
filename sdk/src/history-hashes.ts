import { nodeCrypto } from './node-crypto.ts'

/** What a leaf is: an event, a line of the operators' log, or a sign-in in that log. */
export type LeafClass = 'event' | 'line' | 'personal'

/** Who has which number: what a leaf says beside its text. */
export type LeafPlace = { salt: Uint8Array; account: Uint8Array; position: number }

const UTF8 = new TextEncoder()
const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

/** A digest at a time by WebCrypto takes ten times as long, and a history has a million leaves. */
export function sha256(...parts: Uint8Array[]): Uint8Array {
  return nodeCrypto('prove histories in Node, Bun or Deno').hash('sha256', concat(parts), 'buffer')
}

export function commitTo({ salt, account, position }: LeafPlace, body: string | Uint8Array): Uint8Array {
  return sha256(salt, account, eightBytes(position), typeof body === 'string' ? UTF8.encode(body) : body)
}

/** The class ends with a zero, so that no class is the beginning of another one. */
export function hashLeaf(leafClass: LeafClass, commitment: Uint8Array): Uint8Array {
  return sha256(LEAF, UTF8.encode(leafClass), LEAF, commitment)
}

export function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(NODE, left, right)
}

export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

/** Undefined unless it is the one Base64 text of that many bytes. */
export function fromBase64(text: unknown, length: number): Uint8Array | undefined {
  if (typeof text !== 'string' || text.length !== Math.ceil(length / 3) * 4) return undefined
  let binary: string
  try {
    binary = atob(text)
  } catch {
    return undefined
  }
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes.length === length && btoa(binary) === text ? bytes : undefined
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function bytesOfUuid(uuid: unknown): Uint8Array | undefined {
  if (typeof uuid !== 'string' || !UUID.test(uuid)) return undefined
  const digits = uuid.replaceAll('-', '')
  return Uint8Array.from({ length: 16 }, (_, index) => Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16))
}

export function uuidOf(bytes: Uint8Array): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function eightBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

export function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
