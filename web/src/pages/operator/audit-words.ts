import { preciseText } from '../../base/dates.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { useReason } from '../developers/reasons.ts'
import { useNames } from './names.tsx'

// What stands in the details of an entry, in words: names of fields, and values by what they are.

const useWords = words({
  'pt-BR': {
    subjects: {
      account: 'Conta',
      exception: 'Exceção',
      refund: 'Devolução',
      webhook: 'Webhook',
      key: 'Chave de API',
      operator: 'Operador',
      user: 'Pessoa',
      invitation: 'Convite',
      provider: 'Instituição',
    },
    fields: {
      email: 'E-mail',
      name: 'Nome',
      from: 'De',
      to: 'Até',
      amountCents: 'Valor',
      feeReturnedCents: 'Tarifa devolvida',
      paymentLinkId: 'Link de pagamento',
      kind: 'Tipo',
      how: 'Decisão',
      charge: 'Cobrança',
      chargeId: 'Cobrança',
      refundId: 'Devolução',
      providerRefundId: 'Devolução na instituição',
      status: 'Situação',
      reasonCode: 'Motivo',
      scopes: 'Permissões',
      expiresAt: 'Expira em',
      operatorId: 'Operador',
      previousSecretUntil: 'O segredo antigo vale até',
      origin: 'Endereço',
      urlSha256: 'Impressão do endereço',
      eventKinds: 'Eventos',
      hasAuthorization: 'Envia Authorization',
      authorization: 'Authorization',
      isEnabled: 'Ativo',
      disabledReason: 'Motivo da desativação',
      disabledCode: 'Motivo da desativação',
      suspendedAt: 'Suspensa em',
      suspendedReason: 'Motivo da suspensão',
      feeBps: 'Tarifa (pontos-base)',
      feeFixedCents: 'Tarifa fixa',
      feeMinCents: 'Tarifa mínima',
      feeMaxCents: 'Tarifa máxima',
      feeBearer: 'Quem paga a tarifa',
      valueMinCents: 'Valor mínimo',
      valueMaxCents: 'Valor máximo',
    },
    values: { replaced: 'substituído', account: 'a conta', payer: 'o pagador', keep: 'mantida', close: 'encerrada' },
    yes: 'sim',
    no: 'não',
    nothing: 'nada',
  },
  en: {
    subjects: {
      account: 'Account',
      exception: 'Exception',
      refund: 'Refund',
      webhook: 'Webhook',
      key: 'API key',
      operator: 'Operator',
      user: 'Person',
      invitation: 'Invitation',
      provider: 'Provider',
    },
    fields: {
      email: 'E-mail',
      name: 'Name',
      from: 'From',
      to: 'To',
      amountCents: 'Amount',
      feeReturnedCents: 'Fee returned',
      paymentLinkId: 'Payment link',
      kind: 'Kind',
      how: 'Decision',
      charge: 'Charge',
      chargeId: 'Charge',
      refundId: 'Refund',
      providerRefundId: 'Refund at the provider',
      status: 'Status',
      reasonCode: 'Reason',
      scopes: 'Scopes',
      expiresAt: 'Expires at',
      operatorId: 'Operator',
      previousSecretUntil: 'The old secret works until',
      origin: 'Address',
      urlSha256: 'Digest of the address',
      eventKinds: 'Events',
      hasAuthorization: 'Sends Authorization',
      authorization: 'Authorization',
      isEnabled: 'Enabled',
      disabledReason: 'Why it was disabled',
      disabledCode: 'Why it was disabled',
      suspendedAt: 'Suspended at',
      suspendedReason: 'Why it was suspended',
      feeBps: 'Fee (basis points)',
      feeFixedCents: 'Fixed fee',
      feeMinCents: 'Smallest fee',
      feeMaxCents: 'Largest fee',
      feeBearer: 'Who bears the fee',
      valueMinCents: 'Smallest amount',
      valueMaxCents: 'Largest amount',
    },
    values: { replaced: 'replaced', account: 'the account', payer: 'the payer', keep: 'kept', close: 'closed' },
    yes: 'yes',
    no: 'no',
    nothing: 'nothing',
  },
})

/** "exception 019…" by the name of what it is. */
export function useSubject(): (subject: string) => { kind: string; name: string; id: string } {
  const names: Readonly<Record<string, string>> = useWords().subjects
  return (subject) => {
    const [kind = '', ...rest] = subject.split(' ')
    return { kind, name: names[kind] ?? kind, id: rest.join(' ') }
  }
}

export function useFieldName(): (field: string) => string {
  const names: Readonly<Record<string, string>> = useWords().fields
  return (field) => names[field] ?? field
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

export function useFieldValue(): (field: string, value: unknown) => string {
  const t = useWords()
  const language = useLanguage()
  const names = useNames()
  const reasonText = useReason()
  const known: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    kind: names.kind,
    how: names.way,
    charge: t.values,
    feeBearer: t.values,
    authorization: t.values,
  }
  return (field, value) => {
    if (value === null || value === undefined) return t.nothing
    if (typeof value === 'boolean') return value ? t.yes : t.no
    if (typeof value === 'number' && field.endsWith('Cents')) return moneyText(value, language)
    if (Array.isArray(value)) return value.length === 0 ? t.nothing : value.map(String).join(', ')
    if (typeof value !== 'string') return JSON.stringify(value)
    if (field === 'reasonCode' || field === 'disabledCode') return reasonText({ code: value, text: value })
    return known[field]?.[value] ?? (ISO_TIME.test(value) ? preciseText(value, language) : value)
  }
}
