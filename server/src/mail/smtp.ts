import { createTransport } from 'nodemailer'
import type { Log } from '../base/log.ts'
import type { Mailer } from '../domain/ports/mailer.ts'

const CONNECT_TIMEOUT_MS = 10_000
// Some servers look at a message for a while before they take it.
const SOCKET_TIMEOUT_MS = 30_000
const MAX_CONNECTIONS = 2
// A server that is away must not fill the memory; whoever misses a letter asks for another.
const MAX_WAITING = 100
// At the end of the process, which has 4.5 s in all.
const CLOSE_WITHIN_MS = 2_000

export function makeSmtpMailer({ smtpUrl, from, log }: { smtpUrl: string; from: string; log: Log }): Mailer {
  const transport = createTransport(
    {
      url: smtpUrl,
      pool: true,
      maxConnections: MAX_CONNECTIONS,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
      // Letters are made of our own words; nothing in them may make the mailer read a file or fetch an address.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from, headers: { 'Auto-Submitted': 'auto-generated' } },
  )
  const underWay = new Set<Promise<void>>()
  return {
    sendsMail: true,
    send({ to, subject, text, html }) {
      if (underWay.size >= MAX_WAITING) {
        log.warn({ waiting: underWay.size }, 'the mail server does not keep up: a letter was not sent')
        return
      }
      const sending: Promise<void> = transport
        // As an object, so that no character of an address can add a second one.
        .sendMail({ to: { name: '', address: to }, subject, text, html })
        .then(
          () => log.debug({ subject }, 'a letter was sent'),
          (error: unknown) => log.warn({ err: error, subject }, 'a letter could not be sent'),
        )
        .finally(() => underWay.delete(sending))
      underWay.add(sending)
    },
    async close() {
      const tooLong = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref())
      await Promise.race([Promise.all(underWay), tooLong])
      transport.close()
    },
  }
}
