import { createHash } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { ARGON2 } from './users.ts'

// A recovery code has 59 random bits, which can be searched if the hash is fast. So it is hashed as a password is. All
// codes of a person have the same salt: a code that somebody types is then hashed once and not ten times.

/** Those that are hashed are left as they are. */
export async function hashRecoveryCodes(codes: string[]): Promise<string[]> {
  const [first, ...rest] = codes
  if (first === undefined || codes.every(isHashed)) return codes
  const hashed = await hash(storedDigest(first), ARGON2)
  const salt = saltOf(hashed)
  return [hashed, ...(await Promise.all(rest.map((code) => hash(storedDigest(code), { ...ARGON2, salt }))))]
}

/** What is stored for this code, if it is one of them. */
export async function hashTypedCode(stored: string[], code: string): Promise<string> {
  const [first] = stored
  return first === undefined ? '' : hash(digestOf(code), { ...ARGON2, salt: saltOf(first) })
}

function isHashed(code: string): boolean {
  return code.startsWith('$argon2id$')
}

/** Codes that were stored as digests become hashes when one of them is used. A typed digest is no code. */
function storedDigest(code: string): string {
  return /^[\da-f]{64}$/.test(code) ? code : digestOf(code)
}

function digestOf(code: string): string {
  return createHash('sha256').update(`recovery code ${code}`).digest('hex')
}

function saltOf(hashed: string): Buffer {
  return Buffer.from(hashed.split('$')[4]!, 'base64')
}
