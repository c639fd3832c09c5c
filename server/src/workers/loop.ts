import { makeWakeableSleep } from '../base/lane.ts'
import type { Core } from '../domain/core/core.ts'

export type Loop = {
  /** Starts the next round now: something is due. */
  wake(): void
  /** Resolves when the current round is done. */
  stop(): Promise<void>
}

// After a failed round. The database or the provider is down, and retrying faster does not help.
const PAUSE_AFTER_FAILURE_MS = 1_000

/**
 * Repeats rounds that claim, do and record. After 'more' the next round starts at once. While this machine's clock
 * differs from the database's, no round starts: processes with a correct clock do the work.
 */
export function startLoop(
  { clock, log, metrics }: Pick<Core, 'clock' | 'log' | 'metrics'>,
  options: { name: string; idleMs: number; round: () => Promise<'more' | 'idle'> },
): Loop {
  const pause = makeWakeableSleep()
  const stopping = new AbortController()
  let isAwake = false
  // A worker that never succeeds is told by how long it has run.
  const noteRound = () => metrics.workerRound.set({ worker: options.name }, clock.now().getTime() / 1000)
  noteRound()

  async function run() {
    while (!stopping.signal.aborted) {
      const pauseMs = await oneRound()
      if (pauseMs > 0 && !isAwake) await pause.sleep(pauseMs)
      // A wake during the round counts too: that round may have read the queue before the new row was committed.
      isAwake = false
    }
  }

  async function oneRound(): Promise<number> {
    if (!clock.agrees()) return Math.max(options.idleMs, PAUSE_AFTER_FAILURE_MS)
    try {
      const next = await options.round()
      noteRound()
      return next === 'more' ? 0 : options.idleMs
    } catch (error) {
      log.error({ err: error, worker: options.name }, 'worker round failed')
      return PAUSE_AFTER_FAILURE_MS
    }
  }

  const running = run()
  const wake = () => {
    isAwake = true
    pause.wake()
  }
  return {
    wake,
    async stop() {
      stopping.abort()
      wake()
      await running
    },
  }
}

/** One loop per provider, handled as one. */
export function joinLoops(loops: Loop[]): Loop {
  return {
    wake: () => loops.forEach((loop) => loop.wake()),
    stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))),
  }
}
