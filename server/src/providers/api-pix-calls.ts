import type { Log } from '../base/log.ts'
import { GarbageError, readProblem } from './api-pix-messages.ts'
import type { Deadline } from './deadline.ts'
import { makeGuard, type Guard, type GuardBounds, type Reply } from './guard.ts'
import { makeHttpClient, type ClientCertificate, type HttpBounds, type HttpResult } from './http-client.ts'
import { basicCredentials, makeTokenSource } from './oauth.ts'
import { makeRepeat, type Repeat, type RepeatBounds } from './repeat.ts'

/** One call to API Pix, with its token, under the guard. */
export type ApiPixCalls = {
  call<Body>(request: ApiPixRequest<Body>): Promise<Reply<Body>>
  repeat: Repeat
  health: Guard['health']
  close(): Promise<void>
}

export type ApiPixRequest<Body> = {
  /** Names the call in errors and logs. */
  operation: string
  method: 'GET' | 'PUT' | 'PATCH'
  path: string
  body?: object
  headers?: Record<string, string>
  deadline: Deadline
  /** At most this, and never beyond the deadline. */
  timeoutMs?: number
  /** Turns the JSON of a 2xx into what it says, or throws GarbageError. */
  read: (json: unknown) => Body
  /** What must not show in an error besides our credentials. */
  secrets?: string[]
}

export type CallBounds = GuardBounds &
  RepeatBounds &
  HttpBounds & {
    tokenTimeoutMs: number
    tokenMarginMs: number
    fairMs: number
    defaultRetryAfterMs: number
  }

export type CallOptions = {
  name: string
  url: string
  tokenUrl: string
  clientId: string
  clientSecret: string
  tls?: ClientCertificate
  caPem?: string
  callsPerSecond: number
  now: () => Date
  random: () => number
  log: Log
  bounds: CallBounds
}

const SCOPE = 'cob.write cob.read pix.read pix.write webhook.read webhook.write'

export function makeApiPixCalls(options: CallOptions): ApiPixCalls {
  const { bounds, now, clientId, clientSecret } = options
  // Parsed here, so that a URL that is none is refused at the start.
  const base = new URL(options.url).href.replace(/\/+$/, '')
  const guard = makeGuard(options)
  const http = makeHttpClient({
    bounds,
    ...(options.tls ? { certificate: options.tls } : {}),
    ...(options.caPem === undefined ? {} : { caPem: options.caPem }),
  })
  const tokens = makeTokenSource({
    http,
    tokenUrl: new URL(options.tokenUrl).href,
    clientId,
    clientSecret,
    scope: SCOPE,
    timeoutMs: bounds.tokenTimeoutMs,
    marginMs: bounds.tokenMarginMs,
    now,
  })
  const ourSecrets = [clientSecret, basicCredentials(clientId, clientSecret)]

  async function exchange<Body>(request: ApiPixRequest<Body>, token: string): Promise<Reply<Body>> {
    const timeoutMs = Math.min(request.timeoutMs ?? Number.POSITIVE_INFINITY, request.deadline.remainingMs())
    if (timeoutMs < 1) return { kind: 'failed', sent: false, fault: false, again: false, text: 'the deadline passed' }
    const result = await http.exchange({
      method: request.method,
      url: base + request.path,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(request.body ? { 'content-type': 'application/json' } : {}),
        ...request.headers,
      },
      ...(request.body ? { body: JSON.stringify(request.body) } : {}),
      timeoutMs,
    })
    const secrets = [...ourSecrets, token, ...(request.secrets ?? [])]
    const reply = interpret(result, { read: request.read, bounds, now: now(), hide: (text) => hide(text, secrets) })
    // Who had no time to answer is not at fault for being late.
    const hurried = result.kind === 'failure' && timeoutMs < bounds.fairMs
    return reply.kind === 'failed' && hurried ? { ...reply, fault: false } : reply
  }

  return {
    repeat: makeRepeat({ ...options, wait: (ms, deadline) => guard.wait(ms, deadline) }),
    health: () => guard.health(),
    async call(request) {
      let token = ''
      const attempt = () =>
        guard.run(request.operation, request.deadline, async () => {
          const held = await tokens.get(request.deadline)
          if (held.kind !== 'ok') return held
          token = held.body
          return exchange(request, token)
        })
      const reply = await attempt()
      if (reply.kind !== 'refused' || reply.status !== 401 || token === '') return reply
      // The token ended before its time (revoked, or the PSP restarted). Once more with a new one; a second refusal is meant.
      tokens.drop(token)
      return attempt()
    },
    async close() {
      guard.close()
      await http.close()
    },
  }
}

type Interpretation<Body> = {
  read: (json: unknown) => Body
  bounds: { defaultRetryAfterMs: number }
  now: Date
  hide: (text: string) => string
}

function interpret<Body>(result: HttpResult, options: Interpretation<Body>): Reply<Body> {
  if (result.kind === 'failure') {
    const { sent, whose, text } = result
    return { kind: 'failed', sent, fault: whose === 'theirs', again: whose === 'theirs', text }
  }
  const { status } = result
  const json = parseJson(result.text)
  if (status === 429) {
    const retryAfterMs =
      readRetryAfter(result.headers['retry-after'], options.now) ?? options.bounds.defaultRetryAfterMs
    return { kind: 'busy', retryAfterMs }
  }
  // 408 is a 4xx by number only: the far side lost patience with the connection.
  if (status >= 400 && status < 500 && status !== 408) {
    const told = readProblem(json)
    const text = options.hide(`HTTP ${status}${told === undefined ? '' : ` ${told}`}`)
    return { kind: 'refused', status, spoken: told !== undefined, text }
  }
  const broken = (text: string): Reply<Body> => ({ kind: 'failed', sent: true, fault: true, again: true, text })
  if (status < 200 || status >= 300) return broken(`HTTP ${status}`)
  try {
    return { kind: 'ok', body: options.read(json) }
  } catch (error) {
    if (error instanceof GarbageError) return broken(`garbage: ${error.message}`)
    throw error
  }
}

/** Seconds or a date, as HTTP has it. */
export function readRetryAfter(header: string | string[] | undefined, now: Date): number | undefined {
  if (typeof header !== 'string') return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const TEXT_MAX = 300

// A PSP that quotes our request back must not carry our credentials into an error, and from there into a log or a caller's screen.
function hide(text: string, secrets: string[]): string {
  const hidden = secrets.filter(Boolean).reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text)
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, TEXT_MAX)
}
