import { Fault } from '../../base/fault.ts'

// What the notifications of all providers have in common. They come from outside, so everything in them is looked at before it is used.

/** The largest page of API Pix, and so the largest list that a provider has reason to send. */
export const MAX_HINTS = 1_000

/** The id that the central bank's system gives to every Pix. */
export const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/

/** The JSON object in the body; no body at all is an empty one, since some providers open the address once to see whether it is there. */
export function parseNotification(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {}
  const json = parseJson(body)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new Fault('bad_request', 'Request body must be a JSON object')
  }
  return json as Record<string, unknown>
}

export function shaped(value: unknown, shape: RegExp): string | null {
  return typeof value === 'string' && shape.test(value) ? value : null
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body))
  } catch {
    throw new Fault('bad_request', 'Request body is not valid JSON')
  }
}
