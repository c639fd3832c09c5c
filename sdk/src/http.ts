import { OPERATIONS, type Operations } from './api.ts'
import { GuicheError, type ErrorDetails } from './errors.ts'
import { pauseMs, sleep } from './pause.ts'

export type GuicheOptions = {
  /** Where guiche runs, such as `https://pay.example.com`. */
  url: string
  /** An API key, `gk_live_…` or `gk_test_…`. */
  key: string
  /**
   * Also sends to an `http://` address of another machine, such as `http://guiche:3000` in a cluster. Everybody on the
   * way can read the key, so this is only for a network that is yours.
   */
  allowInsecureHttp?: boolean | undefined
  /** Used in place of the runtime's own `fetch`. */
  fetch?: typeof fetch
  /** How long one attempt may take. Defaults to 30,000. */
  timeoutMs?: number | undefined
  /** How long a failed request is sent again, counted from its first failure. Defaults to 15,000. 0 turns it off. */
  retryForMs?: number | undefined
  /** Gets each failure after which the request is sent again. */
  onRetry?: ((error: GuicheError) => void) | undefined
  /** Gets a sentence when the server ignored a field, once for each. Defaults to `console.warn`. */
  onWarning?: (message: string) => void
}

export type CallOptions = {
  /** Ends the request and its retries. The promise then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** The `timeoutMs` of this call, in place of the client's. */
  timeoutMs?: number | undefined
}

export type CreateOptions = CallOptions & {
  /**
   * Names what is to be created: the same key never creates a second one. By default, the key of a deposit with an
   * `externalId` follows from its fields, so that a restart of your program cannot create a second one either.
   * Everything else gets a new key in each call.
   */
  idempotencyKey?: string | undefined
}

export type Created<Item> = Item & {
  /**
   * True if this key had already created it, by an earlier call or by an attempt of this one whose answer was lost. It
   * may have changed since, so look at its `status`.
   */
  replayed: boolean
}

type Id = keyof Operations
type TakesKey = { [Name in Id]: (typeof OPERATIONS)[Name] extends readonly [string, string, 'key'] ? Name : never }[Id]
type Answer<Name extends Id> = Operations[Name]['answer'] & (Name extends TakesKey ? { replayed: boolean } : unknown)
export type Call = <Name extends Id>(
  name: Name,
  input: Omit<Operations[Name], 'answer'>,
  options?: CreateOptions,
) => Promise<Answer<Name>>

/** Somewhat longer than guiche itself may wait for a provider. */
const TIMEOUT_MS = 30_000
/** Longer than a restart of the server, with its shutdown and the recovery of its database. */
export const RETRY_FOR_MS = 15_000
/** Makes some ten attempts in that time, so that a server that is back is asked soon. */
const PACE = { firstMs: 500, factor: 2, maxMs: 2_000 }
/** POST operations without an Idempotency-Key that may be repeated, because repeating them changes nothing. */
const REPEATABLE: ReadonlySet<Id> = new Set<Id>([
  'cancelDeposit',
  'payPayout',
  'rejectPayout',
  'giveEvidence',
  'giveEvidenceFor',
])

/** A request that can be sent any number of times. */
type Prepared = {
  url: string
  init: RequestInit
  timeoutMs: number
  signal: AbortSignal | undefined
  idempotencyKey: string | undefined
  isText: boolean
}

/** Sends requests, and sends them again when that is safe. */
export function makeCall(options: GuicheOptions): Call {
  const base = readBase(options)
  const { key, retryForMs = RETRY_FOR_MS, onRetry } = options
  // `fetch` is called without an object, because some runtimes refuse their fetch as the method of another object.
  const send = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args))
  const warnOnce = makeWarnings(options.onWarning)

  return async (name, input, { signal, timeoutMs = options.timeoutMs ?? TIMEOUT_MS, ...given } = {}) => {
    const [method, path, kind] = OPERATIONS[name] as readonly [string, string, ('key' | 'text')?]
    const takesKey = kind === 'key'
    const { path: parts, query, body } = input as { path?: Values; query?: Values; body?: unknown }
    const headers: Record<string, string> = { authorization: `Bearer ${key}`, accept: 'application/json' }
    // A redirected POST would arrive as GET. So a redirect means a wrong `url`, and is not followed.
    const init: RequestInit = { method, headers, redirect: 'manual' }
    const idempotencyKey = takesKey ? (given.idempotencyKey ?? crypto.randomUUID()) : undefined
    if (idempotencyKey !== undefined) headers['idempotency-key'] = asHeader(idempotencyKey)
    if (body !== undefined) {
      headers['content-type'] = 'application/json'
      init.body = JSON.stringify(body)
    }
    const isText = kind === 'text'
    const prepared = { url: base + fill(path, parts) + search(query), init, timeoutMs, signal, idempotencyKey, isText }
    const isRepeatable = method !== 'POST' || takesKey || REPEATABLE.has(name)
    const bounds = { retryForMs, isRepeatable, signal, onRetry }
    const { answer, headers: received } = await withRetries((attempts) => attempt(send, prepared, attempts), bounds)
    for (const field of received.get('guiche-ignored')?.split(', ') ?? [])
      warnOnce(`guiche ignored the field ${field} of ${name}: it is misspelt, or newer than the server`)
    if (isText) return answer as Answer<typeof name>
    const replay = takesKey && { replayed: received.get('idempotency-replayed') === 'true' }
    return { ...(answer as object), ...replay } as Answer<typeof name>
  }
}

