import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { query } from '../src/db/tx.ts'
import { requestPayout } from '../src/domain/payouts/payouts.ts'
import {
  HEALTH_CHECK_NAMES,
  HEALTH_CHECKS,
  healthLine,
  type Bound,
  type HealthLine,
} from '../src/domain/reports/health-bounds.ts'
import { readHealth } from '../src/domain/reports/health.ts'
import { readOpenDeposits, readOpenWork } from '../src/domain/reports/open-work.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { startLoop } from '../src/workers/loop.ts'
import { ask, makeOperator } from './operators-client.ts'
import { completedCharge, OPERATOR, settleAll, strayPayment } from './refund-steps.ts'
import { until, world, type World } from './world.ts'

// ---- Bounds ----

type Rule = { alert: string; expr: string; for?: string; labels: { severity: 'page' | 'ticket' } }
const ALERTS = new URL('../../deploy/prometheus/alerts.yaml', import.meta.url)
const rules = (parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)

test('what pages is red, what waits is yellow, and both have the bounds of the alerts', () => {
  const wrong: string[] = []
  const bounds = HEALTH_CHECK_NAMES.flatMap((name) =>
    HEALTH_CHECKS[name].bounds.map((bound: Bound) => ({ name, bound })),
  )
  for (const { name, bound } of bounds) {
    const rule = rules.find(({ alert }) => alert === bound.alert)
    if (bound.alert === undefined) continue
    if (rule?.labels.severity !== (bound.level === 'red' ? 'page' : 'ticket')) wrong.push(`${name}: severity`)
    const limit = bound.over ?? bound.under
    if (rule && limit !== undefined && !boundsOf(rule).includes(limit)) wrong.push(`${name}: ${limit}`)
  }
  expect(wrong).toEqual([])
  expect(bounds.filter(({ bound }) => bound.alert).length).toBeGreaterThan(20)
  expect(boundsOf(rules.find(({ alert }) => alert === 'GuicheReconciliationBehind')!)).toContain(480)
})

/** The numbers that a rule compares with, as bounds that are passed, and how long it waits. */
function boundsOf({ expr, for: wait }: Rule): number[] {
  const compared = [...expr.matchAll(/([<>]=?|==|\+) (-?[\d.e]+(?: \* \d+)?)/g)].flatMap(([, operator, text]) => {
    const number = text!.split(' * ').reduce((product, factor) => product * Number(factor), 1)
    if (operator === '==') return [number, number + 1]
    return operator === '>=' ? [number - 1] : [number]
  })
  const [, count, unit] = /^(\d+)([mh])$/.exec(wait ?? '') ?? []
  return count === undefined ? compared : [...compared, Number(count) * (unit === 'h' ? 3_600 : 60)]
}

test('a line has the level of the first bound that it passes', () => {
  const levels = (name: HealthLine['check'], values: (number | null)[]) =>
    values.map((value) => healthLine(name, value).level)
  expect(levels('queue', [0, 300, 301])).toEqual(['green', 'green', 'red'])
  expect(levels('provider_certificate', [-1, 6 * 86_400, 8 * 86_400, 31 * 86_400])).toEqual([
    'red',
    'red',
    'yellow',
    'green',
  ])
  expect(levels('closing_age', [null, 36 * 3_600 + 1])).toEqual(['green', 'yellow'])
  expect(healthLine('provider_breaker', 2, { over: { red: 1 } })).toMatchObject({
    level: 'red',
    alert: 'GuicheProviderDown',
  })
  expect(healthLine('provider_breaker', 1, { over: { red: 2 } })).toMatchObject({ level: 'yellow', bound: 0 })
})

// ---- What turns red ----

test('a service where nothing is wrong is green, and says so to operators alone', async () => {
  const w = await world()
  const account = await w.account()
  await w.deposit(account)
  const { key } = await makeOperator(w)
  const { status, body } = await ask(w, key, 'GET', 'health')
  expect([status, body.level]).toEqual([200, 'green'])
  expect(body.lines).toContainEqual({
    area: 'queues',
    check: 'queue',
    subject: 'deliveries',
    level: 'green',
    value: 0,
    unit: 'seconds',
    bound: 300,
    count: 0,
    alert: 'GuicheQueueLate',
    detail: null,
  })
  expect((await ask(w, account.key, 'GET', 'health')).status).toBe(403)
})

test('a provider that answers 500 turns red when its breaker opens, with its last error, and green again', async () => {
  const w = await world()
  const account = await w.account()
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  while (w.ctx.providers[0]!.health().breaker !== 'open') await w.deposit(account).catch(() => {})
  expect(await line(w, 'provider_breaker')).toMatchObject({
    subject: 'sandbox',
    level: 'red',
    value: 1,
    detail: expect.stringMatching(/50\d/),
  })
  expect((await line(w, 'provider_errors'))!.value).toBeGreaterThan(0.5)
  await w.sandbox.faults({ errorRate: 0 })
  w.clock.advance(5_000)
  await w.deposit(account)
  expect(await line(w, 'provider_breaker')).toMatchObject({ level: 'green', value: 0, detail: null })

  // One failed call, and none that succeeds for longer than the alert waits.
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  w.clock.advance(301_000)
  expect(await line(w, 'provider_success')).toMatchObject({ level: 'green' })
  await w.deposit(account).catch(() => {})
  expect(await line(w, 'provider_success')).toMatchObject({ level: 'red', value: 301 })
})

