import { ApiError, type Details } from './api.ts'
import { ERROR_TEXTS } from './error-code-texts.ts'
import { translations } from './language.ts'

const useCodeTexts = translations(ERROR_TEXTS)

const useKnown = translations({
  // These are calls without an answer, and codes of the routes for signing in.
  codes: {
    unreachable: [
      'Sem resposta do servidor. Verifique sua conexão e tente de novo.',
      'No response from the server. Check your connection and try again.',
    ],
    timeout: ['O servidor demorou demais para responder.', 'The server took too long to respond.'],
    INVALID_EMAIL_OR_PASSWORD: ['E-mail ou senha incorretos.', 'Incorrect email or password.'],
    INVALID_PASSWORD: ['Senha incorreta.', 'Incorrect password.'],
    PASSWORD_TOO_SHORT: ['A senha é curta demais.', 'The password is too short.'],
    PASSWORD_TOO_LONG: ['A senha é longa demais.', 'The password is too long.'],
    EMAIL_NOT_VERIFIED: ['Confirme seu e-mail primeiro.', 'Confirm your email first.'],
    INVALID_TOKEN: ['Este link não vale mais. Peça outro.', 'This link is no longer valid. Request a new one.'],
    TOKEN_EXPIRED: ['Este link expirou. Peça outro.', 'This link has expired. Request a new one.'],
    INVALID_CODE: [
      'Código incorreto. Se já foi usado, espere o próximo.',
      'Incorrect code. If it was already used, wait for the next one.',
    ],
    INVALID_BACKUP_CODE: [
      'Código de recuperação incorreto ou já usado.',
      'This recovery code is incorrect or was already used.',
    ],
    INVALID_TWO_FACTOR_COOKIE: [
      'O tempo ou as tentativas para informar o código acabaram. Entre de novo.',
      'You ran out of time or attempts. Sign in again.',
    ],
    ACCOUNT_TEMPORARILY_LOCKED: [
      'Muitos códigos errados. Tente de novo em 15 minutos.',
      'Too many incorrect codes. Try again in 15 minutes.',
    ],
  },
  status500: ['Erro interno. Tente de novo em instantes.', 'Something went wrong on our end. Try again in a moment.'],
  withId: (text: string, id: string) => [`${text} (requisição ${id})`, `${text} (request ${id})`],
  unexpected: ['Ocorreu um erro inesperado nesta página.', 'An unexpected error occurred on this page.'],
})

/** Explains known codes in the reader's language, and others with the server's text. */
export function useErrorText(): (error: unknown) => string {
  const known = useKnown()
  const codes = useCodeTexts()
  const texts: Readonly<Record<string, string | ((details: Details) => string)>> = { ...known.codes, ...codes }
  return (error) => {
    if (!(error instanceof ApiError)) return known.unexpected
    const text = texts[error.code]
    if (text !== undefined) return typeof text === 'string' ? text : text(error.details)
    if (error.status === 429) return codes.rate_limited
    // Operators find the log line by this id.
    if (error.status >= 500) return error.requestId ? known.withId(known.status500, error.requestId) : known.status500
    return error.message
  }
}
