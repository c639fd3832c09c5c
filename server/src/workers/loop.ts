import type { Log } from '../base/log.ts'
import { makeNap } from '../base/nap.ts'

export type Loop = {
  /** Something is due: do not wait for the next look. */
  wake(): void
  /** Resolves when the round under way is done. */
  stop(): Promise<void>
}

// After a failed round; the database or the provider is away, and asking faster helps nobody.
const PAUSE_AFTER_FAILURE_MS = 1_000

/** Claims, does and records, over and over. A round that says 'more' is followed at once by the next. */
export function startLoop(options: {
  name: string
  idleMs: number
  log: Log
  round: () => Promise<'more' | 'idle'>
}): Loop {
  const nap = makeNap()
  const stopping = new AbortController()
  let isAwake = false

  async function run() {
    while (!stopping.signal.aborted) {
      const pauseMs = await oneRound()
      if (pauseMs > 0 && !isAwake) await nap.take(pauseMs)
      // A wake during the round counts too: what it announced may have been missed by that round's look.
      isAwake = false
    }
  }

  async function oneRound(): Promise<number> {
    try {
      return (await options.round()) === 'more' ? 0 : options.idleMs
    } catch (error) {
      options.log.error({ err: error, worker: options.name }, 'a worker round failed')
      return PAUSE_AFTER_FAILURE_MS
    }
  }

  const running = run()
  const wake = () => {
    isAwake = true
    nap.end()
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
