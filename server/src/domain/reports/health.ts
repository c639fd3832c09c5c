import { readFreeBytes } from '../../base/free-bytes.ts'
import { withTimeLimit } from '../../base/time-limit.ts'
import { isDiskFull } from '../../db/pool.ts'
import { readRunning, type Running } from '../../db/presence.ts'
import type { Context } from '../context.ts'
import type { Settings } from '../core/settings.ts'
import { readHeadState, type HeadState } from '../history/heads.ts'
import type { Provider, ProviderHealth } from '../ports/provider.ts'
import { readGauges, type Gauges } from './gauges.ts'
import { healthLine, worstOf, type HealthLevel, type HealthLine } from './health-bounds.ts'

// Is everything in order? From what the metrics are made of, with the bounds of the alerts.

// As long as a scrape waits for the database.
const READ_WITHIN_MS = 3_000

export type HealthProcess = Omit<Running, 'status' | 'instance'> & { pool: Connections | null }
export type Health = { level: HealthLevel; at: Date; lines: HealthLine[]; processes: HealthProcess[] }

type Read = { gauges: Gauges; heads: HeadState; running: Running[]; freeBytes: number | undefined }

type Connections = { max: number; inUse: number; idle: number; waiting: number }

/** What a process tells of itself. Another version may tell other things. */
type Told = {
  providers?: { name: string; breaker: ProviderHealth['breaker'] }[]
  workers?: { name: string; lastRoundAt: string }[]
  purgeFailing?: { step: string; seconds: number }[]
  pool?: Connections
}

/** `home`: of the embedded database, if that is used. */
export async function readHealth(ctx: Context, home: string | undefined): Promise<Health> {
  const now = ctx.now()
  const read = await withTimeLimit(readAll(ctx, home), READ_WITHIN_MS, () => new Error('the database is slow')).catch(
    (err: unknown) => {
      ctx.log.warn({ err }, 'reading the database for the health page failed')
      return undefined
    },
  )
  const others = (read?.running ?? []).filter(({ instance }) => instance !== ctx.instance)
  const serving = (read?.running ?? []).filter(({ role }) => role !== 'command')
  const lines = [
    ...(read ? moneyLines(read.gauges, now) : []),
    ...(await providerLines(ctx, others, now)),
    ...(read ? [...listLines(ctx, read.gauges, now), ...queueLines(read.gauges, now)] : []),
    ...(await workerLines(ctx, serving, now)),
    ...databaseLines(ctx, read, others, now),
    ...(read ? headLines(ctx, read.heads, now) : []),
    ...processLines(ctx, serving, now),
  ]
  const processes = serving.map(({ role, host, version, startedAt, status }) => {
    return { role, host, version, startedAt, pool: toldBy(status).pool ?? null }
  })
  return { level: worstOf(lines), at: now, lines, processes }
}

async function readAll(ctx: Context, home: string | undefined): Promise<Read> {
  const gauges = await readGauges(
    ctx,
    ctx.providers.map(({ name }) => name),
  )
  const heads = await readHeadState(ctx)
  return {
    gauges,
    heads,
    running: await readRunning(ctx.pool),
    freeBytes: home ? await readFreeBytes(home) : undefined,
  }
}

function toldBy(status: object | null): Told {
  return status ?? {}
}

function ageOf(at: Date, now: Date): number {
  return Math.round((now.getTime() - at.getTime()) / 1000)
}

function ageOrNull(at: Date | null, now: Date): number | null {
  return at === null ? null : ageOf(at, now)
}

function moneyLines({ ledger, exceptionsOpen, sweeps }: Gauges, now: Date): HealthLine[] {
  const count = exceptionsOpen.reduce((sum, open) => sum + open.count, 0)
  const oldestMs = Math.min(...exceptionsOpen.map(({ oldest }) => oldest.getTime()))
  return [
    healthLine('money_missing', ledger.find(({ kind }) => kind === 'missing')?.cents ?? 0),
    healthLine('exceptions_open', count === 0 ? 0 : ageOf(new Date(oldestMs), now), { count }),
    ...sweeps.flatMap(({ provider: subject, closedUntil, differenceCount }) => [
      healthLine('closing_differences', differenceCount, { subject }),
      healthLine('closing_age', ageOrNull(closedUntil, now), { subject }),
    ]),
  ]
}

