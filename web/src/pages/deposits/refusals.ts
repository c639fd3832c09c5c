import { ApiError } from '../../base/api.ts'
import type { ErrorCode } from '../../base/codes.ts'
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
    held: (money: string) =>
      `Foram recebidos ${money} para este depósito, que esperam a decisão do operador. Não dá para cancelar antes disso.`,
    notRefundable: (status: string) => `Não dá para devolver: a situação agora é “${status}”.`,
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
    held: (money: string) =>
      `${money} was received for this deposit and waits for the operator’s decision. It cannot be canceled before that.`,
    notRefundable: (status: string) => `It cannot be refunded: its status is now “${status}”.`,
    notFound: 'This account has no such deposit.',
  },
})

/** Why the server refused something about a deposit, in the reader's language, with its amounts as money. */
export function useRefusalText(): (error: unknown) => string {
  const t = useWords()
  const language = useLanguage()
  const statusText = useStatusText()
  const errorText = useErrorText()
  return (error) => {
    if (!(error instanceof ApiError)) return errorText(error)
    const money = (name: string) => moneyText(Number(error.details[name]), language)
    const status = () => statusText(error.details['status'] as DepositStatus)
    const known: Partial<Record<ErrorCode, () => string>> = {
      value_too_small: () => t.min(money('minCents')),
      value_too_large: () => t.max(money('maxCents')),
      value_not_above_fee: () => t.fee(money('feeCents')),
      external_id_taken: () => t.externalId,
      not_cancelable: () => t.notCancelable(status()),
      payment_held: () => t.held(money('heldCents')),
      not_refundable: () => t.notRefundable(status()),
      already_refunded: () => t.refunded,
      refund_too_large: () => t.left(money('leftCents')),
      balance_too_small: () => t.balance(money('balanceCents'), money('neededCents')),
      not_enabled: () => t.notEnabled,
      provider_refused: () => t.providerRefused,
      not_found: () => t.notFound,
    }
    return known[error.code as ErrorCode]?.() ?? errorText(error)
  }
}
