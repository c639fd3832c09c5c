import { format } from 'oxfmt'

// Generates TypeScript from the OpenAPI document: the operations that an API key may call, with their types.

// The same width as in .oxfmtrc.json.
const MAX_COLUMNS = 120

const HEADER = '// Generated from server/openapi.json: UPDATE_SDK_TYPES=1 npx vitest run sdk/test/api-types.test.ts\n'

export type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
}
const PIECEMEAL = ['text/event-stream', 'application/jsonl'] as const
type Content = {
  content: Partial<Record<'application/json' | 'text/plain' | (typeof PIECEMEAL)[number], { schema: Schema }>>
}
type Operation = {
  operationId: string
  summary: string
  parameters?: { in: string; name: string; description?: string; schema: Schema }[]
  requestBody?: Content
  responses: Record<string, Content>
}
export type Document = {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: { requestBody: Content } }>
  components: { schemas: Record<string, Schema>; headers: { 'Guiche-Error': { schema: Schema } } }
}

type Route = { method: string; path: string; operation: Operation }

/** The text of each file: `api.ts` has the operations, `types.ts` the types that they share. */
export async function renderTypes(document: Document): Promise<Record<'api.ts' | 'types.ts', string>> {
  const routes = routesOf(document)
  const operations = routes.map(describeOperation)
  const types = operations.flatMap((operation) => operation.types)
  const events = Object.values(document.webhooks).map(
    ({ post }) => post.requestBody.content['application/json']!.schema,
  )
  const answered = types.map(({ schema }) => schema)
  const names = [...new Set([...answered, ...events].flatMap((schema) => refsIn(schema, document)))].toSorted()
  const inputs = types.filter(({ isInput }) => isInput)
  const schemas = names.map((name) => ({ name, schema: document.components.schemas[name]! }))
  const used = types.filter((type) => type.name !== OTHER_FORM)
  const imported = names.filter((name) => used.some(({ schema }) => JSON.stringify(schema).includes(`/${name}"`)))
  const api = [
    HEADER,
    `import type { ${imported.join(', ')} } from './types.ts'\n`,
    '/** Method and path of each operation. `key` marks those that take an `Idempotency-Key`. */',
    `export const OPERATIONS = {${routes.map(tableLine).join(',')}} as const\n`,
    '/** What each operation takes and answers. */',
    `export type Operations = {${operations.map(({ text }) => text).join('\n')}}\n`,
    ...inputs.map(declaration),
  ]
  const shared = [
    HEADER,
    ...schemas.map(declaration),
    '/** The events that this version knows. */',
    `export type KnownEvent = ${events.map(typeText).join(' | ')}\n`,
    '/** The values of the header `Guiche-Error`. A newer server may send others. */',
    `export type ErrorCode = ${typeText(document.components.headers['Guiche-Error'].schema)}`,
  ]
  return { 'api.ts': await formatted(api.join('\n')), 'types.ts': await formatted(shared.join('\n')) }
}

function routesOf({ paths }: Document): Route[] {
  return (
    Object.entries(paths)
      .filter(([path]) => path.startsWith('/api/'))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
      )
      // A stream or a file is no call: its answer is read piece by piece.
      .filter(({ operation }) => PIECEMEAL.every((type) => !successOf(operation).content?.[type]))
  )
}

function successOf({ responses }: Operation): Content {
  return Object.entries(responses).find(([status]) => status.startsWith('2'))![1]
}

function tableLine({ method, path, operation }: Route): string {
  const takesKey = operation.parameters?.some(({ name }) => name === 'Idempotency-Key')
  const kind = takesKey ? ['key'] : successOf(operation).content?.['text/plain'] ? ['text'] : []
  return `${operation.operationId}: [${[method, path, ...kind].map(literal).join(', ')}]`
}

const OTHER_FORM = 'other form'

type Named = { name: string; schema: Schema; isInput?: boolean }

