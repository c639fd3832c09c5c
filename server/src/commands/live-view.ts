import { readRunning, type Running } from '../db/presence.ts'
import type { Core } from '../domain/core/core.ts'
import { readGauges, readRecent, readToday, type Gauges, type Today } from '../domain/reports/gauges.ts'
import { readProcessStatus } from '../process-status.ts'

export type LiveView = Awaited<ReturnType<ReturnType<typeof makeLiveView>>>
export type LiveProvider = ReturnType<typeof liveProvider>
export type LiveProcess = ReturnType<typeof liveProcess>

// Counting today takes a twentieth of the time at most.
const COUNT_TODAY_EVERY_MS = 2_000
const PAUSE_AFTER_COUNTING = 20

/** How the service does right now, from the database alone. `configured`: shown while no process names others. */
export function makeLiveView(core: Core, configured: string[]) {
  let today: Promise<Today | null> | undefined
  let shown: Today | null = null
  let countAtMs = -Infinity

  async function count(): Promise<Today | null> {
    const beganMs = core.now().getTime()
    // Shows nothing if there is too much to count.
    shown = await readToday(core).catch(() => null)
    const endedMs = core.now().getTime()
    countAtMs = endedMs + Math.max(COUNT_TODAY_EVERY_MS, (endedMs - beganMs) * PAUSE_AFTER_COUNTING)
    return shown
  }

  return async () => {
    const now = core.now()
    const isFirst = today === undefined
    if (now.getTime() >= countAtMs) {
      countAtMs = Infinity
      today = count()
    }
    const processes = (await readRunning(core.pool)).map((running) => liveProcess(running, now))
    const names = [...new Set(processes.flatMap(({ status }) => status?.providers.map(({ name }) => name) ?? []))]
    const gauges = await readGauges(core, names.length > 0 ? names : configured)
    const recent = await readRecent(core)
    if (isFirst) await today
    return {
      at: now,
      /** Null if no process says. */
      mode: processes.find(({ status }) => status)?.status?.mode ?? null,
      perSecond: { ...recent, delivered: deliveredPerSecond(processes) },
      /** Null if there is too much to count. */
      today: shown,
      refundsInDoubt: gauges.refundsInDoubt.due,
      ...fromGauges(gauges, now),
      providers: gauges.notifications.map(({ provider }) => liveProvider(provider, { processes, gauges, now })),
      processes,
    }
  }
}

function fromGauges({ queues, exceptionsOpen, ledger, webhooks }: Gauges, now: Date) {
  const live = ({ due, oldest }: Gauges['queues']['checks']) => ({ due, oldestSeconds: secondsAgo(oldest, now) })
  return {
    queues: { checks: live(queues.checks), deliveries: live(queues.deliveries), refunds: live(queues.refunds) },
    exceptionsOpen: exceptionsOpen.reduce((sum, { count }) => sum + count, 0),
    suspenseCents: ledger.find(({ kind }) => kind === 'suspense')?.cents ?? 0,
    webhooksFailing: webhooks.failing,
  }
}

function liveProcess({ role, host, version, startedAt, status }: Running, now: Date) {
  return { role, host, version, upSeconds: secondsAgo(startedAt, now) ?? 0, status: readProcessStatus(status) ?? null }
}

function deliveredPerSecond(processes: LiveProcess[]): number | null {
  const told = processes.flatMap(({ status }) => (status ? [status.deliveredPerSecond] : []))
  return told.length === 0 ? null : sum(told)
}

function liveProvider(
  name: string,
  { processes, gauges, now }: { processes: LiveProcess[]; gauges: Gauges; now: Date },
) {
  const told = processes.flatMap(({ status }) => status?.providers.filter((provider) => provider.name === name) ?? [])
  const { lastAt = null } = gauges.notifications.find(({ provider }) => provider === name) ?? {}
  const { sweptUntil = null } = gauges.sweeps.find(({ provider }) => provider === name) ?? {}
  return {
    name,
    /** Open breakers out of all. */
    breakersOpen: told.filter(({ breaker }) => breaker !== 'closed').length,
    breakers: told.length,
    callsPerSecond: sum(told.map(({ callsPerSecond }) => callsPerSecond)),
    notifiedSecondsAgo: secondsAgo(lastAt, now),
    listReadSecondsAgo: secondsAgo(sweptUntil, now),
  }
}

function secondsAgo(at: Date | null, now: Date): number | null {
  return at === null ? null : Math.round((now.getTime() - at.getTime()) / 1000)
}

function sum(numbers: number[]): number {
  return numbers.reduce((all, number) => all + number, 0)
}
