import { createTransport } from 'nodemailer'
import type { Log } from '../base/log.ts'
import type { Mailer } from '../domain/ports/mailer.ts'

const CONNECT_TIMEOUT_MS = 10_000
const SOCKET_TIMEOUT_MS = 30_000
const MAX_CONNECTIONS = 2
// Users can request another e-mail.
const MAX_WAITING = 100
const CLOSE_WITHIN_MS = 2_000

/** `requiresTls`: without STARTTLS or TLS from the start, nothing is sent. */
export type SmtpServer = { smtpUrl: string; requiresTls: boolean }

export function makeSmtpMailer({ from, log, ...server }: SmtpServer & { from: string; log: Log }): Mailer {
  const transport = openTransport(server, from)
  const idDomain = /@([^\s>@]+)>?\s*$/.exec(from)?.[1] ?? 'guiche.invalid'
  const inFlight = new Set<Promise<void>>()
  return {
    sendsMail: true,
    send({ to, subject, text, html }) {
      if (inFlight.size >= MAX_WAITING) {
        log.warn({ waiting: inFlight.size }, 'e-mail dropped: the mail server does not keep up')
        return
      }
      const sending: Promise<void> = transport
        .sendMail({ to: recipient(to), subject, text, html })
        .then(
          () => log.debug({ subject }, 'e-mail sent'),
          (error: unknown) => log.warn({ err: error, subject }, 'sending an e-mail failed'),
        )
        .finally(() => inFlight.delete(sending))
      inFlight.add(sending)
    },
    async deliver({ id, to, subject, text, html }) {
      await transport.sendMail({ to: recipient(to), subject, text, html, messageId: `<${id}@${idDomain}>` })
    },
    async close() {
      const tooLong = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref())
      await Promise.race([Promise.all(inFlight), tooLong])
      transport.close()
    },
  }
}

/** No character of an address can add another recipient. */
function recipient(address: string) {
  return { name: '', address }
}

/** Connects and signs in, and sends nothing. */
export async function trySmtp(server: SmtpServer): Promise<void> {
  const transport = openTransport(server)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

function openTransport({ smtpUrl, requiresTls }: SmtpServer, from?: string) {
  return createTransport(
    {
      url: smtpUrl,
      requireTLS: requiresTls,
      pool: true,
      maxConnections: MAX_CONNECTIONS,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { ...(from && { from }), headers: { 'Auto-Submitted': 'auto-generated' } },
  )
}
