import { ApiError } from './api.ts'
import { words } from './language.ts'

const useKnown = words({
  'pt-BR': {
    // Ours.
    unreachable: 'Sem resposta do servidor. Verifique a conexão e tente de novo.',
    timeout: 'O servidor demorou demais para responder.',
    not_signed_in: 'Sua sessão terminou. Entre de novo.',
    reauthentication_required: 'Confirme a sua senha para continuar.',
    foreign_origin: 'Este endereço não é o endereço público do serviço; o pedido foi recusado.',
    rate_limited: 'Pedidos demais em pouco tempo. Aguarde um momento.',
    unavailable: 'O serviço está ocupado ou reiniciando. Tente de novo em instantes.',
    provider_unavailable: 'A instituição de pagamento não respondeu. Tente de novo em instantes.',
    in_flight: 'O mesmo pedido ainda está em andamento.',
    account_suspended: 'Esta conta está suspensa.',
    password_too_common: 'Esta senha é das primeiras que alguém tentaria. Escolha outra, por exemplo uma frase.',
    password_too_simple: 'Esta senha só repete ou segue alguns caracteres. Escolha outra, por exemplo uma frase.',
    password_personal: 'Esta senha é quase só o seu e-mail, o seu nome ou o nome deste serviço. Escolha outra.',
    second_factor_required: 'Quem opera este serviço precisa das duas etapas. Ative-as primeiro nas configurações.',
    mail_not_set_up:
      'Este serviço não envia e-mails. Peça a quem o opera que defina uma nova senha ou confirme o seu e-mail.',
    // Of the library that signs people in.
    INVALID_EMAIL_OR_PASSWORD: 'E-mail ou senha incorretos.',
    INVALID_PASSWORD: 'Senha incorreta.',
    INVALID_EMAIL: 'Este e-mail não é válido.',
    USER_ALREADY_EXISTS: 'Já existe uma conta com este e-mail.',
    USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: 'Já existe uma conta com este e-mail.',
    PASSWORD_TOO_SHORT: 'A senha é curta demais.',
    PASSWORD_TOO_LONG: 'A senha é longa demais.',
    PASSWORD_COMPROMISED: 'Esta senha apareceu em vazamentos. Escolha outra.',
    EMAIL_NOT_VERIFIED: 'Confirme primeiro o seu e-mail.',
    INVALID_TOKEN: 'Este link não vale mais. Peça outro.',
    TOKEN_EXPIRED: 'Este link expirou. Peça outro.',
    INVALID_CODE: 'Código incorreto. Se já foi usado, espere o próximo.',
    INVALID_BACKUP_CODE: 'Código de recuperação incorreto ou já usado.',
    INVALID_TWO_FACTOR_COOKIE: 'O tempo para informar o código acabou. Entre de novo.',
    TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: 'Tentativas demais. Entre de novo.',
    ACCOUNT_TEMPORARILY_LOCKED: 'Códigos errados demais. Tente de novo em 15 minutos.',
    SESSION_EXPIRED: 'Sua sessão terminou. Entre de novo.',
    INVALID_ORIGIN: 'Este endereço não é o endereço público do serviço; o pedido foi recusado.',
    status429: 'Tentativas demais. Aguarde um momento e tente de novo.',
    status500: 'Algo falhou do nosso lado. Tente de novo em instantes.',
    withId: (text: string, id: string) => `${text} (pedido ${id})`,
    unexpected: 'Algo inesperado aconteceu nesta página.',
  },
  en: {
    unreachable: 'No answer from the server. Check the connection and try again.',
    timeout: 'The server took too long to answer.',
    not_signed_in: 'Your session has ended. Sign in again.',
    reauthentication_required: 'Confirm your password to go on.',
    foreign_origin: 'This address is not the public address of the service, so the request was refused.',
    rate_limited: 'Too many requests at once. Wait a moment.',
    unavailable: 'The service is busy or restarting. Try again in a moment.',
    provider_unavailable: 'The payment provider did not answer. Try again in a moment.',
    in_flight: 'The same request is still in progress.',
    account_suspended: 'This account is suspended.',
    password_too_common:
      'This password is one of the first that anybody would try. Choose another, such as a sentence.',
    password_too_simple:
      'This password only repeats or continues a few characters. Choose another, such as a sentence.',
    password_personal:
      'This password is little more than your e-mail, your name or the name of this service. Choose another.',
    second_factor_required: 'Operators of this service need two-step verification. Turn it on in the settings first.',
    mail_not_set_up: 'This service sends no mail. Ask whoever runs it to set a new password or to confirm your e-mail.',
    INVALID_EMAIL_OR_PASSWORD: 'Wrong e-mail or password.',
    INVALID_PASSWORD: 'Wrong password.',
    INVALID_EMAIL: 'This is not a valid e-mail address.',
    USER_ALREADY_EXISTS: 'There is an account with this e-mail already.',
    USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: 'There is an account with this e-mail already.',
    PASSWORD_TOO_SHORT: 'The password is too short.',
    PASSWORD_TOO_LONG: 'The password is too long.',
    PASSWORD_COMPROMISED: 'This password was found in leaks. Choose another one.',
    EMAIL_NOT_VERIFIED: 'Confirm your e-mail address first.',
    INVALID_TOKEN: 'This link is not valid any more. Ask for another one.',
    TOKEN_EXPIRED: 'This link has expired. Ask for another one.',
    INVALID_CODE: 'Wrong code. If it was used before, wait for the next one.',
    INVALID_BACKUP_CODE: 'Wrong recovery code, or one that was used before.',
    INVALID_TWO_FACTOR_COOKIE: 'The time to enter the code is over. Sign in again.',
    TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: 'Too many attempts. Sign in again.',
    ACCOUNT_TEMPORARILY_LOCKED: 'Too many wrong codes. Try again in 15 minutes.',
    SESSION_EXPIRED: 'Your session has ended. Sign in again.',
    INVALID_ORIGIN: 'This address is not the public address of the service, so the request was refused.',
    status429: 'Too many attempts. Wait a moment and try again.',
    status500: 'Something failed on our side. Try again in a moment.',
    withId: (text: string, id: string) => `${text} (request ${id})`,
    unexpected: 'Something unexpected happened on this page.',
  },
})

/** An error in words: known codes in the reader's language, else the server's own text. */
export function useErrorText(): (error: unknown) => string {
  const known = useKnown()
  return (error) => {
    if (!(error instanceof ApiError)) return known.unexpected
    const text = Object.hasOwn(known, error.code) ? known[error.code as keyof typeof known] : undefined
    if (typeof text === 'string') return text
    if (error.status === 429) return known.status429
    // An operator finds the log line by this number.
    if (error.status >= 500) return error.requestId ? known.withId(known.status500, error.requestId) : known.status500
    return error.message
  }
}
