import { z } from 'zod'
import { MAX_CENTS, type Cents } from '../../base/money.ts'

/** Fees and limits of deposits. An account may override them; a charge keeps those of the moment it was opened. */
export type Terms = {
  feeBps: number
  feeFixedCents: Cents
  feeMinCents: Cents | null
  feeMaxCents: Cents | null
  feeBearer: 'account' | 'payer'
  valueMinCents: Cents
  valueMaxCents: Cents
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
