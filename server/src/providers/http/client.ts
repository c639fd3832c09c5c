import { readChain, type ClientCertificate } from '../../base/client-certificate.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { Pool, type Dispatcher } from 'undici'
import type { Timings } from './timings.ts'

/**
 * HTTP to providers, whose URLs are configured; URLs that users type go through egress/. One timer bounds a request,
 * from the wait for a connection to the last byte. Each failure says whether the request may have been sent. undici's
 * request() does not say that, and cannot cancel a request that waits for a connection. So this uses dispatch().
 */
export type HttpClient = {
  send(request: HttpRequest): Promise<HttpResult>
  /** Aborts requests in flight. */
  close(): Promise<void>
}

export type HttpRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  origin: string
  /** With the query. */
  path: string
  headers: Record<string, string>
  body: string | null
  timeoutMs: number
}

export type HttpResult =
  | { kind: 'response'; status: number; headers: Record<string, string | string[] | undefined>; text: string }
  | HttpFailure

/** `isProviderFault` is false for our own limits and shutdown. `text` never holds what was sent or received. */
export type HttpFailure = { kind: 'failure'; wasSent: boolean; isProviderFault: boolean; text: string }

/** `maxPending`: requests in flight or waiting for a connection. */
export type HttpBounds = Pick<Timings, 'connections' | 'maxPending' | 'maxResponseBytes' | 'connectTimeoutMs'>

export function makeHttpClient(options: {
  tls?: ClientCertificate
  /** Trusted besides the well-known authorities. */
  caPem?: string
  timings: HttpBounds
}): HttpClient {
  const { timings } = options
  const secureContext = makeSecureContext(options)
  const pools = new Map<string, Pool>()
  let pending = 0
  let closed = false

  // One pool per origin. The configuration names two: the API and the token URL.
  function poolFor(origin: string): Pool {
    let pool = pools.get(origin)
    if (!pool) {
      pool = new Pool(origin, {
        connections: timings.connections,
        pipelining: 1,
        connect: { secureContext, timeout: timings.connectTimeoutMs },
        // Our own timer bounds the whole request.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      pools.set(origin, pool)
    }
    return pool
  }

  return {
    send(request) {
      if (closed) return Promise.resolve(unsent('closed'))
      if (pending >= timings.maxPending) return Promise.resolve(unsent('too many calls wait for a connection'))
      const { method, origin, path, headers, body, timeoutMs } = request
      return new Promise((resolve) => {
        pending += 1
        const release = () => {
          pending -= 1
        }
        poolFor(origin).dispatch(
          { method, path, headers, body },
          collectResponse({ timeoutMs, maxResponseBytes: timings.maxResponseBytes, resolve, release }),
        )
      })
    },
    async close() {
      closed = true
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
}

function collectResponse(options: {
  timeoutMs: number
  maxResponseBytes: number
  resolve: (result: HttpResult) => void
  /** Called when undici is done with the request, perhaps long after the caller is. */
  release: () => void
}): Dispatcher.DispatchHandler {
  let controller: Dispatcher.DispatchController | undefined
  let isOver = false
  let status = 0
  let headers: Record<string, string | string[] | undefined> = {}
  let bytes = 0
  const chunks: Buffer[] = []

  const finish = (result: HttpResult) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    options.resolve(result)
  }
  const giveUp = (text: string) => {
    finish({ kind: 'failure', wasSent: controller !== undefined, isProviderFault: true, text })
    controller?.abort(new Error(text))
  }
  const timer = setTimeout(() => giveUp(`no response within ${Math.round(options.timeoutMs)} ms`), options.timeoutMs)

  return {
    // Called before the first byte is written. Throwing here cancels the request and keeps the connection.
    onRequestStart(started) {
      if (isOver) throw new Error('given up before it was sent')
      controller = started
    },
    onResponseStart(_controller, statusCode, received) {
      status = statusCode
      headers = received
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length
      if (bytes > options.maxResponseBytes) giveUp(`a response of more than ${options.maxResponseBytes} bytes`)
      else chunks.push(chunk)
    },
    onResponseEnd() {
      options.release()
      finish({ kind: 'response', status, headers, text: textOf(chunks) })
    },
    onResponseError(_controller, error) {
      options.release()
      finish(failureOf(error, controller !== undefined))
    },
  }
}

/** Nearly always one piece, which needs no copy. */
function textOf(chunks: Buffer[]): string {
  return (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8')
}

const OURS = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED', 'UND_ERR_INVALID_ARG'])

// Only the error's code is shown: its message may quote headers or bodies.
function failureOf(error: Error & { code?: string }, wasSent: boolean): HttpFailure {
  const code = error.code ?? error.name
  const text = wasSent ? `the connection broke before the response (${code})` : `no connection (${code})`
  return { kind: 'failure', wasSent, isProviderFault: !OURS.has(code), text }
}

function unsent(text: string): HttpFailure {
  return { kind: 'failure', wasSent: false, isProviderFault: false, text }
}

// Made once, so that an unreadable certificate fails at the start and not at the first call.
function makeSecureContext(options: { tls?: ClientCertificate; caPem?: string }): SecureContext {
  const { tls, caPem } = options
  const ca = caPem === undefined ? {} : { ca: [...rootCertificates, ...readAuthorities(caPem)] }
  if (!tls) return createSecureContext(ca)
  try {
    if ('certPem' in tls) return createSecureContext({ ...ca, cert: tls.certPem, key: tls.keyPem })
    const passphrase = tls.password === undefined ? {} : { passphrase: tls.password }
    return createSecureContext({ ...ca, pfx: tls.pfx, ...passphrase })
  } catch (error) {
    // OpenSSL 3 rejects the ciphers of old PFX files as "unsupported".
    const text = `the client certificate cannot be read (${messageOf(error)}); if it is an old PFX, convert it to PEM`
    throw new OperatorError(text, { cause: error })
  }
}

// One or more. Node accepts a text without any, and then every connection fails.
function readAuthorities(pem: string): string[] {
  try {
    const found = readChain(pem)
    if (found.length === 0) throw new Error('no certificate in PEM form')
    return found.map((certificate) => certificate.toString())
  } catch (error) {
    const text = `the certificate of the authority to trust cannot be read (${messageOf(error)})`
    throw new OperatorError(text, { cause: error })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason'
}
