import { OperatorError } from '../../base/operator-error.ts'
import { X509Certificate } from 'node:crypto'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { Pool, type Dispatcher } from 'undici'

/**
 * Talks HTTP to the operator's own provider, whose address is configured; it is not for addresses that strangers hand in. One timer bounds
 * an exchange from the wait for a connection to the last byte. Failures are values, and each says whether the request may have left: that is
 * the difference between "surely nothing happened" and "nobody knows". undici's own request() tells neither, and does not let go of a request
 * that still waits for its connection, so this goes one level below it.
 */
export type HttpClient = {
  exchange(request: HttpRequest): Promise<HttpResult>
  /** Breaks off what is under way. */
  close(): Promise<void>
}

export type HttpRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  headers: Record<string, string>
  body?: string
  timeoutMs: number
}

export type HttpResult =
  | { kind: 'answer'; status: number; headers: Record<string, string | string[] | undefined>; text: string }
  | HttpFailure

/** `whose`: a fault of the far side counts against it, one of ours (closed, overrun) does not. `text` never holds what was sent or received. */
export type HttpFailure = { kind: 'failure'; sent: boolean; whose: 'theirs' | 'ours'; text: string }

/** A client certificate, as a PEM pair or as PFX. */
export type ClientCertificate = { certPem: string; keyPem: string } | { pfx: Buffer; password?: string }

export type HttpBounds = {
  connections: number
  /** Exchanges under way or waiting for a connection. */
  maxPending: number
  maxAnswerBytes: number
  connectTimeoutMs: number
}

export function makeHttpClient(options: {
  certificate?: ClientCertificate
  /** Trusted besides the well-known authorities. */
  caPem?: string
  bounds: HttpBounds
}): HttpClient {
  const { bounds } = options
  const secureContext = makeSecureContext(options)
  const pools = new Map<string, Pool>()
  let pending = 0
  let closed = false

  // One pool per origin. Origins come from the configuration alone (the API's and the token's), so there are few.
  function poolFor(origin: string): Pool {
    let pool = pools.get(origin)
    if (!pool) {
      pool = new Pool(origin, {
        connections: bounds.connections,
        pipelining: 1,
        connect: { secureContext, timeout: bounds.connectTimeoutMs },
        // Our own timer bounds the whole exchange.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      pools.set(origin, pool)
    }
    return pool
  }

  return {
    exchange(request) {
      if (closed) return Promise.resolve(unsent('closed'))
      if (pending >= bounds.maxPending) return Promise.resolve(unsent('too many calls are waiting'))
      const { origin, pathname, search } = new URL(request.url)
      const { method, headers, body, timeoutMs } = request
      return new Promise((resolve) => {
        pending += 1
        const release = () => {
          pending -= 1
        }
        poolFor(origin).dispatch(
          { method, path: pathname + search, headers, body: body ?? null },
          collectAnswer({ timeoutMs, maxAnswerBytes: bounds.maxAnswerBytes, resolve, release }),
        )
      })
    },
    async close() {
      closed = true
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
}

function collectAnswer(options: {
  timeoutMs: number
  maxAnswerBytes: number
  resolve: (result: HttpResult) => void
  /** Called when undici has let go of the request, which may be long after the caller has. */
  release: () => void
}): Dispatcher.DispatchHandler {
  let exchange: Dispatcher.DispatchController | undefined
  let over = false
  let status = 0
  let headers: Record<string, string | string[] | undefined> = {}
  let bytes = 0
  const chunks: Buffer[] = []

  const finish = (result: HttpResult) => {
    if (over) return
    over = true
    clearTimeout(timer)
    options.resolve(result)
  }
  const giveUp = (text: string) => {
    finish({ kind: 'failure', sent: exchange !== undefined, whose: 'theirs', text })
    exchange?.abort(new Error(text))
  }
  const timer = setTimeout(() => giveUp(`no answer within ${Math.round(options.timeoutMs)} ms`), options.timeoutMs)

  return {
    // Called just before the first byte is written. Throwing keeps back a request that nobody waits for any more, and spares the connection.
    onRequestStart(controller) {
      if (over) throw new Error('given up before it was sent')
      exchange = controller
    },
    onResponseStart(_controller, statusCode, received) {
      status = statusCode
      headers = received
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length
      if (bytes > options.maxAnswerBytes) giveUp(`an answer of more than ${options.maxAnswerBytes} bytes`)
      else chunks.push(chunk)
    },
    onResponseEnd() {
      options.release()
      finish({ kind: 'answer', status, headers, text: Buffer.concat(chunks).toString('utf8') })
    },
    onResponseError(_controller, error) {
      options.release()
      finish(failureOf(error, exchange !== undefined))
    },
  }
}

const OURS = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED', 'UND_ERR_INVALID_ARG'])

// Of the error only its code is told: messages may quote headers or bodies.
function failureOf(error: Error & { code?: string }, sent: boolean): HttpFailure {
  const code = error.code ?? error.name
  const text = sent ? `the connection broke before the answer (${code})` : `no connection (${code})`
  return { kind: 'failure', sent, whose: OURS.has(code) ? 'ours' : 'theirs', text }
}

function unsent(text: string): HttpFailure {
  return { kind: 'failure', sent: false, whose: 'ours', text }
}

// Made once, so that a certificate that cannot be read is refused at start and not at the first call.
function makeSecureContext(options: { certificate?: ClientCertificate; caPem?: string }): SecureContext {
  const { certificate, caPem } = options
  const ca = caPem === undefined ? {} : { ca: [...rootCertificates, ...readAuthorities(caPem)] }
  if (!certificate) return createSecureContext(ca)
  try {
    if ('certPem' in certificate) {
      return createSecureContext({ ...ca, cert: certificate.certPem, key: certificate.keyPem })
    }
    const passphrase = certificate.password === undefined ? {} : { passphrase: certificate.password }
    return createSecureContext({ ...ca, pfx: certificate.pfx, ...passphrase })
  } catch (error) {
    // PFX files of older tools use ciphers that OpenSSL 3 refuses as "unsupported".
    const reason = error instanceof Error ? error.message : 'unknown reason'
    throw new OperatorError(
      `the client certificate cannot be read (${reason}); if it is an old PFX, convert it to PEM`,
      {
        cause: error,
      },
    )
  }
}

// One or several. Node takes a text that holds none without a word, and then no connection can be made.
function readAuthorities(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  try {
    if (found.length === 0) throw new Error('it holds no certificate in PEM form')
    return found.map((one) => new X509Certificate(one).toString())
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown reason'
    throw new OperatorError(`the certificate of the authority to trust cannot be read (${reason})`, { cause: error })
  }
}
