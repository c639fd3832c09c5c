import { Fault } from '../../base/fault.ts'
import type { ReceivedPayment } from '../../domain/ports/provider.ts'
import { MalformedResponse } from './call.ts'
import { END_TO_END_ID, instant, type Entries } from './provider.ts'

/** A malformed entry hides no other. `read` returns undefined for what is no Pix. */
export function readEntries(
  entries: unknown[],
  read: (entry: unknown) => ReceivedPayment | undefined,
  identify: (entry: unknown) => { id: unknown; time: unknown; isMoney: boolean },
): Entries {
  const found: Entries = { payments: [], unread: [] }
  for (const entry of entries) {
    try {
      const payment = read(entry)
      if (payment) found.payments.push(payment)
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      const { id, time, isMoney } = identify(entry)
      const endToEndId = matching(id, END_TO_END_ID)
      const text = endToEndId === null ? error.message + showId(id) : error.message
      found.unread.push({ endToEndId, isMoney, occurredAt: instant.safeParse(time).data ?? null, text })
    }
  }
  return found
}

const MAX_ID_LENGTH = 60

function showId(id: unknown): string {
  if (typeof id !== 'string' || id === '') return ''
  return ` (its id is ${id.replaceAll(/\p{C}/gu, '\u{fffd}').slice(0, MAX_ID_LENGTH)})`
}

export function sentence(parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' ')
}

/** Only says where to look, so it may be missing or wrong. */
export function claimedTime(value: unknown): Date | undefined {
  const at = new Date(typeof value === 'string' ? value : Number.NaN)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** The largest page of API Pix. */
export const MAX_HINTS = 1_000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Some providers probe the URL with an empty body. */
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

export function matching(value: unknown, pattern: RegExp): string | null {
  return typeof value === 'string' && pattern.test(value) ? value : null
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
