import type { Log } from '../base/log.ts'
import type { Mailer } from '../domain/ports/mailer.ts'

export const NO_MAIL =
  'SMTP_URL is not set: nobody can choose a new password or confirm an e-mail by mail. Set it, or use: guiche account password, account confirm, operator password'

/** Without SMTP_URL where money is real: whoever reads the log must not get into anybody's account, so it holds no link. */
export function makeNoMailer(log: Log): Mailer {
  return {
    sendsMail: false,
    send: ({ to, subject }) =>
      log.warn(
        { to },
        `no SMTP_URL is set, so this was not mailed: ${subject}. To confirm an e-mail: guiche account confirm --email`,
      ),
    close: async () => {},
  }
}
