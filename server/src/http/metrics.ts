import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../base/metrics.ts'
import { answerForAll } from '../process/sibling-metrics.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { readFreeBytes } from '../base/free-bytes.ts'
import { isDiskFull } from '../db/pool.ts'
import { databaseTrouble } from '../db/ready.ts'
import { unavailable } from '../db/tx.ts'
import type { Context } from '../domain/context.ts'
import { EXCEPTION_KINDS } from '../domain/refunds/exceptions.ts'
import { METRICS_SCOPE } from '../domain/accounts/callers.ts'
import type { ProviderHealth } from '../domain/ports/provider.ts'
import { readGauges, type Gauges } from '../domain/reports/gauges.ts'
import { METRICS_PATH } from './auth/api-key-auth.ts'
import type { Load } from './server/backpressure.ts'
import { SIGN_IN_OUTCOMES } from './auth/sign-in-attempts.ts'

// The database is read at most once a second, however many scrape.
const FRESH_MS = 1_000
// Prometheus gives up after 10 s by default, and siblings after 5 s. A database that works takes milliseconds.
const READ_WITHIN_MS = 3_000

const BREAKER_STATES: ProviderHealth['breaker'][] = ['closed', 'half-open', 'open']

/** `home`: of the embedded database, if that is used. */
export type Measured = { load: Load; home?: string | undefined }

type Read = Gauges & { isFull: boolean; freeBytes: number | undefined }

/** For Prometheus, with METRICS_TOKEN or an operator's key of the scope metrics:read. */
export function metricsRoutes(app: FastifyInstance, ctx: Context, { load, home }: Measured): void {
  let reading: Promise<Read> | undefined
  let readAt: Date | undefined

  const answer = answerForAll(async () => {
    await refresh()
    beginAtZero(ctx)
    setOwn(ctx, load)
    return ctx.metrics.registry.metrics()
  })

  app.get(
    METRICS_PATH,
    { schema: { hide: true }, config: { scope: METRICS_SCOPE, isReserved: true } },
    async (_request, reply) => {
      reply.type(ctx.metrics.registry.contentType).header('cache-control', 'no-store')
      return answer()
    },
  )

  async function refresh(): Promise<void> {
    const now = ctx.now()
    if (readAt && Math.abs(now.getTime() - readAt.getTime()) < FRESH_MS) return
    try {
      setGauges(ctx.metrics, now, await withTimeLimit(read(), READ_WITHIN_MS, late))
      ctx.metrics.databaseUp.set(1)
    } catch (err) {
      ctx.log.warn({ err }, 'reading the database for /metrics failed')
      ctx.metrics.databaseUp.set(0)
      // Old values would look current: one process that lost its connection would keep an alert firing, or start one.
      ctx.metrics.forgetRead()
    }
    readAt = now
  }

  /** One at a time: a frozen database must not take one connection more with each scrape. */
  function read(): Promise<Read> {
    return (reading ??= readAll().finally(() => (reading = undefined)))
  }

  async function readAll(): Promise<Read> {
    const names = ctx.providers.map((provider) => provider.name)
    const gauges = await readGauges(ctx, names)
    const isFull = isDiskFull(ctx.pool) && (await databaseTrouble(ctx.pool)) !== undefined
    return { ...gauges, isFull, freeBytes: home ? await readFreeBytes(home) : undefined }
  }

  function late(): Error {
    return unavailable(ctx.pool, new Error(`no answer for /metrics within ${READ_WITHIN_MS / 1000} s`))
  }
}

/** A series that starts at its first event shows no rate for it, so all start at zero. */
function beginAtZero({ metrics, providers }: Context): void {
  for (const kind of EXCEPTION_KINDS) metrics.exceptionsOpened.inc({ kind }, 0)
  for (const state of ['opened', 'completed', 'expired', 'canceled', 'failed']) metrics.deposits.inc({ state }, 0)
  for (const outcome of ['credited', 'suspense']) metrics.payments.inc({ outcome }, 0)
  for (const outcome of SIGN_IN_OUTCOMES) metrics.signIns.inc({ outcome }, 0)
  for (const { name: provider } of providers) {
    metrics.unread.inc({ provider }, 0)
    metrics.paymentsDuplicate.inc({ provider }, 0)
    for (const result of ['accepted', 'wrong_secret', 'wrong_signature', 'unreadable'])
      metrics.notifications.inc({ provider, result }, 0)
  }
}

