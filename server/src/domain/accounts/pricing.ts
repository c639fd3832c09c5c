import { Fault } from '../../base/fault.ts'
import { MAX_CENTS, type Cents } from '../../base/money.ts'
import type { Terms } from '../core/terms.ts'

export type Price = { originalValueCents: Cents; valueCents: Cents; feeCents: Cents }

/** The account is credited with value − fee, whoever bears the fee. Throws a Fault for the caller. */
export function priceDeposit(terms: Terms, originalValueCents: Cents): Price {
  const { valueMinCents: minCents, valueMaxCents: maxCents } = terms
  if (originalValueCents < minCents)
    throw new Fault('value_too_small', `value must be at least ${minCents} (cents)`, { details: { minCents } })
  if (originalValueCents > maxCents)
    throw new Fault('value_too_large', `value must be at most ${maxCents} (cents)`, { details: { maxCents } })
  const feeCents = feeOf(terms, originalValueCents)
  const valueCents = terms.feeBearer === 'payer' ? originalValueCents + feeCents : originalValueCents
  if (feeCents >= valueCents) {
    const text = `value must be greater than its fee, which is ${feeCents} (cents)`
    throw new Fault('value_not_above_fee', text, { details: { feeCents } })
  }
  if (valueCents > MAX_CENTS) {
    const text = `value with its fee must be at most ${MAX_CENTS} (cents)`
    throw new Fault('value_too_large', text, { details: { maxCents: MAX_CENTS } })
  }
  return { originalValueCents, valueCents, feeCents }
}

function feeOf(terms: Terms, valueCents: Cents): Cents {
  // In bigint, because the largest value times 10,000 basis points exceeds Number.MAX_SAFE_INTEGER.
  const proportional = Number((BigInt(valueCents) * BigInt(terms.feeBps) + 5_000n) / 10_000n)
  const fee = proportional + terms.feeFixedCents
  return Math.min(Math.max(fee, terms.feeMinCents ?? 0), terms.feeMaxCents ?? Number.MAX_SAFE_INTEGER)
}