test('a worker that has stopped is red after a quarter of an hour, in whichever process it ran last', async () => {
  const w = await world()
  let rounds = 0
  const loop = startLoop(w.ctx, { name: 'tell', idleMs: 60_000, round: async () => (rounds++, 'idle' as const) })
  await until('a round was done', async () => rounds > 0)
  w.clock.advance(60_000)
  loop.wake()
  await until('another round was done', async () => rounds > 1)
  await loop.stop()
  w.clock.advance(15 * 60_000)
  expect(await line(w, 'worker_round')).toMatchObject({ subject: 'tell', level: 'green', value: 900 })
  w.clock.advance(1_000)
  expect(await line(w, 'worker_round')).toMatchObject({ level: 'red', alert: 'GuicheWorkerStopped' })

  // Another process tells of a later round.
  const status = { workers: [{ name: 'tell', lastRoundAt: w.clock.now().toISOString() }] }
  await query(
    w.pool,
    `insert into processes (instance, role, host, version, started_at, leased_until, status, seals)
     values (7, 'worker', 'worker.example', '1.0.0', $1, clock_timestamp() + interval '1 hour', $2, true)`,
    [w.clock.now(), status],
  )
  expect(await line(w, 'worker_round')).toMatchObject({ level: 'green', value: 0 })
  expect(await line(w, 'workers')).toMatchObject({ level: 'green' })
  await query(w.pool, `update processes set role = 'api' where instance = 7`)
  expect(await line(w, 'workers')).toMatchObject({ level: 'red', value: 0 })
})

test('a failing worker is as old as its last success', async () => {
  const w = await world()
  let rounds = 0
  const round = () => (rounds++, Promise.reject(new Error('no')))
  const loop = startLoop(w.ctx, { name: 'tell', idleMs: 60_000, round })
  await until('a round failed', async () => rounds > 0)
  w.clock.advance(16 * 60_000)
  loop.wake()
  await until('another round failed', async () => rounds > 1)
  await loop.stop()
  expect(await line(w, 'worker_round')).toMatchObject({ level: 'red', value: 960 })
})

test('a delivery that waits for longer than five minutes turns its queue red, and one to a failing webhook does not', async () => {
  const w = await world()
  const account = await w.account()
  const fields = { name: 'shop', url: 'https://shop.example/', authorization: null }
  await createWebhook(w.ctx, account.accountId, { ...fields, eventKinds: ['DEPOSIT_ASSET_SUCCESS'] })
  await completedCharge(w, { account })
  w.clock.advance(301_000)
  expect(await line(w, 'queue', 'deliveries')).toMatchObject({ level: 'red', value: 301, count: 1 })
  expect(await line(w, 'queue', 'positions')).toMatchObject({ level: 'red' })
  await w.pool.query('update webhooks set failing_since = now()')
  expect(await line(w, 'queue', 'deliveries')).toMatchObject({ level: 'green', count: 0 })
  // It is the only one, so all fail.
  expect(await line(w, 'webhooks_failing')).toMatchObject({ level: 'yellow', value: 1, bound: 0 })
})

test('an exception that waits for an hour is yellow, and a database that does not answer red', async () => {
  const w = await world()
  await strayPayment(w)
  w.clock.advance(3_600_000)
  expect(await line(w, 'exceptions_open')).toMatchObject({ level: 'green', count: 1 })
  w.clock.advance(1_000)
  expect(await line(w, 'exceptions_open')).toMatchObject({ level: 'yellow', value: 3_601 })
  const doomed = await w.anotherProcess()
  await doomed.die()
  const { level, lines } = await readHealth(doomed.ctx, undefined)
  expect(level).toBe('red')
  expect(lines).toContainEqual(expect.objectContaining({ check: 'database_answers', level: 'red', value: 0 }))
})

// ---- What is open ----

test('operators see how much is open, the oldest first, and account holders what is under review', async () => {
  const w = await world()
  const { account } = await completedCharge(w, { valueCents: 50_00 })
  expect((await readOpenWork(w.ctx, undefined)).items).toEqual([])
  w.clock.advance(1_000)
  await requestPayout(w.ctx, OPERATOR, {
    accountId: account.accountId,
    valueCents: 10_00,
    note: null,
    idempotencyKey: null,
  })
  w.clock.advance(1_000)
  const charge = await w.deposit(account, { valueCents: 75_00 })
  const { pix } = await w.sandbox.pay({ txid: charge.id, amountCents: 73_50 })
  const { endToEndId, horario } = pix[0]!
  const payment = { provider: 'sandbox', endToEndId, txid: charge.id, amountCents: 73_50 }
  await settleAll(w, [{ ...payment, occurredAt: new Date(horario) }])
  const { counts, items } = await readOpenWork(w.ctx, undefined)
  expect(counts).toEqual({ exceptions: 1, payouts: 1, disputes: 0, webhooks: 0, health: 0 })
  expect(items).toMatchObject([
    { kind: 'payout', email: account.email, valueCents: 10_00 },
    { kind: 'exception', what: 'wrong_amount', email: account.email, valueCents: 73_50, since: w.clock.now() },
  ])
  expect(await readOpenDeposits(w.ctx, account.accountId)).toBe(1)
  expect(await readOpenDeposits(w.ctx, (await w.account()).accountId)).toBe(0)
  const session = await w.session(account)
  expect((await session.ask('GET', '/dashboard/api/open')).json()).toMatchObject({ counts: { deposits: 1 } })

  // What is wrong with the service stands before everything else.
  w.clock.advance(301_000)
  const late = await readOpenWork(w.ctx, undefined)
  expect(late.counts.health).toBeGreaterThan(0)
  expect(late.items[0]).toMatchObject({ kind: 'health', id: 'queue', since: null })
})

async function line(w: World, check: HealthLine['check'], subject?: string): Promise<HealthLine | undefined> {
  const { lines } = await readHealth(w.ctx, undefined)
  return lines.find((one) => one.check === check && (subject === undefined || one.subject === subject))
}
