import { useLanguage, words } from '../../base/language.ts'
import { basisPointsText, moneyText } from '../../base/money.ts'
import type { OwnTerms } from './shapes.ts'

export type Term = keyof OwnTerms
export const TERMS: readonly Term[] = ['feeBps', 'feeFixed', 'feeMin', 'feeMax', 'feeBearer', 'valueMin', 'valueMax']

const useWords = words({
  'pt-BR': {
    name: {
      feeBps: 'Tarifa percentual',
      feeFixed: 'Tarifa fixa',
      feeMin: 'Tarifa mínima',
      feeMax: 'Tarifa máxima',
      feeBearer: 'Quem paga a tarifa',
      valueMin: 'Menor depósito',
      valueMax: 'Maior depósito',
    },
    account: 'A conta',
    payer: 'O pagador',
    none: 'nenhuma',
  },
  en: {
    name: {
      feeBps: 'Fee in per cent',
      feeFixed: 'Fixed fee',
      feeMin: 'Least fee',
      feeMax: 'Greatest fee',
      feeBearer: 'Who bears the fee',
      valueMin: 'Least deposit',
      valueMax: 'Greatest deposit',
    },
    account: 'The account',
    payer: 'The payer',
    none: 'none',
  },
})

export function useTermName(): (term: Term) => string {
  const { name } = useWords()
  return (term) => name[term]
}

/** Of a value in force; null then means that there is none. */
export function useTermText(): (term: Term, value: OwnTerms[Term]) => string {
  const t = useWords()
  const language = useLanguage()
  return (term, value) => {
    if (value === null) return t.none
    if (value === 'account' || value === 'payer') return t[value]
    return term === 'feeBps' ? basisPointsText(value, language) : moneyText(value, language)
  }
}
