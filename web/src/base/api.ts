import { noteAnswer, noteSilence } from './connection.ts'

// Every call to the server goes through here. It returns the fields of a success; everything else throws an ApiError.

const API_ROOT = '/dashboard/api'
/** Longer than any answer should take. Reconciling a day asks for more. */
const TIMEOUT_MS = 30_000

export type Query = Record<string, string | number | boolean | null | undefined>
type Options = { idempotencyKey?: string; timeoutMs?: number; signal?: AbortSignal }

export type Details = Readonly<Record<string, string | number>>

export class ApiError extends Error {
  override name = 'ApiError'
  /** 0 means that nothing answered. */
  readonly status: number
  readonly code: string
  /** Values that belong to the code, such as amounts in cents. */
  readonly details: Details
  readonly retryAfterSeconds: number | undefined
  readonly requestId: string | undefined

  constructor(
    status: number,
    code: string,
    text: string,
    more: { details?: Details; retryAfterSeconds?: number | undefined; requestId?: string | undefined } = {},
  ) {
    super(text)
    this.status = status
    this.code = code
    this.details = more.details ?? {}
    this.retryAfterSeconds = more.retryAfterSeconds
    this.requestId = more.requestId
  }
}

export function get<T>(path: string, query: Query = {}, options: Options = {}): Promise<T> {
  return call(API_ROOT + path + queryText(query), 'GET', undefined, options)
}

export function post<T>(path: string, body: object = {}, options: Options = {}): Promise<T> {
  return call(API_ROOT + path, 'POST', body, options)
}

export function put<T>(path: string, body: object): Promise<T> {
  return call(API_ROOT + path, 'PUT', body)
}

/** Sends a file as it is. */
export function upload<T>(path: string, file: Blob, query: Query = {}): Promise<T> {
  return call(API_ROOT + path + queryText(query), 'PUT', file)
}

export function patch<T>(path: string, body: object): Promise<T> {
  return call(API_ROOT + path, 'PATCH', body)
}

export function del<T>(path: string, query: Query = {}): Promise<T> {
  return call(API_ROOT + path + queryText(query), 'DELETE')
}

/** Calls the sign-in routes. A library answers them, without our envelope. */
export const auth = {
  get: <T>(path: string, query: Query = {}): Promise<T> => call(`${API_ROOT}/auth/${path}${queryText(query)}`, 'GET'),
  post: <T>(path: string, body: object = {}): Promise<T> => call(`${API_ROOT}/auth/${path}`, 'POST', body),
}

/** The URL of an export such as `deposits.csv`. */
export function fileUrl(path: string, query: Query = {}): string {
  return API_ROOT + path + queryText(query)
}

/**
 * Makes the key of one filled-in form. Keep it while the same request is retried; take a new one when the form changes
 * or has succeeded. Then a timeout and a second click cannot create two. (randomUUID exists on secure pages only.)
 */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

let accountId: string | undefined

/** The server refuses what a page sends for another account than the one that the person has chosen in another tab. */
export function nameAccount(named: string | null | undefined): void {
  accountId = named ?? undefined
}

type AuthHandlers = {
  /** Asks for the password and confirms it with the server; false if the user cancels. */
  reauthenticate: () => Promise<boolean>
  signedOut: () => void
}
const authHandlers: AuthHandlers = { reauthenticate: async () => false, signedOut: () => {} }

export function setAuthHandlers(given: Partial<AuthHandlers>): void {
  Object.assign(authHandlers, given)
}

/** True if the user closed the password dialog: nothing happened, so there is nothing to report. */
export function isCanceled(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'reauthentication_canceled'
}

async function call<T>(url: string, method: string, body?: object, options: Options = {}): Promise<T> {
  try {
    return await exchange<T>(url, method, body, options)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 401 && error.code === 'not_signed_in') authHandlers.signedOut()
    if (error.status !== 403 || error.code !== 'reauthentication_required') throw error
    if (!(await authHandlers.reauthenticate())) throw new ApiError(403, 'reauthentication_canceled', error.message)
    return exchange<T>(url, method, body, options)
  }
}

// The server measures inactivity in minutes.
const UNATTENDED_AFTER_MS = 60_000
let lastActivityMs = Date.now()

/** Call once at start. */
export function trackActivity(): void {
  for (const kind of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'])
    addEventListener(kind, () => (lastActivityMs = Date.now()), { passive: true })
}

async function exchange<T>(url: string, method: string, body: object | undefined, options: Options): Promise<T> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (body) headers['content-type'] = body instanceof Blob ? 'application/octet-stream' : 'application/json'
  if (accountId !== undefined) headers['guiche-account'] = accountId
  // Background refreshes must not keep a session alive after its user has left.
  if (Date.now() - lastActivityMs > UNATTENDED_AFTER_MS) headers['guiche-unattended'] = 'true'
  if (options.idempotencyKey) headers['idempotency-key'] = options.idempotencyKey
  let response: Response
  try {
    response = await fetch(url, {
      method,
      headers,
      credentials: 'same-origin',
      signal: options.signal ? AbortSignal.any([timeout, options.signal]) : timeout,
      ...(body && { body: body instanceof Blob ? body : JSON.stringify(body) }),
    })
  } catch (error) {
    // The caller aborted, which is not a failure.
    if (options.signal?.aborted) throw error
    if (!timeout.aborted) noteSilence()
    throw new ApiError(0, timeout.aborted ? 'timeout' : 'unreachable', 'The server did not answer')
  }
  noteAnswer()
  return readAnswer<T>(response)
}

async function readAnswer<T>(response: Response): Promise<T> {
  const answer = (await response.json().catch(() => undefined)) as Record<string, unknown> | null | undefined
  // contract/types.ts declares what each path answers.
  if (response.ok && answer !== undefined && answer?.['success'] !== false) return answer as T
  const text = [answer?.['error'], answer?.['message']].find((value) => typeof value === 'string')
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  throw new ApiError(
    response.status,
    typeof answer?.['code'] === 'string' ? answer['code'] : 'unknown',
    typeof text === 'string' && text !== '' ? text : `The server answered ${response.status}`,
    {
      details: detailsOf(answer?.['details']),
      retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
      requestId: response.headers.get('x-request-id') ?? undefined,
    },
  )
}

function detailsOf(value: unknown): Details {
  return typeof value === 'object' && value !== null ? (value as Details) : {}
}

function queryText(query: Query): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}`
}
