import type { Log } from '../base/log.ts'
import type { Mailer } from '../domain/ports/mailer.ts'

export const NO_MAIL =
  'SMTP_URL is not set: users cannot reset a password or confirm an e-mail by themselves. Set it, or use: guiche account password, account confirm, operator password'

/**
 * Without SMTP_URL. A sandbox logs the links, so that the operator can pass them on. A live service does not, because
 * they would let readers of the log into accounts.
 */
export function makeUnsentMailer(log: Log, mode: 'test' | 'live'): Mailer {
  return {
    sendsMail: false,
    send({ to, subject, link }) {
      const text = `e-mail not sent because SMTP_URL is not set: ${subject}`
      if (mode === 'test') log.info({ to, link }, text)
      else log.warn({ to }, `${text}. To confirm an e-mail: guiche account confirm --email`)
    },
    deliver: () => Promise.reject(new Error('SMTP_URL is not set')),
    close: async () => {},
  }
}
