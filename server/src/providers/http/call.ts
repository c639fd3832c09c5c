import { SpanKind } from '@opentelemetry/api'
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool, type Dispatcher } from 'undici'
import { makeSecureContext, type ClientCertificate } from '../../base/client-certificate.ts'
import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { readRetryAfter } from '../../base/retry-after.ts'
import { makeOwnBuckets, type SharedBuckets } from '../../base/token-buckets.ts'
import { failSpan, inSpan, withTraceparent } from '../../base/tracing.ts'
import { makeLimits, type RateLimitCall, type Timings, type Verdict } from './limits.ts'

// In the order in which it happens: deadline, retry, breaker and rate limit, credentials, JSON, one HTTP request. URLs
// that users type go through egress/ instead.

export type Call<Body> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: object
  headers?: Readonly<Record<string, string>>
  /** Reads the JSON of a 2xx, or throws MalformedResponse. */
  read: (json: unknown) => Body
  /** Texts to remove from errors besides our credentials. */
  secrets?: string[]
}

export function get<Body>(path: string, read: Call<Body>['read']): Call<Body> {
  return { method: 'GET', path, read }
}

/** `timeoutMs` shortens the deadline for one request. */
export type Bounds = { operation: string; deadline: Deadline; timeoutMs?: number }

export type Deadline = {
  remainingMs(): number
  /** The account whose caller waits; undefined for background work. */
  onBehalfOf: string | undefined
}

/** On the monotonic clock, because it bounds real sockets. */
export function startDeadline(ms: number, onBehalfOf?: string): Deadline {
  const endsAtMs = performance.now() + ms
  return { remainingMs: () => Math.max(0, endsAtMs - performance.now()), onBehalfOf }
}

export type Reply<Body> = { kind: 'ok'; body: Body } | NotOk
export type NotOk =
  | Refused
  /** A 429: the provider did nothing. */
  | { kind: 'busy'; retryAfterMs: number }
  | Failed
/** `isFromProvider`: not written by a proxy before it. */
export type Refused = { kind: 'refused'; status: number; isFromProvider: boolean; text: string }
/** `text` never holds what was sent or received. */
export type Failed = {
  kind: 'failed'
  /** The provider may have done it. */
  wasSent: boolean
  /** Counts for the breaker. */
  isProviderFault: boolean
  isRetryable: boolean
  /** Not sent, because the breaker is open (`down`), the rate is used up (`overloaded`), or the service stops. */
  withheld?: 'down' | 'overloaded' | 'closed'
  text: string
}

export type Credentials = {
  scheme: '' | 'Bearer '
  token(deadline: Deadline): Promise<Reply<string>>
  /** The provider rejected this token. */
  drop?(token: string): void
  secrets: string[]
}

export type CallOptions = {
  name: string
  url: string
  /** 0: no limit. */
  callsPerSecond: number
  /** On every call; {uuid} stands for a new UUID. */
  headers?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  /** Without it, rate limit and breaker are those of one process. */
  limits?: SharedBuckets
  now: () => Date
  log: Log
  metrics?: Metrics | undefined
  random?: () => number
  tls?: ClientCertificate
  caPem?: string
}

export type Calls = ReturnType<typeof makeCalls>

