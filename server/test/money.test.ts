import fc from 'fast-check'
import { expect, test } from 'vitest'
import { centsFromDecimal, decimalFromCents, formatReais, isCents, MAX_CENTS } from '../src/base/money.ts'

const amounts = fc.integer({ min: 0, max: MAX_CENTS })

test('every amount that API Pix can carry survives the way to text and back', () => {
  fc.assert(
    fc.property(amounts, (cents) => {
      expect(centsFromDecimal(decimalFromCents(cents))).toBe(cents)
    }),
  )
})

// The expected text is computed with bigint, which rounds nothing.
test('the text is the exact quotient, whatever a float would make of it', () => {
  fc.assert(
    fc.property(amounts, (cents) => {
      const whole = BigInt(cents) / 100n
      const rest = String(BigInt(cents) % 100n).padStart(2, '0')
      expect(decimalFromCents(cents)).toBe(`${whole}.${rest}`)
    }),
  )
})

// 100 times any of these is a fraction in floating point: 1.1 * 100 is 110.00000000000001.
test.each([
  ['1.10', 110],
  ['8.20', 820],
  ['19.99', 1999],
  ['1.15', 115],
  ['4.35', 435],
  ['9999999999.99', MAX_CENTS],
])('%s is read by its digits', (text, cents) => {
  expect(centsFromDecimal(text)).toBe(cents)
})

test.each([
  '',
  '1',
  '1.0',
  '1.000',
  '.50',
  '-1.00',
  '+1.00',
  '1,00',
  ' 1.00',
  '1.00\n',
  '1e3.00',
  '10000000000.00',
  '١.٠٠',
])('the text %j is no amount', (text) => {
  expect(() => centsFromDecimal(text)).toThrow('Not an amount with two decimals')
})

test.each([-1, 0.5, 1e21, Number.NaN, Number.POSITIVE_INFINITY])(
  'the number %d is not written as an amount',
  (cents) => {
    expect(() => decimalFromCents(cents)).toThrow('Not an amount in cents')
  },
)

test.each<[unknown, boolean]>([
  [1, true],
  [5000.0, true],
  [MAX_CENTS, true],
  [0, false],
  [-1, false],
  [50.5, false],
  [1e21, false],
  [Number.NaN, false],
  ['5000', false],
  [null, false],
  [true, false],
  [[5000], false],
])('a caller’s amount is a positive integer: %j', (value, expected) => {
  expect(isCents(value)).toBe(expected)
})

test.each([
  [0, 'R$ 0,00'],
  [5, 'R$ 0,05'],
  [123_456, 'R$ 1.234,56'],
  [MAX_CENTS, 'R$ 9.999.999.999,99'],
  [-123_456, '−R$ 1.234,56'],
  [2n ** 53n + 1n, 'R$ 90.071.992.547.409,93'],
  [-(2n ** 53n) - 1n, '−R$ 90.071.992.547.409,93'],
])('%d cents are shown as Brazilians write them', (cents, text) => {
  expect(formatReais(cents)).toBe(text)
})
