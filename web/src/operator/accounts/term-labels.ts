import { translations, useLanguage } from '../../base/language.ts'
import { basisPointsText, moneyText } from '../../base/money.ts'
import type { OwnTerms } from '../../contract/types.ts'

export type Term = keyof OwnTerms

const TEXTS = {
  'pt-BR': {
    label: {
      feeBps: 'Tarifa percentual',
      feeFixed: 'Tarifa fixa',
      feeMin: 'Tarifa mínima',
      feeMax: 'Tarifa máxima',
      feeBearer: 'Quem paga a tarifa',
      valueMin: 'Cobrança mínima',
      valueMax: 'Cobrança máxima',
    },
    account: 'Conta',
    payer: 'Pagador',
    none: 'nenhuma',
  },
  en: {
    label: {
      feeBps: 'Percentage fee',
      feeFixed: 'Fixed fee',
      feeMin: 'Minimum fee',
      feeMax: 'Maximum fee',
      feeBearer: 'Fee paid by',
      valueMin: 'Minimum charge',
      valueMax: 'Maximum charge',
    },
    account: 'Account',
    payer: 'Payer',
    none: 'none',
  },
} as const
const useTexts = translations(TEXTS)

export const TERMS = Object.keys(TEXTS.en.label) as Term[]

export function useTermLabels(): Readonly<Record<Term, string>> {
  return useTexts().label
}

/** A value in force; null means there is none. */
export function useTermText(): (term: Term, value: OwnTerms[Term]) => string {
  const t = useTexts()
  const language = useLanguage()
  return (term, value) => {
    if (value === null) return t.none
    if (value === 'account' || value === 'payer') return t[value]
    return term === 'feeBps' ? basisPointsText(value, language) : moneyText(value, language)
  }
}
