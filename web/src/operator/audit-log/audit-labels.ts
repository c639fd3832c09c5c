import { preciseText } from '../../base/dates.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { basisPointsText, moneyText } from '../../base/money.ts'
import type { Pair } from '../../base/pair.ts'
import type { AuditAction } from '../../contract/codes.ts'
import { useTermLabels } from '../accounts/term-labels.ts'
import { useLabels } from '../labels.tsx'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'

const useTexts = translations({
  subjects: {
    account: ['Conta', 'Account'],
    exception: ['Exceção', 'Exception'],
    refund: ['Devolução', 'Refund'],
    payout: ['Repasse', 'Payout'],
    dispute: ['Contestação', 'Dispute'],
    code: ['Código', 'Code'],
    webhook: ['Webhook', 'Webhook'],
    key: ['Chave de API', 'API key'],
    operator: ['Operador', 'Operator'],
    user: ['Usuário', 'User'],
    invitation: ['Convite', 'Invitation'],
    provider: ['Provedor', 'Provider'],
    database: ['Banco de dados', 'Database'],
  },
  fields: {
    email: ['E-mail', 'Email'],
    name: ['Nome', 'Name'],
    from: ['De', 'From'],
    to: ['Até', 'To'],
    amountCents: ['Valor', 'Amount'],
    owedCents: ['Ficou devido', 'Owed'],
    feeReturnedCents: ['Tarifa devolvida', 'Fee returned'],
    paymentLinkId: ['Link de pagamento', 'Payment link'],
    kind: ['Tipo', 'Kind'],
    how: ['Decisão', 'Resolution'],
    charge: ['Cobrança', 'Charge'],
    chargeId: ['Cobrança', 'Charge'],
    refundId: ['Devolução', 'Refund'],
    providerRefundId: ['Devolução no provedor', 'Refund at provider'],
    status: ['Situação', 'Status'],
    reference: ['Referência bancária', 'Bank reference'],
    paidAt: ['Pago em', 'Paid on'],
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
    day: ['Dia', 'Day'],
    revision: ['Revisão', 'Revision'],
    providerCount: ['Pix no provedor', 'Pix at the provider'],
    ledgerCount: ['Pix nos livros', 'Pix in the books'],
    differenceCount: ['Diferenças', 'Differences'],
    sealed: ['Selados', 'Sealed'],
    role: ['Papel', 'Role'],
    changed: ['Alterado', 'Changed'],
    returnOrigins: ['Endereços de retorno', 'Return addresses'],
    before: ['Antes', 'Before'],
    after: ['Depois', 'After'],
    demanded: ['Exigida', 'Demanded'],
    suspendedAt: ['Suspensa em', 'Suspended at'],
    suspendedReason: ['Motivo da suspensão', 'Suspension reason'],
  },
  values: {
    replaced: ['substituído', 'replaced'],
    account: ['conta', 'account'],
    payer: ['pagador', 'payer'],
    operator: ['um operador decide', 'an operator decides'],
    keep: ['mantida', 'kept'],
    close: ['encerrada', 'closed'],
    chargeBalance: ['descontar do saldo', 'charge the balance'],
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
    reversalPolicy: { charge: t.values.chargeBalance, operator: t.values.operator },
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

const useActionTexts = translations<Record<AuditAction, Pair>>({
  'account.created': ['Conta criada', 'Account created'],
  'account.suspended': ['Conta suspensa', 'Account suspended'],
  'account.resumed': ['Conta reativada', 'Account reactivated'],
  'account.time_zone_changed': ['Fuso horário alterado', 'Time zone changed'],
  'account.brand_changed': ['Loja alterada', 'Shop changed'],
  'account.terms_changed': ['Tarifa e limites alterados', 'Fee and limits changed'],
  'account.charges_canceled': ['Cobranças em aberto canceladas', 'Open charges canceled'],
  'account.erased': ['Dados pessoais apagados', 'Personal data erased'],
  'account.second_factor_demanded': ['Verificação em duas etapas exigida da equipe', 'Two-step verification demanded'],
  'member.invited': ['Membro convidado', 'Member invited'],
  'member.uninvited': ['Convite de membro cancelado', 'Invitation of a member revoked'],
  'member.joined': ['Membro entrou na conta', 'Member joined'],
  'member.role_changed': ['Papel de membro alterado', 'Role of a member changed'],
  'member.removed': ['Membro removido', 'Member removed'],
  'passkey.added': ['Passkey adicionada', 'Passkey added'],
  'passkey.removed': ['Passkey removida', 'Passkey removed'],
  'exception.opened': ['Exceção aberta', 'Exception opened'],
  'exception.noted': ['Nota escrita', 'Note written'],
  'exception.resolved': ['Exceção resolvida', 'Exception resolved'],
  'exception.reopened': ['Exceção reaberta', 'Exception reopened'],
  'refund.requested': ['Devolução pedida', 'Refund requested'],
  'code.created': ['Código criado', 'Code created'],
  'code.changed': ['Código alterado', 'Code changed'],
  'code.closed': ['Código encerrado', 'Code closed'],
  'payout.requested': ['Repasse pedido', 'Payout requested'],
  'payout.paid': ['Repasse pago', 'Payout paid'],
  'payout.rejected': ['Repasse recusado', 'Payout rejected'],
  'dispute.opened': ['Contestação aberta', 'Dispute opened'],
  'dispute.ended': ['Contestação encerrada', 'Dispute ended'],
  'dispute.evidence_given': ['Prova de contestação recebida', 'Evidence in a dispute given'],
  'reconcile.started': ['Conciliação iniciada', 'Reconciliation started'],
  'history.began': ['Novo histórico: eventos perdidos', 'New history: events were lost'],
  'reconcile.began': ['Início da conciliação definido', 'Start of reconciliation set'],
  'day.closed': ['Dia fechado', 'Day closed'],
  'history.sealed': ['Registros selados como encontrados', 'Rows sealed as found'],
  'history.seeded': ['Histórico de exemplo criado', 'Example history created'],
  'invitation.created': ['Convite criado', 'Invitation created'],
  'invitation.revoked': ['Convite revogado', 'Invitation revoked'],
  'key.created': ['Chave de API criada', 'API key created'],
  'key.revoked': ['Chave de API revogada', 'API key revoked'],
  'webhook.created': ['Webhook criado', 'Webhook created'],
  'webhook.changed': ['Webhook alterado', 'Webhook changed'],
  'webhook.deleted': ['Webhook excluído', 'Webhook deleted'],
  'webhook.disabled': ['Webhook desativado', 'Webhook disabled'],
  'webhook.secret_rotated': ['Segredo de webhook trocado', 'Webhook secret rotated'],
  'operator.created': ['Operador criado', 'Operator created'],
  'operator.enabled': ['Operador reativado', 'Operator enabled'],
  'operator.disabled': ['Operador desativado', 'Operator disabled'],
  'refund.ended': ['Devolução encerrada', 'Refund ended'],
  'session.opened': ['Entrada no painel', 'Signed in'],
  'sessions.ended': ['Sessões encerradas', 'Sessions ended'],
  'password.changed': ['Senha alterada', 'Password changed'],
  'password.reset': ['Senha redefinida por link', 'Password reset by link'],
  'password.set': ['Senha definida pelo operador', 'Password set by the operator'],
  'email.confirmed': ['E-mail confirmado', 'Email confirmed'],
  'second_factor.enabled': ['Verificação em duas etapas ativada', 'Two-step verification turned on'],
  'second_factor.disabled': ['Verificação em duas etapas desativada', 'Two-step verification turned off'],
  'second_factor.locked': [
    'Verificação em duas etapas bloqueada por códigos errados',
    'Two-step verification locked by wrong codes',
  ],
  'recovery_codes.made': ['Códigos de recuperação criados', 'Recovery codes created'],
  'recovery_code.used': ['Código de recuperação usado', 'Recovery code used'],
})

/** Unknown actions are shown as they are. */
export function useActionText(): (action: string) => string {
  const texts: Readonly<Record<string, string>> = useActionTexts()
  return (action) => texts[action] ?? action
}

export function useActionChoices(): { value: string; label: string }[] {
  return Object.entries(useActionTexts()).map(([value, label]) => ({ value, label }))
}
