import { expect, test } from 'vitest'
import { VERSION } from '../../src/base/version.ts'
import { query } from '../../src/db/tx.ts'
import { readNotificationHealth } from '../../src/domain/deposits/notifications.ts'
import { makeSecretBox } from '../../src/domain/core/secret-box.ts'
import { checkSecretKeys, recordSecretKey } from '../../src/domain/core/secret-keys.ts'
import { makeOperator, makeOperatorKey } from '../operators-client.ts'
import { runCli, startServer, preparedHome, temporaryHome } from '../process.ts'
import { sweepAll } from '../reconcile-bank.ts'
import { appWith, bearer } from '../requests.ts'
import { until, world, type World } from '../world.ts'

const MINUTE_MS = 60_000

// ---- Rotating SECRET_KEY ----

test('a notification sent to the address of the old SECRET_KEY is accepted while the new one is rolled out', async () => {
  const w = await world()
  const { charge } = await w.paidCharge()
  const settings = { ...w.ctx.settings, callbackSecrets: () => ['new-secret', 'old-secret'] }
  const app = await appWith({ ...w.ctx, settings })
  const notify = (secret: string) =>
    app.inject({ method: 'POST', url: `/callbacks/sandbox/${secret}/pix`, payload: { pix: [{ txid: charge.id }] } })
  for (const secret of ['new-secret', 'old-secret']) expect((await notify(secret)).statusCode).toBe(200)
  expect((await notify('older-secret')).statusCode).toBe(404)
  expect(await w.count('checks', `due_at <= '${w.clock.now().toISOString()}'`)).toBe(1)
})

test('a process without the SECRET_KEY that the database is used with is told so', async () => {
  const w = await world()
  const withKeys = (...keys: string[]) => {
    const settings = { ...w.ctx.settings, secretBox: makeSecretBox(() => keys) }
    return { ...w.ctx, settings }
  }
  expect(await checkSecretKeys(withKeys('old'))).toBeUndefined()
  await recordSecretKey(withKeys('old'))
  expect(await checkSecretKeys(withKeys('new'))).toMatch(
    /^the database is used with a SECRET_KEY \(id [0-9a-f]{8}\) that this process lacks/,
  )
  expect(await checkSecretKeys(withKeys('new', 'old'))).toBeUndefined()
  w.clock.advance(MINUTE_MS)
  await recordSecretKey(withKeys('new', 'old'))
  expect(await checkSecretKeys(withKeys('new'))).toBeUndefined()
  expect(await checkSecretKeys(withKeys('old'))).toContain('add it to SECRET_KEY')
})

test('a running process is not ready while another one uses a SECRET_KEY that it lacks', async () => {
  const w = await world()
  const withKeys = (...keys: string[]) => {
    const settings = { ...w.ctx.settings, secretBox: makeSecretBox(() => keys) }
    return { ...w.ctx, settings }
  }
  const app = await appWith(withKeys('old'))
  const ready = async () => {
    const answer = await app.inject('/readyz')
    return [answer.statusCode, answer.json().reason]
  }
  await recordSecretKey(withKeys('old'))
  expect(await ready()).toEqual([200, undefined])
  w.clock.advance(MINUTE_MS)
  await recordSecretKey(withKeys('new', 'old'))
  expect(await ready()).toEqual([503, 'SECRET_KEY'])
  w.clock.advance(MINUTE_MS)
  await recordSecretKey(withKeys('old', 'new'))
  expect(await ready()).toEqual([200, undefined])
})

test('a start without the SECRET_KEY that the database is used with is refused, and says what to do', async () => {
  const w = await world()
  const env = { DATABASE_URL: w.databaseUrl, PROVIDER_SANDBOX_URL: w.sandbox.url }
  // Each home generates a key of its own.
  const first = await startServer({ ...env, GUICHE_HOME: temporaryHome() })
  const second = startServer({ ...env, GUICHE_HOME: temporaryHome() })
  await expect(second).rejects.toThrow(/used with a SECRET_KEY \(id [0-9a-f]{8}\) that this process lacks: add it to/)
  await first.end('SIGTERM')
})

// ---- Notifications that never arrive ----

