import type { IncomingHttpHeaders } from 'node:http'
import { BANKS, type Demands } from './banks.ts'
import { problem, type Answer } from './answer.ts'

// A bank that takes its own way of being called, and no other.

const ALL_HEADERS = Object.values<Demands>(BANKS).flatMap(({ headers, optionalHeaders, webhookHeaders }) => [
  ...Object.keys(headers),
  ...optionalHeaders,
  ...Object.keys(webhookHeaders),
])
const API_PIX_QUERY = /^(inicio|fim|txid|cpf|cnpj|status|revisao|(txId|location|devolucao)Presente|paginacao\..+)$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
// A client that repeats one does so soon.
const CALL_IDS_MAX = 10_000

// The path as ROUTES know it; undefined: this bank has nothing there.
export function pathAtBank({ basePath, tokenPath }: Demands, path: string): string | undefined {
  if (path === tokenPath) return '/oauth/token'
  if (path.startsWith('/bank/')) return path
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined
}

export type Login = {
  query: URLSearchParams
  form: Record<string, unknown>
  authorization: string | undefined
  isCertified: boolean
}

// What is wrong with a request for a token, as a text.
export function whyNoToken(demands: Demands, { query, form, authorization, isCertified }: Login): string | undefined {
  const { title, login, tokenQuery, needsScope } = demands
  const given = (name: string) => typeof form[name] === 'string' && form[name] !== ''
  if (!isCertified) return `${title} wants a TLS connection with its client certificate`
  for (const name of ['grant_type', 'scope', 'client_id', 'client_secret']) {
    const belongsInQuery = tokenQuery.includes(name)
    if (query.has(name) && !belongsInQuery) return `${title} does not take ${name} in the query`
    if (given(name) && belongsInQuery) return `${title} takes ${name} in the query alone`
  }
  if (needsScope && !(tokenQuery.includes('scope') ? query.get('scope') : given('scope')))
    return `${title} wants a scope`
  if (login === 'basic') {
    if (given('client_secret') || given('client_id')) return `${title} takes id and secret by HTTP Basic alone`
    return authorization === undefined ? `${title} wants HTTP Basic` : undefined
  }
  if (authorization !== undefined) return `${title} does not take HTTP Basic`
  if (!given('client_id')) return `${title} wants client_id in the form`
  if (login === 'form') return given('client_secret') ? undefined : `${title} wants client_secret in the form`
  return given('client_secret') ? `${title} takes no client_secret: the certificate is the secret` : undefined
}

export type StrictCall = {
  operation: string
  headers: IncomingHttpHeaders
  query: string
  token: { clientId: string; scopes: string[] }
  isCertified: boolean
}

// Refuses a call of API Pix that this bank would not take. `callIds` are those that were used.
export function refuseCall(demands: Demands, call: StrictCall, callIds: Set<string>): Answer | undefined {
  const { operation, headers, token } = call
  const denied = (detail: string) => problem('AcessoNegado', `${demands.title}: ${detail}`)
  if (!call.isCertified) return denied('falta a conexão TLS com o certificado do cliente.')
  const scope = scopeOf(operation)
  if (!token.scopes.includes(scope)) return denied(`o token não tem o escopo ${scope}.`)
  const isWebhook = operation === 'PUT /webhook/:chave'
  const onWebhook = isWebhook ? demands.webhookHeaders : {}
  const known = [...Object.keys(demands.headers), ...demands.optionalHeaders, ...Object.keys(onWebhook)]
  const foreign = ALL_HEADERS.find((name) => headers[name] !== undefined && !known.includes(name))
  if (foreign) return denied(`o cabeçalho ${foreign} não é daqui.`)
  for (const [name, value] of Object.entries(onWebhook))
    if (headers[name] !== value) return denied(`o cabeçalho ${name} deve ser ${value}.`)
  for (const [name, kind] of Object.entries(demands.headers)) {
    const value = String(headers[name] ?? '')
    if (value === '') return denied(`falta o cabeçalho ${name}.`)
    if (kind === 'client id' && value !== token.clientId) return denied(`o cabeçalho ${name} não é o client_id.`)
    if (kind === 'new uuid' && !isNewUuid(value, callIds)) return denied(`o cabeçalho ${name} não é um UUID novo.`)
  }
  const query = new URLSearchParams(call.query)
  const missing = demands.query.find((name) => !query.get(name))
  if (missing) return denied(`falta o parâmetro ${missing}.`)
  const strange = [...query.keys()].find((name) => !demands.query.includes(name) && !API_PIX_QUERY.test(name))
  return strange === undefined ? undefined : denied(`o parâmetro ${strange} não é daqui.`)
}

function scopeOf(operation: string): string {
  const [method = '', path = ''] = operation.split(' ')
  return `${path.split('/')[1]}.${method === 'GET' ? 'read' : 'write'}`
}

function isNewUuid(value: string, callIds: Set<string>): boolean {
  if (!UUID.test(value) || callIds.has(value)) return false
  callIds.add(value)
  for (const oldest of callIds) {
    if (callIds.size <= CALL_IDS_MAX) break
    callIds.delete(oldest)
  }
  return true
}
