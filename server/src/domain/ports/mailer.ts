/**
 * E-mail to people who sign in. mail/smtp.ts sends it. Without SMTP, mail/unsent.ts logs the
 * links in the sandbox.
 */
export type Mailer = {
  /** False in the sandbox, where the log shows the links, and in live mode without SMTP, where the operator helps. */
  sendsMail: boolean
  /** Returns at once, so that response times do not tell whether an e-mail was sent. Failures are logged. */
  send(email: Email): void
  /** Resolves when the mail server has taken it, and rejects otherwise. `id` becomes its Message-ID. */
  deliver(email: Omit<Email, 'link'> & { id: string }): Promise<void>
  /** Waits for e-mail in flight, within bounds. */
  close(): Promise<void>
}

export type Email = { to: string; subject: string; text: string; html: string; link: string }
