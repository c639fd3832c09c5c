import type { Log } from '../base/log.ts'
import type { Mailer } from '../domain/ports/mailer.ts'

/** For a sandbox without SMTP_URL: logs the links, so that the operator can pass them on. */
export function makeLogMailer(log: Log): Mailer {
  return {
    sendsMail: false,
    send: ({ to, subject, link }) => log.info({ to, link }, `e-mail not sent because SMTP_URL is not set: ${subject}`),
    close: async () => {},
  }
}
