import { Client } from 'undici'
import type { Dialer } from './dial.ts'
import type { Exchange } from './exchange.ts'
import { STOPPING } from './reason.ts'

/** The connections to one origin, and who waits for one. */
export type Receiver = {
  /** Takes it at once, or in its turn. False: too many wait already. */
  carry(parcel: QueuedRequest): boolean
  isIdle(): boolean
  /** When it was last used, in the webhookSender's count of uses. */
  usedAt: number
  close(): Promise<void>
}

export type QueuedRequest = { path: string; headers: Record<string, string>; body: string | Buffer; exchange: Exchange }

type Connection = { client: Client; destroy: () => Promise<void> }

// Enough for thousands of deliveries a second to one receiver that answers within 20 ms.
const MAX_CONNECTIONS = 64
// A caller who piles up more than this for one receiver has no bound of its own.
const MAX_WAITING = 4_096

const CLIENT_OPTIONS = {
  pipelining: 1,
  maxHeaderSize: 16 * 1024,
  // Just below what common servers grant (5 s), so that it is seldom they who hang up, and perhaps on a delivery that
  // is on its way.
  keepAliveTimeout: 4_000,
  // A receiver can ask for longer, within reason.
  keepAliveMaxTimeout: 10_000,
  // A busy connection would otherwise never notice that its name has moved.
  maxRequestsPerClient: 10_000,
  // One timer of ours bounds the whole exchange.
  headersTimeout: 0,
  bodyTimeout: 0,
}

/**
 * A pool of undici's clients, one for each connection. undici's own Pool keeps requests in its queue whose time is
 * over, makes more connections than it was allowed after one could not be made, and cannot break off a single one that
 * hangs.
 */
export function makeReceiver(options: {
  origin: string
  dialer: Dialer
  /** It has no connections left, so nothing is lost by forgetting it. */
  abandoned: () => void
}): Receiver {
  const { origin, dialer, abandoned } = options
  const connections = new Set<Connection>()
  // The one that was used last is used next, so that those which a burst has left over grow old and are closed.
  const idle: Connection[] = []
  const waiting: QueuedRequest[] = []

  function open(): Connection {
    let breakOff = () => {}
    const connect: typeof dialer.connect = (target, callback) => (breakOff = dialer.connect(target, callback))
    const client = new Client(origin, { ...CLIENT_OPTIONS, connect })
    const destroy = () => {
      const destroyed = client.destroy()
      breakOff()
      return destroyed
    }
    const connection = { client, destroy }
    // Not at once, because undici is in the middle of telling it.
    const gone = () => void setImmediate(() => idle.includes(connection) && retire(connection))
    client.on('disconnect', gone).on('connectionError', gone)
    connections.add(connection)
    return connection
  }

  function retire(connection: Connection) {
    void connection.destroy()
    connections.delete(connection)
    const at = idle.indexOf(connection)
    if (at >= 0) idle.splice(at, 1)
    if (connections.size === 0) abandoned()
  }

  function start(connection: Connection, { path, headers, body, exchange }: QueuedRequest) {
    const handler = exchange.start({ destroy: () => void connection.destroy(), released: () => release(connection) })
    connection.client.dispatch({ method: 'POST', path, headers, body }, handler)
  }

  function release(connection: Connection) {
    const isUseful = !connection.client.destroyed
    if (waiting.length === 0) {
      if (isUseful) idle.push(connection)
      else retire(connection)
      return
    }
    // Not at once: this is called by undici, whose assertions break when it is entered again from within.
    setImmediate(() => {
      let next = waiting.shift()
      while (next?.exchange.isOver()) next = waiting.shift()
      if (next && isUseful) return start(connection, next)
      if (isUseful) idle.push(connection)
      else connections.delete(connection)
      if (next) start(open(), next)
      else if (connections.size === 0) abandoned()
    })
  }

  return {
    carry(parcel) {
      const free = idle.pop()
      if (free) start(free, parcel)
      else if (connections.size < MAX_CONNECTIONS) start(open(), parcel)
      else if (waiting.length < MAX_WAITING) waiting.push(parcel)
      else return false
      return true
    },
    isIdle: () => connections.size === idle.length,
    usedAt: 0,
    async close() {
      for (const { exchange } of waiting) exchange.giveUp(STOPPING)
      await Promise.all([...connections].map((connection) => connection.destroy()))
    },
  }
}
