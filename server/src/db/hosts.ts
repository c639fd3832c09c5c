import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { DatabaseAddress, Host } from './database-url.ts'

// DATABASE_URL may name several hosts; node-postgres knows only one.

/** A pool waits three seconds for a connection, and this is asked twice at most. */
const ASK_WITHIN_MS = 1_000
/** Many connections at once ask once. */
const FRESH_MS = 1_000

type Choice = { host: Host; atMs: number }
type Connected = ((error: Error) => void) & ((error: null, client: pg.Client) => void)
const choices = new Map<string, Promise<Choice>>()

/** Connects to the first host that accepts writes. */
export function makeClient(config: pg.ClientConfig & DatabaseAddress): pg.Client {
  return new (clientOf(config))(config)
}

/** A class, because the pool of node-postgres makes its clients itself. */
export function clientOf(address: DatabaseAddress): typeof pg.Client {
  if (address.hosts.length < 2) return pg.Client
  return class extends pg.Client {
    override connect(): Promise<pg.Client>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<pg.Client> | void {
      const connecting = choose(address).then(({ host }) => {
        Object.assign(this, host)
        return super.connect()
      })
      if (!callback) return connecting
      connecting.then((client) => callback(null, client), callback as (error: Error) => void)
    }
  }
}

function choose(address: DatabaseAddress): Promise<Choice> {
  const known = choices.get(address.connectionString)
  const chosen = (known ?? Promise.reject(new Error('None yet')))
    .catch(() => undefined)
    .then(async (choice) => {
      if (choice && performance.now() - choice.atMs < FRESH_MS) return choice
      // The last one first: a frozen host would delay every connection.
      const host = choice && !(await troubleOf(address, choice.host)) ? choice.host : await findWritable(address)
      return { host, atMs: performance.now() }
    })
  choices.set(address.connectionString, chosen)
  return chosen
}

async function findWritable(address: DatabaseAddress): Promise<Host> {
  const asked = address.hosts.map((host) => ({ host, answer: troubleOf(address, host) }))
  const troubles: string[] = []
  for (const { host, answer } of asked) {
    const trouble = await answer
    if (!trouble) return host
    troubles.push(`${host.host}:${host.port} (${trouble})`)
  }
  throw Object.assign(new Error(`No host can be written to: ${troubles.join(', ')}`), { code: 'EHOSTUNREACH' })
}

async function troubleOf({ connectionString, ssl }: DatabaseAddress, at: Host): Promise<string | undefined> {
  const client = new pg.Client({
    connectionString,
    ssl,
    application_name: 'guiche-hosts',
    connectionTimeoutMillis: ASK_WITHIN_MS,
    query_timeout: ASK_WITHIN_MS,
  })
  client.on('error', () => {})
  Object.assign(client, at)
  const ask = async () => {
    await client.connect()
    const { rows } = await client.query<{ writes: boolean }>(
      `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writes`,
    )
    return rows[0]!.writes ? undefined : 'read-only'
  }
  try {
    return await Promise.race([ask(), sleep(ASK_WITHIN_MS, 'no answer', { ref: false })])
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    void client.end().catch(() => {})
  }
}