export function makeCalls(
  options: CallOptions & {
    timings: Timings
    /** Undefined when the provider did not write it. */
    readProblem: (json: unknown) => string | undefined
    makeCredentials: (http: Http) => Credentials
  },
) {
  const { name, timings, now, metrics, random = Math.random } = options
  // Parsed here, so that an invalid URL fails at the start.
  const { origin, pathname } = new URL(options.url)
  const basePath = pathname.replace(/\/+$/, '')
  const { breaker, rateLimit, ...limits } = makeLimits({ ...options, limits: options.limits ?? makeOwnBuckets() })
  const http = makeHttp(options)
  const credentials = options.makeCredentials(http)
  const closing = new AbortController()
  // Pauses are bounded elsewhere. Node would warn of a leak beyond ten.
  setMaxListeners(0, closing.signal)

  /** An idempotent call, with retries. */
  async function read<Body>(call: Call<Body>, bounds: Bounds): Promise<Reply<Body>> {
    let wasSent = false
    for (let attempt = 1; ; attempt++) {
      const reply = await once(call, bounds)
      if (reply.kind === 'failed') reply.wasSent = wasSent ||= reply.wasSent
      if (attempt >= timings.readAttempts || !(await waitToRetry(reply, attempt, bounds.deadline))) return reply
    }
  }

  /** False at once when another attempt makes no sense or does not fit the deadline. */
  async function waitToRetry(reply: Reply<unknown>, attempt: number, deadline: Deadline): Promise<boolean> {
    if (reply.kind !== 'busy' && (reply.kind !== 'failed' || !reply.isRetryable)) return false
    // Full jitter: callers that failed together must not return together.
    const ceilingMs = Math.min(timings.backoffCapMs, timings.backoffBaseMs * 2 ** (attempt - 1))
    const ms = reply.kind === 'busy' ? reply.retryAfterMs : random() * ceilingMs
    return ms < deadline.remainingMs() && sleep(ms, true, { signal: closing.signal }).catch(() => false)
  }

  async function once<Body>(call: Call<Body>, bounds: Bounds): Promise<Reply<Body>> {
    let token = ''
    const attempt = () =>
      guarded(bounds, async () => {
        const held = await credentials.token(bounds.deadline)
        if (held.kind !== 'ok') return held
        token = held.body
        return request(call, bounds, token)
      })
    const reply = await attempt()
    if (reply.kind !== 'refused' || reply.status !== 401 || token === '' || !credentials.drop) return reply
    // The token ended early (revoked, or the provider restarted). A second refusal is final.
    credentials.drop(token)
    return attempt()
  }

  async function guarded<Body>(bounds: Bounds, send: () => Promise<Reply<Body>>): Promise<Reply<Body>> {
    const { operation } = bounds
    const attributes = { 'guiche.provider': name, 'guiche.operation': operation }
    return inSpan(`${name} ${operation}`, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const beganMs = performance.now()
      const reply = await sendIfAllowed(bounds, send)
      const outcome = reply.kind === 'failed' && reply.withheld ? 'withheld' : reply.kind
      metrics?.providerSeconds.observe({ provider: name, operation, outcome }, (performance.now() - beganMs) / 1000)
      const status = reply.kind === 'refused' ? reply.status : undefined
      span.setAttributes({ 'guiche.outcome': outcome, 'http.response.status_code': status })
      if (reply.kind === 'failed') failSpan(span, outcome)
      return reply
    })
  }

  async function sendIfAllowed<Body>(bounds: Bounds, send: () => Promise<Reply<Body>>): Promise<Reply<Body>> {
    const { operation, deadline } = bounds
    if (!breaker.mayEnter()) return withheld('down', limits.heldBack(operation))
    const waitsSinceMs = performance.now()
    const hasTurn = await rateLimit.acquire(shareOf(operation, deadline))
    metrics?.budgetWaitSeconds.inc({ provider: name }, (performance.now() - waitsSinceMs) / 1000)
    if (closing.signal.aborted) return withheld('closed', 'closed')
    if (!hasTurn) return withheld('overloaded', 'rate limit: too many calls per second')
    // After the wait: a probe in the queue would block all others.
    const report = breaker.enter()
    if (!report) return withheld('down', limits.heldBack(operation))
    let verdict: Verdict = 'none'
    try {
      const reply = await send()
      if (reply.kind !== 'failed') verdict = 'healthy'
      else if (reply.isProviderFault) verdict = 'faulty'
      const isDenied = reply.kind === 'refused' && (reply.status === 401 || reply.status === 403)
      if (reply.kind === 'ok') limits.succeeded()
      else if (reply.kind === 'failed' || isDenied) limits.failed(operation, reply.text)
      return reply
    } finally {
      if (verdict === 'faulty') limits.askOthers()
      report(verdict)
    }
  }

  async function request<Body>(call: Call<Body>, bounds: Bounds, token: string): Promise<Reply<Body>> {
    const { method, body } = call
    const path = basePath + withQuery(call.path, options.query)
    const timeoutMs = Math.min(bounds.timeoutMs ?? Infinity, bounds.deadline.remainingMs())
    if (timeoutMs < 1) return failure('the deadline passed', { wasSent: false, isProviderFault: false })
    const authorization = credentials.scheme + token
    const own = { ...withUuids(options.headers), ...call.headers }
    const headers: Record<string, string> = { accept: 'application/json', authorization, ...own }
    if (body) headers['content-type'] = 'application/json'
    const text = body ? JSON.stringify(body) : null
    const response = await http.send({ method, origin, path, headers, body: text, timeoutMs })
    if (response.kind === 'response') return interpret(response, call, token)
    // A provider that had too little time is not at fault.
    return timeoutMs < timings.fairTimeoutMs ? { ...response, isProviderFault: false } : response
  }

  function interpret<Body>({ status, headers, text }: HttpResponse, call: Call<Body>, token: string): Reply<Body> {
    const json = parseJson(text)
    if (status === 429) {
      const retryAfterMs = readRetryAfter(headers['retry-after'], now()) ?? timings.defaultRetryAfterMs
      return { kind: 'busy', retryAfterMs }
    }
    // A 408 is about the connection and not about the request.
    if (status >= 400 && status < 500 && status !== 408) {
      const problem = options.readProblem(json)
      const secrets = [...credentials.secrets, token, ...(call.secrets ?? [])]
      const shown = hide(`HTTP ${status}${problem === undefined ? '' : ` ${problem}`}`, secrets)
      return { kind: 'refused', status, isFromProvider: problem !== undefined, text: shown }
    }
    if (status < 200 || status >= 300) return failure(`HTTP ${status}`, { wasSent: true, isProviderFault: true })
    try {
      return { kind: 'ok', body: call.read(json) }
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      return failure(`malformed response: ${error.message}`, { wasSent: true, isProviderFault: true })
    }
  }

  async function close() {
    closing.abort()
    rateLimit.close()
    await http.close()
  }

  return {
    read,
    waitToRetry,
    once,
    /** False when the rate limit would refuse the call at once. */
    hasRoom: (operation: string, deadline: Deadline) => rateLimit.hasRoom(shareOf(operation, deadline)),
    isCallable: breaker.mayEnter,
    health: limits.health,
    close,
  }
}

