import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'
import { openSandbox, type Sandbox, type SandboxOptions } from '../src/sandbox/server.ts'

// A client of the sandbox as a bank's customer would write one, and a receiver for its notifications.

export type Reply = { status: number; type: string | null; headers: Headers; body: any } // oxlint-disable-line typescript/no-explicit-any

export const KEY = 'receiver@example.com'

type Undo = (work: () => Promise<void>) => void

export async function newHome(undo: Undo = onTestFinished): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'sandbox-'))
  undo(() => rm(home, { recursive: true, force: true, maxRetries: 5 }))
  return join(home, 'bank')
}

export async function open(options: Partial<SandboxOptions> = {}, undo: Undo = onTestFinished): Promise<Sandbox> {
  const sandbox = await openSandbox({ home: options.home ?? (await newHome(undo)), port: 0, ...options })
  undo(() => sandbox.stop())
  return sandbox
}

// A sandbox with a clock of its own and a client that has a token.
export async function bank(options: Partial<SandboxOptions> = {}, undo: Undo = onTestFinished) {
  const clock = { at: new Date('2026-03-10T12:00:00.000Z') }
  const home = options.home ?? (await newHome(undo))
  const sandbox = await open({ now: () => clock.at, ...options, home }, undo)
  return { clock, home, sandbox, ...(await clientOf(sandbox.url)) }
}

// One bank for all tests of a file in which nothing must happen at the bank.
export function sharedBank() {
  const undone: (() => Promise<void>)[] = []
  let opened: ReturnType<typeof bank> | undefined
  afterAll(async () => {
    for (const work of undone.toReversed()) await work()
  })
  return () => (opened ??= bank({}, (work) => undone.push(work)))
}

export async function clientOf(url: string) {
  const token = await fetchToken(url)
  const call = (method: string, path: string, body?: unknown) => send(url + path, { method, token, body })
  const charge = async (change: Record<string, unknown> = {}) => {
    const txid = newTxid()
    const reply = await call('PUT', `/cob/${txid}`, { ...chargeBody(), ...change })
    if (reply.status !== 201) throw new Error(`no charge: ${JSON.stringify(reply.body)}`)
    const made: { txid: string; pixCopiaECola: string } = reply.body
    return made
  }
  const pay = (order: object) => send(`${url}/bank/pay`, { method: 'POST', body: order })
  const faults = (plan: object) => send(`${url}/bank/faults`, { method: 'PUT', body: plan })
  const stats = async () => (await send(`${url}/bank/stats`, { method: 'GET' })).body
  return { url, token, call, charge, pay, faults, stats }
}

export const chargeBody = (): Record<string, unknown> => ({
  calendario: { expiracao: 3600 },
  valor: { original: '50.00' },
  chave: KEY,
})

let txids = 0
export const newTxid = (): string => `test${process.pid}x${String((txids += 1)).padStart(20, '0')}`.slice(0, 35)

async function fetchToken(url: string): Promise<string> {
  const reply = await send(`${url}/oauth/token`, {
    method: 'POST',
    body: { grant_type: 'client_credentials', client_id: 'sandbox', client_secret: 'sandbox' },
  })
  return reply.body.access_token
}

type Sending = {
  method: string
  token?: string
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

export async function send(url: string, { method, token, body, headers = {}, signal }: Sending): Promise<Reply> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  const type = response.headers.get('content-type')
  return {
    status: response.status,
    type,
    headers: response.headers,
    body: type?.includes('json') && text !== '' ? JSON.parse(text) : text,
  }
}

// A receiver that answers with `status()`, and keeps the bodies.
export async function receiver(status: (count: number) => number = () => 200) {
  const bodies: { pix: { endToEndId: string; txid: string; valor: string; devolucoes?: unknown[] }[] }[] = []
  const paths: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += chunk))
    request.on('end', () => {
      bodies.push(JSON.parse(text))
      paths.push(request.url ?? '')
      response.writeHead(status(bodies.length)).end()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${portOf(server)}/hook`
  return { url, bodies, paths, heard: () => bodies.flatMap((body) => body.pix.map((pix) => pix.endToEndId)) }
}

export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen')
  return address.port
}

export const statusesOf = (replies: Reply[]): number[] => replies.map(({ status }) => status).toSorted((a, b) => a - b)

// Waits for something that happens by itself; the bound only ends a test that would fail anyway.
export async function eventually<T>(look: () => T | Promise<T>, withinMs = 8_000): Promise<NonNullable<T>> {
  const until = Date.now() + withinMs
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (Date.now() > until) throw new Error(`did not happen within ${withinMs} ms: ${look.toString()}`)
    await new Promise((done) => setTimeout(done, 5))
  }
}
