import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeRecent } from '../src/base/recent.ts'

const FOR_MS = 100
const MAX = 5

test('a key is known for its time, whatever else was set, unless too much was or the clock was set back', () => {
  const steps = fc.array(fc.record({ key: fc.integer({ min: 0, max: 30 }), afterMs: fc.integer({ min: 0, max: 60 }) }))
  fc.assert(
    fc.property(steps, (series) => {
      const recent = makeRecent<number>({ forMs: FOR_MS, max: MAX })
      const setMs = new Map<string, number>()
      let nowMs = 0
      for (const { key, afterMs } of series) {
        nowMs += afterMs
        recent.set(`k${key}`, nowMs, nowMs)
        setMs.set(`k${key}`, nowMs)
        const inTime = [...setMs].filter(([, atMs]) => nowMs - atMs < FOR_MS)
        if (inTime.length > MAX) continue
        expect(inTime.map(([each]) => recent.get(each))).toEqual(inTime.map(([, atMs]) => atMs))
      }
    }),
  )
})

test('a key is forgotten after twice its time at the latest, at once past the bound, and soon by a clock set back', () => {
  const recent = makeRecent<true>({ forMs: FOR_MS, max: MAX })
  recent.set('old', true, 0)
  recent.set('next', true, FOR_MS)
  expect(recent.get('old')).toBe(true)
  recent.set('last', true, 2 * FOR_MS)
  expect([recent.get('old'), recent.get('next')]).toEqual([undefined, true])
  for (let key = 0; key < 2 * MAX; key++) recent.set(`k${key}`, true, 2 * FOR_MS)
  expect(recent.get('next')).toBeUndefined()
  recent.set('before', true, -1)
  recent.set('even before', true, -2)
  expect(recent.get('k9')).toBeUndefined()
})