async function providerLines(ctx: Context, others: Running[], now: Date): Promise<HealthLine[]> {
  const { values } = await ctx.metrics.providerSeconds.get()
  return ctx.providers.flatMap((provider) => {
    const { name: subject, certificateExpiresAt } = provider
    const told = others.flatMap(({ status }) => toldBy(status).providers?.filter(({ name }) => name === subject) ?? [])
    const calls = values.filter(({ labels }) => labels.provider === subject && labels.outcome !== 'withheld')
    const sumOf = (end: '_count' | '_sum', outcome?: string) =>
      calls
        .filter(({ metricName, labels }) => metricName?.endsWith(end) && labels.outcome === (outcome ?? labels.outcome))
        .reduce((sum, { value }) => sum + value, 0)
    const count = sumOf('_count')
    return [
      breakerLine(provider, told),
      successLine(provider, now),
      healthLine('provider_errors', count === 0 ? null : sumOf('_count', 'failed') / count, { subject, count }),
      healthLine('provider_latency', count === 0 ? null : sumOf('_sum') / count, { subject }),
      ...(certificateExpiresAt
        ? [healthLine('provider_certificate', -ageOf(certificateExpiresAt, now), { subject })]
        : []),
    ]
  })
}

function breakerLine({ name: subject, health }: Provider, told: { breaker: ProviderHealth['breaker'] }[]): HealthLine {
  const own = health()
  const breakers = [own, ...told]
  const open = breakers.filter(({ breaker }) => breaker !== 'closed').length
  const detail = open === 0 ? null : own.lastError
  return healthLine('provider_breaker', open, { subject, detail, over: { red: breakers.length - 1 } })
}

/** As this process sees it: one that asks a provider seldom says little. */
function successLine({ name: subject, health }: Provider, now: Date): HealthLine {
  const { lastError, lastErrorAt, lastSuccessAt } = health()
  const isFailing = lastErrorAt !== null && (lastSuccessAt === null || lastErrorAt > lastSuccessAt)
  const detail = isFailing ? lastError : null
  const given = { subject, detail, isFine: !isFailing, unknown: isFailing ? 'yellow' : 'green' } as const
  return healthLine('provider_success', ageOrNull(lastSuccessAt, now), given)
}

function listLines({ settings }: Context, { sweeps, notifications }: Gauges, now: Date): HealthLine[] {
  const { reconcileSeconds } = settings
  // With RECONCILE_SECONDS of 0 nobody reads the lists.
  const over = reconcileSeconds > 0 ? { red: 2 * reconcileSeconds + 480 } : {}
  return [
    ...sweeps.map(({ provider: subject, sweptUntil }) =>
      healthLine('list_read', ageOf(sweptUntil, now), { subject, over }),
    ),
    ...notifications.map(({ provider: subject, paymentsSince }) =>
      healthLine('notifications_missing', paymentsSince, { subject }),
    ),
  ]
}

function queueLines({ queues, refundsInDoubt, webhooks }: Gauges, now: Date): HealthLine[] {
  const age = (oldest: Date | null) => (oldest === null ? 0 : ageOf(oldest, now))
  return [
    ...Object.entries(queues).map(([subject, { due: count, oldest }]) =>
      healthLine('queue', age(oldest), { subject, count }),
    ),
    healthLine('refunds_in_doubt', age(refundsInDoubt.oldest), { count: refundsInDoubt.due }),
    healthLine('webhooks_failing', webhooks.failing, { over: { yellow: webhooks.working === 0 ? 0 : 2 } }),
  ]
}

