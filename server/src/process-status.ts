import { z } from 'zod'
import type { Context } from './domain/context.ts'

/** What a process tells of itself, for `guiche top` and `guiche doctor`. */
const processStatus = z.object({
  mode: z.enum(['test', 'live']),
  /** How busy the event loop was, from 0 to 1. */
  eventLoop: z.number(),
  memoryBytes: z.number(),
  pool: z.object({ max: z.number(), inUse: z.number(), idle: z.number(), waiting: z.number() }),
  deliveredPerSecond: z.number(),
  providers: z.array(
    z.object({
      name: z.string(),
      breaker: z.enum(['closed', 'half-open', 'open']),
      callsPerSecond: z.number(),
      /** A call succeeded since the process began: only then is a closed breaker a sign that the provider is up. */
      hasAnswered: z.boolean(),
      certificateExpiresAt: z.iso.datetime().nullable(),
    }),
  ),
  forwardedIgnored: z.number(),
  purgeFailing: z.array(z.object({ step: z.string(), seconds: z.number() })),
  workers: z.array(z.object({ name: z.string(), lastRoundAt: z.iso.datetime() })).default([]),
})

export type ProcessStatus = z.infer<typeof processStatus>

/** Undefined if another version wrote it. */
export function readProcessStatus(stored: object | null): ProcessStatus | undefined {
  return processStatus.safeParse(stored).data
}

export function makeProcessStatus(ctx: Context): () => Promise<ProcessStatus> {
  let lastLoop = performance.eventLoopUtilization()
  let last = { atMs: ctx.now().getTime(), delivered: 0, calls: new Map<string, number>() }
  const failingSinceMs = new Map<string, number>()
  return async () => {
    const loop = performance.eventLoopUtilization()
    const counted = { atMs: ctx.now().getTime(), ...(await readCounts(ctx)) }
    const seconds = Math.max(0.001, (counted.atMs - last.atMs) / 1000)
    const { pool, settings } = ctx
    const status: ProcessStatus = {
      mode: settings.mode,
      eventLoop: performance.eventLoopUtilization(loop, lastLoop).utilization,
      memoryBytes: process.memoryUsage.rss(),
      pool: {
        max: pool.options.max,
        inUse: pool.totalCount - pool.idleCount,
        idle: pool.idleCount,
        waiting: pool.waitingCount,
      },
      deliveredPerSecond: (counted.delivered - last.delivered) / seconds,
      providers: ctx.providers.map(({ name, health, certificateExpiresAt }) => ({
        name,
        breaker: health().breaker,
        callsPerSecond: ((counted.calls.get(name) ?? 0) - (last.calls.get(name) ?? 0)) / seconds,
        hasAnswered: health().lastSuccessAt !== null,
        certificateExpiresAt: certificateExpiresAt?.toISOString() ?? null,
      })),
      forwardedIgnored: (await ctx.metrics.forwardedIgnored.get()).values[0]?.value ?? 0,
      purgeFailing: await readPurgeFailing(ctx, failingSinceMs),
      workers: await readWorkers(ctx),
    }
    lastLoop = loop
    last = counted
    return status
  }
}

async function readCounts({ metrics }: Context): Promise<{ delivered: number; calls: Map<string, number> }> {
  const attempts = await metrics.webhookSeconds.get()
  const counts = attempts.values.filter(({ metricName }) => metricName?.endsWith('_count'))
  const calls = new Map<string, number>()
  for (const { metricName, labels, value } of (await metrics.providerSeconds.get()).values) {
    const { provider = '', outcome } = labels
    if (metricName?.endsWith('_count') && outcome !== 'withheld')
      calls.set(String(provider), (calls.get(String(provider)) ?? 0) + value)
  }
  return { delivered: counts.find(({ labels }) => labels.outcome === 'delivered')?.value ?? 0, calls }
}

/** `sinceMs` remembers since when a step fails. */
async function readPurgeFailing(
  { metrics, now }: Context,
  sinceMs: Map<string, number>,
): Promise<ProcessStatus['purgeFailing']> {
  const nowMs = now().getTime()
  const steps = (await metrics.purgeFailing.get()).values.map(({ labels, value }) => ({
    step: String(labels.step),
    isFailing: value === 1,
  }))
  return steps.flatMap(({ step, isFailing }) => {
    if (!isFailing) {
      sinceMs.delete(step)
      return []
    }
    const beganMs = sinceMs.get(step) ?? nowMs
    sinceMs.set(step, beganMs)
    return [{ step, seconds: Math.floor((nowMs - beganMs) / 1000) }]
  })
}

async function readWorkers({ metrics }: Context): Promise<ProcessStatus['workers']> {
  const { values } = await metrics.workerRound.get()
  return values.map(({ labels, value }) => ({
    name: String(labels.worker),
    lastRoundAt: new Date(value * 1000).toISOString(),
  }))
}
