import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { beforeEach, expect, inject, onTestFinished, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { query } from '../../src/db/tx.ts'
import { databaseNamed } from '../cluster.ts'
import { launchPgBouncer, NO_PGBOUNCER, type PoolMode } from '../pgbouncer.ts'
import { runCli, startServer, temporaryHome } from '../process.ts'
import { startReceiver } from '../receiver.ts'
import { appWith, deposit } from '../requests.ts'
import { until, world } from '../world.ts'

beforeEach((context) => {
  // Developers without a pooler still run everything else.
  if (NO_PGBOUNCER) context.skip(NO_PGBOUNCER)
})

test('through PgBouncer in transaction mode everything works, from the first migration to the audit', async () => {
  const env = { DATABASE_URL: await emptyDatabase('transaction'), GUICHE_HOME: temporaryHome() }
  const guiche = async (...args: string[]) => {
    const ran = await runCli(args, env)
    expect([args, ran.code, ran.stderr]).toEqual([args, 0, expect.not.stringContaining('guiche:')])
    return ran.stdout
  }
  const first = await startServer(env)
  const [, email, key] = /^E-mail: (.*)\nPassword: .*\nAPI key: (.*)$/m.exec(first.output())!
  const second = await startServer(env)
  const receiver = await startReceiver()
  await guiche('webhooks', 'add', '--email', email!, '--url', receiver.url)
  const ask = async (url: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(url, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers })
    return (await answer.json()) as { charge: { paymentLinkId: string; status: string } }
  }

  const links: string[] = []
  for (const server of [first, second, first, second])
    links.push((await ask(`${server.url}/api/deposit`, { value: 50_00 })).charge.paymentLinkId)
  for (const link of links) await guiche('pay', link)
  // One of these events is the webhook's test.
  await receiver.got(1 + links.length)
  for (const link of links) expect((await ask(`${second.url}/api/deposit/${link}`)).charge.status).toBe('COMPLETED')

  // The first process goes on alone. The bank in it still notifies the second one, so the test queries the deposit.
  await second.end('SIGKILL')
  const { charge } = await ask(`${first.url}/api/deposit`, { value: 50_00 })
  await guiche('pay', charge.paymentLinkId)
  expect((await ask(`${first.url}/api/deposit/${charge.paymentLinkId}`)).charge.status).toBe('COMPLETED')
  await receiver.got(2 + links.length)
  expect(await guiche('audit')).toContain('agree')
  expect(await guiche('doctor')).not.toContain('✗')
  expect(first.output()).not.toContain('"level":50')
  expect(await first.end('SIGTERM')).toBe(0)
})

test('through PgBouncer a killed process is seen as dead when its lease ends, and a stopped one at once', async () => {
  const w = await world()
  const url = await pooledUrl(w.directUrl, 'transaction')
  const env = { DATABASE_URL: url, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
  const present = () => w.count('processes', `role = 'all' and leased_until > clock_timestamp()`)
  const [killed, stopped] = [await startServer(env), await startServer(env)]
  expect(await present()).toBe(2)
  await stopped.end('SIGTERM')
  expect(await present()).toBe(1)
  await killed.end('SIGKILL')
  await until('the lease ends', async () => (await present()) === 0)
  expect(await w.count('processes', `role = 'all'`)).toBe(1)
})

test('PgBouncer in statement mode is refused in one line', async () => {
  const url = await pooledUrl(inject('clusterUrl'), 'statement')
  await expect(migrate(databaseNamed(url, 'postgres'))).rejects.toThrow(
    'DATABASE_URL leads to a pooler in statement mode, which refuses transactions: use transaction mode',
  )
})

test('PgBouncer in session mode works as it comes', async () => {
  const w = await world()
  const { key } = await w.account()
  const databaseUrl = await pooledUrl(w.directUrl, 'session')
  expect(await migrate(databaseUrl)).toEqual([])
  const { ctx } = await w.anotherProcess({ databaseUrl })
  const app = await appWith(ctx)
  expect((await app.inject(deposit(key, '{"value":5000}'))).statusCode).toBe(201)
})

test('with the connect_query of the documents, single statements have the settings of a direct connection', async () => {
  const w = await world({ isDirect: true })
  const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  const [, connectQuery] = /connect_query='([^']+)'/.exec(page)!
  const { ctx: direct } = await w.anotherProcess()
  const { ctx } = await w.anotherProcess({ databaseUrl: await pooledUrl(w.directUrl, 'transaction', connectQuery) })
  const sql = `select array_agg(name || ' = ' || current_setting(name)) as settings
    from unnest(array['statement_timeout', 'jit', 'timezone']) name`
  const settings = ['statement_timeout = 10s', 'jit = off', 'timezone = UTC']
  for (const { pool } of [direct, ctx]) expect(await query(pool, sql)).toEqual([{ settings }])
})

test('a setting in DATABASE_URL that a pooler refuses is named with what to do', async () => {
  const url = `${await pooledUrl(inject('clusterUrl'), 'session')}?options=-c%20geqo=off`
  const refused = await runCli(['key', 'list'], { DATABASE_URL: url, GUICHE_HOME: temporaryHome() })
  expect(refused.stderr).toMatch(
    /^guiche: The pooler at DATABASE_URL refuses a setting \(unsupported startup parameter.*\): connect to PostgreSQL directly, or .*\n$/,
  )
})

async function pooledUrl(directUrl: string, mode: PoolMode, connectQuery = ''): Promise<string> {
  const { url, child } = await launchPgBouncer(directUrl, { directory: temporaryHome(), mode, connectQuery })
  onTestFinished(() => void child.kill('SIGKILL'))
  return url
}

/** Makes a database that is not migrated yet, and returns its URL through PgBouncer. */
async function emptyDatabase(mode: PoolMode): Promise<string> {
  const name = `empty_${randomBytes(6).toString('hex')}`
  const client = new pg.Client({ connectionString: inject('clusterUrl') })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return databaseNamed(await pooledUrl(inject('clusterUrl'), mode), name)
}
