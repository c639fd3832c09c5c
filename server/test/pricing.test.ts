import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Fault } from '../src/base/fault.ts'
import { MAX_CENTS } from '../src/base/money.ts'
import {
  priceDeposit,
  type Price,
  TERM_NAMES,
  termsFor,
  type Terms,
  type TermsOverrides,
} from '../src/domain/core/terms.ts'
import { DEFAULT_TERMS } from './world.ts'

const NO_OVERRIDES = Object.fromEntries(TERM_NAMES.map((name) => [name, null])) as TermsOverrides

const price = (valueCents: number, terms: Partial<Terms> = {}) =>
  priceDeposit({ ...DEFAULT_TERMS, ...terms }, valueCents)

const values = fc.integer({ min: 1, max: MAX_CENTS })
const amounts = fc.integer({ min: 0, max: 100_000 })
const anyTerms: fc.Arbitrary<Terms> = fc.record({
  feeBps: fc.integer({ min: 0, max: 10_000 }),
  feeFixedCents: amounts,
  feeMinCents: fc.option(amounts),
  feeMaxCents: fc.option(amounts),
  feeBearer: fc.constantFrom('account', 'payer'),
  valueMinCents: fc.constant(1),
  valueMaxCents: fc.constant(MAX_CENTS),
  reversalPolicy: fc.constant('charge'),
})

test('a deposit of 5000 costs 50', () => {
  expect(price(50_00)).toEqual({ originalValueCents: 50_00, valueCents: 50_00, feeCents: 50 })
})

test('half a cent is rounded up, and less is rounded down', () => {
  expect([49, 50, 149, 150, 151].map((value) => price(value).feeCents)).toEqual([0, 1, 1, 2, 2])
})

// The expected fee compares twice the remainder with the divisor, all in bigint, so it cannot round by accident.
test('the proportional fee is exact and half up for every value and rate', () => {
  // Multiples of 50 at common rates end in half a centavo as often as not.
  const anyValue = fc.oneof(
    values,
    fc.integer({ min: 1, max: 1_000 }).map((times) => times * 50),
  )
  const anyBps = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.constantFrom(100, 300, 5_000))
  fc.assert(
    fc.property(anyValue, anyBps, (value, feeBps) => {
      const product = BigInt(value) * BigInt(feeBps)
      const exact = product / 10_000n + ((product % 10_000n) * 2n >= 10_000n ? 1n : 0n)
      const made = priceOrRefusal({ ...DEFAULT_TERMS, feeBps }, value)
      const refusal = { message: `value must be greater than its fee, which is ${exact} (cents)` }
      expect(made).toMatchObject(exact < value ? { feeCents: Number(exact) } : refusal)
    }),
  )
})

// Above 2^53 a float skips every other number, so this product is rounded to the next half centavo.
test('the fee of the largest values is exact where a float is a centavo off', () => {
  const [value, feeBps] = [999_999_995_001, 9_999]
  expect(Math.floor((value * feeBps + 5_000) / 10_000)).toBe(999_899_995_002)
  expect(price(value, { feeBps }).feeCents).toBe(999_899_995_001)
})

test.each<[string, Partial<Terms>, number]>([
  ['the fixed part is added', { feeFixedCents: 30 }, 130],
  ['the minimum lifts it', { feeMinCents: 150 }, 150],
  ['a minimum below it changes nothing', { feeMinCents: 50 }, 100],
  ['the maximum caps it', { feeMaxCents: 80 }, 80],
  ['a maximum above it changes nothing', { feeMaxCents: 800 }, 100],
  ['the fixed part counts towards the maximum', { feeFixedCents: 30, feeMaxCents: 110 }, 110],
  ['a maximum of zero means no fee', { feeMaxCents: 0 }, 0],
  ['no rate and no fixed part mean no fee', { feeBps: 0 }, 0],
])('of 10000 at 1 %: %s', (_, terms, feeCents) => {
  expect(price(100_00, terms).feeCents).toBe(feeCents)
})

test('whoever bears the fee: the account is credited value − fee, and the payer never pays less than was asked', () => {
  fc.assert(
    fc.property(values, anyTerms, (asked, terms) => {
      const made = priceOrRefusal(terms, asked)
      if (made instanceof Fault) return
      const { originalValueCents, valueCents, feeCents } = made
      expect(originalValueCents).toBe(asked)
      expect(valueCents).toBe(terms.feeBearer === 'payer' ? asked + feeCents : asked)
      expect(valueCents - feeCents).toBe(terms.feeBearer === 'payer' ? asked : asked - feeCents)
      expect(valueCents - feeCents).toBeGreaterThan(0)
      expect(valueCents).toBeLessThanOrEqual(MAX_CENTS)
      expect(feeCents).toBeGreaterThanOrEqual(Math.min(terms.feeMinCents ?? 0, terms.feeMaxCents ?? Infinity))
      expect(feeCents).toBeLessThanOrEqual(terms.feeMaxCents ?? Infinity)
    }),
  )
})

test.each<[string, number, Partial<Terms>, object, string]>([
  [
    'below the minimum',
    99,
    { valueMinCents: 100 },
    { code: 'value_too_small', details: { minCents: 100 } },
    'value must be at least 100 (cents)',
  ],
  [
    'above the maximum',
    10_001,
    { valueMaxCents: 10_000 },
    { code: 'value_too_large', details: { maxCents: 10_000 } },
    'value must be at most 10000 (cents)',
  ],
  [
    'eaten up by its fee',
    30,
    { feeFixedCents: 30 },
    { code: 'value_not_above_fee', details: { feeCents: 30 } },
    'value must be greater than its fee, which is 30 (cents)',
  ],
  [
    'smaller than its fee',
    10,
    { feeMinCents: 25 },
    { code: 'value_not_above_fee', details: { feeCents: 25 } },
    'value must be greater than its fee, which is 25 (cents)',
  ],
  [
    'too large for API Pix with the payer’s fee',
    MAX_CENTS,
    { feeBearer: 'payer', feeBps: 0, feeFixedCents: 1 },
    { code: 'value_too_large', details: { maxCents: MAX_CENTS } },
    'value with its fee must be at most 999999999999 (cents)',
  ],
])('a deposit %s is refused, and told why', (_, value, terms, fault, text) => {
  const refusal = priceOrRefusal({ ...DEFAULT_TERMS, ...terms }, value)
  expect(refusal).toMatchObject({ ...fault, message: text })
})

test('the limits themselves are allowed', () => {
  const limits = { valueMinCents: 100, valueMaxCents: 200 }
  expect([100, 200].map((value) => price(value, limits).originalValueCents)).toEqual([100, 200])
  expect(price(MAX_CENTS).feeCents).toBe(10_000_000_000)
})

test('an account’s own terms replace the deployment’s, one by one, zero included', () => {
  expect(termsFor(DEFAULT_TERMS, NO_OVERRIDES)).toEqual(DEFAULT_TERMS)
  const own = termsFor(DEFAULT_TERMS, { ...NO_OVERRIDES, feeBps: 0, feeBearer: 'payer' })
  expect(own).toEqual({ ...DEFAULT_TERMS, feeBps: 0, feeBearer: 'payer' })
})

function priceOrRefusal(terms: Terms, value: number): Price | Fault {
  try {
    return priceDeposit(terms, value)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}
