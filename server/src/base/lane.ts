import { setImmediate } from 'node:timers/promises'
import { Fault } from './fault.ts'
import { makeWakeableSleep } from './wakeable-sleep.ts'
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

/**
 * `name` is the label in the metrics. `work` must be one transaction: a failed batch is repeated item by item. With a
 * `concurrency` above one, batches end in any order.
 */
export function makeLane<Item, Result = void>(
  { metrics }: { metrics: Metrics },
  name: string,
  work: (items: Item[]) => Promise<Result[] | void>,
  {
    maxBatch = MAX_BATCH,
    paceMs = 0,
    concurrency = 1,
    maxWaiting = MAX_WAITING,
  }: { maxBatch?: number; paceMs?: number; concurrency?: number; maxWaiting?: number } = {},
): Lane<Item, Result> {
  const count = (batches: number, items: number) => {
    metrics.laneBatches.inc({ lane: name }, batches)
    metrics.laneItems.inc({ lane: name }, items)
  }
  // Starts the series at zero, so that the first batch shows as an increase.
  count(0, 0)
  return makeBatcher<Item, Result>({
    work: async (items) => {
      count(1, items.length)
      return (await work(items)) ?? items.map(() => undefined as Result)
    },
    maxBatch,
    paceMs,
    concurrency,
    maxWaiting,
    full: () => new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds: 1 }),
    isInfrastructureError: (error) => error instanceof Fault && error.code === 'unavailable',
  })
}

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

export function makeBatcher<Item, Result>(options: {
  /** Results in the order of the items. */
  work: (items: Item[]) => Promise<Result[]>
  /** Items in one batch. */
  maxBatch: number
  /** Items that may wait; `full()` is thrown for one more. */
  maxWaiting: number
  full: () => Error
  /** Batches that run at once, so that one is prepared while another commits. Default: one after another. */
  concurrency?: number
  /**
   * The time between the starts of two batches, unless half a batch waits: for work that no caller waits for, which
   * costs less in larger batches. The first batch starts at once.
   */
  paceMs?: number
  /** True for a failure that no item caused, such as a database that is down: retrying each item alone is pointless. */
  isInfrastructureError?: (error: unknown) => boolean
}): Lane<Item, Result> {
  const { maxBatch, paceMs = 0, concurrency = 1 } = options
  const queue: Waiting<Item, Result>[] = []
  const running = new Set<Promise<void>>()
  let isStarting = false
  const pause = makeWakeableSleep()
  let beganAt = -Infinity

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
    try {
      const results = await options.work(batch.map((waiting) => waiting.item))
      if (results.length !== batch.length) throw new Error('a batch must answer every item')
      batch.forEach((waiting, index) => waiting.resolve(results[index]!))
    } catch (error) {
      // A bad item must not fail its neighbours, so a failed batch is repeated item by item. That is safe because the
      // work is one transaction: a failed batch left nothing behind.
      if (batch.length === 1 || options.isInfrastructureError?.(error))
        for (const waiting of batch) waiting.reject(error)
      else for (const waiting of batch) await workOn([waiting])
    }
  }

  return {
    add(item) {
      if (queue.length >= options.maxWaiting) return Promise.reject(options.full())
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
