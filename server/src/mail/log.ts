import type { Log } from '../base/log.ts'
import type { Mailer } from '../domain/ports/mailer.ts'

/** Without SMTP_URL in the sandbox: the links are printed, and whoever runs the service hands them on. */
export function makeLogMailer(log: Log): Mailer {
  return {
    sendsMail: false,
    send: ({ to, subject, link }) => log.info({ to, link }, `no SMTP_URL is set, so this was not mailed: ${subject}`),
    close: async () => {},
  }
}