async function workerLines(ctx: Context, serving: Running[], now: Date): Promise<HealthLine[]> {
  const working = serving.filter(({ role }) => role === 'all' || role === 'worker')
  const own = (await ctx.metrics.workerRound.get()).values
  const rounds = [
    ...own.map(({ labels, value }) => ({ name: String(labels.worker), atMs: value * 1000 })),
    ...serving
      .flatMap(({ status }) => toldBy(status).workers ?? [])
      .map(({ name, lastRoundAt }) => ({ name, atMs: Date.parse(lastRoundAt) })),
  ]
  const newest = new Map<string, number>()
  for (const { name, atMs } of rounds) newest.set(name, Math.max(atMs, newest.get(name) ?? atMs))
  // Old rows stay only if no process can delete them.
  const failing = working.map(({ status }) => toldBy(status).purgeFailing ?? [])
  const steps = (failing[0] ?? []).filter(({ step }) => failing.every((all) => all.some((one) => one.step === step)))
  return [
    ...(serving.length === 0 ? [] : [healthLine('workers', working.length > 0 ? 1 : 0)]),
    ...[...newest].map(([subject, atMs]) => healthLine('worker_round', ageOf(new Date(atMs), now), { subject })),
    ...steps.map(({ step: subject, seconds }) => healthLine('purge_failing', seconds, { subject })),
  ]
}

function databaseLines(
  { pool, settings }: Context,
  read: Read | undefined,
  others: Running[],
  now: Date,
): HealthLine[] {
  const pools = [
    { idle: pool.idleCount, waiting: pool.waitingCount },
    ...others.flatMap(({ status }) => toldBy(status).pool ?? []),
  ]
  const waiting = pools.filter(({ idle }) => idle === 0).reduce((sum, one) => sum + one.waiting, 0)
  const own = [healthLine('database_answers', read ? 1 : 0), healthLine('pool_waiting', waiting)]
  if (!read) return own
  const { isWritable, bytes, replicationLagSeconds, oldestTransactionSeconds } = read.gauges.database
  return [
    ...own,
    healthLine('database_writable', isWritable && !isDiskFull(pool) ? 1 : 0),
    healthLine('oldest_transaction', Math.round(oldestTransactionSeconds)),
    ...(replicationLagSeconds === null ? [] : [healthLine('replication_lag', replicationLagSeconds)]),
    healthLine('database_size', bytes),
    ...(read.freeBytes === undefined ? [] : [healthLine('disk_free', read.freeBytes)]),
    ...backupLines(settings, read, now),
  ]
}

/** Of another database than the embedded one, backups are known only if they are recorded. */
function backupLines({ backups }: Settings, { gauges, freeBytes }: Read, now: Date): HealthLine[] {
  const { lastBackupAt } = gauges
  if (freeBytes === undefined && lastBackupAt === null && !backups.isExpected) return []
  const over = { yellow: backups.maxHours * 3_600 }
  return [healthLine('backup_age', ageOrNull(lastBackupAt, now), { unknown: 'yellow', over })]
}

function headLines({ settings }: Context, { waitsSince, unwitnessedSince }: HeadState, now: Date): HealthLine[] {
  const age = (since: Date | null) => (since === null ? 0 : ageOf(since, now))
  return [
    healthLine('head_unsigned', age(waitsSince)),
    ...(settings.witness ? [healthLine('head_unwitnessed', age(unwitnessedSince))] : []),
  ]
}

function processLines({ clock }: Context, serving: Running[], now: Date): HealthLine[] {
  const began = new Map<string, number>()
  for (const { version, startedAt } of serving)
    began.set(version, Math.min(startedAt.getTime(), began.get(version) ?? Infinity))
  const differSince = began.size > 1 ? new Date(Math.max(...began.values())) : now
  return [
    healthLine('processes', serving.length),
    healthLine('clock_offset', Math.abs(clock.offsetMs()) / 1000),
    healthLine('versions', ageOf(differSince, now), { count: began.size }),
  ]
}
