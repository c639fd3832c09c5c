import { createHash } from 'node:crypto'

/**
 * Tells whether two requests ask for the same. Of what was understood and not of the bytes: a client that repeats a request may write its JSON in another
 * order. Every field counts, so that one that is added to a request later is not forgotten here.
 */
export function hashRequest(request: object): Buffer {
  const fields = Object.entries(request).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(fields)).digest()
}
