import { ApiError } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { Pair } from '../../base/pair.ts'
import type { DepositStatus, ErrorCode } from '../../contract/codes.ts'
import { useStatusText } from '../../ui/badge.tsx'

type Values = Readonly<Record<string, string>>

const useTexts = translations({
  value_too_small: ({ minCents }) => [`O valor mínimo é ${minCents}.`, `The minimum amount is ${minCents}.`],
  value_too_large: ({ maxCents }) => [`O valor máximo é ${maxCents}.`, `The maximum amount is ${maxCents}.`],
  value_not_above_fee: ({ feeCents }) => [
    `O valor precisa ser maior que a tarifa, de ${feeCents}.`,
    `The amount must be greater than the fee of ${feeCents}.`,
  ],
  external_id_taken: [
    'Já existe um depósito pendente ou pago com esta referência.',
    'A pending or paid deposit with this reference already exists.',
  ],
  not_cancelable: ({ status }) => [
    `Não dá mais para cancelar: a situação agora é “${status}”.`,
    `This deposit can no longer be canceled. Its status is now “${status}”.`,
  ],
  already_refunded: ['Este depósito já foi devolvido por inteiro.', 'This deposit has already been fully refunded.'],
  refund_too_large: ({ leftCents }) => [
    `Só é possível devolver mais ${leftCents}.`,
    `Only ${leftCents} can still be refunded.`,
  ],
  balance_too_small: ({ balanceCents, neededCents }) => [
    `Saldo insuficiente: há ${balanceCents} e a devolução precisa de ${neededCents}.`,
    `Insufficient balance: you have ${balanceCents}, and the refund needs ${neededCents}.`,
  ],
  not_enabled: [
    'Aqui, só a equipe do guiche faz devoluções. Fale com ela.',
    'Only the guiche team makes refunds here. Please contact them.',
  ],
  payment_held: ({ heldCents }) => [
    `Recebemos ${heldCents} para este depósito, e o valor está em análise. Não dá para cancelar antes da decisão.`,
    `We received ${heldCents} for this deposit and it is under review. The deposit cannot be canceled before the decision.`,
  ],
  not_refundable: ({ status }) => [
    `Não dá para devolver: a situação agora é “${status}”.`,
    `This deposit cannot be refunded. Its status is now “${status}”.`,
  ],
  not_found: ['Este depósito não existe nesta conta.', 'This deposit does not exist in this account.'],
} satisfies Partial<Record<ErrorCode, Pair | ((values: Values) => Pair)>>)

/** Why the server refused a request about a deposit, with its amounts. */
export function useDepositErrorText(): (error: unknown) => string {
  const texts: Readonly<Record<string, string | ((values: Values) => string)>> = useTexts()
  const { money } = useFormat()
  const statusText = useStatusText()
  const errorText = useErrorText()
  // With these codes the server sends amounts and the status of the deposit.
  const valueText = (name: string, value: string | number) =>
    name.endsWith('Cents') ? money(Number(value)) : statusText(value as DepositStatus)
  return (error) => {
    if (!(error instanceof ApiError)) return errorText(error)
    const text = texts[error.code]
    if (typeof text !== 'function') return text ?? errorText(error)
    const values = Object.entries(error.details).map(([name, value]) => [name, valueText(name, value)])
    return text(Object.fromEntries(values))
  }
}
