import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { makeKeyText } from '../../src/domain/accounts/callers.ts'
import { ensureRunning } from '../../src/db/embedded/server.ts'
import { openSandbox } from '../../src/sandbox/server.ts'
import { makeClientCertificate } from '../client-certificate.ts'
import { endDatabase } from '../cluster.ts'
import { preparedHome, startServer, temporaryHome } from '../process.ts'
import { NO_PROMETHEUS, startPrometheus, type Prometheus } from '../prometheus.ts'
import { bearer } from '../requests.ts'
import { until } from '../world.ts'

// Tests the alert rules with a real service, its database, a bank and a Prometheus.

const read = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../../deploy/prometheus/${name}`, import.meta.url)), 'utf8')
const TOKEN = 't'.repeat(32)
/**
 * The rules wait for a fifteenth of their time here. Two minutes become eight seconds; a breaker is half-open every
 * five.
 */
const HURRY = 15

beforeEach((context) => {
  // Developers without Prometheus still run everything else.
  if (NO_PROMETHEUS) context.skip(NO_PROMETHEUS)
})

test('a dead database and a dead bank are told by alerts of their own, for as long as each is away', async () => {
  const { database, bank, server, prometheus } = await startAll()
  const fires = (names: string[], when: string) =>
    until(`${when}, what fires is [${names.join()}]`, async () => String(await firing(prometheus)) === String(names))
  await until('it is scraped', async () => (await prometheus.query('guiche_database_up')) === 1)
  await fires([], 'while all is well')

  await database.kill()
  expect((await fetch(`${server.url}/api/balance`, { headers: bearer(makeKeyText('test')) })).status).toBe(503)
  await fires(['GuicheDatabaseDown'], 'without its database')
  expect(await prometheus.query('count(guiche_queue_due)')).toBeUndefined()
  await database.start()
  await fires([], 'when the database is back')

  await bank.goDown()
  const halfOpen = 'sum_over_time(guiche_provider_breaker{state="half-open"}[5m])'
  await until('the breaker was seen half-open', async () => (await prometheus.query(halfOpen))! >= 2)
  await fires(['GuicheProviderDown'], 'without its bank')
  // The alert has not ended and begun again meanwhile.
  expect(await prometheus.query('changes(ALERTS_FOR_STATE{alertname="GuicheProviderDown"}[5m])')).toBe(0)

  expect(await missing(prometheus)).toEqual([])
  await bank.comeBack()
  await fires([], 'when the bank is back')
})

/** The alerts that fire, except the one about a busy machine, which is not tested here. */
async function firing(prometheus: Prometheus): Promise<string[]> {
  return (await prometheus.firing()).filter((name) => name !== 'GuicheEventLoopLate')
}

/** Selectors of the rules, and series that their tests invent, that match nothing from the service. */
async function missing(prometheus: Prometheus): Promise<string[]> {
  const { groups } = parse(read('alerts.yaml')) as { groups: { rules: { expr: string }[] }[] }
  const { tests } = parse(read('alerts.test.yaml')) as { tests: { input_series: { series: string }[] }[] }
  const selected = groups.flatMap(({ rules }) => rules.flatMap(({ expr }) => expr.match(SELECTOR) ?? []))
  // For these labels the tests invent names, or use values that do not occur here.
  const labels = /(provider|instance|version|job|route|outcome)="[^"]*",?/g
  const invented = tests.flatMap((one) => one.input_series.map(({ series }) => series.replaceAll(labels, '')))
  const all = [...new Set([...selected, ...invented])].filter((selector) => !ABSENT.test(selector))
  const found = await Promise.all(all.map((selector) => prometheus.hasSeries(selector)))
  return all.filter((_, index) => !found[index])
}

/** These metrics are absent here: only an embedded database has a home, and this one has no standby. */
const ABSENT = /^guiche_(disk_free_bytes|backup_last_timestamp_seconds|replication_lag_seconds)/

const SELECTOR = /\b(?:up|(?:guiche|nodejs)_\w+)\b(?:\{[^}]*\})?/g

async function startAll() {
  const home = preparedHome()
  const startDatabase = () => ensureRunning({ home, say: () => {} })
  const { databaseUrl } = await startDatabase()
  const place = { home: temporaryHome(), port: 0 }
  let sandbox = await openSandbox(place)
  onTestFinished(() => sandbox.stop())
  const certificate = makeClientCertificate(temporaryHome(), 100)
  const server = await startServer({
    DATABASE_URL: databaseUrl,
    GUICHE_HOME: temporaryHome(),
    SECRET_KEY: 'k'.repeat(32),
    PROVIDER_SANDBOX_URL: sandbox.url,
    // The service calls the bank often, but not so often that a breaker is never seen half-open.
    RECONCILE_SECONDS: '2',
    METRICS_TOKEN: TOKEN,
    PROVIDER_SANDBOX_CERT: certificate.cert,
    PROVIDER_SANDBOX_CERT_KEY: certificate.key,
  })
  const rules = read('alerts.yaml').replaceAll(
    /for: (\d+)m/g,
    (_, minutes) => `for: ${(Number(minutes) * 60) / HURRY}s`,
  )
  return {
    database: { kill: () => endDatabase(home), start: startDatabase },
    bank: {
      goDown: () => sandbox.stop(),
      comeBack: async () => void (sandbox = await openSandbox({ ...place, port: sandbox.port })),
    },
    server,
    prometheus: await startPrometheus({ url: server.url, token: TOKEN, rules }),
  }
}
