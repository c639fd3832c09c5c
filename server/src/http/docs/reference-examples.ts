import type { Document, Operation, Schema } from './openapi-postprocess.ts'
import { formsOf, refName } from './reference-fields.ts'
import { EVENT_EXAMPLES } from '../api/event-examples.ts'

// No schema of ours is deeper; one that refers to itself ends here.
const MAX_DEPTH = 8

export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

export type ExampleRequest = {
  method: string
  /** With `$NAME` for each id that a caller must fill in. */
  url: string
  needsKey: boolean
  takesIdempotencyKey: boolean
  body: unknown
}

export function exampleRequest(
  document: Document,
  publicUrl: string,
  { path, method, parameters = [], requestBody, security }: Operation & { path: string; method: string },
): ExampleRequest {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = parameters.find((parameter) => parameter.name === name)?.example
    return typeof example === 'string' ? example : `$${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
  })
  const query = parameters.flatMap(({ name, in: place, required, example }) =>
    place === 'query' && required ? `${name}=${encodeURIComponent(String(example))}` : [],
  )
  const json = requestBody?.content['application/json']
  return {
    method,
    url: `${publicUrl}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    needsKey: security?.length !== 0,
    takesIdempotencyKey: parameters.some(({ name }) => name === 'Idempotency-Key'),
    body: json && (json.example ?? exampleOf(document, json.schema!, { isRequest: true })),
  }
}

export function exampleAnswer(document: Document, { responses }: Operation): string | undefined {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const json = success?.content?.['application/json']
  return json && exampleText(document, json.schema!)
}

export function exampleText(document: Document, schema: Schema): string {
  return prettyJson(exampleOf(document, schema, { isRequest: false }))
}

type Options = { isRequest: boolean; name?: string; depth?: number }

/** The example that the document gives, or one made of names and types. */
function exampleOf(document: Document, given: Schema, { isRequest, name = '', depth = 0 }: Options): unknown {
  const target = refName(given)
  const schema = target === undefined ? given : document.components.schemas[target]!
  const known = schema.examples?.[0] ?? namedExample(name, schema)
  if (known !== undefined) return known
  // An answer without an example shows the usual case: nothing went wrong, and there is no next page.
  if (!isRequest && isNullable(schema)) return null
  const [form = {}] = formsOf(schema)
  const below = (inner: Schema, key = name) => exampleOf(document, inner, { isRequest, name: key, depth: depth + 1 })
  if (depth > MAX_DEPTH) return null
  if (form !== schema) return below(form)
  if (schema.const !== undefined || schema.enum) return schema.const ?? schema.enum![0]
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(shownFields(schema, isRequest).map(([key, field]) => [key, below(field, key)]))
    case 'array':
      return schema.items ? [below(schema.items)] : []
    case 'integer':
      return schema.default ?? schema.minimum ?? 0
    case 'boolean':
      return true
    case 'string':
      return schema.format === 'date-time' ? '2026-01-31T12:00:00.000Z' : '…'
    case undefined:
    default:
      return null
  }
}

/** Of a request what is required or has an example, or else one field: a small request is the best example. */
function shownFields({ properties = {}, required = [] }: Schema, isRequest: boolean): [string, Schema][] {
  const all = Object.entries(properties)
  if (!isRequest) return all
  const shown = all.filter(([key, field]) => required.includes(key) || field.examples)
  return shown.length > 0 ? shown : all.slice(0, 1)
}

function isNullable({ type, anyOf = [] }: Schema): boolean {
  return (Array.isArray(type) && type.includes('null')) || anyOf.some((form) => form.type === 'null')
}

const BY_NAME: Record<string, unknown> = {
  id: '0199a3c2-f4b8-7d6e-9b1a-5c0d3e2f4a68',
  webhookId: '0199a3c2-f4b8-7d6e-9b1a-5c0d3e2f4a68',
  accountId: '0199a3c2-f4b8-7d6e-9b1a-5c0d3e2f4a68',
  name: 'Shop',
  email: 'ana@shop.example.com',
  url: 'https://shop.example.com/guiche',
  events: 'DEPOSIT_ASSET_SUCCESS',
  event: 'DEPOSIT_ASSET_SUCCESS',
  data: EVENT_EXAMPLES['DEPOSIT_ASSET_SUCCESS']?.data,
  secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  state: 'delivered',
  status: 204,
  excerpt: 'ok',
  latencyMs: 84,
  attempts: 1,
  number: 1,
  queued: 1,
  provider: 'bank',
  endToEndId: 'E12345678202601311201s0123456789',
  day: '2026-01-31',
  from: '2026-01-31T00:00:00Z',
  to: '2026-02-01T00:00:00Z',
  value: 5000,
  balance: 4950,
  feeBps: 100,
  providerCount: 12,
  providerTotal: 60_000,
  ledgerCount: 12,
  ledgerTotal: 60_000,
}

/** Undefined where the name means something else here. */
function namedExample(name: string, schema: Schema): unknown {
  const example = BY_NAME[name]
  const types = [schema, ...formsOf(schema)].flatMap(({ type }) => type ?? [])
  const fits = types.includes(typeof example === 'number' ? 'integer' : typeof example)
  return fits && (schema.enum?.includes(example) ?? true) ? example : undefined
}
