import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'

/** Reads JSON only. A missing body is left to the route, which knows what it needs. */
export function readJsonOnly(app: FastifyInstance, options: { limitBytes: number }): void {
  app.removeAllContentTypeParsers()
  app.addHook('preHandler', (request, _reply, done) =>
    done(unstorable.has(request) ? new Fault('body_invalid', UNSTORABLE) : undefined),
  )
  const parse = (request: FastifyRequest, body: string | Buffer) => Promise.resolve(parseJson(request, body as Buffer))
  const parserOptions = { parseAs: 'buffer', bodyLimit: options.limitBytes } as const
  app.addContentTypeParser('application/json', parserOptions, parse)
  app.addContentTypeParser('*', parserOptions, (request: FastifyRequest, body: string | Buffer) => {
    // `curl -X POST` and many clients name a type without sending a body.
    if (body.length > 0) return Promise.reject(new UnsupportedType(SEND_JSON))
    return parse(request, body)
  })
}

/** Hands the bytes to the route, of any type. Without a body it gets an empty buffer, or undefined without a type. */
export function readBytes(app: FastifyInstance, options: { limitBytes: number }): void {
  app.removeAllContentTypeParsers()
  const parserOptions = { parseAs: 'buffer', bodyLimit: options.limitBytes } as const
  app.addContentTypeParser('*', parserOptions, async (request: FastifyRequest, body: string | Buffer) => {
    refuseEncoded(request)
    return body
  })
}

export const SEND_JSON = 'Send the body as JSON, with Content-Type: application/json'

/** A refusal of HTTP itself, for which the domain has no code. */
export class UnsupportedType extends Error {
  override name = 'UnsupportedType'
}

// A body that is not UTF-8 is not JSON. Without `fatal` its broken characters would be stored as question marks.
const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(request: FastifyRequest, body: Buffer): unknown {
  refuseEncoded(request)
  if (body.length === 0) return undefined
  try {
    const text = utf8.decode(body)
    const value: unknown = JSON.parse(text)
    if (isUnstorable(text)) unstorable.add(request)
    return value
  } catch {
    throw new Fault('body_invalid', 'Request body is not valid JSON')
  }
}

/** Requests whose text cannot be stored. They are refused after the schema had its say. */
const unstorable = new WeakSet<FastifyRequest>()

/** PostgreSQL stores neither NUL nor lone surrogates. In a UTF-8 JSON body they can only occur as escapes. */
function isUnstorable(text: string): boolean {
  const escapes = text.matchAll(/\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\./g)
  for (const [escape] of escapes) if (/^\\u(?:0000|[dD][89a-fA-F][\da-fA-F]{2})$/.test(escape)) return true
  return false
}

const UNSTORABLE = 'Request body must not contain NUL characters or lone surrogates (halves of characters)'

/** Whether arrays and objects are nested deeper. Without parsing, which takes seconds for a body of brackets. */
export function isNestedDeeper(body: Buffer, maxDepth: number): boolean {
  // Brackets and braces differ in one bit: [ and {, ] and }.
  const [quote, backslash, bit, opener, closer] = [0x22, 0x5c, 0x20, 0x7b, 0x7d]
  let depth = 0
  let isText = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (isText && byte === backslash) at += 1
    else if (byte === quote) isText = !isText
    else if (!isText && (byte | bit) === opener && (depth += 1) > maxDepth) return true
    else if (!isText && (byte | bit) === closer) depth -= 1
  }
  return false
}

function refuseEncoded(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new UnsupportedType('Send the body without Content-Encoding')
  }
}

// ---- Fields that are not known ----

const MAX_NAMES = 10
const MAX_NAME_LENGTH = 64

/** Unknown fields of a body are ignored. `Guiche-Ignored` names them, so that a misspelt field is noticed. */
export function tellIgnoredFields(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    const known = fieldsOf(route.schema?.body)
    if (!known) return
    route.preValidation = [route.preValidation ?? []].flat().concat((request, reply, done) => {
      const ignored = ignoredFields(request.body, known)
      if (ignored.length > 0) reply.header('guiche-ignored', ignored.join(', '))
      done()
    })
  })
}

function fieldsOf(schema: unknown): ReadonlySet<string> | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return fieldsOf(schema.unwrap())
  return schema instanceof z.ZodObject ? new Set(Object.keys(schema.shape)) : undefined
}

function ignoredFields(body: unknown, known: ReadonlySet<string>): string[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return []
  const names: string[] = []
  for (const name in body) {
    if (known.has(name)) continue
    names.push(name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\w.-]/g, '?') || '?')
    if (names.length === MAX_NAMES) break
  }
  return names
}
