import { expect, test } from 'vitest'
import type { PoolOptions } from '../src/db/pool.ts'
import { query } from '../src/db/tx.ts'
import { buildWorkerApp } from '../src/http/app.ts'
import { startFreezingProxy } from './database-proxy.ts'
import { appWith, get } from './requests.ts'
import { scrape } from './scrape.ts'
import { world } from './world.ts'

// What Prometheus sees of a database that cannot be used now, which is when it matters most.

const TOKEN = 'a token for Prometheus that only tests know'.replaceAll(' ', '-')
/** What is read from the database, of a few kinds. */
const FROM_DATABASE =
  /^guiche_(exceptions_open\{|ledger_cents|queue_|webhooks|sweep_age|closed_until|notification_last)/

/** A process with its own connection to the database, which the test can break. */
async function breakableWorld(pool: PoolOptions = {}) {
  const w = await world({ settings: { isMetricsToken: (text) => text === TOKEN } })
  const proxy = await startFreezingProxy(w.directUrl)
  const { ctx } = await w.anotherProcess({ databaseUrl: proxy.url, pool })
  const app = await appWith(ctx)
  const statusOf = async (credential: string, url = '/metrics') => (await app.inject(get(credential, url))).statusCode
  return { w, proxy, ctx, app, statusOf }
}

const readOf = (scraped: object) => Object.keys(scraped).filter((name) => FROM_DATABASE.test(name))

test('while the database is away, METRICS_TOKEN is told so, with the metrics of the process and no old values', async () => {
  const { w, proxy, ctx, app, statusOf } = await breakableWorld()
  const before = await scrape({ app }, TOKEN)
  expect(before).toMatchObject({ guiche_database_up: 1, 'guiche_provider_up{provider="sandbox"}': 1 })
  expect(readOf(before).length).toBeGreaterThan(10)

  proxy.goAway()
  w.clock.advance(1_000)
  const during = await scrape({ app }, TOKEN)
  expect(during).toMatchObject({ guiche_database_up: 0, 'guiche_provider_up{provider="sandbox"}': 1 })
  expect(readOf(during)).toEqual([])
  expect(await scrape({ app: buildWorkerApp(ctx) }, TOKEN)).toMatchObject({ guiche_database_up: 0 })
  expect(await statusOf(`${TOKEN}x`)).toBe(401)
})

test('METRICS_TOKEN opens nothing but /metrics, and is in no log, answer or metric', async () => {
  const { w, app, statusOf } = await breakableWorld()
  for (const path of ['/api/balance', '/api/deposits', '/api/operator/providers', '/dashboard/api/deposits'])
    expect([path, await statusOf(TOKEN, path)]).toEqual([path, 401])
  const answers = [await app.inject(get(TOKEN, '/api/balance')), await app.inject(get(TOKEN, '/metrics'))]
  for (const { body, headers } of answers) expect(body + JSON.stringify(headers)).not.toContain(TOKEN)
  expect(JSON.stringify(w.logged)).not.toContain(TOKEN)
})

// By default it fails after 12 seconds, and Prometheus waits for 10.
test('while the database is frozen, a scrape is answered before a statement fails, and takes one connection at most', async () => {
  const { w, proxy, ctx, app } = await breakableWorld({ statementTimeoutMs: 60_000 })
  // Enough connections are open: a new one would fail sooner.
  await Promise.all(Array.from({ length: 6 }, () => query(ctx.pool, 'select 1')))
  proxy.freeze()
  w.clock.advance(1_000)
  let hasFailed = false
  const statement = query(ctx.pool, 'select 1').catch(() => void (hasFailed = true))

  expect(await scrape({ app }, TOKEN)).toMatchObject({ guiche_database_up: 0 })
  w.clock.advance(1_000)
  const again = await scrape({ app }, TOKEN)
  expect(hasFailed).toBe(false)
  // The statement above, and one read of the gauges for all scrapes.
  expect(again).toMatchObject({ guiche_database_up: 0, 'guiche_database_connections{state="in_use"}': 2 })
  proxy.goAway()
  await statement
})
