import type { Deadline } from './deadline.ts'
import { MalformedResponse, parseJson } from './messages.ts'
import type { Reply } from './guard.ts'
import type { HttpClient, HttpRequest, HttpResult } from './client.ts'
import type { Timings } from './timings.ts'

/** One call of a provider's API: what to send, and how to read the response. */
export type Call<Body> = {
  method: HttpRequest['method']
  path: string
  body?: object
  headers?: Record<string, string>
  /** Reads the JSON of a 2xx, or throws MalformedResponse. */
  read: (json: unknown) => Body
  /** Texts to remove from errors besides our credentials. */
  secrets?: string[]
}

/** `timeoutMs` shortens the deadline for this request. */
export type RequestBounds = { deadline: Deadline; timeoutMs?: number }

/** Sends one JSON request to a provider and interprets the response. */
export type SendJson = <Body>(call: Call<Body>, bounds: RequestBounds, token: string) => Promise<Reply<Body>>

export function makeSendJson(options: {
  http: HttpClient
  url: string
  /** `scheme` goes before the token in the authorization header. */
  credentials: { scheme: '' | 'Bearer '; secrets: string[] }
  /** The text of a refusal, or undefined when it was not written by the provider. */
  readProblem: (json: unknown) => string | undefined
  timings: Pick<Timings, 'fairTimeoutMs' | 'defaultRetryAfterMs'>
  now: () => Date
}): SendJson {
  const { http, credentials, timings, readProblem } = options
  // Parsed here, so that an invalid URL fails at the start.
  const { origin, pathname } = new URL(options.url)
  const basePath = pathname.replace(/\/+$/, '')

  function interpret<Body>(result: HttpResult, call: Call<Body>, token: string): Reply<Body> {
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
      const secrets = [...credentials.secrets, token, ...(call.secrets ?? [])]
      const text = hide(`HTTP ${status}${problem === undefined ? '' : ` ${problem}`}`, secrets)
      return { kind: 'refused', status, isFromProvider: problem !== undefined, text }
    }
    const failed = (text: string) =>
      ({ kind: 'failed', wasSent: true, isProviderFault: true, isRetryable: true, text }) as const
    if (status < 200 || status >= 300) return failed(`HTTP ${status}`)
    try {
      return { kind: 'ok', body: call.read(json) }
    } catch (error) {
      if (error instanceof MalformedResponse) return failed(`malformed response: ${error.message}`)
      throw error
    }
  }

  return async (call, { deadline, timeoutMs: shorterMs = Number.POSITIVE_INFINITY }, token) => {
    const { method, path, body } = call
    const timeoutMs = Math.min(shorterMs, deadline.remainingMs())
    if (timeoutMs < 1) {
      return { kind: 'failed', wasSent: false, isProviderFault: false, isRetryable: false, text: 'the deadline passed' }
    }
    const authorization = credentials.scheme + token
    const headers: Record<string, string> = { accept: 'application/json', authorization, ...call.headers }
    if (body) headers['content-type'] = 'application/json'
    const text = body ? JSON.stringify(body) : null
    const result = await http.send({ method, origin, path: basePath + path, headers, body: text, timeoutMs })
    const reply = interpret(result, call, token)
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
