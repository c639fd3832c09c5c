import { createHash } from 'node:crypto'

/** A subject that follows from what is known outside of our database, so that it is the same after a loss. */
export function derivedSubject(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
