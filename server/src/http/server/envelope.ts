import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { Fault, type FaultCode, type FaultDetails } from '../../base/fault.ts'
import { SEND_JSON, UnsupportedType } from './body.ts'
import { ERRORS, type ErrorCode } from './error-codes.ts'
import { errorPage } from './error-page.ts'
import { contentSecurityPolicy } from './page-layout.ts'

/** What a refused request gets: `{ success: false, error }`, or a page if a browser asked for one. */
export type Refusal = {
  status: number
  error: string
  code: ErrorCode
  details?: FaultDetails
  headers?: Record<string, string>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What it was answered, if it was refused. */
    refusal: Refusal | undefined
  }
}

type Refused = { status: number; code: string }

/** See request-log.ts. */
export type RefusalLog = {
  /** When it is refused, and not after the response: a caller who hangs up must not stay out of the log. */
  refused(request: FastifyRequest, reply: FastifyReply, refused: Refused): void
  /** With a status of 500 or more. */
  failed(request: FastifyRequest, error: unknown, refused: Refused): void
}

// For faults that can be retried and do not say when.
const RETRY_AFTER_SECONDS = 1
const RETRIABLE = new Set<FaultCode>(['in_flight', 'rate_limited', 'unavailable', 'provider_unavailable'])

export function answerRefusals(app: FastifyInstance, log: RefusalLog): void {
  app.decorateRequest('refusal')
  app.setErrorHandler((error, request, reply) => {
    const refusal = refusalOf(error, request)
    if (refusal.status >= 500) log.failed(request, error, refusal)
    else log.refused(request, reply, refusal)
    sendRefusal(request, reply, refusal)
  })
  // Before the body is read: an unknown route has no rule for content types.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) sendRefusal(request, reply, unknownRoute(app, request))
    else done()
  })
  // Unreachable because of the hook above. It ensures that Fastify never answers in its own words.
  app.setNotFoundHandler((request, reply) => sendRefusal(request, reply, unknownRoute(app, request)))
}

export function sendRefusal(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): void {
  request.refusal = refusal
  reply.code(refusal.status).headers(refusal.headers ?? {})
  if (isUnder(placeOf(request), '/api') && refusal.status !== 204) reply.header('guiche-error', refusal.code)
  if (refusal.status === 204) void reply.send()
  else if (wantsPage(request)) void errorPage(reply, request, refusal)
  // As text: the serializer may be what failed.
  else void reply.type('application/json; charset=utf-8').send(envelopeText(refusal.error, extras(request, refusal)))
}

/** The route that answers, as the router found it: `/%61pi` is `/api`. Without one, the path. */
export function placeOf(request: FastifyRequest): string {
  const { url } = request.routeOptions
  if (url !== undefined) return url
  const path = pathOf(request)
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function pathOf(request: FastifyRequest): string {
  return request.url.split(/[?#]/, 1)[0]!
}

export function isUnder(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`)
}

function refusalOf(error: unknown, request: FastifyRequest): Refusal {
  if (error instanceof Fault) return faultRefusal(error)
  if (error instanceof UnsupportedType) return makeRefusal('unsupported_type', error.message)
  if (hasZodFastifySchemaValidationErrors(error)) return fieldRefusal(error.validation[0])
  switch (codeOf(error) ?? '') {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return makeRefusal('unsupported_type', SEND_JSON)
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return makeRefusal(
        'body_too_large',
        `Request body is too large: at most ${request.routeOptions.bodyLimit / 1024} KiB`,
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return makeRefusal('bad_request', 'Request body does not match its Content-Length')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
    // The path of a file outside of its folder, or of the folder itself.
    case 'FST_STATIC_FORBIDDEN_PATH':
      return NOT_FOUND
    // The caller hung up while sending, and does not read this response.
    case 'ECONNRESET':
      return makeRefusal('bad_request', 'Request was aborted')
    default:
      return isForbiddenFile(error) ? NOT_FOUND : makeRefusal('internal', 'Internal error')
  }
}

export function makeRefusal(code: ErrorCode, error: string): Refusal {
  return { status: ERRORS[code][0], code, error }
}

export const NOT_FOUND = makeRefusal('not_found', 'Not found')

function fieldRefusal(first: { message?: string; instancePath: string } | undefined): Refusal {
  const field = first?.instancePath.slice(1)
  return { ...makeRefusal('field_invalid', first?.message ?? 'Bad request'), ...(field && { details: { field } }) }
}

/** @fastify/static throws this for a folder, without a code. */
function isForbiddenFile(error: unknown): boolean {
  return error instanceof Error && error.name === 'ForbiddenError' && 'statusCode' in error && error.statusCode === 403
}

function faultRefusal(fault: Fault): Refusal {
  const headers: Record<string, string> = {}
  if (fault.code === 'key_missing' || fault.code === 'key_invalid') headers['www-authenticate'] = 'Bearer'
  const retryAfter = fault.retryAfterSeconds ?? (RETRIABLE.has(fault.code) ? RETRY_AFTER_SECONDS : undefined)
  if (retryAfter !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfter)))
  const { code, details } = fault
  const paymentLinkId = details?.['paymentLinkId']
  if (paymentLinkId !== undefined) headers['location'] = `/api/deposit/${paymentLinkId}`
  return { ...makeRefusal(code, fault.message), headers, ...(details && { details }) }
}

function unknownRoute(app: FastifyInstance, request: FastifyRequest): Refusal {
  const url = pathOf(request)
  const methods = app.supportedMethods.filter((method) => app.findRoute({ method, url }) !== null)
  // A route of this very method refused it: the file does not exist.
  if (methods.length === 0 || methods.includes(request.method)) return NOT_FOUND
  const headers = { allow: [...methods, 'OPTIONS'].toSorted().join(', ') }
  const error = `${request.method} is not allowed here: use ${methods.toSorted().join(' or ')}`
  const refused = { ...makeRefusal('method_not_allowed', error), headers }
  return request.method === 'OPTIONS' ? { ...refused, status: 204 } : refused
}

function wantsPage(request: FastifyRequest): boolean {
  const path = placeOf(request)
  if (isUnder(path, '/api') || isUnder(path, '/callbacks') || isUnder(path, '/dashboard/api')) return false
  return request.headers.accept?.includes('text/html') ?? false
}

/** The dashboard gets the code and its details, to use its own texts. */
function extras(request: FastifyRequest, { error, code, details }: Refusal): object {
  const path = placeOf(request)
  if (!isUnder(path, '/dashboard/api')) return {}
  return { code, ...(details && { details }), ...(isUnder(path, '/dashboard/api/auth') && { message: error }) }
}

function envelopeText(error: string, more: object = {}): string {
  return JSON.stringify({ success: false, error, ...more })
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

// ---- Requests that are too malformed for the router ----

/** Node hands over a bare socket, so the response is written by hand and the connection is closed. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  socket.end(rawAnswer(clientErrorRefusal(error.code)))
}

export function rawAnswer({ status, error, code }: Refusal): string {
  const body = envelopeText(error)
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    `Guiche-Error: ${code}`,
    'Cache-Control: no-store',
    `Content-Security-Policy: ${contentSecurityPolicy({})}`,
    'Referrer-Policy: no-referrer',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

function clientErrorRefusal(code = ''): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return makeRefusal('headers_too_large', 'Request headers are too large')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return makeRefusal('body_too_large', 'Request body is too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return makeRefusal('request_timeout', 'Request took too long to arrive')
    default:
      return makeRefusal('bad_request', 'Malformed HTTP request')
  }
}
