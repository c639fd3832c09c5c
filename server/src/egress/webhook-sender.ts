import { SpanKind } from '@opentelemetry/api'
import type { LookupFunction } from 'node:net'
import { Client, type buildConnector, type Dispatcher } from 'undici'
import { readRetryAfter } from '../base/retry-after.ts'
import { failSpan, inSpan, isTraced, withTraceparent } from '../base/tracing.ts'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../domain/ports/webhook-sender.ts'
import { makeNetworks, readUrl, type Target, type UrlRefusal } from './address.ts'
import { makeDialer, makeResolve, type Dialer } from './dial.ts'
import { duration, reasonOf, STOPPING } from './reason.ts'

export type WebhookSenderOptions = {
  /** CIDRs that may be reached although they are special, and by plain http. */
  allowNetworks: string[]
  /** Plain http to public addresses. */
  allowHttp: boolean
  /** Whether users may read what servers in `allowNetworks` answer, which may be meant for nobody outside. */
  showsPrivateAnswers?: boolean
  proxyUrl?: string
  now?: () => Date
  /** For tests: replaces DNS. */
  lookup?: LookupFunction
  /** For tests: trusted besides the well-known authorities. */
  ca?: string
}

// At 2 kB per URL, some megabytes at most.
const MAX_CACHED_URLS = 1_000
// Past this, the pool that was idle for longest is closed.
const MAX_POOLS = 500

const QUEUE_FULL = makeReason('queue_full', 'Too many deliveries are waiting for this receiver')

/**
 * Posts to URLs that users typed. It checks the URL as written, every address that the name resolves to, and the
 * address of the connection, before it sends anything. It does not follow redirects. Time, bytes and connections are
 * bounded.
 */
export function makeWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { proxyUrl, lookup, ca, now = () => new Date(), showsPrivateAnswers = false } = options
  const networks = makeNetworks(options)
  const readCached = cacheTargets((url) => readUrl(url, networks))
  const dialer = makeDialer({
    networks,
    resolve: makeResolve(lookup ? { lookup } : {}),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(ca === undefined ? {} : { ca }),
  })
  const pools = new Map<string, ConnectionPool>()
  let uses = 0
  let isClosed = false

  function poolOf(connectionGroup: string, origin: string): ConnectionPool {
    const key = `${connectionGroup} ${origin}`
    const pool = pools.get(key) ?? addPool(key, origin)
    // A counter is cheaper than reordering the Map for each delivery: that keeps garbage alive in V8.
    pool.usedAt = ++uses
    return pool
  }

  function addPool(key: string, origin: string): ConnectionPool {
    if (pools.size >= MAX_POOLS) dropLongestIdle()
    const onEmpty = () => {
      // A dropped pool may have been replaced.
      if (pools.get(key) === pool) pools.delete(key)
    }
    const pool = makeConnectionPool({ origin, dialer, onEmpty })
    pools.set(key, pool)
    return pool
  }

  // If all are busy there are more than MAX_POOLS for a while; the caller bounds how many.
  function dropLongestIdle() {
    const idle = [...pools].filter(([, pool]) => pool.isIdle())
    const oldest = idle.toSorted(([, a], [, b]) => a.usedAt - b.usedAt)[0]
    if (!oldest) return
    pools.delete(oldest[0])
    void oldest[1].close()
  }

  async function send(request: WebhookRequest): Promise<WebhookAnswer> {
    const { url, headers, body, deadlineMs, connectionGroup } = request
    if (isClosed) return failed(STOPPING)
    const target = readCached(url)
    if ('reason' in target) return failed(target.reason)
    return new Promise((resolve) => {
      const pending = makePendingRequest({ deadlineMs, now, showsPrivateAnswers, resolve })
      const isAccepted = poolOf(connectionGroup, target.origin).send({ path: target.path, headers, body, pending })
      if (!isAccepted) pending.abort(QUEUE_FULL)
    })
  }

  return {
    send: (request) => (isTraced() ? traced(request, send) : send(request)),
    check(url) {
      const target = readUrl(url, networks)
      return 'reason' in target ? target : undefined
    },
    async close() {
      isClosed = true
      await Promise.all([...pools.values()].map((pool) => pool.close()))
      await dialer.close()
    },
  }
}

/**
 * Each attempt is a span in the trace of the charge that the event is about, whose id receivers know from the body.
 * They get its traceparent: signatures cover the id, the time and the body, and no other header.
 */