/** For what needs no key: the stream of a payment page. */
export function makeOpen(options: GuicheOptions): (path: string, signal: AbortSignal) => Promise<Response> {
  const base = readBase(options)
  const send = options.fetch ?? fetch
  const headers = { accept: 'text/event-stream' }
  return (path, signal) => send(base + path, { headers, redirect: 'manual', signal })
}

export type Download = (path: string, query: Values, options?: CallOptions) => Promise<Response>

/** For files of any length: resolves when the answer begins, and leaves its body to the caller. */
export function makeDownload(options: GuicheOptions): Download {
  const base = readBase(options)
  const send = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args))
  const { key, retryForMs = RETRY_FOR_MS, onRetry } = options
  const headers = { authorization: `Bearer ${key}` }
  return (path, query, { signal, timeoutMs = options.timeoutMs ?? TIMEOUT_MS } = {}) =>
    withRetries(
      async (attempts) => {
        const limit = new AbortController()
        const timer = setTimeout(() => limit.abort(), timeoutMs)
        const both = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal
        const sent = { attempts, idempotencyKey: undefined }
        try {
          const response = await send(base + path + search(query), { headers, redirect: 'manual', signal: both })
          if (!response.ok) readAnswer(response, await response.text(), sent)
          return response
        } catch (error) {
          throw failureOf(error, { sent, signal, limit: limit.signal, timeoutMs })
        } finally {
          clearTimeout(timer)
        }
      },
      { retryForMs, isRepeatable: true, signal, onRetry },
    )
}

/** A header takes bytes. This writes the text as UTF-8, which guiche expects of a key. */
function asHeader(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}

/** A program has few kinds of bodies. Without a limit, field names that users choose would fill the memory. */
const MAX_WARNINGS = 100

// A library has no log of its own, and this warning tells a developer of a mistake.
// oxlint-disable-next-line no-console
function makeWarnings(warn: GuicheOptions['onWarning'] = (message) => console.warn(message)) {
  const given = new Set<string>()
  return (message: string) => {
    if (given.has(message) || given.size >= MAX_WARNINGS) return
    given.add(message)
    warn(message)
  }
}

function readBase({ url, key, allowInsecureHttp }: GuicheOptions): string {
  if (!URL.canParse(url) || !/^https?:\/\//.test(url))
    throw new TypeError(`url must be the address of guiche, such as https://pay.example.com, and is "${url}"`)
  // Only `true`: text from the environment, such as "false", must not turn the protection off.
  if (url.startsWith('http:') && allowInsecureHttp !== true && !isLocal(new URL(url).hostname))
    throw new TypeError(
      `url must be an https URL, because the key is sent with each request, and is "${url}" (in a private network: allowInsecureHttp)`,
    )
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('key must be an API key, such as gk_live_…: is the variable set?')
  return url.replace(/\/+$/, '')
}

/** True if only this machine can reach the host. The URL parser has lower-cased names and written out addresses. */
function isLocal(host: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|(.+\.)?localhost|\[::1\])$/.test(host)
}

type Reply = { answer: object | string; headers: Headers }
type Values = Record<string, string | number | undefined>

function fill(path: string, parts: Values = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const part = parts[name]
    // An empty part or dots would give the address of another operation, such as the list instead of one item.
    if (part === undefined || /^\.{0,2}$/.test(String(part))) throw new TypeError(`${name} must be an id: "${part}"`)
    return encodeURIComponent(part)
  })
}

function search(query: Values = {}): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return given.size > 0 ? `?${given.toString()}` : ''
}

type Bounds = Pick<GuicheOptions, 'onRetry'> & {
  retryForMs: number
  isRepeatable: boolean
  signal: AbortSignal | undefined
}
type Clock = { nowMs(): number; sleep(ms: number, signal?: AbortSignal): Promise<void> }

