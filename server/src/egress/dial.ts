import { connect, isIPv4, isIPv6, Socket, type LookupFunction } from 'node:net'
import { createSecureContext, rootCertificates } from 'node:tls'
import { buildConnector, Pool } from 'undici'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import type { Networks } from './address.ts'
import { CLOSED, codeOf, duration, EgressError } from './reason.ts'
import type { Resolve } from './resolve.ts'
import { isLocalhost } from './url.ts'

/** Opens connections for undici, to permitted addresses only. */
export type Dialer = {
  /** Returns how to break it off, which may be called at any time. */
  connect(target: buildConnector.Options, callback: buildConnector.Callback): () => void
  close(): Promise<void>
}

type Endpoint = { host: string; port: number; plain: boolean }

// Name, TCP and TLS together, whatever the delivery's own deadline.
const CONNECT_MS = 10_000

// Several times what honest names have. Thousands fit into an answer, and judging them would take a while.
const MAX_ADDRESSES = 64

// Answers of 16 kB, in the smallest chunks and with their headers, fit into this. It is for what neither undici's
// limits nor ours see, because the parser swallows it: endless status lines, blanks, chunk extensions.
const MAX_ANSWER_WIRE_BYTES = 256 * 1024

const MAX_TLS_SESSIONS = 500

export function makeDialer(options: {
  networks: Networks
  resolve: Resolve
  proxyUrl?: string
  /** Trusted besides the well-known authorities. */
  ca?: string
}): Dialer {
  const { networks, resolve } = options
  const proxy = options.proxyUrl === undefined ? undefined : makeProxy(options.proxyUrl)
  const secureContext = createSecureContext(options.ca === undefined ? {} : { ca: [...rootCertificates, options.ca] })
  // Our own timer bounds the handshake.
  const startTls = buildConnector({ secureContext, maxCachedSessions: MAX_TLS_SESSIONS, timeout: 0 })

  async function permittedAddresses({ host, plain }: Endpoint): Promise<string[]> {
    const addresses = await resolve(host)
    if (addresses.length > MAX_ADDRESSES) {
      const text = `the name has more than ${MAX_ADDRESSES} addresses`
      throw new EgressError(makeReason('too_many_addresses', text, String(MAX_ADDRESSES)))
    }
    const judged = addresses.map((address) => ({ address, refusal: networks.refusal(address, { plain }) }))
    const permitted = judged.flatMap(({ address, refusal }) => (refusal === undefined ? address : []))
    // One bad answer condemns the name, even beside good ones: whoever mixes them is up to something, or does not know
    // what they publish. Of localhost's two addresses, which are ours and not an answer, the operator may have allowed
    // one.
    const condemned = isLocalhost(host) ? permitted.length === 0 : permitted.length < judged.length
    if (condemned) throw new EgressError(judged.find(({ refusal }) => refusal !== undefined)!.refusal!)
    return permitted
  }

  async function open(target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const plain = target.protocol === 'http:'
    const endpoint = { host: target.hostname, port: Number(target.port || (plain ? 80 : 443)), plain }
    const addresses = await permittedAddresses(endpoint)
    signal.throwIfAborted()
    const bare = proxy
      ? await proxy.tunnel(addresses, endpoint.port, signal)
      : await dial({ addresses, endpoint, networks, signal })
    const socket = plain ? bare : await secure(startTls, { ...target, httpSocket: bare }, signal)
    limitAnswers(socket)
    return socket
  }

  return {
    connect(target, callback) {
      const attempt = new AbortController()
      let over = false
      const settle = (outcome: Socket | Error) => {
        if (over) {
          // Nobody waits for it any more.
          if (outcome instanceof Socket) outcome.destroy()
          return
        }
        over = true
        clearTimeout(timer)
        if (outcome instanceof Socket) callback(null, outcome)
        else callback(outcome, null)
      }
      const breakOff = (reason: Reason) => {
        if (over) return
        settle(new EgressError(reason))
        attempt.abort()
      }
      const timer = setTimeout(() => breakOff(NO_CONNECTION), CONNECT_MS)
      open(target, attempt.signal).then(settle, settle)
      return () => breakOff(UNWANTED)
    },
    async close() {
      await proxy?.close()
    },
  }
}

