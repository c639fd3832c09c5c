import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { format } from 'oxfmt'
import { z } from 'zod'
import { renderOpenapi } from '../src/http/render-openapi.ts'

// Generates TypeScript from the schemas of the server's answers.

// The same width as in .oxfmtrc.json.
const MAX_COLUMNS = 120

type Schema = z.core.JSONSchema.BaseSchema
/** What each route answers when it succeeds, by method and path such as `GET /dashboard/api/keys`. */
export type Answers = ReadonlyMap<string, z.ZodObject>
/** The name of each type, by its text without names of its parts. */
export type Names = Map<string, string>

/** Fastify announces each new server, so a hook sees the routes without any code in the server. */
export async function readAnswers(): Promise<Answers> {
  const answers = new Map<string, z.ZodObject>()
  const listen = (message: unknown) =>
    void (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url, schema }) => {
      const responses = Object.entries((schema?.response ?? {}) as Record<string, Response>)
      const answer = responses.find(([status]) => status.startsWith('2'))?.[1].content?.['application/json']?.schema
      // Of events, the form without `after`: the dashboard shows deliveries.
      const form = answer instanceof z.ZodUnion ? answer.options[0] : answer
      if (form instanceof z.ZodObject) answers.set(`${String(method)} ${url}`, form.omit({ success: true }))
    })
  subscribe('fastify.initialization', listen)
  await renderOpenapi()
  unsubscribe('fastify.initialization', listen)
  return answers
}

type Response = { content?: Record<string, { schema: unknown }> }

/** The JSON schema of a type. Types with an `id` become its `$defs`. */
export function schemaOf(type: z.ZodType): Schema & { $defs?: Record<string, Schema> } {
  return z.toJSONSchema(type, { io: 'output' })
}

/** The part of a schema at a path such as `attention[].kind`, without its null. */
export function partAt(root: Schema, path: string): Schema {
  const part = path.split(/\.|(?=\[\])/).reduce((schema, step) => {
    const whole = resolve(root, schema)
    const inner = step === '[]' ? whole.items : whole.properties?.[step]
    if (typeof inner !== 'object' || Array.isArray(inner)) throw new Error(`${path}: there is no ${step}`)
    return inner
  }, root)
  return part.anyOf?.find((option) => option.type !== 'null') ?? part
}

function resolve(root: Schema, schema: Schema): Schema {
  if (schema.$ref) return root.$defs![nameIn(schema.$ref)]!
  const option = schema.anyOf?.find(({ type }) => type !== 'null')
  return option ? resolve(root, option) : schema
}

function nameIn(ref: string): string {
  return ref.split('/').pop()!
}

/** The schema as a TypeScript type; parts with a name in `names` are written by that name. */
export function typeText(schema: Schema, names: Names = new Map(), isNamed = true): string {
  const name = isNamed && names.size > 0 ? names.get(typeText(schema)) : undefined
  if (name) return name
  const part = (inner: Schema) => typeText(inner, names)
  if (schema.$ref) return nameIn(schema.$ref)
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  const options = schema.anyOf ?? schema.oneOf
  if (options) return options.map(part).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => part({ ...schema, type })).join(' | ')
  if (schema.type === 'object') return objectText(schema, part)
  if (schema.type === 'array') {
    const item = part(schema.items as Schema)
    return item.includes(' | ') && !item.endsWith('}') ? `(${item})[]` : `${item}[]`
  }
  return schema.type === 'integer' ? 'number' : (schema.type ?? 'unknown')
}

function objectText({ properties, required, additionalProperties }: Schema, part: (inner: Schema) => string): string {
  const fields = Object.entries(properties ?? {}).map(
    ([name, field]) => `${name}${required?.includes(name) ? '' : '?'}: ${part(field as Schema)}`,
  )
  if (fields.length > 0) return `{ ${fields.join('; ')} }`
  return `Record<string, ${typeof additionalProperties === 'object' ? part(additionalProperties) : 'unknown'}>`
}

/** Puts as many values on a line as fit: the formatter would give each a line of its own. */
export function listText(name: string, type: string, values: readonly string[]): string {
  const lines = values.map(literal).reduce<string[]>((done, value) => {
    const last = done.pop()
    const longer = last === undefined ? `  ${value},` : `${last} ${value},`
    return longer.length <= MAX_COLUMNS ? [...done, longer] : [...done, last!, `  ${value},`]
  }, [])
  const oneLine = `export const ${name} = [${values.map(literal).join(', ')}] as const`
  const text = oneLine.length <= MAX_COLUMNS ? oneLine : `export const ${name} = [\n${lines.join('\n')}\n] as const`
  return `${text}\nexport type ${type} = (typeof ${name})[number]\n`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

export async function formatted(text: string): Promise<string> {
  const { code, errors } = await format('types.ts', text, { printWidth: MAX_COLUMNS, semi: false, singleQuote: true })
  if (errors.length > 0) throw new Error(errors[0]!.message)
  return code
}
