import { preciseText } from '../../base/dates.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { basisPointsText, moneyText } from '../../base/money.ts'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { useTermLabels } from '../accounts/term-labels.ts'
import { useLabels } from '../labels.tsx'

// Labels for the details of an entry: names of fields, and values.

const useTexts = translations({
  'pt-BR': {
    subjects: {
      account: 'Conta',
      exception: 'Exceção',
      refund: 'Devolução',
      webhook: 'Webhook',
      key: 'Chave de API',
      operator: 'Operador',
      user: 'Usuário',
      invitation: 'Convite',
      provider: 'Provedor',
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
      providerRefundId: 'Devolução no provedor',
      status: 'Situação',
      reasonCode: 'Motivo',
      scopes: 'Permissões',
      expiresAt: 'Expira em',
      operatorId: 'Operador',
      previousSecretUntil: 'Segredo antigo vale até',
      origin: 'URL',
      urlSha256: 'SHA-256 da URL',
      eventKinds: 'Eventos',
      hasAuthorization: 'Envia Authorization',
      authorization: 'Authorization',
      isEnabled: 'Ativo',
      disabledReason: 'Motivo da desativação',
      disabledCode: 'Motivo da desativação',
      suspendedAt: 'Suspensa em',
      suspendedReason: 'Motivo da suspensão',
    },
    values: { replaced: 'substituído', account: 'conta', payer: 'pagador', keep: 'mantida', close: 'encerrada' },
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
      user: 'User',
      invitation: 'Invitation',
      provider: 'Provider',
    },
    fields: {
      email: 'Email',
      name: 'Name',
      from: 'From',
      to: 'To',
      amountCents: 'Amount',
      feeReturnedCents: 'Fee returned',
      paymentLinkId: 'Payment link',
      kind: 'Kind',
      how: 'Resolution',
      charge: 'Charge',
      chargeId: 'Charge',
      refundId: 'Refund',
      providerRefundId: 'Refund at provider',
      status: 'Status',
      reasonCode: 'Reason',
      scopes: 'Scopes',
      expiresAt: 'Expires at',
      operatorId: 'Operator',
      previousSecretUntil: 'Old secret valid until',
      origin: 'URL',
      urlSha256: 'SHA-256 of the URL',
      eventKinds: 'Events',
      hasAuthorization: 'Sends Authorization',
      authorization: 'Authorization',
      isEnabled: 'Enabled',
      disabledReason: 'Disabled because',
      disabledCode: 'Disabled because',
      suspendedAt: 'Suspended at',
      suspendedReason: 'Suspension reason',
    },
    values: { replaced: 'replaced', account: 'account', payer: 'payer', keep: 'kept', close: 'closed' },
    yes: 'yes',
    no: 'no',
    nothing: 'none',
  },
})

/** Splits "exception 019…" into kind, label and id. */
export function useSubject(): (subject: string) => { kind: string; name: string; id: string } {
  const names: Readonly<Record<string, string>> = useTexts().subjects
  return (subject) => {
    const [kind = '', ...rest] = subject.split(' ')
    return { kind, name: names[kind] ?? kind, id: rest.join(' ') }
  }
}

export function useFieldName(): (field: string) => string {
  const names: Readonly<Record<string, string>> = useTexts().fields
  const terms: Readonly<Record<string, string>> = useTermLabels()
  return (field) => names[field] ?? terms[field.replace(/Cents$/, '')] ?? field
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

export function useFieldValue(): (field: string, value: unknown) => string {
  const t = useTexts()
  const language = useLanguage()
  const labels = useLabels()
  const reasonText = useReasonText()
  const known: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    kind: labels.kind,
    how: labels.resolution,
    charge: t.values,
    feeBearer: t.values,
    authorization: t.values,
  }
  return (field, value) => {
    if (value === null || value === undefined) return t.nothing
    if (typeof value === 'boolean') return value ? t.yes : t.no
    if (typeof value === 'number' && field.endsWith('Cents')) return moneyText(value, language)
    if (typeof value === 'number' && field === 'feeBps') return basisPointsText(value, language)
    if (Array.isArray(value)) return value.length === 0 ? t.nothing : value.map(String).join(', ')
    if (typeof value !== 'string') return JSON.stringify(value)
    if (field === 'reasonCode' || field === 'disabledCode') return reasonText({ code: value, text: value })
    return known[field]?.[value] ?? (ISO_TIME.test(value) ? preciseText(value, language) : value)
  }
}
