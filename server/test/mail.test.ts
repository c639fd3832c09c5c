import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Log } from '../src/base/log.ts'
import { makeUnsentMailer } from '../src/mail/unsent.ts'
import { makeSmtpMailer, trySmtp } from '../src/mail/smtp.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { appWith } from './requests.ts'
import { startSmtp } from './smtp-server.ts'
import { openBrowser, PASSWORD } from './sign-in-client.ts'
import { until, world } from './world.ts'

const LETTER = {
  to: 'ana@loja.example',
  subject: 'Confirme seu e-mail',
  text: 'https://guiche.example/verify-email?token=t0k3n\n',
  html: '<p>https://guiche.example/verify-email?token=t0k3n</p>',
  link: 'https://guiche.example/verify-email?token=t0k3n',
}

test('an e-mail goes to the mail server, to one address, as text and as html', async () => {
  const server = await startSmtp()
  const { log } = recording()
  const mailer = makeSmtpMailer({ smtpUrl: server.url, requiresTls: false, from: 'guiche <pix@example.com>', log })
  mailer.send(LETTER)
  await mailer.close()
  expect(server.commands).toContain('MAIL FROM:<pix@example.com>')
  expect(server.commands.filter((line) => line.startsWith('RCPT'))).toEqual(['RCPT TO:<ana@loja.example>'])
  const message = server.commands.join('\n')
  for (const part of [
    'From: guiche <pix@example.com>',
    'Subject: Confirme seu e-mail',
    'Auto-Submitted: auto-generated',
  ])
    expect(message).toContain(part)
  expect(message).toMatch(/Content-Type: text\/plain[^]*Content-Type: text\/html/)
})

test('where TLS is required, a server without it gets neither the password nor the e-mail', async () => {
  const server = await startSmtp()
  const smtpUrl = server.url.replace('//', '//user:pa55word@')
  const { log, lines } = recording()
  const mailer = makeSmtpMailer({ smtpUrl, requiresTls: true, from: 'pix@example.com', log })
  mailer.send(LETTER)
  await mailer.close()
  expect(lines.map(([level, text]) => [level, text])).toEqual([['warn', 'sending an e-mail failed']])
  expect(server.commands.map((line) => line.split(' ')[0])).toEqual(['EHLO', 'STARTTLS'])
  await expect(trySmtp({ smtpUrl, requiresTls: true })).rejects.toMatchObject({ code: 'ETLS' })
  await expect(trySmtp({ smtpUrl: server.url, requiresTls: false })).resolves.toBeUndefined()
})

test('a mail server that refuses or is away costs a warning without the link, and nobody waits for it', async () => {
  const server = await startSmtp({ refuses: true })
  for (const smtpUrl of [server.url, 'smtp://127.0.0.1:1']) {
    const { log, lines } = recording()
    const mailer = makeSmtpMailer({ smtpUrl, requiresTls: false, from: 'pix@example.com', log })
    expect(mailer.send(LETTER)).toBeUndefined()
    await until('it is logged', async () => lines.length > 0)
    expect(lines.map((line) => line.slice(0, 2))).toEqual([['warn', 'sending an e-mail failed']])
    expect(JSON.stringify(lines)).not.toContain('t0k3n')
    await mailer.close()
  }
})

test('a mail server that never answers holds a bounded number of letters', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const { log, lines } = recording()
  const { port } = silent.address() as AddressInfo
  const smtpUrl = `smtp://127.0.0.1:${port}`
  const mailer = makeSmtpMailer({ smtpUrl, requiresTls: false, from: 'pix@example.com', log })
  for (let time = 0; time < 105; time++) mailer.send(LETTER)
  expect(lines.filter(([, text]) => text === 'e-mail dropped: the mail server does not keep up')).toHaveLength(5)
  await mailer.close()
})

test('without a mail server the link is printed, for the operator to hand on', () => {
  const { log, lines } = recording()
  const mailer = makeUnsentMailer(log, 'test')
  mailer.send(LETTER)
  expect(mailer.sendsMail).toBe(false)
  expect(lines).toEqual([
    ['info', 'e-mail not sent because SMTP_URL is not set: Confirme seu e-mail', { to: LETTER.to, link: LETTER.link }],
  ])
})

function recording() {
  const lines: [string, string, object][] = []
  const at = (level: string) => (fields: object, text: string) => void lines.push([level, text, fields])
  const log: Log = { debug: () => {}, info: at('info'), warn: at('warn'), error: at('error') }
  return { log, lines }
}

test('without a mail server where money is real, nothing that could be opened is printed', () => {
  const { log, lines } = recording()
  const mailer = makeUnsentMailer(log, 'live')
  mailer.send(LETTER)
  expect([mailer.sendsMail, lines.length]).toEqual([false, 1])
  expect(JSON.stringify(lines)).toContain('guiche account confirm')
  expect(JSON.stringify(lines)).not.toMatch(/t0k3n|https?:/)
})

test('without a mail server where money is real, no link to a password is made, for anybody', async () => {
  const w = await world({ settings: { mode: 'live' } })
  await createAccount(w.ctx, { email: LETTER.to, name: 'Loja da Ana', password: PASSWORD })
  const app = await appWith({ ...w.ctx, mailer: makeUnsentMailer(w.ctx.log, 'live') })
  const answers = []
  for (const path of ['auth/request-password-reset', 'auth/send-verification-email'])
    for (const email of [LETTER.to, 'nobody@loja.example']) {
      const answer = await openBrowser({ app }).post(path, { email })
      answers.push([answer.statusCode, answer.json().code, answer.json().message])
    }
  const text = 'This service sends no e-mail: ask its operator to set a new password or to confirm your e-mail'
  expect(answers).toEqual(answers.map(() => [403, 'mail_not_set_up', text]))
  expect([await w.count('verifications'), w.letters]).toEqual([0, []])
  // A new account waits for the operator. The log says for whom and what to do, without a link.
  const person = { name: 'Eva', email: 'eva@loja.example', password: PASSWORD }
  expect((await openBrowser({ app }).post('auth/sign-up/email', person)).statusCode).toBe(200)
  expect(w.logged).toHaveLength(1)
  expect(JSON.stringify(w.logged)).toMatch(/guiche account confirm.*eva@loja\.example/)
  expect(JSON.stringify(w.logged)).not.toContain('token')
})
