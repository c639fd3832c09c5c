import type { ErrorCode } from '../contract/codes.ts'
import type { Pair } from './pair.ts'

type Values = Readonly<Record<string, string | number>>
type Texts = Partial<Record<ErrorCode, Pair | ((values: Values) => Pair)>>

const LOGO_REFUSALS = {
  bytes: ['O logo pode ter no máximo 256 KiB.', 'The logo can have at most 256 KiB.'],
  type: ['O logo precisa ser PNG, JPEG ou WebP.', 'The logo must be a PNG, JPEG or WebP.'],
  damaged: [
    'Este arquivo está danificado ou tem algo além da imagem. Exporte o logo de novo.',
    'This file is damaged or holds more than the picture. Export the logo again.',
  ],
  animated: ['O logo não pode ser animado.', 'The logo cannot be animated.'],
  too_large: ['O logo pode ter no máximo 2000 × 2000 pixels.', 'The logo can have at most 2000 × 2000 pixels.'],
} satisfies Record<string, Pair>
type LogoRefusal = keyof typeof LOGO_REFUSALS

/** Why the server refused a request, with the values that belong to the code. Pages have texts of their own too. */
export const ERROR_TEXTS = {
  not_signed_in: ['Sua sessão terminou. Entre de novo.', 'Your session has ended. Sign in again.'],
  reauthentication_required: ['Confirme sua senha para continuar.', 'Confirm your password to continue.'],
  foreign_origin: [
    'Abra o painel pelo endereço público do serviço. A ação foi recusada.',
    'Open the dashboard at the public address of the service. The action was rejected.',
  ],
  rate_limited: ['Muitas tentativas. Aguarde um momento.', 'Too many attempts. Wait a moment.'],
  unavailable: [
    'O serviço está ocupado ou reiniciando. Tente de novo em instantes.',
    'The service is busy or restarting. Try again in a moment.',
  ],
  provider_unavailable: [
    'O provedor de pagamento não respondeu. Tente de novo em instantes.',
    'The payment provider did not respond. Try again in a moment.',
  ],
  code_altered: [
    'O código desta cobrança foi alterado no banco de dados. Avise o operador.',
    'The code of this charge was altered in the database. Tell the operator.',
  ],
  refund_too_old: ({ days = '' }) => [
    `Um Pix só pode ser devolvido até ${days} dias depois de recebido.`,
    `A Pix can be refunded only within ${days} days of its arrival.`,
  ],
  provider_refused: [
    'O provedor de pagamento recusou. Nada foi alterado.',
    'The payment provider declined the request. Nothing was changed.',
  ],
  in_flight: ['A mesma ação ainda está em andamento.', 'The same action is still in progress.'],
  idempotency_mismatch: [
    'O formulário mudou durante o envio. Recarregue a página e tente de novo.',
    'The form changed while it was sent. Reload the page and try again.',
  ],
  account_suspended: ['Esta conta está suspensa.', 'This account is suspended.'],
  not_found: [
    'Não encontrado. Talvez tenha sido removido: recarregue a página.',
    'Not found. It may have been removed: reload the page.',
  ],
  not_enabled: ['Esta função não está ativada neste serviço.', 'This feature is not enabled on this service.'],
  scope_missing: ['Você não tem permissão para esta ação.', 'You do not have permission for this action.'],
  password_too_common: [
    'Esta senha é muito comum. Escolha outra, por exemplo uma frase.',
    'This password is too common. Choose another one, such as a sentence.',
  ],
  password_too_simple: [
    'Esta senha é simples demais. Escolha outra, por exemplo uma frase.',
    'This password is too simple. Choose another one, such as a sentence.',
  ],
  password_personal: [
    'Esta senha é parecida demais com seu e-mail, seu nome ou o nome deste serviço. Escolha outra.',
    'This password is too similar to your email, your name or this service. Choose another one.',
  ],
  second_factor_required: [
    'A verificação em duas etapas é exigida aqui. Ative-a primeiro nas configurações.',
    'Two-step verification is required here. Turn it on in the settings first.',
  ],
  mail_not_set_up: [
    'Este serviço não envia e-mails. Peça à equipe do guiche uma nova senha ou a confirmação do seu e-mail.',
    'This service sends no email. Ask the guiche team for a new password or to confirm your email.',
  ],
  password_length: ({ min, max }) => [
    `A senha precisa ter de ${min} a ${max} caracteres.`,
    `The password must have ${min} to ${max} characters.`,
  ],
  password_wrong: ['Senha incorreta.', 'Incorrect password.'],
  terms_invalid: [
    'A tarifa e os limites se contradizem: confira os mínimos, os máximos e o que sobra de uma cobrança.',
    'The fee and the limits contradict each other: check the minimums, the maximums, and what is left of a charge.',
  ],
  window_invalid: ({ maxHours, maxDays, maxLines }) => {
    if (maxLines)
      return [
        'O período tem lançamentos demais para filtrar por valor. Escolha um mais curto.',
        'The period has too many entries to filter by amount. Choose a shorter one.',
      ]
    if (maxHours)
      return [`O período pode ter no máximo ${maxHours} horas.`, `The period can have at most ${maxHours} hours.`]
    if (maxDays)
      return [`O período pode ter no máximo ${maxDays} dias.`, `The period can have at most ${maxDays} days.`]
    return ['Este período não é válido.', 'This period is not valid.']
  },
  provider_unknown: ({ provider }) => [
    `Este serviço não usa o provedor ${provider}.`,
    `This service does not use the provider ${provider}.`,
  ],
  search_too_slow: [
    'Este texto aparece em muitos registros. Digite mais dele.',
    'Too much matches this text. Type more of it.',
  ],
  resolution_invalid: [
    'Esta exceção não pode ser resolvida assim: escolha outra opção.',
    'This exception cannot be resolved this way: choose another option.',
  ],
  email_taken: [
    'Este e-mail já pertence a uma conta ou a um operador.',
    'This email already belongs to an account or an operator.',
  ],
  key_limit: ({ maxKeys }) => [
    `Uma conta pode ter no máximo ${maxKeys} chaves ativas. Revogue uma primeiro.`,
    `An account can have at most ${maxKeys} active keys. Revoke one first.`,
  ],
  webhook_limit: ({ maxWebhooks }) => [
    `Uma conta pode ter no máximo ${maxWebhooks} webhooks. Exclua um primeiro.`,
    `An account can have at most ${maxWebhooks} webhooks. Delete one first.`,
  ],
  member_limit: ({ maxMembers }) => [
    `Uma conta pode ter no máximo ${maxMembers} membros e convites em aberto.`,
    `An account can have at most ${maxMembers} members and open invitations.`,
  ],
  already_member: ['Esta pessoa já é membro da conta.', 'This person is already a member of the account.'],
  last_owner: [
    'A conta precisa de um proprietário. Torne outra pessoa proprietária primeiro.',
    'The account needs an owner. Make somebody else an owner first.',
  ],
  passkey_refused: [
    'Não foi possível adicionar esta passkey. Tente de novo ou use outro aparelho.',
    'This passkey could not be added. Try again or use another device.',
  ],
  passkey_limit: ({ maxPasskeys }) => [
    `Você pode ter no máximo ${maxPasskeys} passkeys. Remova uma primeiro.`,
    `You can have at most ${maxPasskeys} passkeys. Remove one first.`,
  ],
  account_switched: [
    'Você escolheu outra conta em outra aba. Recarregue a página.',
    'You chose another account in another tab. Reload the page.',
  ],
  invitation_used: ['Este convite já foi usado ou cancelado.', 'This invitation was already used or revoked.'],
  invitation_expired: ['Este convite expirou.', 'This invitation has expired.'],
  invitation_other_email: ['Este convite é para outro e-mail.', 'This invitation is for another email address.'],
  return_url_not_allowed: ({ origin }) => [
    `O endereço ${origin} não está na lista de Minha loja.`,
    `The address ${origin} is not on the list under My shop.`,
  ],
  logo_refused: ({ reason }) => LOGO_REFUSALS[reason as LogoRefusal] ?? LOGO_REFUSALS.damaged,
  shop_changed: [
    'Outra pessoa alterou a loja enquanto você editava. Recarregue a página.',
    'Somebody else changed the shop while you were editing. Reload the page.',
  ],
  code_limit: ({ maxCodes }) => [
    `Uma conta pode ter no máximo ${maxCodes} códigos abertos. Encerre um antes.`,
    `An account can have at most ${maxCodes} open codes. Close one first.`,
  ],
  payer_unconfirmable: [
    'Nenhum provedor de pagamento deste serviço confirma quem pagou. Deixe o CPF ou CNPJ em branco, ou não o exija.',
    'No payment provider of this service can confirm who paid. Leave the CPF or CNPJ empty, or do not require it.',
  ],
  payer_mismatched: [
    'Outra pessoa pagou, e a cobrança só aceita quem ela indica. Resolva de outra forma.',
    'Another person paid, and the charge accepts only the one it names. Resolve it in another way.',
  ],
  codes_not_offered: [
    'O provedor de pagamento deste serviço não oferece códigos permanentes.',
    'The payment provider of this service has no lasting codes.',
  ],
  payout_limit: ({ maxPayouts }) => [
    `Uma conta pode ter no máximo ${maxPayouts} repasses em aberto. Espere até que um seja pago.`,
    `An account can have at most ${maxPayouts} open payouts. Wait until one is paid.`,
  ],
  payout_ended: ({ status }) => [
    `Este repasse já foi ${status === 'PAID' ? 'pago' : 'recusado'}. Recarregue a página.`,
    `This payout was already ${status === 'PAID' ? 'paid' : 'rejected'}. Reload the page.`,
  ],
  dispute_ended: [
    'Esta contestação já foi encerrada e não aceita mais provas.',
    'This dispute has ended, and takes no evidence any more.',
  ],
  evidence_limit: ({ maxFiles }) => [
    `Uma contestação pode ter no máximo ${maxFiles} arquivos.`,
    `A dispute can have at most ${maxFiles} files.`,
  ],
  note_limit: ({ maxNotes }) => [
    `Uma exceção pode ter no máximo ${maxNotes} notas.`,
    `An exception can have at most ${maxNotes} notes.`,
  ],
  refund_ended: ['Esta devolução já foi encerrada.', 'This refund has already ended.'],
  refund_not_sent: [
    'Esta devolução nunca foi enviada ao provedor: só pode ser encerrada como não realizada.',
    'This refund was never sent to the provider: it can only be ended as failed.',
  ],
  refund_in_progress: ({ afterHours }) => [
    `O provedor ainda processa esta devolução. Você pode encerrá-la ${afterHours} horas depois do envio.`,
    `The provider is still processing this refund. You can end it ${afterHours} hours after it was sent.`,
  ],
} satisfies Texts
