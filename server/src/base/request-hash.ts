import { hash } from 'node:crypto'

/** Equal for two requests that ask for the same, in whatever order their fields come. */
export function hashRequest(request: object): Buffer {
  const fields = Object.entries(request).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Buffer.from(hash('sha256', JSON.stringify(fields), 'hex'), 'hex')
}
