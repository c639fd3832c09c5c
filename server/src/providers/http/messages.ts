import { z } from 'zod'
import { decodeBrCode } from '../../base/brcode.ts'
import { Fault } from '../../base/fault.ts'

/**
 * A response that does not match the provider's description. It is rejected as a whole: money depends on its fields.
 */
export class MalformedResponse extends Error {
  override name = 'MalformedResponse'
}

/** `description` names the API that the message should follow. */
export function parseMessage<Body>(schema: z.ZodType<Body>, json: unknown, description: string): Body {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  // Field names only: values may hold anything.
  const fields = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join('.') || 'the whole message')
  throw new MalformedResponse(`does not match ${description}: ${fields.join(', ')}`)
}

/**
 * The code to pay, which banking apps must be able to read. Where only the state is needed (isNeeded false), a bad code
 * must not hide a payment: it counts as empty.
 */
export function readEmv(give: () => string, isNeeded: boolean): string {
  try {
    const emv = give()
    decodeBrCode(emv)
    return emv
  } catch {
    if (isNeeded) throw new MalformedResponse('no readable BR Code')
    return ''
  }
}

/** The texts among the parts of an error body. */
export function sentence(parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' ')
}

/** RFC 3339 with a zone. Without one it would be read in this machine's zone, three hours off. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i)
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()))

/** The time that a notification claims. Nothing depends on it but where to look, so it may be missing or wrong. */
export function claimedTime(value: unknown): Date | undefined {
  const at = new Date(typeof value === 'string' ? value : Number.NaN)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** The id that the central bank's system gives to every Pix. */
export const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/

/** The largest page of API Pix, so no provider has reason to send a longer list. */
export const MAX_HINTS = 1_000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The JSON object in a notification. An empty body counts as {}: some providers probe the URL with one. */
export function parseNotification(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {}
  let json: unknown
  try {
    json = JSON.parse(utf8.decode(body))
  } catch {
    throw new Fault('bad_request', 'Request body is not valid JSON')
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Record<string, unknown>
  throw new Fault('bad_request', 'Request body must be a JSON object')
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function matching(value: unknown, pattern: RegExp): string | null {
  return typeof value === 'string' && pattern.test(value) ? value : null
}

/** Some providers return our txid in upper case. */
export function isSameTxid(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** {} for anything that is not an object. */
export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
