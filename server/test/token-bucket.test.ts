import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeTokenBucket } from '../src/base/token-buckets.ts'

test('a full bucket gives its burst at once, and then nothing', () => {
  const bucket = makeTokenBucket({ perSecond: 10, burst: 3 })
  expect([0, 0, 0].map((now) => bucket.take(now))).toEqual([
    { ok: true, left: 2 },
    { ok: true, left: 1 },
    { ok: true, left: 0 },
  ])
  expect(bucket.take(0)).toEqual({ ok: false, waitMs: 100 })
})

test('whoever waits as long as told gets a token, and a millisecond less does not do', () => {
  const rates = fc.record({ perSecond: fc.integer({ min: 1, max: 2000 }), burst: fc.integer({ min: 1, max: 50 }) })
  fc.assert(
    fc.property(rates, (rate) => {
      const bucket = makeTokenBucket(rate)
      for (let taken = 0; taken < rate.burst; taken++) expect(bucket.take(0).ok).toBe(true)
      const refused = bucket.take(0)
      if (refused.ok) throw new Error('the bucket gave more than its burst')
      expect(bucket.take(refused.waitMs - 1).ok).toBe(false)
      expect(bucket.take(refused.waitMs).ok).toBe(true)
    }),
  )
})

// Whatever the pattern of calls, the bound is the burst and what flowed in since the first call.
test('in no stretch of time are more tokens given than the burst and the rate allow', () => {
  const gapsMs = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 300 })
  fc.assert(
    fc.property(gapsMs, (gaps) => {
      const bucket = makeTokenBucket({ perSecond: 10, burst: 5 })
      let nowMs = 1_000
      let given = 0
      for (const gap of gaps) {
        nowMs += gap
        if (bucket.take(nowMs).ok) given++
        expect(given).toBeLessThanOrEqual(5 + ((nowMs - 1_000) * 10) / 1000)
      }
    }),
  )
})

test('an idle bucket fills to its burst and no further', () => {
  const bucket = makeTokenBucket({ perSecond: 100, burst: 2 })
  bucket.take(0)
  expect(bucket.take(3_600_000)).toEqual({ ok: true, left: 1 })
})

test('a clock that steps back neither drains the bucket nor fills it', () => {
  const bucket = makeTokenBucket({ perSecond: 1, burst: 2 })
  expect(bucket.take(10_000)).toEqual({ ok: true, left: 1 })
  expect(bucket.take(4_000)).toEqual({ ok: true, left: 0 })
  expect(bucket.take(4_000)).toEqual({ ok: false, waitMs: 1000 })
})

test('a token that leaves no reserve behind is not given', () => {
  const bucket = makeTokenBucket({ perSecond: 10, burst: 3 })
  expect([bucket.take(0, 2), bucket.take(0, 2)]).toEqual([
    { ok: true, left: 2 },
    { ok: false, waitMs: 100 },
  ])
  expect(bucket.take(0).ok).toBe(true)
})

test('a part of a bucket has its part of the burst and of the rate, and at least one token', () => {
  const bucket = makeTokenBucket({ perSecond: 10, burst: 4 })
  bucket.divide(2)
  expect([0, 0, 0].map((now) => bucket.take(now).ok)).toEqual([true, true, false])
  expect([bucket.take(199).ok, bucket.take(200).ok]).toEqual([false, true])
  bucket.divide(8)
  expect(bucket.level(60_000)).toEqual({ tokens: 1, missing: 0 })
})
