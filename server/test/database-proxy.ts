import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import pg from 'pg'
import { onTestFinished } from 'vitest'

// What may stand between guiche and PostgreSQL: a network that freezes, an encrypted one, a pooler.

export type FreezingProxy = {
  url: string
  /** Stops all traffic in both directions and ends no connection, as a frozen machine does. */
  freeze(): void
  thaw(): void
  /** The next statement with this text reaches the database, but its answer never comes back. */
  loseAnswerTo(text: string): void
  /** Ends all connections and refuses new ones, like a stopped database. */
  goAway(): void
}

export async function startFreezingProxy(databaseUrl: string): Promise<FreezingProxy> {
  let isFrozen = false
  let lost: string | undefined
  const { url, goAway } = await startProxy(databaseUrl, (client, server) => {
    let isDeaf = false
    // A connection that was used while frozen stays silent after the thaw too, as if packets were lost.
    client.on('data', (chunk: Buffer) => {
      if (isFrozen) isDeaf = true
      if (isDeaf) return
      server.write(chunk)
      if (lost !== undefined && chunk.includes(lost)) {
        lost = undefined
        isDeaf = true
      }
    })
    server.on('data', (chunk: Buffer) => {
      if (isFrozen) isDeaf = true
      if (!isDeaf) client.write(chunk)
    })
  })
  return {
    url,
    freeze: () => void (isFrozen = true),
    thaw: () => void (isFrozen = false),
    loseAnswerTo: (text) => void (lost = text),
    goAway,
  }
}

/** Speaks TLS as PostgreSQL does: the client asks for it in plain text first. */
export async function startTlsProxy(databaseUrl: string, pem: { key: string; cert: string }): Promise<string> {
  const secureContext = createSecureContext(pem)
  const { url } = await startProxy(databaseUrl, (client, server) => {
    client.once('data', () => {
      client.write('S')
      const secure = new TLSSocket(client, { isServer: true, secureContext })
      secure.on('error', () => client.destroy())
      secure.pipe(server).pipe(secure)
    })
  })
  return url
}

/**
 * A minimal pooler in transaction mode. It greets clients itself, and lends a client one of its own connections for
 * each transaction. The connection that was used last is lent first.
 */
export async function startTransactionPooler(databaseUrl: string): Promise<string> {
  const idle: pg.Client[] = []
  const all: pg.Client[] = []
  const server = createServer((client) => {
    client.on('error', () => {})
    client.once('data', () => {
      // AuthenticationOk, BackendKeyData with a made-up process number, ReadyForQuery.
      client.write(Buffer.from('5200000008000000004b0000000c00000001000000015a0000000549', 'hex'))
      let lent: Socket | undefined
      let held = Buffer.alloc(0)
      client.on('data', (chunk: Buffer) => {
        held = Buffer.concat([held, chunk])
        if (lent) flush()
        else void lend()
      })
      const flush = () => {
        const message = held
        held = Buffer.alloc(0)
        if (message.length > 0 && message[0] !== 0x58) lent!.write(message)
      }
      let isLending = false
      async function lend() {
        if (isLending) return
        isLending = true
        const backend = idle.pop() ?? (await openBackend(databaseUrl, all))
        isLending = false
        const stream = streamOf(backend)
        lent = stream
        stream.on('data', function answer(chunk: Buffer) {
          // ReadyForQuery with the state "idle" ends a transaction.
          const isOver = chunk.subarray(-6).equals(Buffer.from('5a0000000549', 'hex'))
          if (isOver) {
            stream.off('data', answer)
            lent = undefined
            idle.push(backend)
          }
          client.write(chunk)
        })
        flush()
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const backend of all) streamOf(backend).destroy()
    server.close()
  })
  return throughPort(databaseUrl, server)
}

async function openBackend(databaseUrl: string, all: pg.Client[]): Promise<pg.Client> {
  const backend = new pg.Client({ connectionString: databaseUrl })
  backend.on('error', () => {})
  await backend.connect()
  streamOf(backend).removeAllListeners('data')
  all.push(backend)
  return backend
}

function streamOf(client: pg.Client): Socket {
  return (client as pg.Client & { connection: { stream: Socket } }).connection.stream
}

async function startProxy(
  databaseUrl: string,
  relay: (client: Socket, server: Socket) => void,
): Promise<{ url: string; goAway(): void }> {
  const sockets = new Set<Socket>()
  const parameters = new URL(databaseUrl.replace('@/', '@socket/')).searchParams
  const proxy = createServer((client) => {
    const server = connect(`${parameters.get('host')}/.s.PGSQL.5432`)
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
    relay(client, server)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const url = throughPort(databaseUrl, proxy)
  const goAway = () => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  }
  onTestFinished(goAway)
  return { url, goAway }
}

function throughPort(databaseUrl: string, server: Server): string {
  const { port } = server.address() as AddressInfo
  const { username, password, pathname } = new URL(databaseUrl.replace('@/', '@socket/'))
  return `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}`
}
