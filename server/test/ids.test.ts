import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  base62,
  hexFromUuid,
  isHexId,
  isUuid,
  newSecretUuid7,
  newUuid7,
  parseHexId,
  randomPassword,
  uuidOfTime,
} from '../src/base/ids.ts'

const NOW = new Date('2026-03-02T12:00:00Z')

test('a new id is a UUID of version 7 that tells when it was made', () => {
  const moments = fc.date({ min: new Date(0), max: new Date(2 ** 48 - 1), noInvalidDate: true })
  fc.assert(
    fc.property(moments, (now) => {
      const id = newUuid7(now)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(parseInt(hexFromUuid(id).slice(0, 12), 16)).toBe(now.getTime())
    }),
  )
})

test('the id of a time parts the ids that were made before it from those made since', () => {
  const moments = fc.date({ min: new Date(1), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  fc.assert(
    fc.property(moments, (now) => {
      expect(uuidOfTime(now) < newUuid7(now)).toBe(true)
      expect(uuidOfTime(now) > newUuid7(new Date(now.getTime() - 1))).toBe(true)
      expect(isUuid(uuidOfTime(now))).toBe(true)
    }),
  )
  expect(uuidOfTime(new Date('1900-01-01'))).toBe('00000000-0000-0000-0000-000000000000')
})

test('an id that is made a millisecond later sorts behind', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 47 }), (ms) => {
      expect(newUuid7(new Date(ms)) < newUuid7(new Date(ms + 1))).toBe(true)
    }),
  )
})

test('ids that one process makes within a millisecond sort in the order of making', () => {
  const ids = Array.from({ length: 4_000 }, () => newUuid7(new Date('2026-03-02T12:00:01Z')))
  expect(ids.toSorted()).toEqual(ids)
})

test('ids of one millisecond differ', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => newUuid7(NOW))).size).toBe(10_000)
})

test('a secret id tells only when it was made: its other 74 bits are random', () => {
  const ids = Array.from({ length: 10_000 }, () => newSecretUuid7(NOW))
  expect(new Set(ids).size).toBe(10_000)
  const time = hexFromUuid(newUuid7(NOW)).slice(0, 12)
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(hexFromUuid(id).slice(0, 12)).toBe(time)
  }
  const bits = ids.map((id) => BigInt(`0x${hexFromUuid(id)}`))
  // Of ten thousand random bits about half are set; 4,500 or fewer would be ten standard deviations away.
  const isRandom = (bit: bigint) => {
    const set = bits.filter((id) => (id >> bit) & 1n).length
    return set > 4_500 && set < 5_500
  }
  const places = Array.from({ length: 128 }, (_, place) => BigInt(place))
  expect(places.filter(isRandom)).toHaveLength(74)
})

test('an id of a charge may be given with hyphens, and in upper case', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      const id = hexFromUuid(uuid)
      expect(isHexId(id)).toBe(true)
      for (const given of [id, uuid, uuid.toUpperCase()]) expect(parseHexId(given)).toBe(id)
    }),
  )
  expect(parseHexId('charge')).toBeUndefined()
})

test.each(['', 'f'.repeat(31), 'f'.repeat(33), 'F'.repeat(32), 'g'.repeat(32), `${'f'.repeat(32)}\n`])(
  '%j is not one of our charge ids',
  (text) => {
    expect(isHexId(text)).toBe(false)
  },
)

test.each([
  ['0195572e-6c00-7abc-8def-0123456789ab', true],
  ['0195572E-6C00-7ABC-8DEF-0123456789AB', true],
  ['0195572e6c007abc8def0123456789ab', false],
  ['{0195572e-6c00-7abc-8def-0123456789ab}', false],
  ['0195572e-6c00-7abc-8def-0123456789ab\n', false],
  ["0195572e-6c00-7abc-8def-0123456789a'", false],
  ['', false],
])('%j as a payment link id: %j', (text, expected) => {
  expect(isUuid(text)).toBe(expected)
})

test('base62 has one width for all values of a length, and loses nothing', () => {
  const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const text = base62(Buffer.from(bytes))
      expect(text).toHaveLength(43)
      const back = text.split('').reduce((sum, digit) => sum * 62n + BigInt(ALPHABET.indexOf(digit)), 0n)
      expect(back.toString(16).padStart(64, '0')).toBe(Buffer.from(bytes).toString('hex'))
    }),
  )
  expect(base62(Buffer.alloc(4, 0xff))).toHaveLength(6)
  expect(base62(Buffer.alloc(4))).toBe('000000')
})

test('a made password has 20 characters that nobody mistakes for another', () => {
  const passwords = Array.from({ length: 200 }, randomPassword)
  for (const password of passwords) expect(password).toMatch(/^[2-9A-HJ-NP-Za-hjkmnp-z]{20}$/)
  expect(new Set(passwords).size).toBe(200)
})
