import { setImmediate } from 'node:timers/promises'
import { Fault } from './fault.ts'
import type { Metrics } from './metrics.ts'

/**
 * Gathers what callers add while an earlier batch runs, and works on it as one transaction. Under load a hundred
 * callers share one fsync, and a single caller waits for nobody.
 */
export type Lane<Item, Result = void> = {
  add(item: Item): Promise<Result>
  /** Resolves when everything added so far is done. */
  drained(): Promise<void>
}

// A batch is one transaction: large enough that a busy moment shares one fsync, small enough to hold its locks for
// milliseconds.
const MAX_BATCH = 200
// With this many items waiting the database is seconds behind, and a refusal is kinder than a longer queue.
const MAX_WAITING = 5_000

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

type LaneOptions = {
  /** Items in one batch. */
  maxBatch?: number
  /** Items that may wait; one more is refused. */
  maxWaiting?: number
  /** Batches that run at once, so that one is prepared while another commits. They end in any order. */
  concurrency?: number
  /**
   * The time between the starts of two batches, unless half a batch waits: for work that no caller waits for, which
   * costs less in larger batches. The first batch starts at once.
   */
  paceMs?: number
}

/**
 * `name` is the label in the metrics. `work` must be one transaction, because a failed batch is repeated item by item.
 * Its results are in the order of the items.
 */
export function makeLane<Item, Result = void>(
  { metrics }: { metrics: Pick<Metrics, 'laneBatches' | 'laneItems'> },
  name: string,
  work: (items: Item[]) => Promise<Result[] | void>,
  { maxBatch = MAX_BATCH, maxWaiting = MAX_WAITING, concurrency = 1, paceMs = 0 }: LaneOptions = {},
): Lane<Item, Result> {
  const queue: Waiting<Item, Result>[] = []
  const running = new Set<Promise<void>>()
  let isStarting = false
  const pause = makeWakeableSleep()
  let beganAt = -Infinity
  // Starts the series at zero, so that the first batch shows as an increase.
  count(0, 0)

  function count(batches: number, items: number) {
    metrics.laneBatches.inc({ lane: name }, batches)
    metrics.laneItems.inc({ lane: name }, items)
  }

  function start() {
    if (isStarting || queue.length === 0 || running.size >= concurrency) return
    isStarting = true
    const batch = run().then(() => {
      running.delete(batch)
      start()
    })
    running.add(batch)
  }

  async function run() {
    // The rest of this turn of the event loop: whoever has arrived by then shares the batch.
    await setImmediate()
    if (paceMs > 0) await pace()
    const batch = queue.splice(0, maxBatch)
    isStarting = false
    start()
    await workOn(batch)
  }

  async function pace() {
    const waitMs = beganAt + paceMs - performance.now()
    if (waitMs > 0 && queue.length < maxBatch / 2) await pause.sleep(waitMs)
    beganAt = performance.now()
  }

  async function workOn(batch: Waiting<Item, Result>[]) {
    count(1, batch.length)
    try {
      const results = (await work(batch.map(({ item }) => item))) ?? batch.map(() => undefined as Result)
      if (results.length !== batch.length) throw new Error('a batch must answer every item')
      batch.forEach((waiting, index) => waiting.resolve(results[index]!))
    } catch (error) {
      // A bad item must not fail its neighbours, so a failed batch is repeated item by item. That is safe because the
      // work is one transaction: a failed batch left nothing behind. No item causes a database that is down.
      const isDown = error instanceof Fault && error.code === 'unavailable'
      if (batch.length === 1 || isDown) for (const waiting of batch) waiting.reject(error)
      else for (const waiting of batch) await workOn([waiting])
    }
  }

  return {
    add(item) {
      if (queue.length >= maxWaiting) return Promise.reject(overloaded())
      return new Promise<Result>((resolve, reject) => {
        queue.push({ item, resolve, reject })
        if (queue.length >= maxBatch / 2) pause.wake()
        start()
      })
    },
    async drained() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

function overloaded(): Fault {
  return new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds: 1 })
}

/** A sleep that another caller may end early. */
export function makeWakeableSleep() {
  let wake = () => {}
  return {
    sleep: (ms: number) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    wake: () => wake(),
  }
}
