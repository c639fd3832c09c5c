import { makeWakeableSleep } from '../base/wakeable-sleep.ts'
import type { Context } from '../domain/context.ts'

export type Loop = {
  /** Something is due: do not wait for the next look. */
  wake(): void
  /** Resolves when the round under way is done. */
  stop(): Promise<void>
}

// After a failed round; the database or the provider is away, and asking faster helps nobody.
const PAUSE_AFTER_FAILURE_MS = 1_000

/**
 * Claims, does and records, over and over. A round that says 'more' is followed at once by the next. While this machine's clock differs from the database's,
 * no round begins: what is due is left to processes whose clocks are right.
 */
export function startLoop(
  { clock, log }: Pick<Context, 'clock' | 'log'>,
  options: { name: string; idleMs: number; round: () => Promise<'more' | 'idle'> },
): Loop {
  const pause = makeWakeableSleep()
  const stopping = new AbortController()
  let isAwake = false

  async function run() {
    while (!stopping.signal.aborted) {
      const pauseMs = await oneRound()
      if (pauseMs > 0 && !isAwake) await pause.sleep(pauseMs)
      // A wake during the round counts too: what it announced may have been missed by that round's look.
      isAwake = false
    }
  }

  async function oneRound(): Promise<number> {
    if (!clock.agrees()) return Math.max(options.idleMs, PAUSE_AFTER_FAILURE_MS)
    try {
      return (await options.round()) === 'more' ? 0 : options.idleMs
    } catch (error) {
      log.error({ err: error, worker: options.name }, 'a worker round failed')
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
