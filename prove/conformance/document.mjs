// Reads the central bank's description of API Pix, and checks messages against it.

import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'

/**
 * Places where the description contradicts itself, or leaves out what its own text lists. Each row is a deviation with
 * its reason; everything else is taken literally.
 */
const DEVIATIONS = [
  {
    name: 'patterns between slashes',
    reason:
      'the pattern of cpf is written /^\\d{11}$/; JSON Schema reads the slashes as characters, and no value would match',
    fix: (spec) => eachPattern(spec, (pattern) => /^\/(.*)\/$/.exec(pattern)?.[1] ?? pattern),
  },
  {
    name: 'patterns without ends',
    reason:
      'JSON Schema finds a pattern anywhere in a text, so "1.000" would be an amount; read as the whole text, which is stricter',
    fix: (spec) => eachPattern(spec, (pattern) => (pattern.startsWith('^') ? pattern : `^(?:${pattern})$`)),
  },
  {
    name: 'txid of a Pix',
    reason:
      'allOf joins 26 to 35 characters with 1 to 35; the second is there for static codes, and allOf can only narrow',
    fix(spec) {
      const { txid } = spec.components.schemas.Pix.properties
      if (!txid.allOf) return 0
      spec.components.schemas.Pix.properties.txid = { type: 'string', ...txid.allOf.at(-1) }
      return 1
    },
  },
  {
    name: 'required and described nowhere',
    reason: 'cobs in a list of Pix, apparently copied from the list of charges, and txid in the loc of a charge',
    property: ({ schema, key }) => schema.required?.includes(key),
  },
  {
    name: 'status 401',
    reason: 'described for no operation, although all need a token; taken as a Problema',
    status: ({ status }) => status === 401,
    problem: 'NaoAutorizado',
  },
  {
    name: 'status 500 and 504',
    reason:
      'the text lists ErroInternoDoServidor and IndisponibilidadePorTempoEsgotado for all, the operations list neither',
    status: ({ status }) => status === 500 || status === 504,
  },
  {
    name: 'status 400 of GET /pix',
    reason: 'the text lists PixConsultaInvalida for it, the operation does not',
    status: ({ status, operation }) => status === 400 && operation === 'GET /pix',
  },
]

const PROBLEM_TYPE = 'https://pix.bcb.gov.br/api/v2/error/'