test('payments that arrive without a notification are told of by metrics, log and health, until one arrives', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await payUnnotified(w, 3)
  expect(await readNotificationHealth(w.ctx)).toEqual([
    { provider: 'sandbox', lastAt: null, paymentsSince: 3, isSilent: true },
  ])
  expect(w.logged.map(({ text }) => text)).toContainEqual(
    expect.stringContaining('no notifications arrive: 3 payments arrived at sandbox and it has never notified us'),
  )
  expect(await scrape(w, key)).toMatchObject({
    'guiche_payments_since_last_notification{provider="sandbox"}': 3,
    'guiche_notification_last_timestamp_seconds{provider="sandbox"}': 0,
    'guiche_notifications_total{provider="sandbox",result="accepted"}': 0,
  })

  const notify = (secret: string, payload: object) =>
    w.app.inject({ method: 'POST', url: `/callbacks/sandbox/${secret}`, payload })
  await notify('wrong', { pix: [] })
  await notify('secret-of-sandbox', { pix: {} })
  await notify('secret-of-sandbox', { pix: [] })
  await until('the notification is recorded', async () => (await w.count('provider_notifications')) > 0)
  w.clock.advance(MINUTE_MS)
  expect(await readNotificationHealth(w.ctx)).toMatchObject([{ paymentsSince: 0, isSilent: false }])
  expect(await scrape(w, key)).toMatchObject({
    'guiche_notifications_total{provider="sandbox",result="accepted"}': 1,
    'guiche_notifications_total{provider="sandbox",result="wrong_secret"}': 1,
    'guiche_notifications_total{provider="sandbox",result="unreadable"}': 1,
    'guiche_payments_since_last_notification{provider="sandbox"}': 0,
  })
})

test('one lost notification is no alarm', async () => {
  const w = await world()
  await payUnnotified(w, 1)
  expect(await readNotificationHealth(w.ctx)).toMatchObject([{ paymentsSince: 1, isSilent: false }])
})

// ---- A key for the monitoring system ----

test('a key with the scope metrics:read reads the metrics and does nothing else', async () => {
  const w = await world()
  const { operatorId, key: full } = await makeOperator(w)
  const { key } = await makeOperatorKey(w, operatorId, null, 'metrics:read')
  const ask = async (url: string, of = key) =>
    (await w.app.inject({ method: 'GET', url, headers: bearer(of) })).statusCode
  expect(await ask('/metrics')).toBe(200)
  expect(await ask('/metrics', full)).toBe(200)
  for (const url of ['/api/operator/accounts', '/api/operator/exceptions', '/api/balance'])
    expect([url, await ask(url)]).toEqual([url, 403])
})

test('the database refuses a key of an account that reads the metrics, and one of an operator with both scopes', async () => {
  const w = await world()
  const { keyId } = await makeOperator(w)
  const account = await w.account()
  const set = (scopes: string[], where: string, id: string) =>
    query(w.pool, `update api_keys set scopes = $1 where ${where} = $2`, [scopes, id])
  await expect(set(['metrics:read'], 'account_id', account.accountId)).rejects.toThrow('api_keys_operator_scope')
  await expect(set(['operator', 'metrics:read'], 'id', keyId)).rejects.toThrow('api_keys_operator_scope')
})

// ---- Stopping ----

test('with DRAIN_SECONDS a process that was told to stop says not ready, still answers, and then ends', async () => {
  const home = preparedHome()
  const server = await startServer({ GUICHE_HOME: home, DRAIN_SECONDS: '3' })
  const ended = server.end('SIGTERM')
  await until('it says that it is leaving', async () => {
    const answer = await fetch(`${server.url}/readyz`)
    return answer.status === 503 && (await answer.text()).includes('draining')
  })
  // 401 is an answer to a request without a key, so the connection was not refused.
  expect((await fetch(`${server.url}/api/balance`)).status).toBe(401)
  expect(await ended).toBe(0)
  expect(server.output()).toContain('requests are answered for 3 s')
})

test('the version that runs is a metric', async () => {
  const home = preparedHome()
  const server = await startServer({ GUICHE_HOME: home })
  const env = { GUICHE_HOME: home }
  await runCli(['operator', 'create', '--email', 'ops@example.com'], env)
  const made = await runCli(
    ['operator', 'key', 'create', '--email', 'ops@example.com', '--name', 'prometheus', '--scope', 'metrics:read'],
    env,
  )
  const metrics = await fetch(`${server.url}/metrics`, { headers: bearer(made.stdout.trim()) })
  expect(await metrics.text()).toContain(`\nguiche_build_info{version="${VERSION}",node="${process.version}"} 1\n`)
  await server.end('SIGTERM')
})

/** Makes payments that only the sweep finds, minutes later. */
async function payUnnotified(w: World, count: number): Promise<void> {
  for (let paid = 0; paid < count; paid++) await w.paidCharge()
  w.clock.advance(10 * MINUTE_MS)
  await sweepAll(w)
}

async function scrape(w: World, key: string): Promise<Record<string, number>> {
  w.clock.advance(2_000)
  const { body } = await w.app.inject({ method: 'GET', url: '/metrics', headers: bearer(key) })
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}
