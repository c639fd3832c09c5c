import type { Deadline } from './deadline.ts'
import { MalformedResponse, parseJson } from './messages.ts'
import type { Reply } from './guard.ts'
import type { HttpClient, HttpRequest, HttpResult } from './client.ts'
import type { Timings } from './timings.ts'

/** Sends one JSON request to a provider and interprets the response. */
export type SendJson = <Body>(request: JsonRequest<Body>) => Promise<Reply<Body>>

export type JsonRequest<Body> = {
  method: HttpRequest['method']
  path: string
  body?: object
  headers: Record<string, string>
  deadline: Deadline
  /** Shortens the deadline for this request. */
  timeoutMs?: number
  /** Reads the JSON of a 2xx, or throws MalformedResponse. */
  read: (json: unknown) => Body
  /** Texts to remove from errors. */
  secrets: string[]
}

export function makeSendJson(options: {
  http: HttpClient
  url: string
  /** The text of a refusal, or undefined when it was not written by the provider. */
  readProblem: (json: unknown) => string | undefined
  timings: Pick<Timings, 'fairTimeoutMs' | 'defaultRetryAfterMs'>
  now: () => Date
}): SendJson {
  const { http, timings, readProblem } = options
  // Parsed here, so that an invalid URL fails at the start.
  const base = new URL(options.url).href.replace(/\/+$/, '')

  function interpret<Body>(result: HttpResult, request: JsonRequest<Body>): Reply<Body> {
    if (result.kind === 'failure') {
      const { wasSent, isProviderFault, text } = result
      return { kind: 'failed', wasSent, isProviderFault, isRetryable: isProviderFault, text }
    }
    const { status, headers } = result
    const json = parseJson(result.text)
    if (status === 429) {
      const retryAfterMs = readRetryAfter(headers['retry-after'], options.now()) ?? timings.defaultRetryAfterMs
      return { kind: 'busy', retryAfterMs }
    }
    // A 408 is about the connection and not about the request.
    if (status >= 400 && status < 500 && status !== 408) {
      const problem = readProblem(json)
      const text = hide(`HTTP ${status}${problem === undefined ? '' : ` ${problem}`}`, request.secrets)
      return { kind: 'refused', status, isFromProvider: problem !== undefined, text }
    }
    const failed = (text: string) =>
      ({ kind: 'failed', wasSent: true, isProviderFault: true, isRetryable: true, text }) as const
    if (status < 200 || status >= 300) return failed(`HTTP ${status}`)
    try {
      return { kind: 'ok', body: request.read(json) }
    } catch (error) {
      if (error instanceof MalformedResponse) return failed(`malformed response: ${error.message}`)
      throw error
    }
  }

  return async (request) => {
    const { method, path, body, deadline } = request
    const timeoutMs = Math.min(request.timeoutMs ?? Number.POSITIVE_INFINITY, deadline.remainingMs())
    if (timeoutMs < 1) {
      return { kind: 'failed', wasSent: false, isProviderFault: false, isRetryable: false, text: 'the deadline passed' }
    }
    const result = await http.send({
      method,
      url: base + path,
      headers: {
        accept: 'application/json',
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...request.headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      timeoutMs,
    })
    const reply = interpret(result, request)
    // A provider that had too little time is not at fault.
    const isUnfair = result.kind === 'failure' && timeoutMs < timings.fairTimeoutMs
    return reply.kind === 'failed' && isUnfair ? { ...reply, isProviderFault: false } : reply
  }
}

/** Seconds or an HTTP date. */
function readRetryAfter(header: string | string[] | undefined, now: Date): number | undefined {
  if (typeof header !== 'string') return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}

const MAX_TEXT_LENGTH = 300

// A provider may quote our request. Its credentials must not reach an error, a log or a caller.
function hide(text: string, secrets: string[]): string {
  const hidden = secrets.filter(Boolean).reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text)
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_TEXT_LENGTH)
}
