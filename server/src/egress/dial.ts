import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { connect, isIP, isIPv4, isIPv6, Socket, type LookupFunction } from 'node:net'
import { createSecureContext, rootCertificates } from 'node:tls'
import { buildConnector, Pool } from 'undici'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import { isLocalhost, LOOPBACK, type Networks } from './address.ts'
import { CLOSED, codeOf, duration, EgressError } from './reason.ts'

export type Dialer = {
  /** Returns what aborts it. `onPrivate` is called before a connection to a private address is used. */
  connect(target: buildConnector.Options, callback: buildConnector.Callback, onPrivate: () => void): () => void
  close(): Promise<void>
}

type HostPort = { host: string; port: number; plain: boolean }

const CONNECT_MS = 10_000

// A DNS answer can hold thousands.
const MAX_ADDRESSES = 64

// Bounds what the parser drops: endless status lines, blanks, chunk extensions.
const MAX_RESPONSE_WIRE_BYTES = 256 * 1024

const MAX_TLS_SESSIONS = 500

export function makeDialer(options: { networks: Networks; resolve: Resolve; proxyUrl?: string; ca?: string }): Dialer {
  const { networks, resolve } = options
  const proxy = options.proxyUrl === undefined ? undefined : makeProxy(options.proxyUrl)
  const secureContext = createSecureContext(options.ca === undefined ? {} : { ca: [...rootCertificates, options.ca] })
  const startTls = buildConnector({ secureContext, maxCachedSessions: MAX_TLS_SESSIONS, timeout: 0 })

  async function allowedAddresses({ host, plain }: HostPort): Promise<string[]> {
    const addresses = await resolve(host)
    if (addresses.length > MAX_ADDRESSES) {
      const text = `The name has more than ${MAX_ADDRESSES} addresses`
      throw new EgressError(makeReason('too_many_addresses', text, String(MAX_ADDRESSES)))
    }
    const checked = addresses.map((address) => ({ address, refusal: networks.refusal(address, { plain }) }))
    const allowed = checked.flatMap(({ address, refusal }) => (refusal === undefined ? address : []))
    // Mixed answers are an attack or a mistake. Of localhost's two addresses, the operator may have allowed one.
    const isRefused = isLocalhost(host) ? allowed.length === 0 : allowed.length < checked.length
    if (isRefused) throw new EgressError(checked.find(({ refusal }) => refusal !== undefined)!.refusal!)
    return allowed
  }

  async function open(target: buildConnector.Options, signal: AbortSignal, onPrivate: () => void): Promise<Socket> {
    const plain = target.protocol === 'http:'
    const hostPort = { host: target.hostname, port: Number(target.port || (plain ? 80 : 443)), plain }
    const addresses = await allowedAddresses(hostPort)
    signal.throwIfAborted()
    if (addresses.some(networks.isPrivate)) onPrivate()
    const bare = proxy
      ? await proxy.tunnel(addresses, hostPort.port, signal)
      : await dial({ addresses, hostPort, networks, signal })
    const socket = plain ? bare : await secure(startTls, { ...target, httpSocket: bare }, signal)
    limitResponses(socket)
    return socket
  }

  return {
    connect(target, callback, onPrivate) {
      const attempt = new AbortController()
      let isOver = false
      const settle = (outcome: Socket | Error) => {
        if (isOver) {
          if (outcome instanceof Socket) outcome.destroy()
          return
        }
        isOver = true
        clearTimeout(timer)
        if (outcome instanceof Socket) callback(null, outcome)
        else callback(outcome, null)
      }
      const abort = (reason: Reason) => {
        if (isOver) return
        settle(new EgressError(reason))
        attempt.abort()
      }
      const timer = setTimeout(() => abort(NO_CONNECTION), CONNECT_MS)
      open(target, attempt.signal, onPrivate).then(settle, settle)
      return () => abort(UNWANTED)
    },
    async close() {
      await proxy?.close()
    },
  }
}

const UNWANTED = makeReason('connection_unwanted', 'The connection is not wanted any more')
const ENDLESS = makeReason('endless_answer', 'The answer never ends')
const CONNECT_TIME = duration(CONNECT_MS)
const NO_CONNECTION = makeReason('no_connection', `No connection within ${CONNECT_TIME}`, CONNECT_TIME)

