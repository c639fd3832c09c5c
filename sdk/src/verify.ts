import { createHmac, timingSafeEqual } from 'node:crypto'
import type { GuicheEvent } from './events.ts'

export type {
  DepositData,
  DepositEvent,
  GuicheEvent,
  OtherEvent,
  OtherKind,
  RefundData,
  RefundEvent,
  TestEvent,
} from './events.ts'

/**
 * Wide enough for clocks that differ, narrow enough that a recorded delivery is soon worthless. The specification's
 * number.
 */
const TOLERANCE_SECONDS = 300

const SECRET_PREFIX = 'whsec_'

/** Fetch `Headers`, a `Map`, the `headers` of a Node request, or anything with a `get` that ignores case. */
export type WebhookHeaders =
  | Iterable<readonly [string, string]>
  | { get(name: string): string | null | undefined }
  | { readonly [name: string]: string | readonly string[] | undefined }

export type VerifyOptions = {
  /** How far `webhook-timestamp` may lie in the past or the future: 300 unless told. */
  toleranceSeconds?: number
  /** The clock, for tests. */
  now?: () => Date
}

export type VerificationReason =
  | 'missing_header'
  | 'bad_timestamp'
  | 'too_old'
  | 'too_new'
  | 'bad_signature'
  | 'bad_secret'
  | 'bad_payload'

/**
 * `reason` is for programs, `message` for people. Neither holds a secret or an expected signature, so both may be
 * logged.
 */
export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError'
  readonly reason: VerificationReason

  constructor(reason: VerificationReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * Returns the event if it comes from the guiche that holds one of the secrets, and was signed just now; throws a
 * `WebhookVerificationError` otherwise.
 *
 * `payload` must be the body as it came over the wire. The signature is over bytes: a body that was parsed and made
 * into JSON again differs in a space, an escape or the writing of a number, and a genuine message then looks forged.
 * With several secrets, any one of them is enough.
 *
 * What the signature cannot tell is whether the message came before: remember `webhook-id`, and do each only once.
 */
export function verify(
  payload: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): GuicheEvent {
  assertRaw(payload)
  const keys = (typeof secret === 'string' ? [secret] : [...(secret ?? [])]).map(decodeSecret)
  if (keys.length === 0) throw new WebhookVerificationError('bad_secret', 'no secret was given')

  const id = readOnce(headers, 'webhook-id')
  const timestamp = readOnce(headers, 'webhook-timestamp')
  const signatures = readSignatures(headers)
  assertRecent(timestamp, options)
  assertSigned({ id, timestamp, payload }, keys, signatures)
  return parse(payload)
}

/**
 * For callers without types: a framework that parses JSON by itself is the commonest mistake, and deserves its own
 * words.
 */
function assertRaw(payload: unknown): void {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return
  throw new WebhookVerificationError(
    'bad_payload',
    'the payload must be the raw body, a string or bytes, not a parsed object',
  )
}

function decodeSecret(secret: unknown): Buffer {
  if (typeof secret !== 'string' || secret === '')
    throw new WebhookVerificationError('bad_secret', 'the secret is not set')
  const encoded = secret.slice(SECRET_PREFIX.length)
  // Buffer skips what is not base64. A secret with a character lost would become another key, and every message look
  // forged.
  const isBase64 = encoded.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
  if (secret.startsWith(SECRET_PREFIX) && isBase64) return Buffer.from(encoded, 'base64')
  throw new WebhookVerificationError(
    'bad_secret',
    `the secret must be "${SECRET_PREFIX}" and then base64, exactly as guiche showed it`,
  )
}

function readOnce(headers: WebhookHeaders, name: string): string {
  const [value, ...more] = readHeader(headers, name)
  if (!value) throw new WebhookVerificationError('missing_header', `the header ${name} is missing`)
  // Of two values one was signed and the other would be used: it is not for us to choose.
  if (more.length > 0) throw new WebhookVerificationError('missing_header', `the header ${name} came more than once`)
  return value
}

function readSignatures(headers: WebhookHeaders): string[] {
  const signatures = readHeader(headers, 'webhook-signature').flatMap((value) => value.split(' '))
  if (signatures.some((signature) => signature !== '')) return signatures
  throw new WebhookVerificationError('missing_header', 'the header webhook-signature is missing')
}

function readHeader(headers: WebhookHeaders, name: string): string[] {
  if (Symbol.iterator in headers) return pick(headers, name)
  if (typeof headers.get === 'function') return [headers.get(name)].flatMap((value) => value ?? [])
  return pick(Object.entries(headers), name)
}

function pick(entries: Iterable<readonly [string, string | readonly string[] | undefined]>, name: string): string[] {
  return [...entries].flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []))
}

function assertRecent(
  timestamp: string,
  { toleranceSeconds = TOLERANCE_SECONDS, now = () => new Date() }: VerifyOptions,
): void {
  // The bound on the length keeps it an exact number.
  if (!/^\d{1,15}$/.test(timestamp)) {
    throw new WebhookVerificationError('bad_timestamp', 'webhook-timestamp is not a whole number of seconds')
  }
  const ageSeconds = Math.floor(now().getTime() / 1000) - Number(timestamp)
  if (ageSeconds < -toleranceSeconds) {
    throw new WebhookVerificationError(
      'too_new',
      `signed ${-ageSeconds} s in the future: is this machine's clock right?`,
    )
  }
  // Turned round, so that a tolerance or clock that is no number refuses instead of letting everything pass.
  if (!(ageSeconds <= toleranceSeconds)) {
    throw new WebhookVerificationError(
      'too_old',
      `signed ${ageSeconds} s ago: a replay, or this machine's clock is wrong`,
    )
  }
}

function assertSigned(
  { id, timestamp, payload }: { id: string; timestamp: string; payload: string | Uint8Array },
  keys: Buffer[],
  signatures: string[],
): void {
  // A full stop parts id, timestamp and body. An id that has one would let part of one message's body pass for
  // another's id.
  const matches =
    !id.includes('.') &&
    keys.some((key) => {
      const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(payload).digest('base64')
      return signatures.some((signature) => isSame(signature, `v1,${digest}`))
    })
  if (matches) return
  throw new WebhookVerificationError(
    'bad_signature',
    'no signature matches: the secret is of another endpoint, the payload is not the raw body, or the message is forged',
  )
}

/** As text and not as decoded bytes, since base64 can write the same bytes in several ways. The length is no secret. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function parse(payload: string | Uint8Array): GuicheEvent {
  let content: unknown
  try {
    content = JSON.parse(typeof payload === 'string' ? payload : new TextDecoder().decode(payload))
  } catch {
    content = undefined
  }
  if (isEvent(content)) return content
  throw new WebhookVerificationError('bad_payload', 'the payload is signed, but is not a JSON object')
}

/**
 * The signature shows that guiche wrote it, so fields are not examined again: what a later version adds comes through.
 */
function isEvent(content: unknown): content is GuicheEvent {
  return typeof content === 'object' && content !== null && !Array.isArray(content)
}