export function readDocument(path) {
  const spec = parse(readFileSync(path, 'utf8'))
  if (!spec?.paths?.['/cob/{txid}']) throw new Error(`${path} does not describe API Pix: it has no /cob/{txid}`)
  const deviations = DEVIATIONS.map((deviation) => ({ ...deviation, uses: deviation.fix?.(spec) ?? 0 }))
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  // The root document needs a name, so that its $ref resolve to itself.
  ajv.addSchema(spec, 'pix')
  const problemNames = new Set([...spec.info.description.matchAll(/^ *#+ `(\w+)`/gm)].map(([, name]) => name))
  const document = { spec, ajv, deviations, problemNames, operations: listOperations(spec), validators: new Map() }
  return {
    title: `${spec.info.title} ${spec.info.version}`,
    deviations,
    checkRequest: (request) => checkRequest(document, request),
    checkAnswer: (operation, answer) => checkAnswer(document, operation, answer),
    checkNotification: (body) => checkNotification(document, body),
    scopesOf: (name) => scopesOf(document, name),
    isScope: (scope) => scope in spec.components.securitySchemes.OAuth2.flows.clientCredentials.scopes,
  }
}

/** Checks path, query, content type and body. Returns the operation's name; undefined if it is not described. */
function checkRequest(document, request) {
  const [path, query = ''] = request.url.split('?')
  const match = matchOperation(document.operations, request.method, path)
  if (!match) return { operation: undefined, violations: [`${request.method} ${path} is not described`] }
  const { operation, values } = match
  const violations = [
    ...checkParameters(document, operation, { values, query: new URLSearchParams(query) }),
    ...checkRequestBody(document, operation, request),
  ]
  return { operation: operation.name, violations }
}

function checkParameters(document, operation, given) {
  const violations = []
  const known = new Set()
  for (const raw of operation.parameters) {
    const parameter = resolve(document.spec, raw)
    const all = parameter.in === 'path' ? [given.values[parameter.name]] : given.query.getAll(parameter.name)
    if (parameter.in === 'query') known.add(parameter.name)
    if (parameter.in !== 'path' && parameter.in !== 'query') continue
    const place = `${parameter.in} parameter ${parameter.name}`
    if (all.length === 0 && parameter.required) violations.push(`${place} is missing`)
    if (all.length > 1) violations.push(`${place} is given ${all.length} times`)
    for (const text of all)
      violations.push(...checkValue(document, parameter.schema, fromText(document, parameter.schema, text), place))
  }
  for (const name of given.query.keys())
    if (!known.has(name)) violations.push(`query parameter ${name} is not described`)
  return violations
}

function checkRequestBody(document, operation, { headers, body }) {
  const described = operation.requestBody && resolve(document.spec, operation.requestBody)
  if (!described) return body === '' ? [] : ['has a body, and none is described']
  if (body === '') return described.required ? ['has no body'] : []
  return checkContent(document, described.content, { type: headers['content-type'], text: body })
}

function checkAnswer(document, operationName, { status, headers, body }) {
  const operation = document.operations.find(({ name }) => name === operationName)
  const described = operation.responses[status]
  const deviation = described
    ? undefined
    : document.deviations.find((row) => row.status?.({ status, operation: operationName }))
  if (!described && !deviation) return [`status ${status} is not described`]
  if (deviation) deviation.uses += 1
  // A refusal that the description leaves out is checked as a Problema, as every refusal is.
  const { content } = resolve(document.spec, described ?? document.spec.components.responses.NaoEncontrado)
  if (!content) return body === '' ? [] : [`status ${status} has a body, and none is described`]
  const violations = checkContent(document, content, { type: headers['content-type'], text: body })
  return status >= 400 ? [...violations, ...checkProblem(document, status, body, deviation)] : violations
}

/** Checks what the schema does not say: a Problema repeats the status, and the text lists its type. */
function checkProblem(document, status, text, deviation) {
  const problem = parseJson(text)
  if (typeof problem !== 'object' || problem === null) return []
  const name = String(problem.type).startsWith(PROBLEM_TYPE) ? problem.type.slice(PROBLEM_TYPE.length) : undefined
  const isListed = name !== undefined && (document.problemNames.has(name) || name === deviation?.problem)
  return [
    ...(problem.status === status ? [] : [`body says status ${problem.status}, the answer ${status}`]),
    ...(isListed ? [] : [`type ${JSON.stringify(problem.type)} is none that the description lists`]),
  ]
}

function checkNotification(document, { headers, body }) {
  const [callback] = Object.values(document.spec.paths['/webhook/{chave}'].put.callbacks.listaPix)
  const { content } = resolve(document.spec, callback.post.requestBody)
  const violations = checkContent(document, content, { type: headers['content-type'], text: body })
  // The schema accepts even {}, but a notification must name a Pix.
  const pix = parseJson(body)?.pix
  return Array.isArray(pix) && pix.length > 0 ? violations : [...violations, 'body names no Pix']
}

function checkContent(document, content, { type, text }) {
  const media = String(type ?? '')
    .split(';')[0]
    .trim()
  const described = content[media]
  if (!described) return [`content type ${media || '(none)'} is not ${Object.keys(content).join(' or ')}`]
  const value = parseJson(text)
  if (value === undefined) return ['body is not JSON']
  return [
    ...checkValue(document, described.schema, value, 'body'),
    ...undescribed(document, described.schema, value, 'body'),
  ]
}

function checkValue(document, schema, value, place) {
  if (!document.validators.has(schema)) document.validators.set(schema, document.ajv.compile(rooted(schema)))
  const validate = document.validators.get(schema)
  if (validate(value)) return []
  return validate.errors.map(({ instancePath, message, params }) => {
    const detail = params.pattern ?? params.allowedValues?.join(', ')
    return `${place}${instancePath.replaceAll('/', '.')} ${message}${detail && !message.includes(detail) ? ` (${detail})` : ''}`
  })
}

/** Finds fields that the schema does not name. It allows them, but they may be misspelt. */
function undescribed(document, schema, value, place) {
  const schemas = flatten(document.spec, schema)
  if (Array.isArray(value)) {
    const items = schemas.flatMap((each) => each.items ?? [])
    return value.flatMap((item, index) => undescribed(document, { allOf: items }, item, `${place}.${index}`))
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, below]) => {
    const described = schemas.flatMap((each) => each.properties?.[key] ?? [])
    if (described.length > 0) return undescribed(document, { allOf: described }, below, `${place}.${key}`)
    const deviation = document.deviations.find((row) => schemas.some((each) => row.property?.({ schema: each, key })))
    if (!deviation) return [`${place}.${key} is not described`]
    deviation.uses += 1
    return []
  })
}

// ---- The description itself ----

function listOperations(spec) {
  return Object.entries(spec.paths).flatMap(([path, item]) =>
    ['get', 'put', 'post', 'patch', 'delete'].flatMap((method) => {
      const described = item[method]
      if (!described) return []
      const parameters = [...(item.parameters ?? []), ...(described.parameters ?? [])]
      return [{ ...described, parameters, name: `${method.toUpperCase()} ${path}`, segments: path.split('/') }]
    }),
  )
}

/** Returns the match with the fewest parameters: /pix also matches /{pixUrlAccessToken}. */
function matchOperation(operations, method, path) {
  const segments = path.split('/')
  const fitting = operations.flatMap((operation) => {
    if (!operation.name.startsWith(`${method} `) || operation.segments.length !== segments.length) return []
    const values = {}
    for (const [index, wanted] of operation.segments.entries()) {
      const name = /^\{(.+)\}$/.exec(wanted)?.[1]
      if (name) values[name] = decodeURIComponent(segments[index])
      else if (wanted !== segments[index]) return []
    }
    return [{ operation, values }]
  })
  return fitting.toSorted((a, b) => Object.keys(a.values).length - Object.keys(b.values).length)[0]
}

function scopesOf({ operations }, name) {
  return operations.find((operation) => operation.name === name)?.security?.flatMap((one) => one.OAuth2 ?? []) ?? []
}

function resolve(spec, node) {
  if (!node.$ref) return node
  const found = node.$ref
    .replace('#/', '')
    .split('/')
    .reduce((at, key) => at[key.replaceAll('~1', '/').replaceAll('~0', '~')], spec)
  return resolve(spec, found)
}

/** The schema and all its parts. */
function flatten(spec, schema) {
  const whole = resolve(spec, schema)
  const parts = [...(whole.allOf ?? []), ...(whole.oneOf ?? []), ...(whole.anyOf ?? [])]
  return [whole, ...parts.flatMap((part) => flatten(spec, part))]
}

/** Returns the schema with absolute references, which name the document they point into. */
function rooted(schema) {
  return JSON.parse(JSON.stringify(schema), (key, value) => (key === '$ref' ? `pix${value}` : value))
}

function fromText(document, schema, text) {
  const types = flatten(document.spec, schema).map(({ type }) => type)
  if (types.includes('integer') && /^-?\d+$/.test(text)) return Number(text)
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  return text
}

function eachPattern(node, change) {
  let changed = 0
  for (const [key, value] of Object.entries(node ?? {})) {
    if (key === 'pattern' && typeof value === 'string') {
      node[key] = change(value)
      if (node[key] !== value) changed += 1
    } else if (typeof value === 'object') changed += eachPattern(value, change)
  }
  return changed
}

function parseJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