const CLOCK: Clock = { nowMs: () => performance.now(), sleep }

export async function withRetries<Result>(
  send: (attempts: number) => Promise<Result>,
  { retryForMs, isRepeatable, signal, onRetry }: Bounds,
  clock = CLOCK,
): Promise<Result> {
  // The time counts from the first failure, so an attempt that took as long as it may is followed by a second one.
  let endsAtMs: number | undefined
  for (let turn = 0; ; turn++) {
    try {
      return await send(turn + 1)
    } catch (error) {
      if (!(error instanceof GuicheError) || !isWorthRetrying(error, isRepeatable)) throw error
      endsAtMs ??= clock.nowMs() + retryForMs
      const waitMs = retryInMs(error, turn, endsAtMs - clock.nowMs())
      if (waitMs === undefined) throw error
      onRetry?.(error)
      await clock.sleep(waitMs, signal)
    }
  }
}

/** Returns false if another attempt could do harm, or is of no use. */
export function isWorthRetrying(error: GuicheError, isRepeatable: boolean): boolean {
  // The rate limit refuses before anything is done. After any other failure the request may have taken effect.
  return error.isTransient && (isRepeatable || error.code === 'rate_limited')
}

/** Returns undefined if too little time is left. The last attempt is at the end of that time. */
function retryInMs(error: GuicheError, turn: number, leftMs: number): number | undefined {
  const retryAfterMs = (error.retryAfterSeconds ?? 0) * 1000
  // Written with `!`, so that a `retryForMs` of NaN means no retry, and not retries without end.
  if (!(leftMs > 0 && retryAfterMs <= leftMs)) return undefined
  return Math.min(leftMs, Math.max(retryAfterMs, pauseMs(PACE, turn)))
}

/** `attempts` counts this one too. */
async function attempt(send: typeof fetch, prepared: Prepared, attempts: number): Promise<Reply> {
  const { url, init, timeoutMs, signal, idempotencyKey, isText } = prepared
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    const response = await send(url, { ...init, signal: signal ? AbortSignal.any([signal, limit]) : limit })
    const text = await response.text()
    if (isText && isPlain(response)) return { answer: text, headers: response.headers }
    return readAnswer(response, text, { attempts, idempotencyKey })
  } catch (error) {
    throw failureOf(error, { sent: { attempts, idempotencyKey }, signal, limit, timeoutMs })
  }
}

type Sent = Pick<ErrorDetails, 'attempts' | 'idempotencyKey'>
type Limits = { sent: Sent; signal: AbortSignal | undefined; limit: AbortSignal; timeoutMs: number }

/** Throws the signal's reason if the caller ended the request. */
function failureOf(error: unknown, { sent, signal, limit, timeoutMs }: Limits): GuicheError {
  if (error instanceof GuicheError) return error
  signal?.throwIfAborted()
  const details = { ...sent, cause: error }
  if (limit.aborted) return new GuicheError('timeout', `no answer within ${timeoutMs} ms`, details)
  return new GuicheError('network', `no answer: ${reasonOf(error)}`, details)
}

function isPlain({ ok, headers }: Response): boolean {
  return ok && headers.get('content-type')?.startsWith('text/plain') === true
}

/** Node's message is only "fetch failed"; the cause says what happened. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message} (${cause.message || cause.name})` : message
}

function readAnswer(response: Response, text: string, sent: Sent): Reply {
  const { status, headers } = response
  const content = parse(text)
  if (response.ok && content?.success === true) {
    const { success: _, ...answer } = content
    return { answer, headers }
  }
  const code = headers.get('guiche-error')
  const details = {
    ...sent,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: readSeconds(headers.get('retry-after')),
    paymentLinkId: /^\/api\/deposit\/([0-9a-f-]{36})$/.exec(headers.get('location') ?? '')?.[1],
  }
  if (code && typeof content?.error === 'string') throw new GuicheError(code, content.error, details)
  const to = status < 400 && headers.get('location')
  const what = to ? `a redirect to ${to}` : 'and the body is not of guiche'
  throw new GuicheError('unexpected_answer', `status ${status}, ${what}: check the url`, details)
}

type Content = Record<string, unknown>

function parse(text: string): Content | undefined {
  try {
    const content: unknown = JSON.parse(text)
    return typeof content === 'object' && content !== null ? (content as Content) : undefined
  } catch {
    return undefined
  }
}

/** Guiche sends seconds. A proxy may send a date, which is ignored: the pause then grows as without it. */
function readSeconds(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
