import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import fastJson from 'fast-json-stringify'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, RawServerDefault } from 'fastify'
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { MAX_REASON_LENGTH, REASON_RULE } from '../../domain/core/audit-log.ts'

// What the schemas of several routes share. /openapi.json is generated from the schemas.

/** A Fastify scope whose handlers get the types of their zod schemas. */
export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

export function withZod(scope: FastifyInstance): Api {
  scope.setValidatorCompiler(compileValidator)
  return scope.withTypeProvider<ZodTypeProvider>()
}

const compileValidator: typeof validatorCompiler = (route) => {
  const validate = validatorCompiler(route)
  if (route.httpPart !== 'headers') return validate
  // Headers are validated and not replaced: Fastify would merge raw and parsed headers at every access.
  return (headers: unknown) => {
    const checked = validate(headers)
    return typeof checked === 'object' && 'error' in checked ? checked : true
  }
}

// ---- Request fields ----

export const VALUE_ERROR = 'value must be a positive integer (cents)'
export const BODY_ERROR = 'Request body must be a JSON object'

export const time = z.iso.datetime()
export const cents = z.int()

/** Counts characters as PostgreSQL and people do; the length of a JavaScript string counts an emoji as two. */
export function text(bounds: { min: number; max: number }, error: string) {
  return z
    .string({ error })
    .refine((value) => isText(value, bounds), { error })
    .meta({ ...(bounds.min > 0 ? { minLength: bounds.min } : {}), maxLength: bounds.max })
}

function isText(value: string, bounds: { min: number; max: number }): boolean {
  return isReadable(value) && isWithin(Array.from(value).length, bounds)
}

function isWithin(number: number, { min, max }: { min: number; max: number }): boolean {
  return number >= min && number <= max
}

export function oneOf<const Values extends readonly string[]>(name: string, values: Values) {
  return z.enum(values, { error: `${name} must be one of ${values.join(', ')}` })
}

/** A whole number in a query string. Only digits count: "5.0", "1e2" and " 5" are refused. */
export function integerParameter(
  name: string,
  bounds: { min: number; max: number; default: number; description: string },
) {
  const error = `${name} must be an integer from ${bounds.min} to ${bounds.max}`
  return z
    .string({ error })
    .refine((digits) => /^\d{1,9}$/.test(digits) && isWithin(Number(digits), bounds), { error })
    .transform(Number)
    .default(bounds.default)
    .meta({ type: 'integer', minimum: bounds.min, maximum: bounds.max, description: bounds.description })
}

export function timeField(name: string, description: string, suffix = '') {
  const error = `${name} must be an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z${suffix}`
  return z.iso
    .datetime({ offset: true, error })
    .transform((value) => new Date(value))
    .meta({ description, examples: ['2026-01-31T00:00:00Z'] })
}

export function idField(name: string, of: string) {
  return z.uuid({ error: `${name} must be the id of ${of}` })
}

export const searchField = text({ min: 1, max: 100 }, `search must be 1 to 100 characters, ${READABLE_RULE}`)
export const nameField = text({ min: 1, max: 100 }, `name must be 1 to 100 characters, ${READABLE_RULE}`)
export const emailField = z.email('email must be an e-mail address')
export const reasonField = text({ min: 1, max: MAX_REASON_LENGTH }, REASON_RULE).meta({
  description: 'Why you do this. Kept in the audit log.',
  examples: ['requested by the customer'],
})

const CURSOR_ERROR = 'cursor must be a nextCursor of an earlier answer'
const cursor = z
  .string({ error: CURSOR_ERROR })
  .regex(/^[0-9a-z]{1,64}$/, { error: CURSOR_ERROR })
  .exactOptional()
  .meta({ description: 'The `nextCursor` of the previous page.' })
const limit = integerParameter('limit', { min: 1, max: 100, default: 50, description: 'Maximum number of items.' })

export const paging = { cursor, limit }
export const listQuery = {
  from: timeField('from', 'Only items from this time on (inclusive).').exactOptional(),
  to: timeField('to', 'Only items before this time (exclusive).').exactOptional(),
  ...paging,
}
export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Send it as `cursor` to get the next page. Null on the last page.' })

export const paymentLinkParams = z.object({
  paymentLinkId: z
    .string()
    .meta({ description: 'The `paymentLinkId` of the charge.', examples: ['7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'] }),
})

export function idempotencyHeaders(description: string) {
  const bounds = { min: 1, max: 255 }
  const error = `Idempotency-Key must be 1 to 255 characters, ${READABLE_RULE}`
  const key = z
    .string()
    .refine((value) => isText(headerText(value), bounds), { error })
    .meta({ minLength: bounds.min, maxLength: bounds.max })
  return z.object({ 'idempotency-key': key.exactOptional().meta({ description }) })
}

export function idempotencyKeyOf(headers: { 'idempotency-key'?: string }): string | null {
  const key = headers['idempotency-key']
  return key === undefined ? null : headerText(key)
}

