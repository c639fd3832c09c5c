import type { Language } from './language.ts'

const formats = new Map<string, Intl.NumberFormat>()

/** Cents to text. Intl gets the digits as text, so no fraction is ever calculated: 5000 is "50.00", not 5000 / 100. */
export function moneyText(cents: number, language: Language, options: { sign?: boolean } = {}): string {
  const sign = options.sign ? 'exceptZero' : 'auto'
  return numberFormat(language, { style: 'currency', currency: 'BRL', signDisplay: sign }).format(decimalOf(cents))
}

export function shortMoneyText(cents: number, language: Language): string {
  const format = { style: 'currency', currency: 'BRL', notation: 'compact', maximumFractionDigits: 1 } as const
  return numberFormat(language, { ...format, minimumFractionDigits: 0 }).format(decimalOf(cents))
}

export function countText(count: number, language: Language): string {
  return numberFormat(language, {}).format(count)
}

/** Basis points as per cent: 150 is 1.5 %. */
export function basisPointsText(bps: number, language: Language): string {
  return numberFormat(language, { style: 'percent', maximumFractionDigits: 2 }).format(`${bps}E-4` as `${number}`)
}

/** 0.123 is 12.3 %. */
export function shareText(share: number, language: Language): string {
  return numberFormat(language, { style: 'percent', maximumFractionDigits: 1 }).format(share)
}

/**
 * Typed text to cents: "1.234,56", "1,234.56", "R$ 10" and "10,5" are understood, "1,2,3" and "1.23456" are not. The
 * last comma or dot is decimal before one or two digits, and separates thousands before three.
 */
export function parseMoney(typed: string): number | undefined {
  const text = typed.replace(/R\$/i, '').replaceAll(/\s/g, '')
  const match = /^(\d{1,3}(?:([.,])\d{3})(?:\2\d{3})*|\d+)(?:([.,])(\d{1,2}))?$/.exec(text)
  if (!match) return undefined
  const [, whole = '', thousands, decimal, fraction = ''] = match
  if (thousands !== undefined && thousands === decimal) return undefined
  const cents = Number(whole.replaceAll(/[.,]/g, '') + fraction.padEnd(2, '0'))
  return Number.isSafeInteger(cents) ? cents : undefined
}

export function moneyInputText(cents: number, language: Language): string {
  return decimalOf(cents).replace('.', language === 'pt-BR' ? ',' : '.')
}

function decimalOf(cents: number): `${number}` {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}` as `${number}`
}

function numberFormat(language: Language, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = language + JSON.stringify(options)
  let format = formats.get(key)
  if (!format) formats.set(key, (format = new Intl.NumberFormat(language, options)))
  return format
}
