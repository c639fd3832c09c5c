import { preciseText } from '../../base/dates.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { basisPointsText, moneyText } from '../../base/money.ts'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { useTermLabels } from '../accounts/term-labels.ts'
import { useLabels } from '../labels.tsx'

// Labels for the details of an entry: names of fields, and values.

const useTexts = translations({
  subjects: {
    account: ['Conta', 'Account'],
    exception: ['Exceção', 'Exception'],
    refund: ['Devolução', 'Refund'],
    webhook: ['Webhook', 'Webhook'],
    key: ['Chave de API', 'API key'],
    operator: ['Operador', 'Operator'],
    user: ['Usuário', 'User'],
    invitation: ['Convite', 'Invitation'],
    provider: ['Provedor', 'Provider'],
  },
  fields: {
    email: ['E-mail', 'Email'],
    name: ['Nome', 'Name'],
    from: ['De', 'From'],
    to: ['Até', 'To'],
    amountCents: ['Valor', 'Amount'],
    feeReturnedCents: ['Tarifa devolvida', 'Fee returned'],
    paymentLinkId: ['Link de pagamento', 'Payment link'],
    kind: ['Tipo', 'Kind'],
    how: ['Decisão', 'Resolution'],
    charge: ['Cobrança', 'Charge'],
    chargeId: ['Cobrança', 'Charge'],
    refundId: ['Devolução', 'Refund'],
    providerRefundId: ['Devolução no provedor', 'Refund at provider'],
    status: ['Situação', 'Status'],
    reasonCode: ['Motivo', 'Reason'],
    scopes: ['Permissões', 'Scopes'],
    expiresAt: ['Expira em', 'Expires at'],
    operatorId: ['Operador', 'Operator'],
    previousSecretUntil: ['Segredo antigo vale até', 'Old secret valid until'],
    origin: ['URL', 'URL'],
    urlSha256: ['SHA-256 da URL', 'SHA-256 of the URL'],
    eventKinds: ['Eventos', 'Events'],
    hasAuthorization: ['Envia Authorization', 'Sends Authorization'],
    authorization: ['Authorization', 'Authorization'],
    isEnabled: ['Ativo', 'Enabled'],
    disabledReason: ['Motivo da desativação', 'Disabled because'],
    disabledCode: ['Motivo da desativação', 'Disabled because'],
    suspendedAt: ['Suspensa em', 'Suspended at'],
    suspendedReason: ['Motivo da suspensão', 'Suspension reason'],
  },
  values: {
    replaced: ['substituído', 'replaced'],
    account: ['conta', 'account'],
    payer: ['pagador', 'payer'],
    keep: ['mantida', 'kept'],
    close: ['encerrada', 'closed'],
  },
  yes: ['sim', 'yes'],
  no: ['não', 'no'],
  nothing: ['nada', 'none'],
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
