import type { Log } from '../base/log.ts'
import type { Mailer } from '../domain/ports/mailer.ts'

export const NO_MAIL =
  'SMTP_URL is not set: users cannot reset a password or confirm an e-mail by themselves. Set it, or use: guiche account password, account confirm, operator password'

/** For real money without SMTP_URL: logs no links, because they would let readers of the log into accounts. */
export function makeNoMailer(log: Log): Mailer {
  return {
    sendsMail: false,
    send: ({ to, subject }) =>
      log.warn(
        { to },
        `e-mail not sent because SMTP_URL is not set: ${subject}. To confirm an e-mail: guiche account confirm --email`,
      ),
    close: async () => {},
  }
}
