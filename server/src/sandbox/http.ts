import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createSocketServer, isIP, type Server as SocketServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'
import { problem, refusal, type Answer, type Call } from './answer.ts'
import type { ServerTls } from './certificates.ts'
import { randomOutcome } from './faults.ts'
import { findToken } from './oauth.ts'
import type { Psp } from './psp.ts'
import { settleRefunds } from './refunds.ts'
import { matchRoute, type Route, type Side } from './routes.ts'
import { pathAtBank, refuseCall } from './strict.ts'

// Plain node:http: this server runs beside guiche in every benchmark.

export type ServerState = { psp: Psp; host: string; isDraining: boolean; busy: number }

const BODY_MAX_BYTES = 64 * 1024
// Longer than any client waits.
const HANG_MAX_MS = 60_000
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
// So that the client always closes first.
const KEEP_ALIVE_MS = 75_000

export type BankServer = SocketServer & { closeAllConnections(): void }

// With `tls`, one port speaks plain HTTP and TLS: the payer's side needs no certificate.
export function createHttpServer(state: ServerState, tls?: ServerTls): BankServer {
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    state.busy += 1
    void respond(state, request, response)
      .catch(() => response.destroy())
      .finally(() => (state.busy -= 1))
  }
  const plain = bounded(createServer(answer))
  if (!tls) return plain
  // Whoever has no certificate is told so, where a bank only ends the connection.
  const secure = bounded(createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: false }, answer))
  const open = new Set<Socket>()
  const both = createSocketServer((socket) => {
    open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
    socket.once('readable', () => {
      const first: Buffer | null = socket.read(1)
      if (first === null) return void socket.destroy()
      socket.unshift(first)
      const server = first[0] === TLS_HANDSHAKE ? secure : plain
      server.emit('connection', socket)
    })
  })
  return Object.assign(both, {
    closeAllConnections() {
      for (const socket of open) socket.destroy()
    },
  })
}

const TLS_HANDSHAKE = 0x16

function bounded<AnyServer extends Server>(server: AnyServer): AnyServer {
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_MS
  return server
}

async function respond(state: ServerState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { path, query } = splitUrl(request.url ?? '/')
  const method = request.method ?? 'GET'
  const { psp } = state
  const known = psp.bank ? pathAtBank(psp.bank, path) : path
  const match = known === undefined ? { allow: [] } : matchRoute(method, known)
  if (!('route' in match)) return send(response, noRoute(sideOf(path), path, match.allow))
  const { route, params } = match
  const refused = refuseCaller(request.headers, route.side, state.host)
  if (refused) return send(response, refused)
  if (state.isDraining) return send(response, unavailable(route.side))
  psp.calls.set(route.operation, (psp.calls.get(route.operation) ?? 0) + 1)
  const { authorization } = request.headers
  const isCertified = request.socket instanceof TLSSocket && request.socket.authorized
  const call: Call = { params, query, body: undefined, authorization, isCertified }
  const work = () => carryOut(psp, route, call, request)

  if (route.side !== 'pix') return deliver(psp, response, await work())
  const { kind, variant } = randomOutcome(psp.plan)
  const { latencyMs } = psp.plan.faults
  if (latencyMs > 0) await sleep(latencyMs, undefined, { ref: false })
  switch (kind) {
    case 'hang':
      return hang(response)
    case 'error':
      return send(response, brokenAnswer(variant))
    case 'lose':
      await settle(psp, await work())
      return hang(response)
    case 'garbage':
      await settle(psp, await work())
      return sendGarbage(response, variant)
    case 'normal':
      return deliver(psp, response, await work())
  }
}

async function carryOut(psp: Psp, route: Route, call: Call, request: IncomingMessage): Promise<Answer> {
  try {
    const refused = route.side === 'pix' && refuseAccess(psp, route, call, request)
    if (refused) return refused
    if (request.method !== 'GET' && request.method !== 'DELETE') {
      if (route.side === 'bank' && !isJson(request.headers)) return refusal(415, 'Send Content-Type: application/json')
      const body = await readBody(request)
      if (body === undefined) return tooLarge(route.side)
      const parsed = parseBody(body, route.side === 'token')
      if (parsed === NOT_JSON) return notJson(route.side)
      call.body = parsed
    }
    settleRefunds(psp)
    return route.handle(psp, call)
  } catch (error) {
    return internalError(error)
  }
}

function refuseAccess(psp: Psp, { operation }: Route, call: Call, { headers }: IncomingMessage): Answer | undefined {
  const { query, isCertified } = call
  const token = findToken(psp.tokens, psp.now(), call.authorization)
  if (!token) return problem('NaoAutorizado', 'Falta um token de acesso válido.')
  return psp.bank && refuseCall(psp.bank, { operation, headers, query, token, isCertified }, psp.callIds)
}

// The bank serves no pages, so a browser that calls it does so for a page of somebody else, without its user's will.
// Whoever else reaches the port may act as the payer.
function refuseCaller(headers: IncomingHttpHeaders, side: Side, ownHost: string): Answer | undefined {
  // Browsers send Origin with every request that changes something, and no program does.
  if (headers.origin !== undefined) {
    return side === 'bank'
      ? refusal(403, 'Web pages may not use the bank: the request has an Origin')
      : problem('AcessoNegado', 'Páginas da web não podem usar o banco.')
  }
  // By DNS rebinding a page gives its own name an address of this machine, and then reads without an Origin.
  if (side === 'bank' && !isTrustedHost(headers.host ?? '', ownHost)) {
    return refusal(403, 'Use the address of the bank, or a name that only your own network knows')
  }
  return undefined
}

