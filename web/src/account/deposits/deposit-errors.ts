import { ApiError } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import type { DepositStatus, ErrorCode } from '../../contract/codes.ts'
import { useStatusText } from '../../ui/badge.tsx'

const useTexts = translations({
  min: (money: string) => [`O valor mínimo é ${money}.`, `The minimum amount is ${money}.`],
  max: (money: string) => [`O valor máximo é ${money}.`, `The maximum amount is ${money}.`],
  fee: (money: string) => [
    `O valor precisa ser maior que a tarifa, de ${money}.`,
    `The amount must be greater than the fee of ${money}.`,
  ],
  externalId: [
    'Já existe um depósito pendente ou pago com esta referência.',
    'A pending or paid deposit with this reference already exists.',
  ],
  notCancelable: (status: string) => [
    `Não dá mais para cancelar: a situação agora é “${status}”.`,
    `This deposit can no longer be canceled. Its status is now “${status}”.`,
  ],
  refunded: ['Este depósito já foi devolvido por inteiro.', 'This deposit has already been fully refunded.'],
  left: (money: string) => [`Só é possível devolver mais ${money}.`, `Only ${money} can still be refunded.`],
  balance: (has: string, takes: string) => [
    `Saldo insuficiente: há ${has} e a devolução precisa de ${takes}.`,
    `Insufficient balance: you have ${has}, and the refund needs ${takes}.`,
  ],
  notEnabled: [
    'Aqui, só a equipe do guiche faz devoluções. Fale com ela.',
    'Only the guiche team makes refunds here. Please contact them.',
  ],
  providerRefused: [
    'O provedor de pagamento recusou. Nada foi alterado.',
    'The payment provider declined the request. Nothing was changed.',
  ],
  held: (money: string) => [
    `Recebemos ${money} para este depósito, e o valor está em análise. Não dá para cancelar antes da decisão.`,
    `We received ${money} for this deposit and it is under review. The deposit cannot be canceled before the decision.`,
  ],
  notRefundable: (status: string) => [
    `Não dá para devolver: a situação agora é “${status}”.`,
    `This deposit cannot be refunded. Its status is now “${status}”.`,
  ],
  notFound: ['Este depósito não existe nesta conta.', 'This deposit does not exist in this account.'],
})

/** Why the server refused a request about a deposit, with its amounts. */
export function useDepositErrorText(): (error: unknown) => string {
  const t = useTexts()
  const language = useLanguage()
  const statusText = useStatusText()
  const errorText = useErrorText()
  return (error) => {
    if (!(error instanceof ApiError)) return errorText(error)
    const money = (name: string) => moneyText(Number(error.details[name]), language)
    // The server sends one of the statuses of a deposit with these codes.
    const status = () => statusText(error.details['status'] as DepositStatus)
    const known: Readonly<Record<string, () => string>> = {
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
    } satisfies Partial<Record<ErrorCode, () => string>>
    return known[error.code]?.() ?? errorText(error)
  }
}
