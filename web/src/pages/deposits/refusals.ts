import { ApiError } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { useStatusText } from '../../ui/badge.tsx'
import type { DepositStatus } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    min: (money: string) => `O valor mínimo é ${money}.`,
    max: (money: string) => `O valor máximo é ${money}.`,
    fee: (money: string) => `O valor precisa ser maior que a tarifa, de ${money}.`,
    externalId: 'Já existe um depósito pendente ou pago com esta referência.',
    notCancelable: (status: string) => `Não dá mais para cancelar: a situação agora é “${status}”.`,
    refunded: 'Este depósito já foi devolvido por inteiro.',
    left: (money: string) => `Restam ${money} para devolver.`,
    balance: (has: string, takes: string) => `Saldo insuficiente: há ${has} e a devolução precisa de ${takes}.`,
    notEnabled: 'Nesta instalação, só o operador faz devoluções. Fale com ele.',
    providerRefused: 'A instituição de pagamento recusou. Nada foi alterado.',
    notFound: 'Este depósito não existe nesta conta.',
  },
  en: {
    min: (money: string) => `The smallest amount is ${money}.`,
    max: (money: string) => `The largest amount is ${money}.`,
    fee: (money: string) => `The amount must be larger than the fee of ${money}.`,
    externalId: 'There is a pending or paid deposit with this reference already.',
    notCancelable: (status: string) => `It can no longer be canceled: its status is now “${status}”.`,
    refunded: 'This deposit has been refunded in full.',
    left: (money: string) => `${money} is left to refund.`,
    balance: (has: string, takes: string) => `The balance is too small: it has ${has}, and the refund takes ${takes}.`,
    notEnabled: 'On this service only the operator makes refunds. Please ask there.',
    providerRefused: 'The payment provider refused. Nothing has changed.',
    notFound: 'This account has no such deposit.',
  },
})

/** Why the server refused something about a deposit. Its texts name amounts in cents; readers get them as money, in their language. */
export function useRefusalText(): (error: unknown) => string {
  const t = useWords()
  const language = useLanguage()
  const statusText = useStatusText()
  const errorText = useErrorText()
  const money = (cents: string | undefined) => moneyText(Number(cents), language)
  const known: [RegExp, (...parts: string[]) => string][] = [
    [/^value must be at least (\d+)/, (cents) => t.min(money(cents))],
    [/^value (?:with its fee )?must be at most (\d+)/, (cents) => t.max(money(cents))],
    [/^value must be greater than its fee, which is (\d+)/, (cents) => t.fee(money(cents))],
    [/^externalId is already used/, () => t.externalId],
    [/^Charge is (\w+) and cannot be canceled/, (status) => t.notCancelable(statusText(status as DepositStatus))],
    [/^Charge is refunded already/, () => t.refunded],
    [/^value is more than is left to refund: (\d+)/, (cents) => t.left(money(cents))],
    [
      /^Balance is too small: it holds (-?\d+) cents, and this refund takes (\d+)/,
      (a, b) => t.balance(money(a), money(b)),
    ],
  ]
  return (error) => {
    if (!(error instanceof ApiError)) return errorText(error)
    for (const [pattern, say] of known) {
      const match = pattern.exec(error.message)
      if (match) return say(...match.slice(1))
    }
    if (error.code === 'not_enabled') return t.notEnabled
    if (error.code === 'provider_refused') return t.providerRefused
    if (error.code === 'not_found') return t.notFound
    return errorText(error)
  }
}
