import { expect, test, vi } from 'vitest'
import { makeMetrics, measureProcess } from '../src/base/metrics.ts'
import { queryOne } from '../src/db/tx.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import { recordBackup } from '../src/domain/core/backups.ts'
import { makeOperator } from './operators-client.ts'
import { temporaryHome } from './process.ts'
import { startReceiver } from './receiver.ts'
import { sweepAll } from './reconcile-bank.ts'
import { strayPayment } from './refund-steps.ts'
import { appWith, bearer, deposit, get, UNKNOWN_ID } from './requests.ts'
import { scrape, scrapeText } from './scrape.ts'
import { add, completedCharge, deliver } from './webhooks-client.ts'
import { world } from './world.ts'

test('the metrics are for operators, by any of the three ways of giving a key, and for nobody else', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const account = await w.account()
  const ask = async (request: object) => w.app.inject({ method: 'GET', url: '/metrics', ...request })
  for (const way of [{ headers: bearer(key) }, { headers: { 'x-api-key': key } }, { query: { api_key: key } }]) {
    const answer = await ask(way)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
    })
  }
  const nobody = await ask({})
  expect([nobody.statusCode, nobody.headers['www-authenticate']]).toEqual([401, 'Bearer'])
  const wrong = `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`
  expect((await ask({ headers: bearer(wrong) })).statusCode).toBe(401)
  expect((await ask({ headers: bearer(account.key) })).statusCode).toBe(403)
})

test('a deposit that is opened, paid and told of is counted at each step, and so are those that come to nothing', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const account = await w.account()
  const receiver = await startReceiver()
  await add(w, account, receiver.url)
  expect(await scrape(w, key)).toMatchObject({
    'guiche_deposits_total{state="opened"}': 0,
    'guiche_exceptions_opened_total{kind="unknown_charge"}': 0,
    'guiche_payments_duplicate_total{provider="sandbox"}': 0,
    'guiche_webhook_attempt_duration_seconds_count{outcome="delivered"}': 0,
  })
  const { charge } = (await w.app.inject(deposit(account.key, '{"value":5000}'))).json()
  const unpaid = await w.deposit(account)
  await w.sandbox.pay({ emv: charge.emv })
  await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  w.clock.advance(2 * 3_600_000)
  expect(await scrape(w, key)).toMatchObject({
    'guiche_queue_due{queue="deliveries"}': 1,
    'guiche_queue_oldest_due_seconds{queue="deliveries"}': 7_200,
    'guiche_webhooks{state="working"}': 1,
  })
  await queryDeposit(w.ctx, account.accountId, unpaid.paymentLinkId)
  await w.app.inject({
    method: 'POST',
    url: `/api/deposit/${(await w.deposit(account)).paymentLinkId}/cancel`,
    headers: bearer(account.key),
  })
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  await sender.claim()
  await sender.stop(5_000)
  await strayPayment(w, 7_00)
  w.clock.advance(2_000)

  expect(await scrape(w, key)).toMatchObject({
    'guiche_deposits_total{state="opened"}': 3,
    'guiche_deposits_total{state="completed"}': 1,
    'guiche_deposits_total{state="expired"}': 1,
    'guiche_deposits_total{state="canceled"}': 1,
    'guiche_payments_total{outcome="credited"}': 1,
    'guiche_exceptions_open{kind="unknown_charge"}': 1,
    'guiche_exceptions_open{kind="wrong_amount"}': 0,
    'guiche_ledger_cents{account="suspense"}': 700,
    'guiche_ledger_cents{account="missing"}': 0,
    'guiche_webhook_attempt_duration_seconds_count{outcome="delivered"}': 1,
    'guiche_queue_due{queue="deliveries"}': 0,
    'guiche_http_request_duration_seconds_count{method="POST",route="/api/deposit",status="2xx"}': 1,
    'guiche_http_request_duration_seconds_count{method="GET",route="/api/deposit/:paymentLinkId",status="2xx"}': 1,
    guiche_http_requests_in_flight: 1,
    'guiche_provider_call_duration_seconds_count{provider="sandbox",operation="create",outcome="ok"}': 3,
    guiche_database_up: 1,
  })
})

