import assert from 'node:assert'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { Server as SocketServer } from 'node:net'
import { afterEach } from 'vitest'
import type { Log } from '../src/base/log.ts'
import { makeApiPix, type ApiPixOptions, type ApiPixTimings } from '../src/providers/api-pix/adapter.ts'

/**
 * A PSP whose answers a test writes, for what the sandbox cannot do. It runs on a real socket. 'hang' holds a request
 * until the test stops, and 'reset' breaks its connection.
 */
export type ScriptedPsp = {
  url: string
  tokenUrl: string
  /** Requests in the order of their arrival, those to the token endpoint included. */
  seen: Seen[]
  /** "PUT /cob" counts all PUTs below /cob. */
  count(start: string): number
  connections(): number
  stop(): Promise<void>
}

export type Seen = { method: string; path: string; headers: IncomingMessage['headers']; body: string }
export type Said = { status: number; json?: unknown; text?: string; headers?: Record<string, string> }
export type Script = (request: Seen, nth: number) => Said | 'hang' | 'reset' | Promise<Said | 'hang' | 'reset'>

export async function openScriptedPsp(
  script: Script,
  options: { token?: Script; tls?: ServerOptions } = {},
): Promise<ScriptedPsp> {
  const seen: Seen[] = []
  const token = options.token ?? issueToken
  const count = (start: string) =>
    seen.filter((request) => `${request.method} ${request.path}`.startsWith(start)).length
  let connections = 0

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const [path = ''] = (request.url ?? '').split('?')
    const method = request.method ?? ''
    const asked = { method, path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() }
    seen.push(asked)
    const nth = seen.filter((other) => other.method === method && other.path.split('?')[0] === path).length
    const said = await (path === '/oauth/token' ? token : script)(asked, nth)
    if (said === 'hang') return
    if (said === 'reset') return void request.socket.resetAndDestroy()
    response.writeHead(said.status, { 'content-type': 'application/json', ...said.headers })
    response.end(said.text ?? (said.json === undefined ? undefined : JSON.stringify(said.json)))
  }
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    void respond(request, response).catch(() => response.destroy())
  const server: Server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener)
  server.on(options.tls ? 'secureConnection' : 'connection', () => (connections += 1))
  const url = `${options.tls ? 'https' : 'http'}://127.0.0.1:${await listen(server)}`
  return {
    url,
    tokenUrl: `${url}/oauth/token`,
    seen,
    count,
    connections: () => connections,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const issueToken: Script = (_request, nth) => ({
  status: 200,
  json: { access_token: `token-${nth}`, expires_in: 3600 },
})

/** Listens on any free port of the loopback, and returns the port. */
export async function listen(server: SocketServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  return address.port
}

const opened: (() => Promise<void>)[] = []

/** Calls `close` after the test. What was opened last is closed first. */
export function closeAfterTest(close: () => Promise<void>): void {
  opened.push(close)
}

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

export const SECRET = 'quite-secret-0815'
export const TXID = 'a'.repeat(32)
export const E2E = 'E12345678202603011200abc123def45'
export const REQUEST = { txid: TXID, valueCents: 50_00, expiresInSeconds: 3_600, description: null }

const QUICK: Partial<ApiPixTimings> = { writeTimeoutMs: 300, backoffBaseMs: 1, backoffCapMs: 1, fairTimeoutMs: 0 }

type Changes = Partial<Omit<ApiPixOptions, 'timings'>> & { timings?: Partial<ApiPixTimings>; token?: Script }

/** The adapter and a PSP that follows the script, with a clock that only the test moves. */
export async function connectScripted(script: Script, { token, timings, ...options }: Changes = {}) {
  const psp = await openScriptedPsp(script, token ? { token } : {})
  const clock = { ms: Date.parse('2026-03-01T12:00:00Z') }
  const logged: string[] = []
  const note = (level: string) => (fields: object, text: string) =>
    void logged.push(`${level} ${text} ${JSON.stringify(fields)}`)
  const log: Log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }
  const provider = makeApiPix({
    name: 'bank',
    url: psp.url,
    tokenUrl: psp.tokenUrl,
    clientId: 'client-1',
    clientSecret: SECRET,
    pixKey: 'chave@example.com',
    callsPerSecond: 0,
    now: () => new Date(clock.ms),
    log,
    timings: { ...QUICK, ...timings },
    ...options,
  })
  closeAfterTest(() => psp.stop())
  closeAfterTest(() => provider.close())
  return { psp, provider, clock, logged }
}

export const ok = (json: unknown = cob()): Said => ({ status: 200, json })
export const notFound: Said = { status: 404, json: { title: 'Não encontrado.', status: 404 } }

/** A charge as a PSP would show it. */
export function cob(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    txid: 'a'.repeat(32),
    revisao: 0,
    status: 'ATIVA',
    calendario: { criacao: '2026-03-01T12:00:00.000Z', expiracao: 3600 },
    valor: { original: '50.00' },
    chave: 'chave@example.com',
    pixCopiaECola:
      '00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd441' +
      '5204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630464E4',
    ...changes,
  }
}