function withQuery(path: string, query: CallOptions['query'] = {}): string {
  const added = new URLSearchParams(query).toString()
  return added === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${added}`
}

function withUuids(headers: CallOptions['headers'] = {}): Record<string, string> {
  const filled = Object.entries(headers).map(([name, value]) => [name, value.replaceAll('{uuid}', () => randomUUID())])
  return Object.fromEntries(filled)
}

const WRITES = new Set(['create', 'cancel', 'refund'])

// Calls on behalf of accounts share the rate limit by account. Background calls share it by operation.
function shareOf(operation: string, { onBehalfOf, remainingMs }: Deadline): RateLimitCall {
  if (onBehalfOf === undefined) return { priority: 'background', sharer: operation, remainingMs: remainingMs() }
  const priority = WRITES.has(operation) ? 'write' : 'read'
  return { priority, sharer: onBehalfOf, remainingMs: remainingMs() }
}

function failure(text: string, about: { wasSent: boolean; isProviderFault: boolean }): Failed {
  return { kind: 'failed', ...about, isRetryable: about.isProviderFault, text }
}

function withheld(reason: Failed['withheld'] & string, text: string): Failed {
  return { ...failure(text, { wasSent: false, isProviderFault: false }), withheld: reason }
}

const MAX_TEXT_LENGTH = 300

// A provider may quote our credentials.
export function hide(text: string, secrets: string[]): string {
  const hidden = secrets.filter(Boolean).reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text)
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_TEXT_LENGTH)
}

/** Money depends on its fields, so all of it is rejected. */
export class MalformedResponse extends Error {
  override name = 'MalformedResponse'
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export type Http = ReturnType<typeof makeHttp>
type HttpRequest = Pick<Call<unknown>, 'method' | 'path'> & {
  origin: string
  headers: Record<string, string>
  body: string | null
  timeoutMs: number
}
type HttpResponse = { kind: 'response'; status: number; headers: Headers; text: string }
type Headers = Record<string, string | string[] | undefined>

/**
 * One timer for each request, from the wait for a connection to the last byte. undici's request() does not say whether
 * a failed request was sent, and cannot cancel one that waits, so this uses dispatch().
 */
export function makeHttp(options: {
  timings: Pick<Timings, 'connections' | 'maxPending' | 'maxResponseBytes' | 'connectTimeoutMs'>
  tls?: ClientCertificate
  caPem?: string
}) {
  const { timings } = options
  const secureContext = makeSecureContext(options)
  // By origin. undici's Agent would not destroy a pool whose last connection broke.
  const pools = new Map<string, Pool>()
  let pending = 0
  let isClosed = false

  function poolOf(origin: string): Pool {
    const connect = { secureContext, timeout: timings.connectTimeoutMs }
    const unbounded = { headersTimeout: 0, bodyTimeout: 0 }
    const made = () => new Pool(origin, { connections: timings.connections, pipelining: 1, connect, ...unbounded })
    const pool = pools.get(origin) ?? made()
    pools.set(origin, pool)
    return pool
  }

  function dispatch({ timeoutMs, ...request }: HttpRequest, resolve: (result: HttpResponse | Failed) => void) {
    let controller: Dispatcher.DispatchController | undefined
    let isOver = false
    let response = { status: 0, headers: {} as Headers }
    let bytes = 0
    const chunks: Buffer[] = []
    const finish = (result: HttpResponse | Failed) => {
      isOver = true
      clearTimeout(timer)
      resolve(result)
    }
    const giveUp = (text: string) => {
      finish(failure(text, { wasSent: controller !== undefined, isProviderFault: true }))
      controller?.abort(new Error(text))
    }
    const timer = setTimeout(() => giveUp(`no response within ${Math.round(timeoutMs)} ms`), timeoutMs)
    pending += 1
    poolOf(request.origin).dispatch(request, {
      // Throwing here cancels the request and keeps the connection.
      onRequestStart(started) {
        if (isOver) throw new Error('Given up before it was sent')
        controller = started
      },
      onResponseStart(_controller, status, headers) {
        response = { status, headers }
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length
        if (bytes > timings.maxResponseBytes) giveUp(`a response of more than ${timings.maxResponseBytes} bytes`)
        else chunks.push(chunk)
      },
      onResponseEnd() {
        pending -= 1
        finish({ kind: 'response', ...response, text: Buffer.concat(chunks).toString('utf8') })
      },
      onResponseError(_controller, error) {
        pending -= 1
        finish(brokenBy(error, controller !== undefined))
      },
    })
  }

  return {
    async send(request: HttpRequest): Promise<HttpResponse | Failed> {
      const unsent = { wasSent: false, isProviderFault: false }
      if (isClosed) return failure('closed', unsent)
      if (pending >= timings.maxPending) return failure('too many calls wait for a connection', unsent)
      const headers = withTraceparent(request.headers)
      return new Promise((resolve) => dispatch({ ...request, headers }, resolve))
    },
    async close() {
      isClosed = true
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
}

const OURS = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED', 'UND_ERR_INVALID_ARG'])

// The message may quote headers or bodies.
function brokenBy(error: Error & { code?: string }, wasSent: boolean): Failed {
  const code = error.code ?? error.name
  const text = wasSent ? `the connection broke before the response (${code})` : `no connection (${code})`
  return failure(text, { wasSent, isProviderFault: !OURS.has(code) })
}
