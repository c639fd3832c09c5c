import { makeBatcher, type Batcher } from '../../base/batcher.ts'
import { Fault } from '../../base/fault.ts'
import type { Core } from './core.ts'

/**
 * A lane gathers the work of many callers into one transaction. A concept makes its own lanes (see the files lanes.ts)
 * and domain/context.ts puts them into the Context.
 */
export type Lane<Item, Result = void> = Batcher<Item, Result>

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
  { metrics }: Core,
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
