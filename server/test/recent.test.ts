import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeRecent } from '../src/base/recent.ts'

const FOR_MS = 100
const MAX = 5

test('what was set after forgottenUntilMs() is known, whatever else was set, and it is known for its time unless too much is', () => {
  const steps = fc.array(
    fc.record({ key: fc.integer({ min: 0, max: 30 }), afterMs: fc.integer({ min: -20, max: 60 }) }),
  )
  fc.assert(
    fc.property(steps, (series) => {
      const recent = makeRecent<number>({ forMs: FOR_MS, max: MAX })
      const setMs = new Map<string, number>()
      let nowMs = 0
      let isSteady = true
      for (const { key, afterMs } of series) {
        nowMs += afterMs
        // A clock that is set back makes it forget earlier.
        if (afterMs < 0) isSteady = false
        recent.set(`k${key}`, nowMs, nowMs)
        setMs.set(`k${key}`, nowMs)
        const inTime = [...setMs].filter(([, atMs]) => nowMs - atMs < FOR_MS)
        const after = [...setMs].filter(([, atMs]) => atMs > recent.forgottenUntilMs())
        const wanted = isSteady && inTime.length <= MAX ? [...after, ...inTime] : after
        expect(wanted.map(([each]) => recent.get(each))).toEqual(wanted.map(([, atMs]) => atMs))
      }
    }),
  )
})

test('a key is forgotten after twice its time at the latest, and at once past the bound', () => {
  const recent = makeRecent<true>({ forMs: FOR_MS, max: MAX })
  recent.set('old', true, 0)
  recent.set('next', true, FOR_MS)
  expect([recent.get('old'), recent.forgottenUntilMs()]).toEqual([true, -Infinity])
  recent.set('last', true, 2 * FOR_MS)
  expect([recent.get('old'), recent.get('next'), recent.forgottenUntilMs()]).toEqual([undefined, true, 0])
  for (let key = 0; key < 2 * MAX; key++) recent.set(`k${key}`, true, 2 * FOR_MS)
  expect([recent.get('next'), recent.forgottenUntilMs()]).toEqual([undefined, 2 * FOR_MS])
})
