import { hash } from 'node:crypto'

/**
 * Tells whether two requests ask for the same. Hashes the parsed request and not its bytes, because a client may repeat
 * it with its fields in another order. Hashes every field, so that a field added later cannot be forgotten here.
 */
export function hashRequest(request: object): Buffer {
  const fields = Object.entries(request).toSorted(([one], [other]) => (one < other ? -1 : 1))
  // By way of text: Node gives a digest memory of its own, which costs more than the digest.
  return Buffer.from(hash('sha256', JSON.stringify(fields), 'hex'), 'hex')
}
