import { Fault } from '../../base/fault.ts'
import { MAX_CENTS, type Cents } from '../../base/money.ts'
import type { Terms } from '../core/settings.ts'

/** Null: as the deployment says. */
export type TermsOverrides = { [Key in keyof Terms]: Terms[Key] | null }

export type Price = { originalValueCents: Cents; valueCents: Cents; feeCents: Cents }

export function termsFor(deployment: Terms, overrides: TermsOverrides): Terms {
  const own = Object.entries(overrides).filter(([, value]) => value !== null)
  return { ...deployment, ...Object.fromEntries(own) }
}

/** Whoever bears the fee, value − fee is what the account is credited. Throws what the caller should be told. */
export function priceDeposit(terms: Terms, originalValueCents: Cents): Price {
  if (originalValueCents < terms.valueMinCents) {
    throw new Fault('value_too_small', `value must be at least ${terms.valueMinCents} (cents)`, {
      details: { minCents: terms.valueMinCents },
    })
  }
  if (originalValueCents > terms.valueMaxCents) {
    throw new Fault('value_too_large', `value must be at most ${terms.valueMaxCents} (cents)`, {
      details: { maxCents: terms.valueMaxCents },
    })
  }
  const feeCents = feeOf(terms, originalValueCents)
  const valueCents = terms.feeBearer === 'payer' ? originalValueCents + feeCents : originalValueCents
  if (feeCents >= valueCents) {
    throw new Fault('value_not_above_fee', `value must be greater than its fee, which is ${feeCents} (cents)`, {
      details: { feeCents },
    })
  }
  if (valueCents > MAX_CENTS) {
    throw new Fault('value_too_large', `value with its fee must be at most ${MAX_CENTS} (cents)`, {
      details: { maxCents: MAX_CENTS },
    })
  }
  return { originalValueCents, valueCents, feeCents }
}

function feeOf(terms: Terms, valueCents: Cents): Cents {
  // In bigint, because the largest value times 10 000 basis points is past what a number counts exactly.
  const proportional = Number((BigInt(valueCents) * BigInt(terms.feeBps) + 5_000n) / 10_000n)
  const fee = proportional + terms.feeFixedCents
  return Math.min(Math.max(fee, terms.feeMinCents ?? 0), terms.feeMaxCents ?? Number.MAX_SAFE_INTEGER)
}
