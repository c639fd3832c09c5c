/** Letters to people who sign in. mail/smtp.ts sends them. Without mail, mail/log.ts prints the links in the sandbox, and mail/none.ts sends nothing. */
export type Mailer = {
  /** False: in the sandbox letters stand in the log. Where money is real there are none, and who needs one asks the operator. */
  sendsMail: boolean
  /** Returns at once, so that no answer tells by its time whether somebody was written to. What fails is logged. */
  send(letter: Email): void
  /** Waits for what is under way, within bounds. */
  close(): Promise<void>
}

export type Email = { to: string; subject: string; text: string; html: string; link: string }