test('lanes count their transactions and what was in them, which gives the mean batch', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { payment } = await w.paidCharge()
  const before = await scrape(w, key)
  const grown = async (name: string) => (await scrape(w, key))[name]! - before[name]!
  await w.ctx.settlements.add([payment, { ...payment, endToEndId: 'E-second' }, { ...payment, endToEndId: 'E-third' }])
  expect(await grown('guiche_lane_batches_total{lane="settlements"}')).toBe(1)
  expect(await grown('guiche_lane_items_total{lane="settlements"}')).toBe(3)
  expect(before).toMatchObject({ 'guiche_lane_batches_total{lane="failed_attempts"}': 0 })
})

test('a batch that is committed is not repeated when what follows it fails', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { payment } = await w.paidCharge()
  const before = await scrape(w, key)
  w.ctx.deliverWorker.attach({
    wake() {
      throw new Error('made to fail')
    },
  })
  const payments = [payment, { ...payment, endToEndId: 'E-second' }, { ...payment, endToEndId: 'E-third' }]
  const added = await Promise.allSettled(payments.map((one) => w.ctx.settlements.add([one])))
  expect(added.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  const name = 'guiche_lane_batches_total{lane="settlements"}'
  expect((await scrape(w, key))[name]! - before[name]!).toBe(1)
  expect(await w.count('payments')).toBe(3)
})

test('payments that fit no charge are counted by kind when they are booked', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { payment } = await w.paidCharge()
  await w.ctx.settlements.add([payment, { ...payment, endToEndId: 'E-second' }])
  await w.ctx.settlements.add([payment])
  expect(await scrape(w, key)).toMatchObject({
    'guiche_payments_total{outcome="credited"}': 1,
    'guiche_payments_total{outcome="suspense"}': 1,
    'guiche_exceptions_opened_total{kind="second_payment"}': 1,
  })
})

test('the end of a client certificate is told, and nothing without one', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const name = 'guiche_provider_certificate_expires_timestamp_seconds{provider="sandbox"}'
  expect(await scrape(w, key)).not.toHaveProperty([name])
  const providers = w.ctx.providers.map((provider) => ({
    ...provider,
    certificateExpiresAt: new Date(1_800_000_000_000),
  }))
  const app = await appWith({ ...w.ctx, providers })
  expect(await scrape({ ...w, app }, key)).toHaveProperty([name], 1_800_000_000)
})

test('a provider that fails is seen to: its calls, its breaker, and how far behind its list is', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const [provider] = w.ctx.providers
  await sweepAll(w)
  await provider!.check('f'.repeat(32))
  expect(await scrape(w, key)).toMatchObject({
    'guiche_provider_up{provider="sandbox"}': 1,
    'guiche_provider_breaker{provider="sandbox",state="closed"}': 1,
    'guiche_provider_last_success_timestamp_seconds{provider="sandbox"}': w.clock.now().getTime() / 1000,
    'guiche_sweep_age_seconds{provider="sandbox"}': 0,
  })
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  while (provider!.health().breaker !== 'open') await provider!.check('f'.repeat(32)).catch(() => {})
  await provider!.check('f'.repeat(32)).catch(() => {})
  w.clock.advance(4_000)
  await sweepAll(w)
  expect(await scrape(w, key)).toMatchObject({
    'guiche_provider_up{provider="sandbox"}': 0,
    'guiche_provider_breaker{provider="sandbox",state="closed"}': 0,
    'guiche_provider_breaker{provider="sandbox",state="open"}': 1,
    'guiche_provider_call_duration_seconds_count{provider="sandbox",operation="check",outcome="failed"}': 10,
    'guiche_provider_call_duration_seconds_count{provider="sandbox",operation="check",outcome="withheld"}':
      expect.any(Number),
    'guiche_sweep_age_seconds{provider="sandbox"}': 4,
  })
  // The breaker lets the next call through, but nothing says that the provider is back.
  w.clock.advance(1_000)
  expect(await scrape(w, key)).toMatchObject({
    'guiche_provider_up{provider="sandbox"}': 0,
    'guiche_provider_breaker{provider="sandbox",state="open"}': 0,
    'guiche_provider_breaker{provider="sandbox",state="half-open"}': 1,
  })
  await w.sandbox.faults({})
  w.clock.advance(24 * 3_600_000)
  await sweepAll(w)
  expect(await scrape(w, key)).toMatchObject({
    'guiche_provider_up{provider="sandbox"}': 1,
    'guiche_sweep_age_seconds{provider="sandbox"}': 0,
    'guiche_closing_differences{provider="sandbox"}': 0,
    'guiche_closed_until_timestamp_seconds{provider="sandbox"}': Date.parse('2026-03-03T03:00:00Z') / 1000,
  })
})

