import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../base/operator-error.ts'
import type { Remote } from '../config.ts'
import type { Say } from '../open-database.ts'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
type Query = Record<string, string | number | boolean | Date | undefined>
type Options = { query?: Query; body?: object; idempotencyKey?: string }

/** The API of the service that GUICHE_URL names. */
export type Service = {
  url: string
  /** Resolves to the answer. A refusal is thrown as one line. */
  ask<Answer = unknown>(method: Method, path: string, options?: Options): Promise<Answer>
  /** The newest items, page by page. `name` is that of the list in the answer. */
  list<Item>(path: string, name: string, query: Query & { limit: number }): Promise<Page<Item>>
}

type Page<Item> = { items: Item[]; nextCursor: string | null }

/** A test of a webhook takes up to 15 seconds, and a provider may take longer. */
const TIMEOUT_MS = 60_000
/** With the pauses, some four seconds: longer than a restart of the service behind a proxy. */
const MAX_RETRIES = 3
const FIRST_PAUSE_MS = 500
/** Waiting longer is left to the person at the terminal. */
const MAX_PAUSE_MS = 10_000
/** The API allows no longer pages. */
const MAX_PAGE = 100
/** The connection was never made, so nothing was done. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

export class Refused extends OperatorError {
  readonly status: number | undefined
  /** The same request may succeed later. */
  readonly retryAfterMs: number | undefined
  /** Nobody knows whether the request had its effect. */
  readonly isUnknown: boolean

  constructor(text: string, details: { status?: number; retryAfterMs?: number | undefined; isUnknown?: boolean }) {
    super(text)
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.isUnknown = details.isUnknown ?? false
  }
}

export function makeService({ url, key }: Remote, say: Say): Service {
  const ask: Service['ask'] = async <Answer>(method: Method, path: string, options: Options = {}) => {
    const { query = {}, body, idempotencyKey } = options
    const headers = {
      accept: 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    }
    // A redirected POST would arrive as GET. A redirect means that GUICHE_URL is wrong.
    const init: RequestInit = { method, headers, redirect: 'manual', ...(body && { body: JSON.stringify(body) }) }
    const isRepeatable = method === 'GET' || idempotencyKey !== undefined
    try {
      const send = () => exchange(url, path + search(query), init)
      return (await (isRepeatable ? withRetries(send, say) : send())) as Answer
    } catch (error) {
      throw error instanceof Refused && error.isUnknown && method !== 'GET'
        ? unknownOutcome(error, idempotencyKey)
        : error
    }
  }
  return {
    url,
    ask,
    async list<Item>(path: string, name: string, { limit, ...query }: Query & { limit: number }): Promise<Page<Item>> {
      const items: Item[] = []
      let cursor: string | null | undefined
      do {
        const page = { ...query, limit: Math.min(limit - items.length, MAX_PAGE), cursor: cursor ?? undefined }
        const answer = await ask<Record<string, unknown>>('GET', path, { query: page })
        items.push(...(answer[name] as Item[]))
        cursor = answer['nextCursor'] as string | null
      } while (cursor !== null && items.length < limit)
      return { items, nextCursor: cursor }
    },
  }
}

/** A path with ids in it. None of them can make it the path of something else. */
export function path(parts: TemplateStringsArray, ...ids: string[]): string {
  const segments = ids.map((id) => {
    if (/^\.{0,2}$/.test(id)) throw new OperatorError(`${JSON.stringify(id)} is not an id`)
    return encodeURIComponent(id)
  })
  return String.raw({ raw: parts }, ...segments)
}

function search(query: Query): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  return given.size > 0 ? `?${given.toString()}` : ''
}

async function withRetries(send: () => Promise<unknown>, say: Say): Promise<unknown> {
  for (let turn = 0; ; turn++) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof Refused) || error.retryAfterMs === undefined || turn === MAX_RETRIES) throw error
      const pauseMs = Math.max(error.retryAfterMs, FIRST_PAUSE_MS * 2 ** turn)
      if (pauseMs > MAX_PAUSE_MS) throw error
      say(`${error.message}; trying again…`)
      await sleep(pauseMs)
    }
  }
}

async function exchange(url: string, path: string, init: RequestInit): Promise<unknown> {
  try {
    const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
    return readAnswer(url, response, await response.text())
  } catch (error) {
    if (error instanceof OperatorError) throw error
    const { name, cause = error } = error as Error
    if (name === 'TimeoutError')
      throw new Refused(`${url} did not answer within ${TIMEOUT_MS / 1000} s`, { retryAfterMs: 0, isUnknown: true })
    const { message, code = '' } = cause as NodeJS.ErrnoException
    throw new Refused(`${url} cannot be reached (${message || code}): check GUICHE_URL`, {
      retryAfterMs: 0,
      isUnknown: !NOT_SENT.includes(code),
    })
  }
}

function readAnswer(url: string, response: Response, text: string): unknown {
  const { status, headers } = response
  // A form was accepted, and its page is elsewhere.
  if (status === 303) return {}
  const content = parse(text)
  if (response.ok && content?.success === true) return content
  const to = headers.get('location')
  if (status >= 300 && status < 400 && to) throw new Refused(`${url} redirects to ${to}: check GUICHE_URL`, { status })
  const seconds = headers.get('retry-after') ?? ''
  const isTransient = [429, 502, 503, 504].includes(status)
  const details = {
    status,
    retryAfterMs: isTransient ? (/^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : 0) : undefined,
    // A proxy answers these after it has passed the request on.
    isUnknown: [500, 502, 504].includes(status),
  }
  if (typeof content?.error !== 'string')
    throw new Refused(`${url} answered ${status}, and not as guiche does: check GUICHE_URL`, details)
  throw new Refused(refusalText(url, status, content.error), details)
}

function refusalText(url: string, status: number, error: string): string {
  if (status === 401) return `${url} does not accept GUICHE_KEY: ${error}`
  if (status === 403) return `${url} does not allow this with GUICHE_KEY: ${error}`
  return error
}

function unknownOutcome(error: Refused, idempotencyKey: string | undefined): OperatorError {
  const advice =
    idempotencyKey === undefined
      ? 'look before you repeat it'
      : `repeat the command with --idempotency-key ${idempotencyKey}, which does it once`
  return new OperatorError(`${error.message}. Whether it was done is not known: ${advice}`, { cause: error })
}

type Content = { success?: unknown; error?: unknown } & Record<string, unknown>

function parse(text: string): Content | undefined {
  try {
    const content: unknown = JSON.parse(text)
    return typeof content === 'object' && content !== null ? (content as Content) : undefined
  } catch {
    return undefined
  }
}
