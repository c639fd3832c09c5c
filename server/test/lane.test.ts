import { expect, test } from 'vitest'
import { Fault } from '../src/base/fault.ts'
import { makeLane } from '../src/base/lane.ts'
import { makeMetrics } from '../src/base/metrics.ts'

const CORE = { metrics: makeMetrics() }

// A lane that doubles numbers. Its batches stay under way until the test lets them go. An item of 13 fails its batch.
function setUp(options: { maxBatch?: number; maxWaiting?: number; paceMs?: number; concurrency?: number } = {}) {
  const batches: number[][] = []
  const held: (() => void)[] = []
  let isHolding = false
  const work = async (items: number[]) => {
    batches.push(items)
    if (isHolding) await new Promise<void>((resolve) => held.push(resolve))
    if (items.includes(13)) throw new Error('13 brings bad luck')
    return items.map((item) => item * 2)
  }
  const lane = makeLane<number, number>(CORE, 'test', work, { maxBatch: 100, maxWaiting: 100, ...options })
  return {
    batches,
    lane,
    add: (items: number[]) => Promise.all(items.map((item) => lane.add(item))),
    hold: () => (isHolding = true),
    release: () => {
      isHolding = false
      for (const letGo of held.splice(0)) letGo()
    },
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('what arrives in one tick is one batch, answered in order', async () => {
  const { add, batches } = setUp()
  expect(await add([1, 2, 3])).toEqual([2, 4, 6])
  expect(batches).toEqual([[1, 2, 3]])
})

test('what arrives later in the same turn of the event loop shares the batch', async () => {
  const { add, batches } = setUp()
  const first = add([1])
  await new Promise((resolve) => process.nextTick(resolve))
  expect((await Promise.all([first, add([2])])).flat()).toEqual([2, 4])
  expect(batches).toEqual([[1, 2]])
})

test('what arrives while a batch is under way is the next one', async () => {
  const { add, batches, hold, release } = setUp()
  hold()
  const first = add([1])
  await turn()
  const later = [add([2]), add([3, 4])]
  await turn()
  expect(batches).toEqual([[1]])
  release()
  expect(await first).toEqual([2])
  expect((await Promise.all(later)).flat()).toEqual([4, 6, 8])
  expect(batches).toEqual([[1], [2, 3, 4]])
})

test('a batch holds no more than its bound, and the rest keeps its order', async () => {
  const { add, batches } = setUp({ maxBatch: 2 })
  expect(await add([1, 2, 3, 4, 5])).toEqual([2, 4, 6, 8, 10])
  expect(batches).toEqual([[1, 2], [3, 4], [5]])
})

test('one bad item fails alone: its neighbours are done without it', async () => {
  const { lane, batches } = setUp()
  const results = await Promise.allSettled([1, 13, 2].map((item) => lane.add(item)))
  expect(results).toEqual([
    { status: 'fulfilled', value: 2 },
    { status: 'rejected', reason: new Error('13 brings bad luck') },
    { status: 'fulfilled', value: 4 },
  ])
  expect(batches).toEqual([[1, 13, 2], [1], [13], [2]])
})

test('after a failure the next batch runs as if nothing had been', async () => {
  const { lane, add } = setUp()
  await expect(lane.add(13)).rejects.toThrow('bad luck')
  expect(await add([1, 2])).toEqual([2, 4])
})

test('past the bound of those who wait, one more is refused and the others are not', async () => {
  const { lane, add, hold, release } = setUp({ maxWaiting: 2 })
  hold()
  const underWay = add([1])
  await turn()
  const waiting = add([2, 3])
  await expect(lane.add(4)).rejects.toThrow('The service is overloaded')
  release()
  expect((await Promise.all([underWay, waiting])).flat()).toEqual([2, 4, 6])
  expect(await lane.add(5)).toBe(10)
})

test('work that forgets an item is a failure, not a wrong answer', async () => {
  const lane = makeLane(CORE, 'test', async (items: number[]) => items.slice(1))
  await expect(lane.add(1)).rejects.toThrow('a batch must answer every item')
})

test('drained waits for everything that was handed in, also for what fails', async () => {
  const { lane, batches } = setUp({ maxBatch: 1 })
  const all = Promise.allSettled([1, 13, 2].map((item) => lane.add(item)))
  await lane.drained()
  expect(batches).toHaveLength(3)
  expect((await all).map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('a failure that no item caused fails the whole batch at once', async () => {
  let calls = 0
  const lane = makeLane<number, number>(CORE, 'test', () => Promise.reject(new Fault('unavailable', `away ${++calls}`)))
  const results = await Promise.allSettled([1, 2, 3].map((item) => lane.add(item)))
  expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(calls).toBe(1)
})

// With a pace of a minute, only something else can start a batch: nothing here waits that long.
test('with a pace the first begins at once, and what follows is gathered until half a batch waits', async () => {
  const { lane, add, batches } = setUp({ maxBatch: 8, paceMs: 60_000 })
  expect(await lane.add(1)).toBe(2)
  const gathered = [add([2]), add([3, 4])]
  await turn()
  await turn()
  expect(batches).toEqual([[1]])
  gathered.push(add([5]))
  await Promise.all(gathered)
  expect(batches).toEqual([[1], [2, 3, 4, 5]])
})

test('with a pace what is gathered is done when its time has come, however little it is', async () => {
  const { lane, batches } = setUp({ maxBatch: 100, paceMs: 5 })
  await lane.add(1)
  await lane.add(2)
  expect(batches).toEqual([[1], [2]])
})

test('with a concurrency of two, a second batch begins while the first runs, and a third waits', async () => {
  const { add, batches, hold, release } = setUp({ concurrency: 2 })
  hold()
  const first = add([1])
  await turn()
  const second = add([2, 3])
  await turn()
  const third = [add([4]), add([5])]
  await turn()
  expect(batches).toEqual([[1], [2, 3]])
  release()
  expect((await Promise.all([first, second, ...third])).flat()).toEqual([2, 4, 6, 8, 10])
  expect(batches).toEqual([[1], [2, 3], [4, 5]])
})

test('with a concurrency of two, what arrives in one tick is one batch, or two if it is too much for one', async () => {
  const { add, batches, hold, release } = setUp({ maxBatch: 3, concurrency: 2 })
  expect(await add([1, 2])).toEqual([2, 4])
  expect(batches.splice(0)).toEqual([[1, 2]])
  hold()
  const all = add([1, 2, 3, 4, 5, 6, 7])
  await turn()
  await turn()
  expect(batches).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ])
  release()
  expect(await all).toEqual([2, 4, 6, 8, 10, 12, 14])
})

test('with a concurrency of two, those who wait are bounded and drained waits for both batches', async () => {
  const { add, lane, batches, hold, release } = setUp({ maxBatch: 1, maxWaiting: 1, concurrency: 2 })
  hold()
  const underWay = [add([1])]
  await turn()
  underWay.push(add([2]))
  await turn()
  underWay.push(add([3]))
  await expect(lane.add(4)).rejects.toThrow('The service is overloaded')
  let isDrained = false
  const drained = lane.drained().then(() => (isDrained = true))
  await turn()
  expect(isDrained).toBe(false)
  release()
  await drained
  expect(batches).toEqual([[1], [2], [3]])
  expect((await Promise.all(underWay)).flat()).toEqual([2, 4, 6])
})

test('with a concurrency of two, one bad item fails alone and the other batch is not repeated', async () => {
  const { lane, batches, hold, release } = setUp({ maxBatch: 2, concurrency: 2 })
  hold()
  const all = Promise.allSettled([1, 13, 2, 3].map((item) => lane.add(item)))
  await turn()
  release()
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(batches.toSorted((a, b) => b.length - a.length || a[0]! - b[0]!)).toEqual([[1, 13], [2, 3], [1], [13]])
})
