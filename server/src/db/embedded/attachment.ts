import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

export type Attachment = Awaited<ReturnType<typeof attach>>

type Options = {
  /** Runs before every attempt to reconnect. */
  beforeReturn: () => Promise<void>
}

const NAME = 'guiche-attached-'
const CONNECT_TIMEOUT_MS = 5_000
/** A slower answer is useless to a shutdown. */
const QUESTION_TIMEOUT_MS = 2_000
const RETURN_FIRST_MS = 100
const RETURN_MAX_MS = 5_000

/** Marks this process as a user of the embedded database, by a connection that lasts as long as the process. */
export async function attach(databaseUrl: string, options: Options) {
  // The old session may outlive its connection. By its name it does not count among the others.
  const name = NAME + randomBytes(8).toString('hex')
  const detaching = new AbortController()
  let client: Client | undefined
  let returning: Promise<void> = Promise.resolve()
  watch(await connect(databaseUrl, name))

  function watch(attached: Client) {
    client = attached
    attached.once('end', () => {
      if (client !== attached) return
      client = undefined
      if (!detaching.signal.aborted) returning = comeBack()
    })
  }

  // Otherwise the database would be stopped under a process that works.
  async function comeBack() {
    for (let delayMs = RETURN_FIRST_MS; !detaching.signal.aborted; delayMs = Math.min(delayMs * 2, RETURN_MAX_MS)) {
      try {
        await sleep(delayMs, undefined, { ref: false, signal: detaching.signal })
        await options.beforeReturn()
        const back = await connect(databaseUrl, name)
        if (!detaching.signal.aborted) return watch(back)
        await close(back)
      } catch {
        // The loop condition tells whether to go on.
      }
    }
  }

  return {
    /** How many others are attached. */
    async others() {
      if (!client) await Promise.race([returning, sleep(QUESTION_TIMEOUT_MS, undefined, { ref: false })])
      if (!client) throw new Error('The connection to the database is lost')
      return countOthers(client, name)
    },
    async detach() {
      detaching.abort()
      const last = client
      client = undefined
      if (last) await close(last)
      await Promise.race([returning, sleep(QUESTION_TIMEOUT_MS, undefined, { ref: false })])
    },
  }
}

async function connect(connectionString: string, name: string): Promise<Client> {
  const client = new Client({
    connectionString,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUESTION_TIMEOUT_MS,
  })
  // An error without a listener ends the process; `end` follows every error.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('set idle_session_timeout = 0')
    return client
  } catch (error) {
    await close(client)
    throw error
  }
}

async function countOthers(client: Client, name: string): Promise<number> {
  const { rows } = await client.query<{ others: number }>(
    `select count(*)::int as others from pg_stat_activity
     where application_name like '${NAME}%' and application_name <> $1`,
    [name],
  )
  return rows[0]!.others
}

async function close(client: Client) {
  await Promise.race([client.end().catch(() => {}), sleep(QUESTION_TIMEOUT_MS, undefined, { ref: false })])
}
