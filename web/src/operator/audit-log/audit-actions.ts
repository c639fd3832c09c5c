import { translations, type Pair } from '../../base/language.ts'
import type { AuditAction } from '../../contract/codes.ts'

const useTexts = translations<Record<AuditAction, Pair>>({
  'account.created': ['Conta criada', 'Account created'],
  'account.suspended': ['Conta suspensa', 'Account suspended'],
  'account.resumed': ['Conta reativada', 'Account reactivated'],
  'account.terms_changed': ['Tarifa e limites alterados', 'Fee and limits changed'],
  'account.charges_canceled': ['Cobranças em aberto canceladas', 'Open charges canceled'],
  'account.erased': ['Dados pessoais apagados', 'Personal data erased'],
  'exception.opened': ['Exceção aberta', 'Exception opened'],
  'exception.resolved': ['Exceção resolvida', 'Exception resolved'],
  'exception.reopened': ['Exceção reaberta', 'Exception reopened'],
  'refund.requested': ['Devolução pedida', 'Refund requested'],
  'reconcile.started': ['Conciliação iniciada', 'Reconciliation started'],
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
  'email.confirmed': ['E-mail confirmado pelo operador', 'Email confirmed by the operator'],
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
  const texts: Readonly<Record<string, string>> = useTexts()
  return (action) => texts[action] ?? action
}

export function useActionChoices(): { value: string; label: string }[] {
  return Object.entries(useTexts()).map(([value, label]) => ({ value, label }))
}
