import assert from 'node:assert'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type LookupFunction, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, vi } from 'vitest'
import type { WebhookSender, WebhookAnswer } from '../src/domain/ports/webhook-sender.ts'
import { makeWebhookSender, type WebhookSenderOptions } from '../src/egress/webhook-sender.ts'

const cleanups: (() => Promise<unknown>)[] = []

afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()))
})

/** A webhook sender that may reach 127.0.0.1 and no other special address, unless the test says otherwise. */
export function openWebhookSender(options: Partial<WebhookSenderOptions> = {}): WebhookSender {
  const webhookSender = makeWebhookSender({
    allowNetworks: ['127.0.0.1/32'],
    allowHttp: false,
    showsPrivateAnswers: true,
    ...options,
  })
  cleanups.push(() => webhookSender.close())
  return webhookSender
}

/** Longer than a machine ever stalls. Tests of the deadline itself pass their own. */
export const DEADLINE_MS = 120_000

export function post(webhookSender: WebhookSender, url: string, deadlineMs = DEADLINE_MS): Promise<WebhookAnswer> {
  return webhookSender.send({
    url,
    headers: { 'content-type': 'application/json' },
    body: '{"event":"X"}',
    deadlineMs,
    connectionGroup: 'test',
  })
}

export async function reasonOf(answer: Promise<WebhookAnswer>): Promise<string> {
  const got = await answer
  return got.kind === 'failed' ? got.reason.text : `answered ${got.status}`
}

/** Waits for what the far side sees a moment later. The bound is for a busy machine. */
export const eventually = (check: () => void) => vi.waitFor(check, { timeout: 60_000 })

/** What the far side of a connection saw. */
export type Receiver = {
  url: string
  port: number
  sockets: Socket[]
  open(): number
  /** Connections that are over. */
  lost(): number
  /** Bytes that the kernel took from the server, thus an upper bound of what the sender read. */
  bytesTaken(): number
  bytesReceived(): number
}

/**
 * A server on bare sockets that may send anything. It listens on all `hosts` at one port, and skips those that this
 * machine lacks.
 */
export async function openSockets(
  onSocket: (socket: Socket) => void,
  options: { hosts?: string[]; port?: number } = {},
): Promise<Receiver> {
  return watch(() => createServer(onSocket), options)
}

export async function openHttp(
  listener: RequestListener,
  options: { hosts?: string[]; port?: number } = {},
): Promise<Receiver> {
  // The sender must hang up first, not the server.
  return watch(() => createHttpServer({ keepAliveTimeout: 60_000 }, listener), options)
}

export async function watch(
  make: () => Server,
  options: { hosts?: string[]; port?: number; protocol?: string } = {},
): Promise<Receiver> {
  const { hosts = ['127.0.0.1'], protocol = 'http' } = options
  const sockets: Socket[] = []
  let port = options.port ?? 0
  for (const host of hosts) {
    const server = make()
    server.on('connection', (socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
    })
    const listening = await new Promise<boolean>((resolve, reject) => {
      const isLacking = (error: NodeJS.ErrnoException) => ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(error.code ?? '')
      server.once('error', (error) => (isLacking(error) ? resolve(false) : reject(error)))
      server.listen(port, host, () => resolve(true))
    })
    if (!listening) continue
    const address = server.address()
    assert(address !== null && typeof address === 'object')
    port = address.port
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(resolve))
    })
  }
  const sum = (count: (socket: Socket) => number) => sockets.reduce((total, socket) => total + count(socket), 0)
  return {
    url: `${protocol}://127.0.0.1:${port}/hook`,
    port,
    sockets,
    open: () => sockets.filter((socket) => !socket.destroyed).length,
    lost: () => sockets.filter((socket) => socket.destroyed).length,
    bytesTaken: () => sum((socket) => socket.bytesWritten - socket.writableLength),
    bytesReceived: () => sum((socket) => socket.bytesRead),
  }
}

/** Writes the same piece for ever, as fast as the other side takes it. */
export function pour(socket: Socket, piece: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

/** A name server with a table of answers. A name gives its answers in turn, and repeats the last one. */
export function names(table: Record<string, string[][]>): LookupFunction & { asked: string[] } {
  const asked: string[] = []
  const lookup: LookupFunction = (name, _options, answer) => {
    const answers = table[name]
    const nth = asked.filter((other) => other === name).length
    asked.push(name)
    const found = answers?.[Math.min(nth, answers.length - 1)]
    setImmediate(() => {
      if (!found) return answer(Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' }), [])
      answer(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    })
  }
  return Object.assign(lookup, { asked })
}

export type Certificate = { cert: string; key: string }

/** Makes a certificate in each run, so that no key is in the repository and none expires. */
export function makeCertificate(subjectAltName: string): Certificate {
  const home = mkdtempSync(join(tmpdir(), 'guiche-egress-'))
  try {
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=receiver',
        '-addext', `subjectAltName=${subjectAltName}`, '-keyout', 'key.pem', '-out', 'cert.pem'], // prettier-ignore
      { cwd: home, stdio: 'pipe' },
    )
    const read = (name: string) => readFileSync(join(home, name), 'utf8')
    return { cert: read('cert.pem'), key: read('key.pem') }
  } catch (error) {
    throw new Error('this test makes its certificates with the openssl command, which failed or is not installed', {
      cause: error,
    })
  } finally {
    rmSync(home, { recursive: true })
  }
}
