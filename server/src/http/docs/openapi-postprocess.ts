import { errorCodesOf } from './error-codes.ts'
import { EVENT_SCHEMAS, WEBHOOKS } from './webhook-events.ts'
import { ERROR_CODES, type ErrorCode } from '../server/error-codes.ts'

// What the generator cannot know or says badly: headers, which hooks and handlers set where no schema sees them, and
// bounds that are JavaScript's and not ours.

export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  pattern?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  description?: string
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  additionalProperties?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}
export type Parameter = {
  in: string
  name: string
  required?: boolean
  description?: string
  example?: unknown
  schema: Schema
}
type Content = Record<string, { schema?: Schema; example?: unknown }>
export type Answer = {
  description: string
  headers?: Record<string, object>
  content?: Content
  /** Which values of `Guiche-Error` come with it. */
  'x-error-codes'?: ErrorCode[]
}
export type Operation = {
  operationId: string
  summary: string
  description: string
  tags?: string[]
  security?: unknown[]
  /** What an API key must be allowed to do; absent where no key is needed. */
  'x-scope'?: string
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, Answer>
}
export type Document = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string; description: string }[]
  tags: { name: string; description: string }[]
  security: object[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  components: {
    schemas: Record<string, Schema>
    securitySchemes: Record<string, { description: string }>
    headers: Record<string, Header>
  }
}

export function finishDocument(generated: object): Document {
  const { openapi, info, servers, tags, security, paths, webhooks, components, eventSchemas } = JSON.parse(
    JSON.stringify({ ...generated, webhooks: WEBHOOKS, eventSchemas: EVENT_SCHEMAS }),
    tidySchema,
  ) as Document & { eventSchemas: Record<string, Schema> }
  const operations = Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.values(byMethod).map((operation) => ({ path, operation })),
  )
  for (const { path, operation } of operations) {
    operation.parameters?.forEach(writeHeaderName)
    for (const [status, response] of Object.entries(operation.responses)) {
      const json = response.content?.['application/json']
      const example = errorExample(operation, status, response.description)
      if (json?.schema?.$ref === '#/components/schemas/Error' && example) json.example = example
      response.headers = Object.fromEntries(
        headersFor(path, operation, status).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
      )
      if (status >= '400' && path.startsWith('/api/'))
        response['x-error-codes'] = errorCodesOf(operation.operationId, status)
    }
  }
  const rest = { securitySchemes: components.securitySchemes, headers: HEADERS }
  // By name: the order of imports differs from one way to run this to another.
  const all = { ...components.schemas, ...eventSchemas }
  const schemas = Object.fromEntries([...usedIn({ paths, webhooks }, all)].toSorted().map((name) => [name, all[name]!]))
  for (const name of EXACT) schemas[name]!.additionalProperties = false
  return { openapi, info, servers, tags, security, paths, webhooks, components: { schemas, ...rest } }
}

/** The generator makes two copies of each schema, for requests and for responses, and may use only one of them. */
function usedIn(part: object, all: Record<string, Schema>, used = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (used.has(name)) continue
    used.add(name)
    usedIn(all[name]!, all, used)
  }
  return used
}

// Clients compare these whole. Everything else may gain fields, and must not promise that it will not.
const EXACT = ['NewCharge', 'Charge']

function tidySchema(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const schema = value as Schema
  if (schema.additionalProperties === false) delete schema.additionalProperties
  // The format says it already, and nobody can read the pattern.
  if (schema.format === 'date-time') delete schema.pattern
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  return schema
}

function writeHeaderName(parameter: Parameter): void {
  if (parameter.in === 'header')
    parameter.name = parameter.name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
}

