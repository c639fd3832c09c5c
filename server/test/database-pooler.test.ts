import { chmodSync, chownSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../src/db/migrate.ts'
import { makePool } from '../src/db/pool.ts'
import { prepared } from '../src/db/prepared.ts'
import { query, transact } from '../src/db/tx.ts'
import { startTransactionPooler } from './database-proxy.ts'
import { freePort, runCli, runProcess, startChild, temporaryHome } from './process.ts'
import { appWith, deposit } from './requests.ts'
import { until, world, type World } from './world.ts'

const SUM = prepared('select $1::int + $2::int as sum')
const silentLog = { debug() {}, info() {}, warn() {}, error() {} }
const PGBOUNCER = '/usr/sbin/pgbouncer'
const REFUSAL =
  'DATABASE_URL leads to a pooler in transaction mode, and guiche holds locks of a session: ' +
  'use session mode (PgBouncer: pool_mode = session), or connect to PostgreSQL directly'

test('a pooler in transaction mode is refused by its behaviour, whatever its make', async () => {
  const w = await world()
  const url = await startTransactionPooler(w.databaseUrl)
  await expect(migrate(url)).rejects.toThrow(REFUSAL)
})

test('a direct connection is not taken for a pooler', async () => {
  const w = await world()
  expect(await migrate(w.databaseUrl)).toEqual([])
})

test.each(['query', 'transact'] as const)(
  'behind a pooler that keeps no prepared statements, %s() repeats the statement without its name',
  async (way) => {
    const w = await world()
    const url = await startTransactionPooler(w.databaseUrl)
    const warnings: string[] = []
    const log = { ...silentLog, warn: (_fields: object, text: string) => void warnings.push(text) }
    const pool = makePool(url, log, { maxConnections: 1 })
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    onTestFinished(async () => {
      await other.end()
      await pool.end()
    })
    const sum = () =>
      way === 'query'
        ? query<{ sum: number }>(pool, SUM, [2, 3])
        : transact(pool, (tx) => tx.rows<{ sum: number }>(SUM, [2, 3]))
    expect(await sum()).toEqual([{ sum: 5 }])
    // Takes the connection that has the statement. The pooler lends us another one.
    await other.query('begin')
    expect(await sum()).toEqual([{ sum: 5 }])
    await other.query('commit')
    expect(await sum()).toEqual([{ sum: 5 }])
    expect(warnings).toEqual([
      'the pooler in front of PostgreSQL keeps no prepared statements: the service works, but slower',
    ])
  },
)

// Debian's package pgbouncer. Where it is not installed, the test above has the rule covered.
test.runIf(existsSync(PGBOUNCER))(
  'PgBouncer in transaction mode is refused in one line by start and doctor',
  async () => {
    const w = await world()
    const url = await startPgBouncer(w, 'transaction')
    const env = { DATABASE_URL: url, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
    const started = await runProcess(['start'], { ...env, PORT: String(await freePort()) })
    expect([started.code, started.stderr]).toEqual([1, `guiche: ${REFUSAL}\n`])
    const examined = await runCli(['doctor'], env)
    expect(examined.code).toBe(1)
    expect(examined.stdout).toContain(`✗ database             ${REFUSAL}\n`)
  },
)

// As above.
test.runIf(existsSync(PGBOUNCER))('PgBouncer in statement mode is refused in the same words', async () => {
  const w = await world()
  await expect(migrate(await startPgBouncer(w, 'statement'))).rejects.toThrow(REFUSAL)
})

// As above. PgBouncer's own defaults: it refuses what it does not know in the parameters of a connection.
test.runIf(existsSync(PGBOUNCER))('PgBouncer in session mode works as it comes, with our time limits', async () => {
  const w = await world()
  const { key } = await w.account()
  const databaseUrl = await startPgBouncer(w, 'session')
  expect(await migrate(databaseUrl)).toEqual([])
  const { ctx } = await w.anotherProcess({ databaseUrl })
  const app = await appWith(ctx)
  expect((await app.inject(deposit(key, '{"value":5000}'))).statusCode).toBe(201)
  const [limits] = await query(ctx.pool, `select current_setting('statement_timeout') as statement`)
  expect(limits).toEqual({ statement: '10s' })
})

test.runIf(existsSync(PGBOUNCER))(
  // As above.
  'a setting in DATABASE_URL that a pooler refuses is named with what to do',
  async () => {
    const w = await world()
    const url = `${await startPgBouncer(w, 'session')}?options=-c%20geqo=off`
    const refused = await runCli(['key', 'list'], { DATABASE_URL: url, GUICHE_HOME: temporaryHome() })
    expect(refused.stderr).toMatch(
      /^guiche: the pooler at DATABASE_URL refuses a setting \(unsupported startup parameter.*\): connect to PostgreSQL directly, or .*\n$/,
    )
  },
)

async function startPgBouncer(w: World, mode: 'transaction' | 'session' | 'statement'): Promise<string> {
  const home = temporaryHome()
  const port = await freePort()
  const { username, password, pathname, searchParams } = new URL(w.databaseUrl.replace('@/', '@socket/'))
  const database = pathname.slice(1)
  const ini = `[databases]
${database} = host=${searchParams.get('host')} port=5432 dbname=${database} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
`
  const file = join(home, 'pgbouncer.ini')
  writeFileSync(file, ini)
  chmodSync(file, 0o644)
  // PgBouncer refuses to run as root. Only the owner of the database may open the socket's directory.
  const owner = socketOwner(searchParams.get('host')!)
  if (process.getuid?.() === 0) chownSync(home, owner.uid, owner.gid)
  startChild(PGBOUNCER, [file], { stdio: 'ignore', ...(process.getuid?.() === 0 && owner) })
  await until('PgBouncer listens', () => isOpen(port))
  return `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}`
}

function socketOwner(directory: string): { uid: number; gid: number } {
  const { uid, gid } = statSync(directory)
  return { uid, gid }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
