import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { OperatorError } from '../base/operator-error.ts'
import { readDatabaseUrl } from './database-url.ts'

/**
 * The presence of a process in the database: a session lock that ends with the process, so that others see at once
 * which processes are alive. A heartbeat row would need a timeout, and a write per beat.
 */
export type Presence = {
  instance: number
  /** How many other presences the whole cluster holds, over all its databases. */
  others(): Promise<number>
  leave(): Promise<void>
}

type Options = {
  /** Runs before every attempt to come back after the connection dropped; a failure counts as a failed attempt. */
  beforeRejoin?: () => Promise<void>
}

/** 'guic' in ASCII: positive as an int4, so it reads the same in pg_locks, where it is an oid. */
const PRESENCE_CLASS = 0x67756963
/** Ids are positive int4 for the same reason. */
const INSTANCE_MAX = 2 ** 31 - 1
/** Two live processes rarely draw the same number of 2^31; drawing it this often is a bug. */
const DRAWS_MAX = 5
/** Long enough for a database under load, short enough to fail before a start-up probe gives up. */
const CONNECT_TIMEOUT_MS = 5_000
/** `others` reads a small view; a slower answer is useless to a shutdown that has seconds. */
const QUESTION_TIMEOUT_MS = 2_000
/** A database that restarts is back within about a tenth of a second... */
const REJOIN_FIRST_MS = 100
/** ...and one that is down for longer is retried no more often than this. */
const REJOIN_MAX_MS = 5_000

export async function joinPresence(databaseUrl: string, options: Options = {}): Promise<Presence> {
  const leaving = new AbortController()
  const { instance, client: first } = await drawInstance(databaseUrl)
  let client: Client | undefined
  let rejoining: Promise<void> = Promise.resolve()
  watch(first)

  function watch(joined: Client) {
    client = joined
    joined.once('end', () => {
      if (client !== joined) return
      client = undefined
      if (!leaving.signal.aborted) rejoining = rejoin()
    })
  }

  // Retries until it is back or `leave` is called: a process that gave up would be taken for dead while it works.
  async function rejoin() {
    for (let delayMs = REJOIN_FIRST_MS; !leaving.signal.aborted; delayMs = Math.min(delayMs * 2, REJOIN_MAX_MS)) {
      try {
        await sleep(delayMs, undefined, { ref: false, signal: leaving.signal })
        await options.beforeRejoin?.()
        const back = await connect(databaseUrl)
        // The old session may outlive its connection for a moment and still hold the lock: a failed attempt.
        const held = await hold(back, instance)
        if (held && !leaving.signal.aborted) return watch(back)
        await close(back)
      } catch {
        // The database is still down, or `leave` ended the sleep: the loop condition tells which.
      }
    }
  }

  return {
    instance,
    async others() {
      if (!client) await Promise.race([rejoining, sleep(QUESTION_TIMEOUT_MS, undefined, { ref: false })])
      if (!client) throw new Error('the connection to the database is lost')
      return countOthers(client)
    },
    async leave() {
      leaving.abort()
      const last = client
      client = undefined
      if (last) await close(last)
      await Promise.race([rejoining, sleep(QUESTION_TIMEOUT_MS, undefined, { ref: false })])
    },
  }
}

/** Whether the process that drew this number is connected to the same database. */
export async function isPresent(
  tx: { rows<T>(sql: string, params: unknown[]): Promise<T[]> },
  instance: number,
): Promise<boolean> {
  const found = await tx.rows<{ present: boolean }>(
    `select exists (
       select from pg_locks
       where locktype = 'advisory' and classid::bigint = $1 and objid::bigint = $2 and objsubid = 2 and granted
         and database = (select oid from pg_database where datname = current_database())
     ) as present`,
    [PRESENCE_CLASS, instance],
  )
  return found[0]?.present === true
}

async function drawInstance(databaseUrl: string) {
  const client = await connect(databaseUrl)
  try {
    for (let draw = 0; draw < DRAWS_MAX; draw++) {
      const instance = randomInt(1, INSTANCE_MAX)
      if (await hold(client, instance)) return { instance, client }
    }
    throw new Error('no free presence number was found')
  } catch (error) {
    await close(client)
    throw error
  }
}

async function connect(databaseUrl: string): Promise<Client> {
  const client = new Client({
    ...readDatabaseUrl(databaseUrl),
    application_name: 'guiche-presence',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUESTION_TIMEOUT_MS,
    // This connection is silent, so only keep-alive notices that a remote database is gone.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  // Without a listener an idle connection's error ends the process; `end` follows every error and is what we act on.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('set idle_session_timeout = 0')
    await requirePrimary(client)
    return client
  } catch (error) {
    await close(client)
    throw error
  }
}

/** A standby has its own locks: a process present there would be absent for those on the primary. */
async function requirePrimary(client: Client): Promise<void> {
  const { rows } = await client.query<{ recovering: boolean }>('select pg_is_in_recovery() as recovering')
  if (rows[0]?.recovering)
    throw new OperatorError('the database at DATABASE_URL is a standby: name the primary, or wait for its promotion')
}

async function hold(client: Client, instance: number): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1::int4, $2::int4) as held', [
    PRESENCE_CLASS,
    instance,
  ])
  return rows[0]?.held === true
}

async function countOthers(client: Client): Promise<number> {
  const { rows } = await client.query<{ others: number }>(
    `select count(*)::int as others from pg_locks
     where locktype = 'advisory' and classid::bigint = $1 and objsubid = 2 and granted and pid <> pg_backend_pid()`,
    [PRESENCE_CLASS],
  )
  return rows[0]?.others ?? 0
}

async function close(client: Client) {
  await Promise.race([client.end().catch(() => {}), sleep(QUESTION_TIMEOUT_MS, undefined, { ref: false })])
}