function describeOperation({ operation }: Route): { text: string; types: Named[] } {
  const { operationId, parameters = [], requestBody } = operation
  const title = operationId.replace(/^./, (letter) => letter.toUpperCase())
  const placed = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const fields: string[] = []
  const types: Named[] = []
  if (placed('path').length > 0)
    fields.push(
      `path: { ${placed('path')
        .map(({ name }) => `${name}: string`)
        .join('; ')} }`,
    )
  if (placed('query').length > 0) {
    fields.push(`query?: ${title}Query`)
    const properties = placed('query').map(({ name, description, schema }) => [
      name,
      { ...schema, ...(description && { description }) },
    ])
    types.push({
      name: `${title}Query`,
      schema: { type: 'object', properties: Object.fromEntries(properties) },
      isInput: true,
    })
  }
  if (requestBody) {
    const { isOptional, schema } = withoutNull(requestBody.content['application/json']!.schema)
    fields.push(`body${isOptional ? '?' : ''}: ${title}Body`)
    types.push({ name: `${title}Body`, schema, isInput: true })
  }
  const [form, ...otherForms] = formsOf(successOf(operation))
  const answer = withoutSuccess(form!)
  fields.push(`answer: ${typeText(answer)}`)
  types.push({ name: 'answer', schema: answer }, ...otherForms.map((schema) => ({ name: OTHER_FORM, schema })))
  return { text: `/** ${operation.summary}. */\n${operationId}: { ${fields.join('; ')} }`, types }
}

function withoutNull(schema: Schema): { isOptional: boolean; schema: Schema } {
  const options = schema.anyOf?.filter(({ type }) => type !== 'null')
  return options?.length === 1 ? { isOptional: true, schema: options[0]! } : { isOptional: false, schema }
}

/** Events have another form with `after`. Its method in the client names the type. */
function formsOf({ content }: Content): Schema[] {
  const { schema } = (content['application/json'] ?? content['text/plain'])!
  return schema.anyOf ?? [schema]
}

/** The client throws on every failure, so `success` would always be true. */
function withoutSuccess(schema: Schema): Schema {
  const { properties: { success: _, ...properties } = {} } = schema
  return schema.type === 'object' ? { ...schema, properties } : schema
}

function refsIn(schema: Schema, document: Document): string[] {
  const own = schema.$ref ? [schema.$ref.split('/').pop()!] : []
  const inner = [
    ...(schema.anyOf ?? []),
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
  ]
  const below = own.map((name) => document.components.schemas[name]!)
  return [...own, ...[...inner, ...below].flatMap((part) => refsIn(part, document))]
}

function declaration({ name, schema }: Named): string {
  return `${comment(schema)}export type ${name} = ${typeText(schema)}\n`
}

function typeText(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').pop()!
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeText({ ...schema, type })).join(' | ')
  if (schema.type === 'array') return `Array<${typeText(schema.items ?? {})}>`.replace(/^Array<(\w+)>$/, '$1[]')
  if (schema.type === 'object') return objectText(schema)
  return schema.type === 'integer' ? 'number' : (schema.type ?? 'unknown')
}

function objectText({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, field]) => `${comment(field)}${name}${required.includes(name) ? '' : '?'}: ${typeText(field)}`,
  )
  if (fields.length > 0) return `{\n${fields.join('\n')}\n}`
  return `Record<string, ${typeof additionalProperties === 'object' ? typeText(additionalProperties) : 'unknown'}>`
}

/** Wraps the text, because the formatter leaves comments alone. Six columns are kept for the deepest indentation. */
function comment({ description }: Schema): string {
  if (!description) return ''
  const lines = description.split(' ').reduce<string[]>((done, word) => {
    const last = done.pop()
    if (last === undefined) return [word]
    return `${last} ${word}`.length <= MAX_COLUMNS - 14 ? [...done, `${last} ${word}`] : [...done, last, word]
  }, [])
  return lines.length === 1 ? `/** ${lines[0]} */\n` : `/**\n${lines.map((line) => ` * ${line}`).join('\n')}\n */\n`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

async function formatted(text: string): Promise<string> {
  const { code, errors } = await format('api.ts', text, { printWidth: MAX_COLUMNS, semi: false, singleQuote: true })
  if (errors.length > 0) throw new Error(errors[0]!.message)
  return code
}
