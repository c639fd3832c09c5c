import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { relayMetrics } from './sibling-metrics.ts'
import { onStopSignal } from './stop-signals.ts'

// Several processes of the service share a port by node:cluster. Each accepts connections itself: if the parent handed
// them out, one that a killed process had not accepted would stay open for ever.
cluster.schedulingPolicy = cluster.SCHED_NONE

// The pause before a dead process is replaced doubles each time, until a process has lived for STEADY_MS.
const RESTART_FIRST_MS = 1_000
const RESTART_MAX_MS = 30_000
const STEADY_MS = 60_000

type Say = (line: string) => void

/** True in a process that another one supervises. */
export function isSupervised(): boolean {
  return cluster.isWorker
}

/** True in the process that prints what is for the operator. */
export function isSpokesman(): boolean {
  return cluster.worker?.id === 1
}

/**
 * Runs this program `count` times, replaces processes that die, and passes stop signals on. Resolves to the exit code
 * when all have ended. Gives up if the first process cannot start.
 */
export async function superviseProcesses(
  count: number,
  { say, onReady, onStopping }: { say: Say; onReady: () => Promise<void>; onStopping: () => Promise<void> },
): Promise<number> {
  const stopping = new AbortController()
  const signalAll = (signal: NodeJS.Signals) => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
  }
  const stop = (signal: NodeJS.Signals) => {
    if (!stopping.signal.aborted) {
      say(`\n${signal}: stopping ${count} processes…`)
      void onStopping()
    }
    stopping.abort()
    signalAll(signal)
  }
  // SIGKILL loses nothing: the next start picks up what was under way.
  onStopSignal(stop, () => signalAll('SIGKILL'))
  const { fork, placeOf } = makePlaces()
  relayMetrics(placeOf)
  const first = fork(1)
  const codeOfFirst = await listeningOrEnd(first)
  if (codeOfFirst !== undefined) return codeOfFirst
  await onReady()
  const workers = [first, ...Array.from({ length: count - 1 }, (_, index) => fork(index + 2))]
  const running = workers.map((worker, index) =>
    keepRunning(worker, { say, replace: () => fork(index + 1), signal: stopping.signal }),
  )
  const codes = await Promise.all(running)
  say('Stopped.')
  return Math.max(...codes)
}

/** Numbers processes from 1. A replacement takes over the number, so that its metrics continue the series. */
function makePlaces() {
  const places = new Map<number, string>()
  return {
    fork(place: number): Worker {
      const worker = cluster.fork()
      places.set(worker.id, String(place))
      worker.once('exit', () => places.delete(worker.id))
      return worker
    },
    placeOf: ({ id }: Worker) => places.get(id) ?? 'gone',
  }
}

/** Resolves to undefined when it listens, or to its exit code if it ends before. */
function listeningOrEnd(worker: Worker): Promise<number | undefined> {
  return new Promise((resolve) => {
    worker.once('listening', () => resolve(undefined))
    worker.once('exit', (code) => resolve(code ?? 1))
  })
}

async function keepRunning(
  first: Worker,
  { say, replace, signal }: { say: Say; replace: () => Worker; signal: AbortSignal },
): Promise<number> {
  let pauseMs = RESTART_FIRST_MS
  for (let worker = first; ; worker = replace()) {
    const bornMs = performance.now()
    const code = await ended(worker)
    if (signal.aborted) return code
    if (performance.now() - bornMs > STEADY_MS) pauseMs = RESTART_FIRST_MS
    say(`Process ${worker.process.pid} ended unexpectedly; another one starts in ${pauseMs / 1000} s.`)
    await sleep(pauseMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return 0
    pauseMs = Math.min(pauseMs * 2, RESTART_MAX_MS)
  }
}

/** A process that is stopped while it starts has nothing to finish: it ends by the signal, without a code. */
function ended(worker: Worker): Promise<number> {
  const codeOf = (code: number | null, signal: string | null) =>
    code ?? (signal === 'SIGTERM' || signal === 'SIGINT' ? 0 : 1)
  const { exitCode, signalCode } = worker.process
  if (worker.isDead()) return Promise.resolve(codeOf(exitCode, signalCode))
  return new Promise((resolve) => worker.once('exit', (code, signal) => resolve(codeOf(code, signal))))
}