// Texts that a caller really meets, by operation or for all of them. A description that begins with such a text needs
// no entry.
const ERRORS: Record<string, string> = {
  'createDeposit 400': 'value must be a positive integer (cents)',
  'createDeposit 409': 'externalId is already used by the deposit 0190163d-8694-739b-aea5-966c26f8ad91',
  'createDeposit 422': 'Idempotency-Key was already used with a different request',
  'createDeposit 502': 'The payment provider refused the charge',
  'ensureDeposit 400': 'value must be a positive integer (cents)',
  'ensureDeposit 409': 'The order was paid with another value, which is 5000 (cents)',
  'ensureDeposit 502': 'The payment provider refused the charge',
  'ensureCode 400': 'minValue must not be above maxValue',
  'ensureCode 409': 'No payment provider of this service has lasting codes',
  'ensureCode 502': 'The payment provider refused the code',
  'listDeposits 400': 'limit must be an integer from 1 to 100',
  'refundDeposit 409': 'value is more than is left to refund: 2500 cents of 5000',
  'refundDeposit 422': 'Idempotency-Key was already used with a different request',
  'cancelDeposit 409': 'Charge is COMPLETED and cannot be canceled',
  413: 'Request body is too large: at most 16 KiB',
  415: 'Send the body as JSON, with Content-Type: application/json',
  500: 'Internal error',
  503: 'The service is overloaded, please try again',
}

function errorExample(operation: Operation, status: string, description: string): object | undefined {
  const error =
    /^`([A-Z][^`]+)`/.exec(description)?.[1] ?? ERRORS[`${operation.operationId} ${status}`] ?? ERRORS[status]
  return error === undefined ? undefined : { success: false, error }
}

type Header = { description: string; schema: { type: string; enum?: string[] } }

const HEADERS: Record<string, Header> = {
  'X-Request-Id': { description: 'Names this request; yours, if you sent one.', schema: { type: 'string' } },
  RateLimit: {
    description: 'What is left: `r` requests, and the whole burst again in `t` seconds.',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: 'The limit: a burst of `q` requests, refilled within `w` seconds.',
    schema: { type: 'string' },
  },
  'Guiche-Error': {
    description: 'Why it was refused, as a code to decide by. New codes may be added; one is never renamed.',
    schema: { type: 'string', enum: [...ERROR_CODES] },
  },
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: { type: 'integer' } },
  'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' } },
  Location: { description: 'Where to ask for it.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: '`true` if the `Idempotency-Key` was used before. The body shows what it made, as it is now.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Guiche-Ignored': {
    description:
      'Names of fields in your body that this operation does not know and ignored, separated by commas: at most 10.',
    schema: { type: 'string' },
  },
  'Guiche-Provider-Check': {
    description:
      'For a charge that was PENDING: `fresh` if the payment provider was asked for this answer, `failed` if it could not be.',
    schema: { type: 'string', enum: ['fresh', 'failed'] },
  },
}

const OF_OPERATION: Record<string, string[]> = {
  'createDeposit 201': ['Location', 'Idempotency-Replayed'],
  'createDeposit 409': ['Location', 'Retry-After'],
  'ensureDeposit 200': ['Guiche-Provider-Check'],
  'ensureDeposit 201': ['Location'],
  'ensureDeposit 409': ['Location', 'Retry-After'],
  'ensureCode 201': ['Location'],
  'refundDeposit 201': ['Location', 'Idempotency-Replayed'],
  'refundAnyDeposit 201': ['Idempotency-Replayed'],
  'getDeposit 200': ['Guiche-Provider-Check'],
  'retrieveDeposit 200': ['Guiche-Provider-Check'],
}

function headersFor(path: string, operation: Operation, status: string): string[] {
  // An empty list of schemes is how a public operation says so.
  const isPublic = operation.security?.length === 0
  return [
    'X-Request-Id',
    // On every answer behind a key; shown where they matter, because twelve tables of them hide the rest.
    ...(!isPublic && (status === '429' || status.startsWith('2')) ? ['RateLimit', 'RateLimit-Policy'] : []),
    ...(status >= '400' && path.startsWith('/api/') ? ['Guiche-Error'] : []),
    ...(operation.requestBody && status.startsWith('2') ? ['Guiche-Ignored'] : []),
    ...(status === '401' ? ['WWW-Authenticate'] : []),
    ...(status === '429' || status === '503' ? ['Retry-After'] : []),
    ...(OF_OPERATION[`${operation.operationId} ${status}`] ?? []),
  ]
}
