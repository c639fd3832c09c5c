import { translations, useLanguage } from '../../base/language.ts'
import { basisPointsText, moneyText } from '../../base/money.ts'
import type { OwnTerms } from '../../contract/types.ts'

export type Term = keyof OwnTerms

const LABELS = {
  feeBps: ['Tarifa percentual', 'Percentage fee'],
  feeFixed: ['Tarifa fixa', 'Fixed fee'],
  feeMin: ['Tarifa mínima', 'Minimum fee'],
  feeMax: ['Tarifa máxima', 'Maximum fee'],
  feeBearer: ['Quem paga a tarifa', 'Fee paid by'],
  valueMin: ['Cobrança mínima', 'Minimum charge'],
  valueMax: ['Cobrança máxima', 'Maximum charge'],
  reversalPolicy: ['Devoluções do banco', 'Reversals'],
} as const
export const TERMS = Object.keys(LABELS) as Term[]

export const useTermLabels: () => Readonly<Record<Term, string>> = translations(LABELS)

const useTexts = translations({
  account: ['Conta', 'Account'],
  payer: ['Pagador', 'Payer'],
  charge: ['Descontar do saldo', 'Charge the balance'],
  operator: ['Um operador decide', 'An operator decides'],
  none: ['nenhuma', 'none'],
})

/** Shows a value in force. Null means that there is none. */
export function useTermText(): (term: Term, value: OwnTerms[Term]) => string {
  const t = useTexts()
  const language = useLanguage()
  return (term, value) => {
    if (value === null) return t.none
    if (typeof value === 'string') return t[value]
    return term === 'feeBps' ? basisPointsText(value, language) : moneyText(value, language)
  }
}
