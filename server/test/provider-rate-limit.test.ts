import { expect, test } from 'vitest'
import { makeOwnBuckets } from '../src/base/token-buckets.ts'
import { makeRateLimit, rateOf, type RateLimitCall } from '../src/providers/http/limits.ts'

// Sleeping only moves the clock, so waiting costs the test no time.
function setUp(options: { callsPerSecond: number; maxWaiting?: number }) {
  const clock = { ms: 0 }
  const rateLimit = makeRateLimit({
    callsPerSecond: options.callsPerSecond,
    bucket: makeOwnBuckets().bucket('', rateOf(options.callsPerSecond)),
    maxWaiting: options.maxWaiting ?? 100,
    now: () => new Date(clock.ms),
    sleep: async (ms) => {
      await new Promise((resolve) => setImmediate(resolve))
      clock.ms += ms
    },
  })
  const served: { who: string; atMs: number }[] = []
  const take = async (who: string, call: Partial<RateLimitCall> = {}) => {
    const granted = await rateLimit.acquire({ priority: 'write', sharer: who, remainingMs: LONG_MS, ...call })
    if (granted) served.push({ who, atMs: clock.ms })
    return granted
  }
  const flood = (count: number, who: string, call: Partial<RateLimitCall> = {}) =>
    Array.from({ length: count }, () => take(who, call))
  return { clock, rateLimit, take, flood, served, order: () => served.map(({ who }) => who) }
}

const LONG_MS = 60_000

test('a second’s worth goes out at once, and the rest at the rate', async () => {
  const { take, served } = setUp({ callsPerSecond: 10 })
  await Promise.all(Array.from({ length: 25 }, (_, index) => take(`account ${index}`)))
  const sentAtMs = served.map(({ atMs }) => atMs)
  expect(sentAtMs.filter((ms) => ms === 0)).toHaveLength(10)
  expect(sentAtMs.slice(10)).toEqual(Array.from({ length: 15 }, (_, index) => (index + 1) * 100))
})

test('those who wait are served in the order in which they came', async () => {
  const { take, order } = setUp({ callsPerSecond: 1 })
  await take('first')
  await Promise.all(['1', '2', '3', '4'].map((who) => take(who)))
  expect(order()).toEqual(['first', '1', '2', '3', '4'])
})

test('calls of one account are served in the order in which they came', async () => {
  const { rateLimit } = setUp({ callsPerSecond: 1 })
  const call = { priority: 'write', sharer: 'alice', remainingMs: LONG_MS } as const
  await rateLimit.acquire(call)
  const served: number[] = []
  await Promise.all([1, 2, 3, 4].map(async (nth) => (await rateLimit.acquire(call)) && served.push(nth)))
  expect(served).toEqual([1, 2, 3, 4])
})

test('who comes when a token falls due does not take it from one who waits', async () => {
  const { clock, take, order } = setUp({ callsPerSecond: 1 })
  await take('first')
  const waiting = take('waiting')
  clock.ms += 1_000
  await Promise.all([take('newcomer'), waiting])
  expect(order()).toEqual(['first', 'waiting', 'newcomer'])
})

test('who cannot have a turn before the deadline is refused at once', async () => {
  const { clock, take, flood } = setUp({ callsPerSecond: 1 })
  await take('alice')
  expect(await take('alice', { remainingMs: 999 })).toBe(false)
  expect(clock.ms).toBe(0)
  const waiting = flood(2, 'alice')
  expect(await take('alice', { remainingMs: 1_500 })).toBe(false)
  expect(await Promise.all(waiting)).toEqual([true, true])
})

test('a waiting call is let go at its deadline even when the clock stands still', async () => {
  const rateLimit = makeRateLimit({
    callsPerSecond: 100,
    bucket: makeOwnBuckets().bucket('', rateOf(100)),
    maxWaiting: 10,
    now: () => new Date(0),
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  })
  const take = (sharer: string, remainingMs: number) => rateLimit.acquire({ priority: 'read', sharer, remainingMs })
  for (let i = 0; i < 100; i++) expect(await take(`account ${i}`, LONG_MS)).toBe(true)
  expect(await take('late', 50)).toBe(false)
})

test('closing sends the waiting away', async () => {
  const { rateLimit, take, flood } = setUp({ callsPerSecond: 1 })
  await take('alice')
  const waiting = [...flood(2, 'alice'), take('bob', { priority: 'read' })]
  rateLimit.close()
  expect(await Promise.all(waiting)).toEqual([false, false, false])
})

test('no rate is no limit', async () => {
  const { flood } = setUp({ callsPerSecond: 0 })
  expect(await Promise.all(flood(500, 'alice', { remainingMs: 0 }))).toEqual(Array(500).fill(true))
})

// ---- Sharing ----

test('while one account floods, the call of another goes out at once', async () => {
  const { clock, take, flood, served } = setUp({ callsPerSecond: 10, maxWaiting: 200 })
  const posts = flood(130, 'alice')
  // The reserve makes that possible: the flood uses up the rest of the bucket and every token after it.
  for (const priority of ['write', 'read'] as const) {
    const beforeMs = clock.ms
    expect(await take('bob', { priority })).toBe(true)
    expect(served.at(-1)).toEqual({ who: 'bob', atMs: beforeMs })
  }
  await posts[40]
  const laterMs = clock.ms
  expect(await take('bob')).toBe(true)
  expect(served.at(-1)).toEqual({ who: 'bob', atMs: laterMs })
  await Promise.all(posts)
})

