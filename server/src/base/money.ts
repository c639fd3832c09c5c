// Amounts are integers in cents: API Pix carries up to 999 999 999 999, which numbers count exactly. Products are taken
// in bigint.
export type Cents = number

export const MAX_CENTS: Cents = 999_999_999_999

export function isCents(value: unknown): value is Cents {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

/** "50.00" → 5000, by digits alone: a float would turn some amounts into their neighbours. */
export function centsFromDecimal(text: string): Cents {
  const match = /^(\d{1,10})\.(\d{2})$/.exec(text)
  if (!match) throw new Error(`Not an amount with two decimals: ${JSON.stringify(text).slice(0, 40)}`)
  return Number(`${match[1]}${match[2]}`)
}

/** 5000 → "50.00". A sum that a number cannot hold exactly is a bigint: see db/pool.ts. */
export function decimalFromCents(cents: Cents | bigint): string {
  if (!(typeof cents === 'bigint' || Number.isSafeInteger(cents)) || cents < 0)
    throw new Error(`Not an amount in cents: ${cents}`)
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** 123456 → "R$ 1.234,56", for people. */
export function formatReais(cents: Cents | bigint): string {
  const [whole = '0', decimals = '00'] = decimalFromCents(cents < 0 ? -cents : cents).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '.')
  return `${cents < 0 ? '−' : ''}R$ ${grouped},${decimals}`
}