test('deliveries to a webhook that fails are not what is late: they are counted apart, and their age is not', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const [dead, healthy] = [await w.account(), await w.account()]
  await add(w, dead, (await startReceiver((_, response) => response.writeHead(500).end())).url)
  await add(w, healthy, (await startReceiver()).url)
  await completedCharge(w, dead)
  await deliver(w)
  w.clock.advance(10 * 60_000)
  expect(await scrape(w, key)).toMatchObject({
    'guiche_webhooks{state="failing"}': 1,
    'guiche_queue_due{queue="failing_deliveries"}': 1,
    'guiche_queue_due{queue="deliveries"}': 0,
    'guiche_queue_oldest_due_seconds{queue="deliveries"}': 0,
  })
  expect(await scrape(w, key)).not.toHaveProperty(['guiche_queue_oldest_due_seconds{queue="failing_deliveries"}'])

  await completedCharge(w, healthy)
  w.clock.advance(6 * 60_000)
  expect(await scrape(w, key)).toMatchObject({
    'guiche_queue_due{queue="deliveries"}': 1,
    'guiche_queue_oldest_due_seconds{queue="deliveries"}': 360,
  })
})

test('no label holds an id, a key or an address, only the patterns of routes', async () => {
  const w = await world()
  const operator = await makeOperator(w)
  const account = await w.account()
  const { charge } = (await w.app.inject(deposit(account.key, '{"value":5000}'))).json()
  for (const url of [
    `/api/deposit/${charge.paymentLinkId}`,
    `/api/deposit/${UNKNOWN_ID}?api_key=${account.key}`,
    `/payment-link/${charge.paymentLinkId}`,
    `/qr/${charge.paymentLinkId}.png`,
    `/callbacks/sandbox/secret-of-sandbox`,
    `/nowhere/${account.key}`,
    `/api/${UNKNOWN_ID}`,
  ])
    await w.app.inject(get(account.key, url))
  const text = await scrapeText(w, operator.key)
  const labels = [...text.matchAll(/^\w+\{(.*)\} /gm)].flatMap(([, all]) => [...all!.matchAll(/(\w+)="([^"]*)"/g)])
  const told = new Map<string, Set<string>>()
  for (const [, name, value] of labels) told.set(name!, (told.get(name!) ?? new Set()).add(value!))
  for (const secret of [
    charge.id,
    charge.paymentLinkId,
    UNKNOWN_ID,
    account.key,
    operator.key,
    'secret-of',
    account.email,
  ])
    expect(text).not.toContain(secret)
  expect([...told.get('route')!]).toEqual(
    expect.arrayContaining(['/api/deposit', '/api/deposit/:paymentLinkId', '/payment-link/:paymentLinkId', 'none']),
  )
  for (const [name, values] of told)
    for (const value of values) if (name !== 'le') expect(value).toMatch(/^(\/?[a-zA-Z_:./*-]*|[1-5]xx)$/)
})

// Two processes share the books, but each counts only what it does itself.
test('each app counts for itself', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { ctx } = await w.anotherProcess()
  const other = { app: await appWith(ctx) }
  await w.deposit(await w.account())
  await strayPayment(w)
  expect(await scrape(w, key)).toMatchObject({ 'guiche_deposits_total{state="opened"}': 1 })
  expect(await scrape(other, key)).toMatchObject({
    'guiche_deposits_total{state="opened"}': 0,
    'guiche_exceptions_open{kind="unknown_charge"}': 1,
  })
})

test('however many scrape, the database is read once a second', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await scrape(w, key)
  const connect = vi.spyOn(w.ctx.pool, 'connect')
  await Promise.all(Array.from({ length: 20 }, () => scrape(w, key)))
  expect(connect).not.toHaveBeenCalled()
  w.clock.advance(1_000)
  await w.app.inject(get(key, '/api/operator/providers')) // the key is read again, once a second
  connect.mockClear()
  await Promise.all(Array.from({ length: 20 }, () => scrape(w, key)))
  expect(connect).toHaveBeenCalledTimes(1)
})

test('while a table is locked the rest is told, and that the database was not read', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await strayPayment(w)
  await scrape(w, key)
  const locker = await w.pool.connect()
  try {
    await locker.query('begin')
    await locker.query('lock table exceptions')
    w.clock.advance(1_000)
    const told = await scrape(w, key)
    expect(told).toMatchObject({ guiche_database_up: 0, 'guiche_database_connections{state="in_use"}': 1 })
    expect(told).not.toHaveProperty(['guiche_exceptions_open{kind="unknown_charge"}'])
  } finally {
    await locker.query('rollback')
    locker.release()
  }
  w.clock.advance(1_000)
  expect(await scrape(w, key)).toMatchObject({
    guiche_database_up: 1,
    'guiche_exceptions_open{kind="unknown_charge"}': 1,
  })
})

test('a process tells of its memory, its processor and its event loop', async () => {
  const metrics = makeMetrics()
  measureProcess(metrics)
  const text = await metrics.registry.metrics()
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds'])
    expect(text).toMatch(new RegExp(`^${name} `, 'm'))
})

test('a name that ends in _total is a counter, and every counter has such a name', async () => {
  const metrics = makeMetrics()
  measureProcess(metrics)
  const types = [...(await metrics.registry.metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  expect(types.length).toBeGreaterThan(50)
  expect(types.filter(([, name, type]) => name!.endsWith('_total') !== (type === 'counter'))).toEqual([])
})

test('what monitoring asks of the database is measured: its queues, size, interval, and the home of an embedded one', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const home = temporaryHome()
  // With a database that is not embedded, no home is measured.
  const elsewhere = await scrape(w, key)
  for (const name of ['guiche_disk_free_bytes', 'guiche_backup_last_timestamp_seconds'])
    expect(elsewhere).not.toHaveProperty(name)
  const endedAt = new Date('2026-03-02T03:00:00Z')
  await recordBackup(w.databaseUrl, { endedAt, place: '/mnt/backups', bytes: 1 })
  const app = await appWith(w.ctx, { home })
  const found = await scrape({ app }, key)
  expect(found).toMatchObject({
    'guiche_queue_due{queue="refund_checks"}': 0,
    guiche_reconcile_interval_seconds: w.ctx.settings.reconcileSeconds,
    guiche_database_writable: 1,
    guiche_backup_last_timestamp_seconds: Date.parse('2026-03-02T03:00:00Z') / 1000,
  })
  expect(found['guiche_database_bytes']).toBeGreaterThan(1e6)
  expect(found['guiche_disk_free_bytes']).toBeGreaterThan(0)
})

test('the lag of the slowest standby is measured, and absent without one that this role may see', async () => {
  const w = await world({ isDirect: true })
  const { key } = await makeOperator(w)
  expect(await scrape(w, key)).not.toHaveProperty('guiche_replication_lag_seconds')
  // Imitates what PostgreSQL says of two standbys, one of which has replayed everything.
  const { name } = await queryOne<{ name: string }>(w.pool, 'select current_database() as name')
  await w.pool.query(`create schema standbys;
    create table standbys.pg_stat_replication (state text, replay_lag interval);
    insert into standbys.pg_stat_replication values ('streaming', '90 s'), ('streaming', null);
    alter database ${name} set search_path = standbys, public, pg_catalog`)
  const app = await appWith((await w.anotherProcess()).ctx)
  expect(await scrape({ app }, key)).toMatchObject({ guiche_replication_lag_seconds: 90 })
  await w.pool.query('update standbys.pg_stat_replication set state = null, replay_lag = null')
  w.clock.advance(2_000)
  expect(await scrape({ app }, key)).not.toHaveProperty('guiche_replication_lag_seconds')
})
