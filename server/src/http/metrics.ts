import type { FastifyInstance } from 'fastify'
import type { Meters } from '../base/meters.ts'
import { makeSharedCall } from '../base/shared-call.ts'
import type { Context } from '../domain/context.ts'
import { EXCEPTION_KINDS } from '../domain/exceptions.ts'
import { METRICS_SCOPE } from '../domain/key-cache.ts'
import type { ProviderHealth } from '../domain/provider.ts'
import { readStanding, type Standing } from '../domain/standing.ts'
import { METRICS_PATH } from './auth.ts'
import type { Load } from './load.ts'
import { SIGN_IN_OUTCOMES } from './sign-in-attempts.ts'

// However many scrape, the database is asked about once a second.
const FRESH_MS = 1_000

const BREAKER_STATES: ProviderHealth['breaker'][] = ['closed', 'half-open', 'open']

/** Every answer, by the pattern of its route and never by its address: keys, secrets of callbacks and payment links stand in addresses. */
export function measureAnswers(app: FastifyInstance, { meters }: Context): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const status = `${Math.floor(reply.statusCode / 100)}xx`
    meters.httpSeconds.observe({ method: request.method, route, status }, reply.elapsedTime / 1000)
    done()
  })
}

/** For Prometheus, which comes with an operator's key that may read this and nothing else. */
export function metricsRoutes(app: FastifyInstance, ctx: Context, load: Load): void {
  const share = makeSharedCall<void>()
  let readAt: Date | undefined

  app.get(METRICS_PATH, { schema: { hide: true }, config: { scope: METRICS_SCOPE } }, async (_request, reply) => {
    const { meters } = ctx
    await share('standing', refresh)
    beginAtZero(ctx)
    setOwn(ctx, load)
    reply.type(meters.registry.contentType).header('cache-control', 'no-store')
    return meters.registry.metrics()
  })

  async function refresh(): Promise<void> {
    const now = ctx.now()
    if (readAt && Math.abs(now.getTime() - readAt.getTime()) < FRESH_MS) return
    try {
      setStanding(ctx.meters, now, await readStanding(ctx))
      ctx.meters.databaseUp.set(1)
    } catch (err) {
      // What this process counted is worth telling all the more.
      ctx.log.warn({ err }, 'the database could not be read for the metrics')
      ctx.meters.databaseUp.set(0)
    }
    readAt = now
  }
}

/** Else the first of a kind would come out of nowhere, and no rate would show it. */
function beginAtZero({ meters, providers }: Context): void {
  for (const kind of EXCEPTION_KINDS) meters.exceptionsOpened.inc({ kind }, 0)
  for (const state of ['opened', 'completed', 'expired', 'canceled', 'failed']) meters.deposits.inc({ state }, 0)
  for (const outcome of ['credited', 'suspense']) meters.payments.inc({ outcome }, 0)
  for (const outcome of SIGN_IN_OUTCOMES) meters.signIns.inc({ outcome }, 0)
  for (const { name: provider } of providers) {
    meters.unread.inc({ provider }, 0)
    for (const result of ['accepted', 'wrong_secret', 'wrong_signature', 'unreadable'])
      meters.notifications.inc({ provider, result }, 0)
  }
}

function setOwn({ meters, pool, providers, clock }: Context, load: Load): void {
  meters.clockOffset.set(clock.offsetMs() / 1000)
  meters.inFlight.set(load.inFlight)
  meters.connections.set({ state: 'in_use' }, pool.totalCount - pool.idleCount)
  meters.connections.set({ state: 'idle' }, pool.idleCount)
  meters.connections.set({ state: 'waiting' }, pool.waitingCount)
  for (const { name: provider, health } of providers) {
    const { breaker, lastSuccessAt } = health()
    for (const state of BREAKER_STATES) meters.breaker.set({ provider, state }, state === breaker ? 1 : 0)
    meters.providerUp.set({ provider }, breaker === 'open' ? 0 : 1)
    meters.providerSuccess.set({ provider }, secondsOf(lastSuccessAt))
  }
}

function setStanding(meters: Meters, now: Date, standing: Standing): void {
  // Signed: a cursor in the future must not look like one that is perfectly fresh.
  const age = (since: Date | null) => (since === null ? 0 : secondsOf(now) - secondsOf(since))
  for (const kind of EXCEPTION_KINDS) {
    const open = standing.exceptionsOpen.find((one) => one.kind === kind)
    meters.exceptionsOpen.set({ kind }, open?.count ?? 0)
  }
  for (const { kind, cents } of standing.ledger) meters.ledger.set({ account: kind }, cents)
  for (const { provider, sweptUntil, closedUntil, differenceCount } of standing.sweeps) {
    meters.sweepAge.set({ provider }, age(sweptUntil))
    meters.closedUntil.set({ provider }, secondsOf(closedUntil))
    meters.closingDifferences.set({ provider }, differenceCount ?? 0)
  }
  for (const { provider, lastAt, paymentsSince } of standing.notifications) {
    meters.lastNotification.set({ provider }, secondsOf(lastAt))
    meters.unnotifiedPayments.set({ provider }, paymentsSince)
  }
  for (const [queue, { due, oldest }] of Object.entries(standing.queues)) {
    meters.queueDue.set({ queue }, due)
    meters.queueAge.set({ queue }, age(oldest))
  }
  for (const [state, count] of Object.entries(standing.endpoints)) meters.endpoints.set({ state }, count)
}

function secondsOf(at: Date | null): number {
  return at === null ? 0 : at.getTime() / 1000
}
