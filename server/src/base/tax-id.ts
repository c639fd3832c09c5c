import { checkDigit, readCnpj } from './cnpj.ts'

// The number of a person (CPF) or of a company (CNPJ).

export type TaxId = { kind: 'CPF' | 'CNPJ'; number: string }

const CPF = /^\d{11}$/
const FIRST_WEIGHTS = [10, 9, 8, 7, 6, 5, 4, 3, 2]
const SECOND_WEIGHTS = [11, ...FIRST_WEIGHTS]

/** Without its punctuation. Undefined if it is neither, or its check digits are wrong. */
export function readTaxId(text: string): TaxId | undefined {
  const cnpj = readCnpj(text)
  if (cnpj !== undefined) return { kind: 'CNPJ', number: cnpj }
  const cpf = text.replaceAll(/[\s.-]/g, '')
  // Eleven equal digits have the right check digits, and nobody has such a number.
  if (!CPF.test(cpf) || /^(.)\1*$/.test(cpf)) return undefined
  const digits = [checkDigit(cpf, FIRST_WEIGHTS), checkDigit(cpf, SECOND_WEIGHTS)]
  return cpf.endsWith(digits.join('')) ? { kind: 'CPF', number: cpf } : undefined
}

/** Shows no more than the last two digits. */
export function maskedTaxId(kind: TaxId['kind'], ending: string): string {
  return kind === 'CPF' ? `***.***.***-${ending}` : `**.***.***/****-${ending}`
}
