import type { Deadline } from './deadline.ts'
import { MalformedResponse } from './malformed.ts'
import type { Reply } from './guard.ts'
import type { HttpClient, HttpRequest, HttpResult } from './client.ts'

/** One request to a provider that speaks JSON over HTTP, and what its answer means. */
export type Exchange = <Body>(request: ExchangeRequest<Body>) => Promise<Reply<Body>>

export type ExchangeRequest<Body> = {
  method: HttpRequest['method']
  path: string
  body?: object
  headers: Record<string, string>
  deadline: Deadline
  /** At most this, and never beyond the deadline. */
  timeoutMs?: number
  /** Turns the JSON of a 2xx into what it says, or throws MalformedResponse. */
  read: (json: unknown) => Body
  /** What must not show in an error. */
  secrets: string[]
}

export type ExchangeBounds = {
  fairMs: number
  defaultRetryAfterMs: number
}

export function makeExchange(options: {
  http: HttpClient
  url: string
  /** What a refusal says of itself, or undefined when it is not the provider speaking. */
  readProblem: (json: unknown) => string | undefined
  bounds: ExchangeBounds
  now: () => Date
}): Exchange {
  const { http, bounds } = options
  // Parsed here, so that a URL that is none is refused at the start.
  const base = new URL(options.url).href.replace(/\/+$/, '')
  return async (request) => {
    const timeoutMs = Math.min(request.timeoutMs ?? Number.POSITIVE_INFINITY, request.deadline.remainingMs())
    if (timeoutMs < 1) return { kind: 'failed', sent: false, fault: false, again: false, text: 'the deadline passed' }
    const result = await http.exchange({
      method: request.method,
      url: base + request.path,
      headers: {
        accept: 'application/json',
        ...(request.body ? { 'content-type': 'application/json' } : {}),
        ...request.headers,
      },
      ...(request.body ? { body: JSON.stringify(request.body) } : {}),
      timeoutMs,
    })
    const reply = interpret(result, {
      read: request.read,
      readProblem: options.readProblem,
      bounds,
      now: options.now(),
      hide: (text) => hide(text, request.secrets),
    })
    // Who had no time to answer is not at fault for being late.
    const hurried = result.kind === 'failure' && timeoutMs < bounds.fairMs
    return reply.kind === 'failed' && hurried ? { ...reply, fault: false } : reply
  }
}

type Interpretation<Body> = {
  read: (json: unknown) => Body
  readProblem: (json: unknown) => string | undefined
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
    const told = options.readProblem(json)
    const text = options.hide(`HTTP ${status}${told === undefined ? '' : ` ${told}`}`)
    return { kind: 'refused', status, isFromProvider: told !== undefined, text }
  }
  const broken = (text: string): Reply<Body> => ({ kind: 'failed', sent: true, fault: true, again: true, text })
  if (status < 200 || status >= 300) return broken(`HTTP ${status}`)
  try {
    return { kind: 'ok', body: options.read(json) }
  } catch (error) {
    if (error instanceof MalformedResponse) return broken(`garbage: ${error.message}`)
    throw error
  }
}

/** Seconds or a date, as HTTP has it. */
function readRetryAfter(header: string | string[] | undefined, now: Date): number | undefined {
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

// A provider that quotes our request back must not carry our credentials into an error, and from there into a log or a caller's screen.
function hide(text: string, secrets: string[]): string {
  const hidden = secrets.filter(Boolean).reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text)
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, TEXT_MAX)
}
