import { translations } from '../base/language.ts'
import type { Reversal } from '../contract/types.ts'

type Nature = Reversal['nature']

/** Why a bank returned money that nobody here asked it to return. */
const useNatures = translations({
  fraud: ['Fraude relatada pelo pagador', 'Fraud reported by the payer'],
  operational: ['Erro do banco do pagador', 'Mistake of the payer’s bank'],
  automatic: ['Pagamento recorrente indevido', 'Wrong recurring payment'],
  other: ['Motivo não informado', 'No reason given'],
})

export const NATURES: readonly Nature[] = ['fraud', 'operational', 'automatic', 'other']

export function useNatureText(): (nature: Nature | null) => string {
  const texts = useNatures()
  return (nature) => (nature === null ? '' : texts[nature])
}
