import { expect, test } from 'vitest'
import type { PoolOptions } from '../src/db/pool.ts'
import { query, transact } from '../src/db/tx.ts'
import { revokeKey } from '../src/domain/accounts/api-keys.ts'
import { makeKeyCache, type StoredKey } from '../src/domain/accounts/callers.ts'
import { buildWorkerApp } from '../src/http/app.ts'
import { startFreezingProxy } from './database-proxy.ts'
import { makeOperator, makeOperatorKey } from './operators-client.ts'
import { appWith, get } from './requests.ts'
import { scrape } from './scrape.ts'
import { world } from './world.ts'

// What Prometheus sees of a database that cannot be used now, which is when it matters most.

const TOKEN = 'a token for Prometheus that only tests know'.replaceAll(' ', '-')
const HOUR_MS = 3_600_000
/** Some of the metrics that are read from the database. */
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

test('while the database is away, an operator’s key that was valid within 12 hours opens /metrics, and nothing else', async () => {
  const { w, proxy, app, statusOf } = await breakableWorld()
  const { operatorId, key } = await makeOperator(w)
  const { key: metricsKey } = await makeOperatorKey(w, operatorId, null, 'metrics:read')
  const { key: unseen } = await makeOperatorKey(w, operatorId, null, 'metrics:read')
  const { key: accountKey } = await w.account()
  expect(await Promise.all([key, metricsKey, accountKey].map((one) => statusOf(one)))).toEqual([200, 200, 403])

  proxy.goAway()
  w.clock.advance(1_000)
  expect(await scrape({ app }, metricsKey)).toMatchObject({ guiche_database_up: 0 })
  expect(await Promise.all([key, unseen, accountKey].map((one) => statusOf(one)))).toEqual([200, 503, 503])
  expect(await statusOf(key, '/api/operator/providers')).toBe(503)
  expect(await statusOf(`${key}x`)).toBe(401)

  w.clock.advance(12 * HOUR_MS)
  expect(await Promise.all([metricsKey, TOKEN].map((one) => statusOf(one)))).toEqual([503, 200])
})

test('a key that is revoked or expired does not open /metrics, whether the database can be asked or not', async () => {
  const { w, proxy, statusOf } = await breakableWorld()
  const { operatorId, keyId, key } = await makeOperator(w)
  const { key: expiring } = await makeOperatorKey(w, operatorId, new Date(w.clock.now().getTime() + HOUR_MS))
  expect(await Promise.all([key, expiring].map((one) => statusOf(one)))).toEqual([200, 200])
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), keyId))
  w.clock.advance(1_000)
  expect(await Promise.all([key, expiring].map((one) => statusOf(one)))).toEqual([401, 200])

  proxy.goAway()
  w.clock.advance(1_000)
  expect(await Promise.all([key, expiring].map((one) => statusOf(one)))).toEqual([503, 200])
  w.clock.advance(HOUR_MS)
  expect(await statusOf(expiring)).toBe(503)
})

// By default a statement fails after 12 seconds, and Prometheus waits for 10.
test('while the database is frozen, a scrape is answered before a statement fails, and takes one connection at most', async () => {
  const { w, proxy, ctx, app, statusOf } = await breakableWorld({ statementTimeoutMs: 60_000 })
  const { key } = await makeOperator(w)
  expect(await statusOf(key)).toBe(200)
  // Enough connections are open: a new one would fail sooner.
  await Promise.all(Array.from({ length: 6 }, () => query(ctx.pool, 'select 1')))
  proxy.freeze()
  w.clock.advance(1_000)
  let hasFailed = false
  const statement = query(ctx.pool, 'select 1').catch(() => void (hasFailed = true))

  expect(await scrape({ app }, TOKEN)).toMatchObject({ guiche_database_up: 0 })
  w.clock.advance(1_000)
  const [byToken, byKey] = await Promise.all([scrape({ app }, TOKEN), scrape({ app }, key)])
  expect(hasFailed).toBe(false)
  // The three are the statement above, the read of the key, and one read of the gauges for all scrapes.
  expect(byToken).toMatchObject({ guiche_database_up: 0, 'guiche_database_connections{state="in_use"}': 3 })
  expect(byKey).toMatchObject({ guiche_database_up: 0 })
  proxy.goAway()
  await statement
})

test('of operators’ keys, the last hundred that were read are remembered, and none of an account', async () => {
  const keys = makeKeyCache()
  const keyOf = (kind: 'operator' | 'account') => ({ caller: { kind }, revokedAt: null }) as unknown as StoredKey
  const read = async (hash: string, key: StoredKey | undefined) => {
    keys.set(hash, 0, Promise.resolve(key))
    await keys.get(hash, 0)
  }
  for (let index = 0; index <= 100; index++) await read(`key-${index}`, keyOf('operator'))
  await read('account', keyOf('account'))
  expect(['key-0', 'key-1', 'key-100', 'account'].map((hash) => keys.lastRead(hash, 0) !== undefined)).toEqual([
    false,
    true,
    true,
    false,
  ])
  await read('key-100', undefined)
  expect(keys.lastRead('key-100', 0)).toBeUndefined()
})
