import type { Document, Parameter } from './openapi-postprocess.ts'
import { exampleRequest, prettyJson } from './reference-examples.ts'
import { groupsOf, type RoutedOperation } from './reference-page.ts'

// The API as a collection for Bruno, and for other programs that read OpenCollection 1.0.0: a request for each
// operation.

type Variable = { name: string; value: string } | { name: string; secret: true }
export type Environment = { name: string; variables: Variable[] }
type Auth = 'inherit' | { type: 'bearer'; token: string }
type Param = { name: string; value: string; type: 'query'; disabled?: true; description: string }
type CollectionRequest = {
  info: { name: string; type: 'http'; seq: number }
  http: {
    method: string
    url: string
    headers: { name: string; value: string }[]
    params: Param[]
    body?: { type: 'json'; data: string }
    auth?: Auth
  }
  docs: string
}
export type CollectionFolder = {
  info: { name: string; type: 'folder'; seq: number }
  request: { auth: Auth }
  docs: string
  items: CollectionRequest[]
}
export type Collection = {
  opencollection: '1.0.0'
  info: { name: string; summary: string; version: string }
  config: { environments: Environment[] }
  request: { auth: Auth }
  docs: string
  bundled: boolean
  items: CollectionFolder[]
}

const LOCAL_URL = 'http://localhost:3000'
const PRODUCTION_URL = 'https://pay.example.com'
const KEY: Auth = { type: 'bearer', token: '{{key}}' }
const OPERATOR_KEY: Auth = { type: 'bearer', token: '{{operatorKey}}' }

/** `bundled` is the whole collection as one file. */
export function makeCollection(document: Document, publicUrl = PRODUCTION_URL): Collection {
  const groups = groupsOf(document)
  const operations = groups.flatMap((group) => group.operations)
  const { title, version } = document.info
  return {
    opencollection: '1.0.0',
    info: { name: title, summary: 'Deposits by Pix.', version },
    config: { environments: environmentsOf(operations, publicUrl) },
    request: { auth: KEY },
    docs: 'Choose an environment, and enter your API key as the secret `key`.',
    bundled: true,
    items: groups.map(({ name, description, operations: own }, index) => ({
      info: { name, type: 'folder', seq: index + 1 },
      request: { auth: name === 'Operator' ? OPERATOR_KEY : 'inherit' },
      docs: description,
      items: own.map((operation, place) => requestOf(document, operation, place + 1)),
    })),
  }
}

function requestOf(document: Document, operation: RoutedOperation, seq: number): CollectionRequest {
  const { path, method, summary, description, parameters = [], security } = operation
  const { url, body, takesIdempotencyKey } = exampleRequest(document, '', operation)
  // Bruno sends the query of the address, and shows the parameters beside it.
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  return {
    info: { name: summary, type: 'http', seq },
    http: {
      method,
      url: `{{url}}${path.replaceAll('{', '{{').replaceAll('}', '}}')}${query}`,
      headers: takesIdempotencyKey ? [{ name: 'Idempotency-Key', value: '{{$randomUUID}}' }] : [],
      params: parameters.filter((parameter) => parameter.in === 'query').map(paramOf),
      ...(body === undefined ? {} : { body: { type: 'json', data: prettyJson(body) } }),
      // An empty list of schemes is how a public operation says so.
      ...(security?.length === 0 ? {} : { auth: 'inherit' }),
    },
    docs: description,
  }
}

/** A parameter that may be left out is there to be switched on. */
function paramOf({ name, required, description = '', example, schema }: Parameter): Param {
  const value = example ?? schema.examples?.[0] ?? schema.default ?? schema.enum?.[0] ?? ''
  return {
    name,
    value: typeof value === 'string' ? value : JSON.stringify(value),
    type: 'query',
    ...(required ? {} : { disabled: true }),
    description,
  }
}

/** Each id in a path is a variable, so that an answer has to be copied once only. */
function environmentsOf(operations: RoutedOperation[], publicUrl: string): Environment[] {
  const isLocal = publicUrl.startsWith('http:')
  const inPaths = operations.flatMap(({ parameters = [] }) => parameters.filter((parameter) => parameter.in === 'path'))
  const ids = new Map(inPaths.map(({ name, example }) => [name, typeof example === 'string' ? example : '']))
  const variables = (url: string): Variable[] => [
    { name: 'url', value: url },
    { name: 'key', secret: true },
    { name: 'operatorKey', secret: true },
    ...[...ids].map(([name, value]) => ({ name, value })),
  ]
  return [
    { name: 'sandbox', variables: variables(isLocal ? publicUrl : LOCAL_URL) },
    { name: 'production', variables: variables(isLocal ? PRODUCTION_URL : publicUrl) },
  ]
}
