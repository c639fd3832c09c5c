// The number of a Brazilian company. Since 2026 the first twelve characters may be letters.

const SHAPE = /^[0-9A-Z]{12}[0-9]{2}$/
const FIRST_WEIGHTS = [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]
const SECOND_WEIGHTS = [6, ...FIRST_WEIGHTS]

/** Without its punctuation. Undefined if it is none, or its check digits are wrong. */
export function readCnpj(text: string): string | undefined {
  const cnpj = text.replaceAll(/[\s./-]/g, '').toUpperCase()
  // The check digits of zeros are right, and nobody has that number.
  if (!SHAPE.test(cnpj) || /^0+$/.test(cnpj)) return undefined
  const digits = [checkDigit(cnpj, FIRST_WEIGHTS), checkDigit(cnpj, SECOND_WEIGHTS)]
  return cnpj.endsWith(digits.join('')) ? cnpj : undefined
}

export function formatCnpj(cnpj: string): string {
  return cnpj.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5')
}

/** Letters count by their ASCII code, from that of 0 on. */
export function checkDigit(text: string, weights: readonly number[]): number {
  const sum = weights.reduce((total, weight, at) => total + weight * (text.charCodeAt(at) - 48), 0)
  const rest = sum % 11
  return rest < 2 ? 0 : 11 - rest
}
