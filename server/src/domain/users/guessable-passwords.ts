import { readFileSync } from 'node:fs'

// Passwords of 12 characters or more that people choose: scripts/guessable-passwords.mjs writes the list.
const FILE = new URL('../../../data/guessable-passwords.txt', import.meta.url)

let read: ReadonlySet<string> | undefined

/** Read when first asked, for most commands check no password. */
export function guessablePasswords(): ReadonlySet<string> {
  return (read ??= new Set(readFileSync(FILE, 'utf8').split('\n').filter(Boolean)))
}
