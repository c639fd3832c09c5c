import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { MAX_CENTS, type Cents } from '../../base/money.ts'

/** What an account may override. A charge keeps its fee and limits of the moment it was opened. */
export type Terms = {
  feeBps: number
  feeFixedCents: Cents
  feeMinCents: Cents | null
  feeMaxCents: Cents | null
  feeBearer: 'account' | 'payer'
  valueMinCents: Cents
  valueMaxCents: Cents
  /** Who bears what the bank returns of a credited payment: the balance at once, or as an operator decides. */
  reversalPolicy: 'charge' | 'operator'
}

/** Null: the deployment's default. */
export type TermsOverrides = { [Name in keyof Terms]: Terms[Name] | null }

type Term<Value> = { words: string; default: Value } & (
  | { min: number; max: number; choices?: undefined }
  | { choices: Value[] }
)

/** Columns, the variables and options that set them, and the fields of the API follow from it. */
export const TERMS: { [Name in keyof Terms]: Term<Terms[Name]> } = {
  feeBps: { words: 'fee in basis points of the value: 100 is 1 %', min: 0, max: 10_000, default: 100 },
  feeFixedCents: { words: 'fixed fee added to that', min: 0, max: MAX_CENTS, default: 0 },
  feeMinCents: { words: 'minimum fee', min: 0, max: MAX_CENTS, default: null },
  feeMaxCents: { words: 'maximum fee', min: 0, max: MAX_CENTS, default: null },
  feeBearer: { words: 'who bears the fee: account or payer', choices: ['account', 'payer'], default: 'account' },
  valueMinCents: { words: 'minimum deposit', min: 1, max: MAX_CENTS, default: 1 },
  valueMaxCents: { words: 'maximum deposit', min: 1, max: MAX_CENTS, default: MAX_CENTS },
  reversalPolicy: {
    words:
      'what the bank returned without a request: charge takes it from the balance, operator leaves the decision to you',
    choices: ['charge', 'operator'],
    default: 'charge',
  },
}

export const TERM_NAMES = Object.keys(TERMS) as (keyof Terms)[]

/** Amounts have no unit in the API: all are in cents. */
export function termField(name: keyof Terms): string {
  return name.replace(/Cents$/, '')
}

export function termSchema(name: keyof Terms) {
  const term = TERMS[name]
  if (term.choices) {
    const error = `${termField(name)} must be ${term.choices.join(' or ')}, or null`
    return z.enum(term.choices.map(String), { error })
  }
  const { min, max } = term
  const error = `${termField(name)} must be an integer from ${min} to ${max}, or null`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

export function termsFor(deployment: Terms, overrides: TermsOverrides): Terms {
  const own = Object.entries(overrides).filter(([, value]) => value !== null)
  return { ...deployment, ...Object.fromEntries(own) }
}

// ---- What a deposit costs ----

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