/** Exported for the test of its last check. */
export function dial(call: {
  addresses: string[]
  hostPort: HostPort
  networks: Networks
  signal: AbortSignal
}): Promise<Socket> {
  const { addresses, hostPort, networks, signal } = call
  // A second resolution could give others.
  const lookup: LookupFunction = (_host, options, answer) => {
    const found = addresses.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }))
    if (options.all) answer(null, found)
    else answer(null, found[0]!.address, found[0]!.family)
  }
  return new Promise((resolve, reject) => {
    const { host, port, plain } = hostPort
    const socket = connect({ host, port, lookup, autoSelectFamily: true, noDelay: true })
    // An error without a listener would end the process.
    socket.on('error', reject)
    socket.once('close', () => reject(new EgressError(CLOSED)))
    socket.once('connect', () => {
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

function limitResponses(socket: Socket): void {
  let written = 0
  let read = 0
  let readBefore = 0
  // Runs before each piece is parsed. If something was written since, a new request has begun.
  socket.on('readable', () => {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten
      readBefore = read
    }
    read = socket.bytesRead
    if (read - readBefore > MAX_RESPONSE_WIRE_BYTES) socket.destroy(new EgressError(ENDLESS))
  })
}

type Proxy = {
  tunnel(addresses: string[], port: number, signal: AbortSignal): Promise<Socket>
  close(): Promise<void>
}

const MAX_PROXY_HEADER_BYTES = 16 * 1024

/**
 * By CONNECT, with a checked address and not the name, so DNS rebinding has no effect. The proxy must refuse addresses
 * that are public here and internal there. undici's ProxyAgent would send the name.
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
      // Every proxy has IPv4.
      const address = addresses.find(isIPv4) ?? addresses[0]!
      const path = `${isIPv6(address) ? `[${address}]` : address}:${port}`
      const { statusCode, socket } = await pool
        .connect({ path, headers: { ...headers, host: path }, signal })
        .catch((error) => {
          signal.throwIfAborted()
          const code = codeOf(error)
          const text = `The egress proxy cannot be reached (${code})`
          throw new EgressError(makeReason('proxy_unreachable', text, code), { cause: error })
        })
      socket.on('error', () => {})
      if (statusCode === 200 && socket instanceof Socket) return socket
      socket.destroy()
      const text = `The egress proxy refused the connection (${statusCode})`
      throw new EgressError(makeReason('proxy_refused', text, String(statusCode)))
    },
    close: () => pool.destroy(),
  }
}

/** Unchecked. Rejects with an EgressError when there are none. */
export type Resolve = (host: string) => Promise<string[]>

export function makeResolve(options: { lookup?: LookupFunction; nameServers?: string[] }): Resolve {
  const { lookup, nameServers } = options
  const ask = lookup ? (name: string) => askLookup(lookup, name) : makeAskNameServers(nameServers)
  const inFlight = new Map<string, Promise<string[]>>()

  return async (host) => {
    if (isIP(host)) return [host]
    if (isLocalhost(host)) return LOOPBACK
    // A burst of deliveries to one host shares one query.
    const answer = inFlight.get(host) ?? ask(host).finally(() => inFlight.delete(host))
    inFlight.set(host, answer)
    return answer
  }
}

const UNRESOLVED = makeReason('name_unresolved', 'The name does not resolve')

const QUERY_MS = 2_000
const QUERY_TRIES = 2

/** Asks the name servers directly: dns.lookup() blocks one of two threads until the system gives up. */
function makeAskNameServers(nameServers?: string[]): Resolve {
  const makeResolver = () => {
    const made = new Resolver({ timeout: QUERY_MS, tries: QUERY_TRIES })
    if (nameServers) made.setServers(nameServers)
    return made
  }
  let resolver = makeResolver()

  return async (name) => {
    const listed = addressesInHosts(await readFile('/etc/hosts', 'utf8').catch(() => ''), name)
    if (listed.length > 0) return listed
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : []))
    const trouble = codes.find((code) => code !== 'ENOTFOUND' && code !== 'ENODATA')
    if (trouble === undefined) throw new EgressError(UNRESOLVED)
    // The system's name servers may have changed.
    resolver = makeResolver()
    const text = `The name does not resolve: its name servers do not answer (${trouble})`
    throw new EgressError(makeReason('name_servers_silent', text, trouble))
  }
}

/** Exported for its test. */
export function addressesInHosts(hosts: string, name: string): string[] {
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return names.includes(name) ? address : []
  })
}

function askLookup(lookup: LookupFunction, name: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, found) => {
      if (error) return reject(new EgressError(UNRESOLVED, { cause: error }))
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address)
      if (addresses.length === 0) return reject(new EgressError(UNRESOLVED))
      resolve(addresses)
    })
  })
}
