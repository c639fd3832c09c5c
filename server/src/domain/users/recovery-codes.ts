import { hash } from '@node-rs/argon2'
import { ARGON2 } from './users.ts'

// A recovery code has 59 random bits, which can be searched if the hash is fast. So it is hashed as a password is. All
// codes of a person have the same salt: a code that somebody types is then hashed once and not ten times.

/** Codes that are left after one was used are hashed already, and stay as they are. */
export async function hashRecoveryCodes(codes: string[]): Promise<string[]> {
  const [first, ...rest] = codes
  if (first === undefined || first.startsWith('$argon2id$')) return codes
  const hashed = await hash(first, ARGON2)
  const salt = saltOf(hashed)
  return [hashed, ...(await Promise.all(rest.map((code) => hash(code, { ...ARGON2, salt }))))]
}

/** What is stored for this code, if it is one of them. */
export async function hashTypedCode(stored: string[], code: string): Promise<string> {
  const [first] = stored
  return first === undefined ? '' : hash(code, { ...ARGON2, salt: saltOf(first) })
}

function saltOf(hashed: string): Buffer {
  return Buffer.from(hashed.split('$')[4]!, 'base64')
}
