import { expect, test } from 'vitest'
import { makeSlidingWindow } from '../src/base/pace.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Work that ends when the test says so. */
function setUp(size: number) {
  const window = makeSlidingWindow(size)
  const started: number[] = []
  const ends = new Map<number, (error?: Error) => void>()
  const run = (id: number) =>
    window.run(
      () =>
        new Promise<number>((resolve, reject) => {
          started.push(id)
          ends.set(id, (error) => (error ? reject(error) : resolve(id)))
        }),
    )
  return { window, started, run, end: (id: number, error?: Error) => ends.get(id)!(error) }
}

test('the next starts as soon as one ends, however it ends, and never more than the window holds', async () => {
  const { started, run, end } = setUp(2)
  const all = [1, 2, 3, 4, 5].map(run)
  for (const each of all) each.catch(() => {})
  await turn()
  expect(started).toEqual([1, 2])
  end(2)
  await turn()
  expect(started).toEqual([1, 2, 3])
  end(3, new Error('no'))
  // Work that arrives just as other work ends does not overtake what waits.
  const late = run(6)
  await turn()
  expect(started).toEqual([1, 2, 3, 4])
  for (const id of [1, 4, 5, 6]) {
    end(id)
    await turn()
  }
  expect(started).toEqual([1, 2, 3, 4, 5, 6])
  expect(await late).toBe(6)
  expect(await Promise.allSettled(all)).toMatchObject([{ value: 1 }, { value: 2 }, { reason: {} }, {}, {}])
})

test('those who wait can be let in at once', async () => {
  const { window, started, run } = setUp(1)
  void run(1)
  void run(2)
  void run(3)
  window.release()
  await turn()
  expect(started).toEqual([1, 2, 3])
})
