import { expect, test } from 'vitest'
import { makeBudget } from '../src/providers/budget.ts'

// Sleeping is moving the clock, so that waiting costs the test no time.
function setUp(options: { callsPerSecond: number; maxWaiting?: number }) {
  const clock = { ms: 0 }
  const budget = makeBudget({
    callsPerSecond: options.callsPerSecond,
    maxWaiting: options.maxWaiting ?? 100,
    now: () => new Date(clock.ms),
    sleep: async (ms) => {
      await new Promise((resolve) => setImmediate(resolve))
      clock.ms += ms
    },
  })
  return { clock, budget }
}

const LONG_MS = 60_000

test('a second’s worth goes out at once, and the rest at the rate', async () => {
  const { clock, budget } = setUp({ callsPerSecond: 10 })
  const sentAtMs: number[] = []
  const take = async () => {
    expect(await budget.take(LONG_MS)).toBe(true)
    sentAtMs.push(clock.ms)
  }
  await Promise.all(Array.from({ length: 25 }, take))
  expect(sentAtMs.filter((ms) => ms === 0)).toHaveLength(10)
  expect(sentAtMs.slice(10)).toEqual(Array.from({ length: 15 }, (_, index) => (index + 1) * 100))
})

test('those who wait are served in the order in which they came', async () => {
  const { budget } = setUp({ callsPerSecond: 1 })
  await budget.take(LONG_MS)
  const served: number[] = []
  await Promise.all([1, 2, 3, 4].map(async (who) => (await budget.take(LONG_MS)) && served.push(who)))
  expect(served).toEqual([1, 2, 3, 4])
})

test('who comes when a token falls due does not take it from one who waits', async () => {
  const { clock, budget } = setUp({ callsPerSecond: 1 })
  await budget.take(LONG_MS)
  const served: string[] = []
  const take = async (who: string) => (await budget.take(LONG_MS)) && served.push(who)
  const waiting = take('waiting')
  clock.ms += 1_000
  await Promise.all([take('newcomer'), waiting])
  expect(served).toEqual(['waiting', 'newcomer'])
})

test('who cannot have a turn before the deadline is refused at once', async () => {
  const { clock, budget } = setUp({ callsPerSecond: 1 })
  await budget.take(LONG_MS)
  expect(await budget.take(999)).toBe(false)
  expect(clock.ms).toBe(0)
  const waiting = [budget.take(LONG_MS), budget.take(LONG_MS)]
  expect(await budget.take(1_500)).toBe(false)
  expect(await Promise.all(waiting)).toEqual([true, true])
})

test('no more than the bound wait', async () => {
  const { budget } = setUp({ callsPerSecond: 1, maxWaiting: 2 })
  await budget.take(LONG_MS)
  const waiting = [budget.take(LONG_MS), budget.take(LONG_MS)]
  expect(await budget.take(LONG_MS)).toBe(false)
  expect(await Promise.all(waiting)).toEqual([true, true])
})

test('a waiting call is let go at its deadline even when the clock stands still', async () => {
  const budget = makeBudget({
    callsPerSecond: 100,
    maxWaiting: 10,
    now: () => new Date(0),
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  })
  for (let i = 0; i < 100; i++) await budget.take(LONG_MS)
  expect(await budget.take(50)).toBe(false)
})

test('closing sends the waiting away', async () => {
  const { budget } = setUp({ callsPerSecond: 1 })
  await budget.take(LONG_MS)
  const waiting = [budget.take(LONG_MS), budget.take(LONG_MS)]
  budget.close()
  expect(await Promise.all(waiting)).toEqual([false, false])
})

test('no rate is no limit', async () => {
  const { budget } = setUp({ callsPerSecond: 0 })
  expect(await Promise.all(Array.from({ length: 500 }, () => budget.take(0)))).toEqual(Array(500).fill(true))
})
