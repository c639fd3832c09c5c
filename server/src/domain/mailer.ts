/** Letters to people who sign in. mail/smtp.ts sends them; where no mail is set up, mail/log.ts tells the operator what they would say. */
export type Mailer = {
  /** False: letters stand in the log, for the operator to hand on. */
  sendsMail: boolean
  /** Returns at once, so that no answer tells by its time whether somebody was written to. What fails is logged. */
  send(letter: Letter): void
  /** Waits for what is under way, within bounds. */
  close(): Promise<void>
}

export type Letter = { to: string; subject: string; text: string; html: string; link: string }