function setOwn({ metrics, pool, providers, clock, settings }: Context, load: Load): void {
  metrics.reconcileInterval.set(settings.reconcileSeconds)
  metrics.clockOffset.set(clock.offsetMs() / 1000)
  metrics.inFlight.set(load.inFlight)
  metrics.poolSize.set(pool.options.max)
  metrics.connections.set({ state: 'in_use' }, pool.totalCount - pool.idleCount)
  metrics.connections.set({ state: 'idle' }, pool.idleCount)
  metrics.connections.set({ state: 'waiting' }, pool.waitingCount)
  for (const { name: provider, health, certificateExpiresAt } of providers) {
    const { breaker, lastSuccessAt } = health()
    for (const state of BREAKER_STATES) metrics.breaker.set({ provider, state }, state === breaker ? 1 : 0)
    // During an outage the breaker is half-open again and again. Counted as up, that would end every alert.
    metrics.providerUp.set({ provider }, breaker === 'closed' ? 1 : 0)
    metrics.providerSuccess.set({ provider }, secondsOf(lastSuccessAt))
    if (certificateExpiresAt) metrics.certificateExpires.set({ provider }, secondsOf(certificateExpiresAt))
  }
}

function setGauges(metrics: Metrics, now: Date, gauges: Read): void {
  // Signed: a cursor in the future must not look like one that is perfectly fresh.
  const age = (since: Date | null) => (since === null ? 0 : secondsOf(now) - secondsOf(since))
  for (const kind of EXCEPTION_KINDS) {
    const open = gauges.exceptionsOpen.find((exceptions) => exceptions.kind === kind)
    metrics.exceptionsOpen.set({ kind }, open?.count ?? 0)
  }
  for (const { kind, cents } of gauges.ledger) metrics.ledger.set({ account: kind }, cents)
  for (const { provider, sweptUntil, closedUntil, differenceCount } of gauges.sweeps) {
    metrics.sweepAge.set({ provider }, age(sweptUntil))
    metrics.closedUntil.set({ provider }, secondsOf(closedUntil))
    metrics.closingDifferences.set({ provider }, differenceCount ?? 0)
  }
  for (const { provider, lastAt, paymentsSince } of gauges.notifications) {
    metrics.lastNotification.set({ provider }, secondsOf(lastAt))
    metrics.unnotifiedPayments.set({ provider }, paymentsSince)
  }
  for (const [queue, { due, oldest }] of Object.entries(gauges.queues)) {
    metrics.queueDue.set({ queue }, due)
    metrics.queueAge.set({ queue }, age(oldest))
  }
  metrics.queueDue.set({ queue: 'failing_deliveries' }, gauges.failingDeliveries)
  for (const [state, count] of Object.entries(gauges.webhooks)) metrics.webhooks.set({ state }, count)
  setDatabase(metrics, gauges)
}

function setDatabase(metrics: Metrics, { isFull, freeBytes, lastBackupAt, database }: Read): void {
  metrics.databaseWritable.set(database.isWritable && !isFull ? 1 : 0)
  metrics.databaseBytes.set(database.bytes)
  // The lag of a standby that is gone would stay.
  metrics.replicationLag.remove()
  if (database.replicationLagSeconds !== null) metrics.replicationLag.set(database.replicationLagSeconds)
  if (freeBytes !== undefined) metrics.diskFree.set(freeBytes)
  // Backups of another database than the embedded one are known only if they are recorded.
  if (freeBytes !== undefined || lastBackupAt !== null) metrics.lastBackup.set(secondsOf(lastBackupAt))
}

function secondsOf(at: Date | null): number {
  return at === null ? 0 : at.getTime() / 1000
}