/** Node gives each byte of a header as a character. Some clients send UTF-8, others Latin-1. */
function headerText(value: string): string {
  try {
    return UTF8.decode(Buffer.from(value, 'latin1'))
  } catch {
    return value
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// ---- Responses ----

export function response<Fields extends z.ZodRawShape>(description: string, fields: Fields) {
  return { description, content: { 'application/json': { schema: z.object({ success: z.literal(true), ...fields }) } } }
}

const errorSchema = z
  .object({
    success: z.literal(false),
    error: z.string().meta({
      description: 'What went wrong, for humans. Programs branch on the status and the `Guiche-Error` header.',
    }),
  })
  .meta({ id: 'Error' })

export function errorResponse(description: string) {
  return { description, content: { 'application/json': { schema: errorSchema } } }
}

type Description = {
  summary: string
  description: string
  params?: z.ZodType
  querystring?: z.ZodType
  headers?: z.ZodType
  body?: z.ZodType
  response: Record<number, { description: string }>
  /** By status, what an error of this route means, where there is more to say than for every route. */
  errors?: Record<number, string>
}

/** The schemas of documented routes behind a key, by operationId. Most errors follow from what a route reads. */
export function describeOperations<Routes extends Record<string, Description>>(tag: string, routes: Routes): Routes {
  const schemas = Object.entries(routes).map(([operationId, { response: success, errors = {}, ...route }]) => {
    const own = Object.entries(errors).map(([status, text]) => [status, errorResponse(text)])
    const response = {
      ...success,
      ...COMMON_ERRORS,
      ...(route.querystring && { 400: INVALID_PARAMETER }),
      ...(route.body && BODY_ERRORS),
      ...Object.fromEntries(own),
    }
    return [operationId, { tags: [tag], operationId, ...route, response }]
  })
  return Object.fromEntries(schemas)
}

/** For `errors` of a route that changes something and takes no body: one that is sent is read all the same. */
export const NEEDLESS_BODY_ERRORS = {
  400: 'A body was sent, and is not valid JSON. None is needed.',
  413: 'The body is larger than 16 KiB. None is needed.',
  415: 'The body is not `application/json`. None is needed.',
}

const INVALID_PARAMETER = errorResponse('A parameter is invalid. The text names it and says what is allowed.')

const BODY_ERRORS = {
  400: errorResponse('A field is invalid. The text names it and says what is allowed.'),
  413: errorResponse('The body is larger than 16 KiB.'),
  415: errorResponse('The body is not `application/json`.'),
}

const COMMON_ERRORS = {
  401: errorResponse('`Missing API key`, or `Invalid API key` for an unknown, revoked or expired key.'),
  403: errorResponse('The key lacks the required scope, or its account is suspended. The text says which.'),
  429: errorResponse('`Too many requests`: wait for the number of seconds in `Retry-After`.'),
  500: errorResponse('Internal error. Safe to retry; a deposit or a refund only with an `Idempotency-Key`.'),
  503: errorResponse('Overloaded, restarting, or the database is unreachable. Wait for `Retry-After`.'),
}

/** A copy as the API has it: dates are ISO 8601 texts, and amounts lose the suffix `Cents`, since all are in cents. */
export function toApi<Fields extends object>(fields: Fields): ApiFields<Fields> {
  const entries = Object.entries(fields).map(([name, value]) => [
    name.replace(/Cents$/, ''),
    value instanceof Date ? value.toISOString() : value,
  ])
  return Object.fromEntries(entries) as ApiFields<Fields>
}

type ApiFields<Fields> = {
  [Name in keyof Fields as Name extends `${infer Bare}Cents` ? Bare : Name]: Fields[Name] extends Date | null
    ? string | Exclude<Fields[Name], Date>
    : Fields[Name]
}

// ---- Writing responses ----

type Serializer = (answer: unknown) => string

/** Generated from the schema: a field that it does not name is left out, and a missing one is an error. */
export function makeSerializer({ schema }: { schema: z.ZodType }): Serializer {
  let write: Serializer | undefined
  // Made with the first answer: most schemas are those of errors, which are sent as text.
  return (answer) => (write ??= compile(schema))(answer)
}

/** For tests: every answer must be what its schema allows, and the generated code must write just that. */
export function makeCheckedSerializer(route: { schema: z.ZodType }): Serializer {
  const write = makeSerializer(route)
  return (answer) => {
    const text = write(answer)
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(route.schema.parse(answer))))
    return text
  }
}

/** The text of an answer with status 200, for one who sends it by sendText(). */
export function textOf(reply: FastifyReply, answer: Record<string, unknown>): string {
  return reply.serializeInput(answer, '200', 'application/json') as string
}

export function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text)
}

function compile(schema: z.ZodType): Serializer {
  const jsonSchema = z.toJSONSchema(schema, {
    // In this dialect null is a property of a type. As one of several types it would be looked for at run time.
    target: 'openapi-3.0',
    io: 'output',
    metadata: z.registry(),
    override: ({ jsonSchema: part }) => {
      if (part.additionalProperties === false) delete part.additionalProperties
    },
  })
  return fastJson(jsonSchema as fastJson.AnySchema)
}