function traced(request: WebhookRequest, send: WebhookSender['send']): Promise<WebhookAnswer> {
  const chargeId = /"transactionId":"([0-9a-f]{32})"/.exec(String(request.body))?.[1]
  const attributes = {
    'guiche.event_id': request.headers['webhook-id'],
    'guiche.webhook_id': request.connectionGroup,
    'guiche.charge_id': chargeId,
  }
  return inSpan('deliver', { kind: SpanKind.CLIENT, chargeId, attributes }, async (span) => {
    const answer = await send({ ...request, headers: withTraceparent(request.headers) })
    if (answer.kind === 'failed') failSpan(span, answer.reason.code)
    else span.setAttributes({ 'http.response.status_code': answer.status })
    return answer
  })
}

// The result for a URL never changes, and costs as much as a delivery on an open connection.
function cacheTargets(read: (url: string) => Target | UrlRefusal): (url: string) => Target | UrlRefusal {
  const cache = new Map<string, Target>()
  return (url) => {
    const cached = cache.get(url)
    if (cached) return cached
    const target = read(url)
    // A refused URL may be of any length, so it is not kept.
    if ('reason' in target) return target
    if (cache.size >= MAX_CACHED_URLS) cache.clear()
    cache.set(url, target)
    return target
  }
}

function failed(reason: Reason): WebhookAnswer {
  return { kind: 'failed', latencyMs: 0, reason }
}

/** The connections of one group to one origin, and the requests that wait for one. */
type ConnectionPool = ReturnType<typeof makeConnectionPool>
type PoolRequest = Pick<WebhookRequest, 'headers' | 'body'> & { path: string; pending: PendingRequest }
type Connection = {
  client: Client
  /** undici's abort() of a request would open a new connection that nobody needs. */
  destroy: () => Promise<void>
  /** It leads to an address that is not public. */
  isPrivate: () => boolean
}

// Enough for thousands of deliveries per second to one origin that answers within 20 ms.
const MAX_CONNECTIONS = 64
// Callers bound their deliveries below this.
const MAX_WAITING = 4_096

const CLIENT_OPTIONS = {
  pipelining: 1,
  maxHeaderSize: 16 * 1024,
  // Just below the 5 s of common servers, so that they seldom close a connection during a delivery.
  keepAliveTimeout: 4_000,
  // For servers that ask for longer.
  keepAliveMaxTimeout: 10_000,
  // A busy connection would otherwise never notice a change in DNS.
  maxRequestsPerClient: 10_000,
  // Our own timer bounds the whole request.
  headersTimeout: 0,
  bodyTimeout: 0,
}

/**
 * A pool of undici clients, one per connection. undici's Pool keeps requests whose deadline passed, opens more
 * connections than allowed after a failed one, and cannot abort a single connection that hangs.
 */
function makeConnectionPool(options: { origin: string; dialer: Dialer; onEmpty: () => void }) {
  const { origin, dialer, onEmpty } = options
  const connections = new Set<Connection>()
  // Last in, first out, so that connections left over from a burst expire.
  const idle: Connection[] = []
  const waiting: PoolRequest[] = []

  function open(): Connection {
    let abort = () => {}
    let isPrivate = false
    const connect: buildConnector.connector = (target, callback) =>
      (abort = dialer.connect(target, callback, () => (isPrivate = true)))
    const client = new Client(origin, { ...CLIENT_OPTIONS, connect })
    const destroy = () => {
      const destroyed = client.destroy()
      abort()
      return destroyed
    }
    const connection = { client, destroy, isPrivate: () => isPrivate }
    // Deferred: undici must not be called from within its own event.
    const onGone = () => void setImmediate(() => idle.includes(connection) && retire(connection))
    client.on('disconnect', onGone).on('connectionError', onGone)
    connections.add(connection)
    return connection
  }

  function retire(connection: Connection) {
    void connection.destroy()
    connections.delete(connection)
    const at = idle.indexOf(connection)
    if (at >= 0) idle.splice(at, 1)
    if (connections.size === 0) onEmpty()
  }

  function start(connection: Connection, { path, headers, body, pending }: PoolRequest) {
    const handler = pending.start(connection, () => release(connection))
    connection.client.dispatch({ method: 'POST', path, headers, body }, handler)
  }

  function release(connection: Connection) {
    const isUsable = !connection.client.destroyed
    if (waiting.length === 0) {
      if (isUsable) idle.push(connection)
      else retire(connection)
      return
    }
    // Deferred: undici calls this, and its assertions fail when it is entered again.
    setImmediate(() => {
      let next = waiting.shift()
      while (next?.pending.isOver()) next = waiting.shift()
      if (next && isUsable) return start(connection, next)
      if (isUsable) idle.push(connection)
      else connections.delete(connection)
      if (next) start(open(), next)
      else if (connections.size === 0) onEmpty()
    })
  }

  return {
    /** Sends at once or when a connection is free. False: too many requests wait. */
    send(request: PoolRequest): boolean {
      const free = idle.pop()
      if (free) start(free, request)
      else if (connections.size < MAX_CONNECTIONS) start(open(), request)
      else if (waiting.length < MAX_WAITING) waiting.push(request)
      else return false
      return true
    },
    isIdle: () => connections.size === idle.length,
    /** The webhook sender's count of uses when this pool was last used. */
    usedAt: 0,
    async close() {
      for (const { pending } of waiting) pending.abort(STOPPING)
      await Promise.all([...connections].map((connection) => connection.destroy()))
    },
  }
}