const UNWANTED = makeReason('connection_unwanted', 'the connection is not wanted any more')
const ENDLESS = makeReason('endless_answer', 'the answer never ends')
const CONNECT_TIME = duration(CONNECT_MS)
const NO_CONNECTION = makeReason('no_connection', `no connection within ${CONNECT_TIME}`, CONNECT_TIME)

/** Exported for the test of the last of its checks. */
export function dial(call: {
  addresses: string[]
  endpoint: Endpoint
  networks: Networks
  signal: AbortSignal
}): Promise<Socket> {
  const { addresses, endpoint, networks, signal } = call
  // The judged addresses are what is dialled: the name is not resolved a second time, when it might answer otherwise.
  const lookup: LookupFunction = (_host, options, answer) => {
    const found = addresses.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }))
    if (options.all) answer(null, found)
    else answer(null, found[0]!.address, found[0]!.family)
  }
  return new Promise((resolve, reject) => {
    const { host, port, plain } = endpoint
    const socket = connect({ host, port, lookup, autoSelectFamily: true, noDelay: true })
    // It stays for the socket's whole life: an error that finds no listener would end the process.
    socket.on('error', reject)
    socket.once('close', () => reject(new EgressError(CLOSED)))
    socket.once('connect', () => {
      // Nothing has been sent yet, not even a TLS greeting.
      const refusal = networks.refusal(socket.remoteAddress ?? '', { plain })
      if (refusal === undefined) return resolve(socket)
      reject(new EgressError(refusal))
      socket.destroy()
    })
    destroyOnAbort(socket, signal)
  })
}

function secure(
  startTls: buildConnector.connector,
  target: buildConnector.Options & { httpSocket: Socket },
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    target.httpSocket.once('close', () => reject(new EgressError(CLOSED)))
    destroyOnAbort(target.httpSocket, signal)
    startTls(target, (error, socket) => (error ? reject(error) : resolve(socket)))
  })
}

function destroyOnAbort(socket: Socket, signal: AbortSignal): void {
  signal.addEventListener('abort', () => socket.destroy())
}

function limitAnswers(socket: Socket): void {
  let written = 0
  let read = 0
  let readBefore = 0
  // Installed before undici's own listener, so it is asked before each piece is parsed. A connection carries one
  // exchange at a time: when something was written since, a new one has begun.
  socket.on('readable', () => {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten
      readBefore = read
    }
    read = socket.bytesRead
    if (read - readBefore > MAX_ANSWER_WIRE_BYTES) socket.destroy(new EgressError(ENDLESS))
  })
}

type Proxy = {
  tunnel(addresses: string[], port: number, signal: AbortSignal): Promise<Socket>
  close(): Promise<void>
}

const MAX_PROXY_HEADER_BYTES = 16 * 1024

/**
 * A way out through the operator's proxy, by CONNECT for http as well. It is handed an address that we have judged and
 * not the name, so it has nothing to resolve and a rebinding name gains nothing. What remains the proxy's job: where it
 * routes that address to. We do not see which one it dials, and an address that is public from here may be an inner one
 * from there. undici's ProxyAgent would send the name, and wait for minutes for a proxy that does not answer.
 */
function makeProxy(proxyUrl: string): Proxy {
  const url = new URL(proxyUrl)
  const pool = new Pool(url.origin, {
    connect: { timeout: CONNECT_MS },
    headersTimeout: CONNECT_MS,
    maxHeaderSize: MAX_PROXY_HEADER_BYTES,
  })
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const headers = url.username ? { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` } : {}

  return {
    async tunnel(addresses, port, signal) {
      // One is picked, as we cannot see which the proxy would reach; IPv4, because it is the one that every proxy has.
      const address = addresses.find(isIPv4) ?? addresses[0]!
      const path = `${isIPv6(address) ? `[${address}]` : address}:${port}`
      const { statusCode, socket } = await pool
        .connect({ path, headers: { ...headers, host: path }, signal })
        .catch((error) => {
          signal.throwIfAborted()
          const code = codeOf(error)
          const text = `the egress proxy cannot be reached (${code})`
          throw new EgressError(makeReason('proxy_unreachable', text, code), { cause: error })
        })
      socket.on('error', () => {})
      if (statusCode === 200 && socket instanceof Socket) return socket
      socket.destroy()
      const text = `the egress proxy refused the connection (${statusCode})`
      throw new EgressError(makeReason('proxy_refused', text, String(statusCode)))
    },
    close: () => pool.destroy(),
  }
}