// Forms and scripts of other sites can send text without asking first, but no JSON.
const isJson = (headers: IncomingHttpHeaders): boolean =>
  /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')

// Top-level domains that nobody can register: RFC 6761, RFC 6762, and ICANN's reservation for private networks.
const PRIVATE_NAMES = /\.(localhost|local|internal|test)$/

// An address cannot be rebound, and a name without a dot is not in public DNS.
function isTrustedHost(header: string, ownHost: string): boolean {
  const [, name = ''] = /^(\[[^\]]+\]|[^:]+)(?::\d+)?$/.exec(header.toLowerCase()) ?? []
  if (name === '') return false
  const isAddress = isIP(name.replaceAll(/[[\]]/g, '')) !== 0
  return isAddress || !name.includes('.') || PRIVATE_NAMES.test(name) || name === ownHost.toLowerCase()
}

// The text is made now, and sent when it is on disk.
async function deliver(psp: Psp, response: ServerResponse, answer: Answer): Promise<void> {
  const text = answer.body === undefined ? undefined : JSON.stringify(answer.body)
  try {
    if (answer.seq !== undefined && !psp.journal.isDurable(answer.seq)) await psp.journal.durable(answer.seq)
  } catch (error) {
    return send(response, internalError(error))
  }
  sendText(response, answer, text)
}

async function settle(psp: Psp, answer: Answer): Promise<void> {
  if (answer.seq !== undefined) await psp.journal.durable(answer.seq)
}

function send(response: ServerResponse, answer: Answer): void {
  sendText(response, answer, answer.body === undefined ? undefined : JSON.stringify(answer.body))
}

function sendText(response: ServerResponse, answer: Answer, text: string | undefined): void {
  const headers: Record<string, string | number> = { ...answer.headers }
  if (text !== undefined) headers['content-type'] = answer.contentType ?? 'application/json'
  if (answer.status !== 204) headers['content-length'] = text === undefined ? 0 : Buffer.byteLength(text)
  if (answer.status === 413) headers['connection'] = 'close'
  response.writeHead(answer.status, headers)
  response.end(text)
}

function hang(response: ServerResponse): void {
  const timer = setTimeout(() => response.destroy(), HANG_MAX_MS).unref()
  response.once('close', () => clearTimeout(timer))
}

function brokenAnswer(variant: number): Answer {
  if (variant < 1 / 3) return problem('ErroInternoDoServidor', 'Falha pedida por /bank/faults.')
  if (variant < 2 / 3) return problem('ServicoIndisponivel', 'Falha pedida por /bank/faults.')
  return problem('IndisponibilidadePorTempoEsgotado', 'Falha pedida por /bank/faults.')
}

// Each breaks a client that does not validate in a different place.
const MALFORMED: { type: string; text: string }[] = [
  { type: 'text/html', text: '<html><body><h1>502 Bad Gateway</h1></body></html>' },
  { type: 'application/json', text: '{"txid":"7978c0c97ea847e78e88' },
  { type: 'application/json', text: '' },
  { type: 'application/json', text: '[null]' },
  { type: 'application/json', text: '{"txid":42,"status":"PAGA","valor":{"original":50},"pix":{"valor":"abc"}}' },
]

function sendGarbage(response: ServerResponse, variant: number): void {
  const { type, text } = MALFORMED[Math.floor(variant * MALFORMED.length)] ?? { type: 'text/html', text: '' }
  response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(text), connection: 'close' })
  response.end(text)
}

function splitUrl(url: string): { path: string; query: string } {
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) }
}

const sideOf = (path: string): Side => (path === '/bank' || path.startsWith('/bank/') ? 'bank' : 'pix')

function noRoute(side: Side, path: string, allow: string[]): Answer {
  if (allow.length === 0) {
    return side === 'bank' ? refusal(404, `There is no ${path}`) : problem('NaoEncontrado', 'Este caminho não existe.')
  }
  const list = allow.join(', ')
  const text = side === 'bank' ? refusal(405, `Use ${list}`) : problem('MetodoNaoPermitido', `Use ${list}.`)
  return { ...text, headers: { allow: list } }
}

const internalError = (error: unknown): Answer =>
  problem('ErroInternoDoServidor', error instanceof Error ? error.message : 'Falha desconhecida.')

const unavailable = (side: Side): Answer =>
  side === 'bank' ? refusal(503, 'The sandbox is stopping') : problem('ServicoIndisponivel', 'O serviço está parando.')

const tooLarge = (side: Side): Answer =>
  side === 'bank'
    ? refusal(413, `The body is larger than ${BODY_MAX_BYTES} bytes`)
    : problem('CorpoMuitoGrande', `O limite é de ${BODY_MAX_BYTES} bytes.`)

const notJson = (side: Side): Answer =>
  side === 'bank' ? refusal(400, 'The body is not valid JSON') : problem('RequisicaoInvalida', 'O corpo não é JSON.')

function readBody(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      // Resetting the connection would hide the answer from the client.
      if (size <= BODY_MAX_BYTES) chunks.push(chunk)
      else resolve(undefined)
    })
    request.once('end', () => resolve(Buffer.concat(chunks).toString()))
    request.once('error', reject)
    request.once('close', () => reject(new Error('The client went away')))
  })
}

const NOT_JSON = Symbol('not JSON')

// A form, as OAuth says, or JSON, as some banks take it.
function parseBody(text: string, mayBeForm: boolean): unknown {
  if (mayBeForm && !text.trimStart().startsWith('{')) return Object.fromEntries(new URLSearchParams(text))
  try {
    return JSON.parse(text)
  } catch {
    return NOT_JSON
  }
}
