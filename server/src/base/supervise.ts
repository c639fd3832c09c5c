import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { relayMetrics } from './sibling-metrics.ts'
import { onStopSignal } from './stop-signals.ts'

// Several processes of the service on one machine, which share its port by node:cluster.

/** A process that dies is replaced after this long… */
const RESTART_FIRST_MS = 1_000
/** …and after twice as long each time it dies soon again, up to this. */
const RESTART_MAX_MS = 30_000
/** A process that lived for this long starts from the first pause again. */
const STEADY_MS = 60_000

type Say = (line: string) => void

/** True in a process that another one supervises. Its parent has seen that the port is free. */
export function isSupervised(): boolean {
  return cluster.isWorker
}

/** The first of the processes says what is for the operator: the parent waits until it listens before it forks more. */
export function isSpokesman(): boolean {
  return cluster.worker?.id === 1
}

/**
 * Runs this program `count` times, replaces processes that die, and passes stop signals on. Resolves when all have
 * ended, to the exit code. A first process that cannot start has said why, and nothing else is tried.
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

/** Processes are numbered from 1. One that replaces another has its number, so that its metrics continue the series. */
function makePlaces() {
  const places = new Map<number, string>()
  return {
    fork(place: number): Worker {
      const worker = cluster.fork()
      closeUnaccepted(worker)
      places.set(worker.id, String(place))
      worker.once('exit', () => places.delete(worker.id))
      return worker
    },
    placeOf: ({ id }: Worker) => places.get(id) ?? 'gone',
  }
}

/**
 * The parent accepts connections and sends each to a process. It keeps its handle of a connection until the process
 * acknowledges it. If the process is killed first, Node never closes that handle, and the client hangs. Node emits no
 * event for this, so we watch the messages to the process (lib/internal/cluster/round_robin_handle.js in Node).
 */
function closeUnaccepted(worker: Worker): void {
  const child = worker.process
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  let latest: { close(): void } | undefined
  child.send = (...args: unknown[]) => {
    const [message, handle] = args as [{ act?: string } | undefined, { close(): void } | undefined]
    if (message?.act === 'newconn') latest = handle
    return send(...args)
  }
  // One at a time is unacknowledged. Those before are closed already, and closing a handle twice does nothing.
  worker.once('exit', () => latest?.close())
}

/** Undefined when it listens; its exit code if it ends before. */
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

/** A process that is stopped while it starts ends by the signal itself, without a code: it had nothing to finish. */
function ended(worker: Worker): Promise<number> {
  const codeOf = (code: number | null, signal: string | null) =>
    code ?? (signal === 'SIGTERM' || signal === 'SIGINT' ? 0 : 1)
  const { exitCode, signalCode } = worker.process
  if (worker.isDead()) return Promise.resolve(codeOf(exitCode, signalCode))
  return new Promise((resolve) => worker.once('exit', (code, signal) => resolve(codeOf(code, signal))))
}
