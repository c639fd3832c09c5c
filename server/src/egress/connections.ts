import { Client, type buildConnector } from 'undici'
import type { Dialer } from './dial.ts'
import { STOPPING } from './reason.ts'
import type { PendingRequest } from './request.ts'

/** The connections of one group to one origin, and the requests that wait for one. */
export type ConnectionPool = {
  /** Sends at once or when a connection is free. False: too many requests wait. */
  send(request: PoolRequest): boolean
  isIdle(): boolean
  /** The webhook sender's count of uses when this pool was last used. */
  usedAt: number
  close(): Promise<void>
}

export type PoolRequest = {
  path: string
  headers: Record<string, string>
  body: string | Buffer
  pending: PendingRequest
}

type Connection = { client: Client; destroy: () => Promise<void>; isPrivate: () => boolean }

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
export function makeConnectionPool(options: { origin: string; dialer: Dialer; onEmpty: () => void }): ConnectionPool {
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
    const handler = pending.start({
      destroy: () => void connection.destroy(),
      onReleased: () => release(connection),
      isPrivate: connection.isPrivate,
    })
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
    send(request) {
      const free = idle.pop()
      if (free) start(free, request)
      else if (connections.size < MAX_CONNECTIONS) start(open(), request)
      else if (waiting.length < MAX_WAITING) waiting.push(request)
      else return false
      return true
    },
    isIdle: () => connections.size === idle.length,
    usedAt: 0,
    async close() {
      for (const { pending } of waiting) pending.abort(STOPPING)
      await Promise.all([...connections].map((connection) => connection.destroy()))
    },
  }
}
