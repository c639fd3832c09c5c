// As much of OpenAPI 3.1 as our own document uses.

export type Document = {
  info: { description?: string }
  tags: { name: string; description?: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

export type Operation = {
  operationId: string
  summary: string
  description?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content?: Content }>
}

export type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema }
type Content = Record<string, { schema?: Schema; example?: unknown }>

export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  enum?: unknown[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  example?: unknown
  examples?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}

export type Endpoint = Operation & { method: string; path: string }

/** No document of ours is deeper; one that refers to itself ends here. */
const MAX_DEPTH = 8

export function endpointsByTag(document: Document): { name: string; description: string; endpoints: Endpoint[] }[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
  return document.tags.map(({ name, description = '' }) => ({
    name,
    description,
    endpoints: all.filter((endpoint) => endpoint.tags?.includes(name)),
  }))
}

export function resolve(document: Document, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined
    ? schema
    : { ...document.components.schemas[name], ...(schema.description && { description: schema.description }) }
}

/** The example that the document gives, or one made of the types. */
export function exampleText(document: Document, content: Content | undefined): string | undefined {
  const json = content?.['application/json']
  if (!json) return undefined
  const example = json.example ?? (json.schema && exampleOf(document, json.schema))
  return example === undefined ? undefined : JSON.stringify(example, null, 2)
}

function exampleOf(document: Document, given: Schema, depth = 0): unknown {
  const schema = resolve(document, given)
  if (depth > MAX_DEPTH) return null
  if (schema.example !== undefined) return schema.example
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf?.[0]) return exampleOf(document, schema.anyOf[0], depth + 1)
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, below]) => [name, exampleOf(document, below, depth + 1)]),
      )
    case 'array':
      return schema.items ? [exampleOf(document, schema.items, depth + 1)] : []
    case 'integer':
    case 'number':
      return schema.minimum ?? 0
    case 'boolean':
      return true
    case 'string':
      return schema.format === 'date-time' ? '2026-11-15T12:04:31.000Z' : '…'
    case undefined:
    default:
      return null
  }
}

/** "text of 1 to 64 characters or null", as short as that. */
export function typeText(document: Document, given: Schema): string {
  const schema = resolve(document, given)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return schema.anyOf.map((one) => typeText(document, one)).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  if (schema.type === 'array') return schema.items ? `${typeText(document, schema.items)}[]` : 'array'
  const limits = [schema.minimum ?? schema.minLength, schema.maximum ?? schema.maxLength]
  const range = limits[1] === undefined ? '' : ` (${limits[0] ?? 0}–${limits[1]})`
  return `${schema.format ?? schema.type ?? 'any'}${range}`
}
