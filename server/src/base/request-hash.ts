import { hash } from 'node:crypto'

/**
 * Equal for two requests that ask for the same, in whatever order their fields come. A field without a value is left
 * out, so a new one does not change earlier hashes. In SQL, isHashOf() of domain/audit/rules.ts gives the same.
 */
export function hashRequest(request: object): Buffer {
  const given = Object.entries(request).filter(([, value]) => value !== null && value !== undefined)
  const fields = given.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Buffer.from(hash('sha256', JSON.stringify(fields), 'hex'), 'hex')
}
