import { readFileSync } from 'node:fs'

// Common passwords of 12 characters or more; scripts/guessable-passwords.mjs writes the list.
const FILE = new URL('../../../data/guessable-passwords.txt', import.meta.url)

let read: ReadonlySet<string> | undefined

/** Read on first use, because most commands check no password. */
export function guessablePasswords(): ReadonlySet<string> {
  return (read ??= new Set(readFileSync(FILE, 'utf8').split('\n').filter(Boolean)))
}