/** One request, from the wait for a connection to the last byte of its response, under one timer. */
type PendingRequest = ReturnType<typeof makePendingRequest>

const MAX_BODY_BYTES = 16 * 1024
const EXCERPT_BYTES = 2 * 1024
const NO_BYTES = Buffer.alloc(0)

function makePendingRequest(options: {
  deadlineMs: number
  now: () => Date
  /** Whether answers from addresses that are not public are shown. */
  showsPrivateAnswers: boolean
  resolve: (answer: WebhookAnswer) => void
}) {
  const startedAtMs = performance.now()
  let connection: Connection | undefined
  let isOver = false
  let status = 0

  const latencyMs = () => Math.round(performance.now() - startedAtMs)
  const finish = (answer: WebhookAnswer) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    options.resolve(answer)
  }
  const fail = (reason: Reason) => finish({ kind: 'failed', latencyMs: latencyMs(), reason })
  const abort = (reason: Reason) => {
    fail(reason)
    void connection?.destroy()
  }
  const timer = setTimeout(() => {
    const time = duration(options.deadlineMs)
    if (status === 0) abort(makeReason('no_answer', `No answer within ${time}`, time))
    else abort(makeReason('no_complete_answer', `No complete answer within ${time}`, time))
  }, options.deadlineMs)

  /** Returns the handler for undici, which calls `onReleased` when it is done, perhaps after the request is over. */
  function start(startedOn: Connection, onReleased: () => void): Dispatcher.DispatchHandler {
    connection = startedOn
    let retryAfterMs: number | null = null
    let bytes = 0
    let excerpt = NO_BYTES
    const succeed = () => {
      const isShown = options.showsPrivateAnswers || !startedOn.isPrivate()
      const shown = isShown ? harmlessText(excerpt) : ''
      finish({ kind: 'answered', status, latencyMs: latencyMs(), retryAfterMs, excerpt: shown })
    }

    return {
      // Without this method undici treats the handler as one of its older kind.
      onRequestStart() {},
      onResponseStart(_controller, statusCode, headers) {
        // Informational responses such as 103 come before the response itself.
        if (statusCode < 200) return
        status = statusCode
        retryAfterMs = readRetryAfter(headers['retry-after'], options.now()) ?? null
      },
      onResponseData(_controller, chunk) {
        // Copied: the chunk is a view into undici's buffer.
        const wanted = chunk.subarray(0, EXCERPT_BYTES - excerpt.length)
        if (wanted.length > 0) excerpt = Buffer.concat([excerpt, wanted])
        bytes += chunk.length
        if (bytes <= MAX_BODY_BYTES) return
        // The status is known, and the rest is not needed.
        succeed()
        void startedOn.destroy()
      },
      onResponseEnd() {
        succeed()
        onReleased()
      },
      onResponseError(_controller, error) {
        fail(reasonOf(error, status === 0 ? 'before' : 'answering'))
        onReleased()
      },
    }
  }

  return { start, abort, isOver: () => isOver }
}

// Drops a character that was cut in two. PostgreSQL cannot store NUL. Escape sequences, right-to-left overrides and
// invisible characters could mislead the reader.
function harmlessText(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = bytes.toString('utf8')
  const whole = bytes.length === EXCERPT_BYTES ? text.replace(/\u{fffd}$/u, '') : text
  return whole.replaceAll('\r\n', '\n').replaceAll(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}