test('polling by one account does not delay the deposit of another', async () => {
  const { clock, take, flood, served } = setUp({ callsPerSecond: 10, maxWaiting: 200 })
  const polls = flood(60, 'alice', { priority: 'read' })
  await polls[30]
  const beforeMs = clock.ms
  expect(await take('bob')).toBe(true)
  expect(served.at(-1)).toEqual({ who: 'bob', atMs: beforeMs })
  await Promise.all(polls)
})

test('accounts that all want more than there is take turns, however much each asks for', async () => {
  const { flood, order, take } = setUp({ callsPerSecond: 1 })
  await take('first')
  await Promise.all([...flood(20, 'alice'), ...flood(4, 'bob'), ...flood(4, 'carol')])
  expect(order().slice(1, 13)).toEqual(Array.from({ length: 4 }, () => ['alice', 'bob', 'carol']).flat())
  expect(order().slice(13)).toEqual(Array(16).fill('alice'))
})

test('one call after the other does not beat an account that waits', async () => {
  const { take, flood, order } = setUp({ callsPerSecond: 1 })
  await take('first')
  const waiting = flood(5, 'alice')
  for (let i = 0; i < 5; i++) await take('bob')
  await Promise.all(waiting)
  expect(order().slice(1, 9)).toEqual(['alice', 'bob', 'alice', 'bob', 'alice', 'bob', 'alice', 'bob'])
})

test('writes go before reads, and reads and background work keep a quarter each', async () => {
  const { take, flood, order } = setUp({ callsPerSecond: 1 })
  await take('first')
  const all = [
    ...flood(12, 'sweep', { priority: 'background' }),
    ...flood(12, 'reader', { priority: 'read' }),
    ...flood(12, 'writer'),
  ]
  await Promise.all(all)
  const firstTwenty = order().slice(1, 21)
  const count = (who: string) => firstTwenty.filter((one) => one === who).length
  expect({ writer: count('writer'), reader: count('reader'), sweep: count('sweep') }).toEqual({
    writer: 10,
    reader: 5,
    sweep: 5,
  })
})

test('background work keeps its quarter also when every other call is of an account that was quiet', async () => {
  const { take, order, flood } = setUp({ callsPerSecond: 10 })
  await Promise.all(Array.from({ length: 10 }, (_, index) => take(`before ${index}`)))
  const sweeps = flood(5, 'sweep', { priority: 'background' })
  await Promise.all([...sweeps, ...Array.from({ length: 40 }, (_, index) => take(`account ${index}`))])
  const firstTwenty = order().slice(10, 30)
  expect(firstTwenty.filter((who) => who === 'sweep')).toHaveLength(5)
})

test('in the background, kinds of work take turns: a sweep is not held up by checks', async () => {
  const { take, flood, order } = setUp({ callsPerSecond: 1 })
  await take('first')
  const background = { priority: 'background' } as const
  await Promise.all([...flood(60, 'check', background), ...flood(3, 'listReceived', background)])
  expect(order().slice(1, 7)).toEqual(['check', 'listReceived', 'check', 'listReceived', 'check', 'listReceived'])
})

test('one account alone has the whole rate', async () => {
  const { flood, served } = setUp({ callsPerSecond: 10 })
  await Promise.all(flood(30, 'alice'))
  const sentAtMs = served.map(({ atMs }) => atMs)
  // All but the reserve goes out at once, and the reserve fills up meanwhile.
  expect(sentAtMs.filter((ms) => ms === 0)).toHaveLength(8)
  expect(sentAtMs.slice(8)).toEqual(Array.from({ length: 22 }, (_, index) => (index + 1) * 100))
})

test('no more than the bound wait', async () => {
  const { take, flood } = setUp({ callsPerSecond: 1, maxWaiting: 2 })
  await take('alice')
  const waiting = flood(2, 'alice')
  expect(await take('alice')).toBe(false)
  expect(await Promise.all(waiting)).toEqual([true, true])
})

test('whether a call would be refused at once can be asked before', async () => {
  const { rateLimit, take, flood } = setUp({ callsPerSecond: 1, maxWaiting: 3 })
  const hasRoom = (sharer: string, remainingMs = LONG_MS) =>
    rateLimit.hasRoom({ priority: 'write', sharer, remainingMs })
  await take('alice')
  expect(hasRoom('alice')).toBe(true)
  const waiting = flood(2, 'alice')
  expect([hasRoom('alice'), hasRoom('alice', 2_500), hasRoom('bob', 2_500)]).toEqual([true, false, true])
  waiting.push(take('alice'))
  expect([hasRoom('alice'), hasRoom('bob')]).toEqual([false, true])
  rateLimit.close()
  await Promise.all(waiting)
})

test('at the bound, the account with most calls waiting gives up its newest one to another account', async () => {
  const { take, flood } = setUp({ callsPerSecond: 1, maxWaiting: 4 })
  await take('alice')
  const waiting = flood(4, 'alice')
  const others = [take('bob'), take('bob')]
  expect(await waiting[3]).toBe(false)
  expect(await waiting[2]).toBe(false)
  // Each account now has two waiting calls, so a third call of bob's takes no place from alice.
  expect(await take('bob')).toBe(false)
  expect(await Promise.all([...waiting.slice(0, 2), ...others])).toEqual([true, true, true, true])
})
