import type { GuicheEvent } from './events.ts'

// Checks everything that makes a delivery genuine, except the digest: each runtime computes it in its own way.

/** The specification's number. It allows for clocks that differ, and makes a recorded delivery worthless soon. */
const TOLERANCE_SECONDS = 300

const SECRET_PREFIX = 'whsec_'

/** Fetch `Headers`, a `Map`, the `headers` of a Node request, or anything with a `get` that ignores case. */
export type WebhookHeaders =
  | Iterable<readonly [string, string]>
  | { get(name: string): string | null | undefined }
  | { readonly [name: string]: string | readonly string[] | undefined }

export type VerifyOptions = {
  /** How far `webhook-timestamp` may lie in the past or the future. Defaults to 300. */
  toleranceSeconds?: number
  /** The clock, for tests. */
  now?: () => Date
  /**
   * Whether the examples that people send from the dashboard are accepted. They come with `test: true` and under the
   * kind that they are an example of: do with them what has no effect. Defaults to false, and they are refused.
   */
  acceptTests?: boolean
}

export type VerificationReason =
  | 'missing_header'
  | 'bad_timestamp'
  | 'too_old'
  | 'too_new'
  | 'bad_signature'
  | 'bad_secret'
  | 'bad_payload'
  | 'test_event'

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

export type Payload = string | Uint8Array

/** A delivery whose form is right. It is genuine if one of the keys gives one of the signatures. */
export type Delivery = { keys: Uint8Array[]; signed: Uint8Array; signatures: string[] }

export function openDelivery(
  payload: Payload,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions,
): Delivery {
  assertRaw(payload)
  const keys = decodeSecrets(secret)
  const id = readOnce(headers, 'webhook-id')
  const timestamp = readOnce(headers, 'webhook-timestamp')
  const signatures = readSignatures(headers)
  assertRecent(timestamp, options)
  // A full stop separates id, timestamp and body. If an id could contain one, part of one message's body could pass for
  // another's id.
  if (id.includes('.')) throw forged()
  return { keys, signed: join(`${id}.${timestamp}.`, payload), signatures }
}

/** `digests` are those of the delivery's keys, in base64. */
export function acceptDelivery(
  payload: Payload,
  { signatures }: Delivery,
  digests: string[],
  { acceptTests = false }: VerifyOptions,
): GuicheEvent {
  const isGenuine = digests.some((digest) => signatures.some((signature) => isSame(signature, `v1,${digest}`)))
  if (!isGenuine) throw forged()
  const event = parse(payload)
  if (event.test !== true) return event
  if (!acceptTests)
    throw new WebhookVerificationError('test_event', 'genuine, but a test that somebody sent: nothing happened')
  return { ...event, event: event.event.replace(/^TEST_/, '') } as GuicheEvent
}

/**
 * Helps callers without types: a framework that parses JSON by itself is the most common mistake, so it has its own
 * message.
 */
function assertRaw(payload: unknown): void {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return
  throw new WebhookVerificationError(
    'bad_payload',
    'the payload must be the raw body, a string or bytes, not a parsed object',
  )
}

/** Throws unless there is at least one secret, and each is a secret of guiche. */
export function decodeSecrets(secret: string | readonly string[]): Uint8Array[] {
  const keys = (typeof secret === 'string' ? [secret] : [...(secret ?? [])]).map(decodeSecret)
  if (keys.length === 0) throw new WebhookVerificationError('bad_secret', 'no secret was given')
  return keys
}

function decodeSecret(secret: unknown): Uint8Array {
  if (typeof secret !== 'string' || secret === '')
    throw new WebhookVerificationError('bad_secret', 'the secret is not set')
  const encoded = secret.slice(SECRET_PREFIX.length)
  // A lenient decoder skips what is not base64. A secret that lost a character would then become another key, and every
  // message would look forged.
  const isBase64 = encoded.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
  if (secret.startsWith(SECRET_PREFIX) && isBase64)
    return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0))
  throw new WebhookVerificationError(
    'bad_secret',
    `the secret must be "${SECRET_PREFIX}" and then base64, exactly as guiche showed it`,
  )
}

function readOnce(headers: WebhookHeaders, name: string): string {
  const [value, ...more] = readHeader(headers, name)
  if (!value) throw new WebhookVerificationError('missing_header', `the header ${name} is missing`)
  // One of the two values was signed and the other would be used. We must not choose between them.
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
  // The limit on its length keeps the number exact.
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
  // Written with `!`, so that NaN, as tolerance or time, refuses the event instead of accepting every age.
  if (!(ageSeconds <= toleranceSeconds)) {
    throw new WebhookVerificationError(
      'too_old',
      `signed ${ageSeconds} s ago: a replay, or this machine's clock is wrong`,
    )
  }
}

function forged(): WebhookVerificationError {
  return new WebhookVerificationError(
    'bad_signature',
    'no signature matches: the secret is of another endpoint, the payload is not the raw body, or the message is forged',
  )
}

function join(prefix: string, payload: Payload): Uint8Array {
  const encoder = new TextEncoder()
  const start = encoder.encode(prefix)
  const body = typeof payload === 'string' ? encoder.encode(payload) : payload
  const whole = new Uint8Array(start.length + body.length)
  whole.set(start)
  whole.set(body, start.length)
  return whole
}

/**
 * Compares the texts and not the decoded bytes, since base64 can write the same bytes in several ways. It takes equally
 * long wherever they differ; the length is no secret.
 */
function isSame(given: string, expected: string): boolean {
  let difference = given.length ^ expected.length
  for (let at = 0; at < expected.length; at++) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at)
  return difference === 0
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
 * The signature proves that guiche wrote the event, so its fields are not checked. Fields of later versions pass
 * through.
 */
function isEvent(content: unknown): content is GuicheEvent {
  return typeof content === 'object' && content !== null && !Array.isArray(content)
}
