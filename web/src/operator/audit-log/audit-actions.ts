import { translations } from '../../base/language.ts'
import type { AuditAction } from '../../contract/codes.ts'

const useTexts = translations<Record<AuditAction, string>>({
  'pt-BR': {
    'account.created': 'Conta criada',
    'account.suspended': 'Conta suspensa',
    'account.resumed': 'Conta reativada',
    'account.terms_changed': 'Tarifa e limites alterados',
    'account.erased': 'Dados pessoais apagados',
    'exception.opened': 'Exceção aberta',
    'exception.resolved': 'Exceção resolvida',
    'exception.reopened': 'Exceção reaberta',
    'refund.requested': 'Devolução pedida',
    'reconcile.started': 'Conciliação iniciada',
    'history.seeded': 'Histórico de exemplo criado',
    'invitation.created': 'Convite criado',
    'invitation.revoked': 'Convite revogado',
    'key.created': 'Chave de API criada',
    'key.revoked': 'Chave de API revogada',
    'webhook.created': 'Webhook criado',
    'webhook.changed': 'Webhook alterado',
    'webhook.deleted': 'Webhook excluído',
    'webhook.disabled': 'Webhook desativado',
    'webhook.secret_rotated': 'Segredo de webhook trocado',
    'operator.created': 'Operador criado',
    'operator.enabled': 'Operador reativado',
    'operator.disabled': 'Operador desativado',
    'refund.ended': 'Devolução encerrada',
    'session.opened': 'Entrada no painel',
    'sessions.ended': 'Sessões encerradas',
    'password.changed': 'Senha alterada',
    'password.reset': 'Senha redefinida por link',
    'password.set': 'Senha definida pelo operador',
    'email.confirmed': 'E-mail confirmado pelo operador',
    'second_factor.enabled': 'Verificação em duas etapas ativada',
    'second_factor.disabled': 'Verificação em duas etapas desativada',
    'second_factor.locked': 'Verificação em duas etapas bloqueada por códigos errados',
    'recovery_codes.made': 'Códigos de recuperação criados',
    'recovery_code.used': 'Código de recuperação usado',
  },
  en: {
    'account.created': 'Account created',
    'account.suspended': 'Account suspended',
    'account.resumed': 'Account reactivated',
    'account.terms_changed': 'Fee and limits changed',
    'account.erased': 'Personal data erased',
    'exception.opened': 'Exception opened',
    'exception.resolved': 'Exception resolved',
    'exception.reopened': 'Exception reopened',
    'refund.requested': 'Refund requested',
    'reconcile.started': 'Reconciliation started',
    'history.seeded': 'Example history created',
    'invitation.created': 'Invitation created',
    'invitation.revoked': 'Invitation revoked',
    'key.created': 'API key created',
    'key.revoked': 'API key revoked',
    'webhook.created': 'Webhook created',
    'webhook.changed': 'Webhook changed',
    'webhook.deleted': 'Webhook deleted',
    'webhook.disabled': 'Webhook disabled',
    'webhook.secret_rotated': 'Webhook secret rotated',
    'operator.created': 'Operator created',
    'operator.enabled': 'Operator enabled',
    'operator.disabled': 'Operator disabled',
    'refund.ended': 'Refund ended',
    'session.opened': 'Signed in',
    'sessions.ended': 'Sessions ended',
    'password.changed': 'Password changed',
    'password.reset': 'Password reset by link',
    'password.set': 'Password set by the operator',
    'email.confirmed': 'Email confirmed by the operator',
    'second_factor.enabled': 'Two-step verification turned on',
    'second_factor.disabled': 'Two-step verification turned off',
    'second_factor.locked': 'Two-step verification locked by wrong codes',
    'recovery_codes.made': 'Recovery codes created',
    'recovery_code.used': 'Recovery code used',
  },
})

/** Unknown actions are shown as they are. */
export function useActionText(): (action: string) => string {
  const texts: Readonly<Record<string, string>> = useTexts()
  return (action) => texts[action] ?? action
}

export function useActionChoices(): { value: string; label: string }[] {
  return Object.entries(useTexts()).map(([value, label]) => ({ value, label }))
}
