import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { createInvitation, invitationLink, revokeInvitation } from '../src/domain/users/invitations.ts'
import { signUp } from '../src/domain/accounts/sign-up.ts'
import { signToken } from '../src/http/auth/session-cookie.ts'
import { signConfirmation } from '../src/http/auth/sign-up.ts'
import { CONSOLE, makeOperator } from './operators-client.ts'
import { appWith } from './requests.ts'
import { openBrowser, PASSWORD } from './sign-in-client.ts'
import { until, world, type World } from './world.ts'

const BIA = { name: 'Loja da Bia', email: 'bia@loja.example', password: PASSWORD }

test('who signs up has a whole account at once, and signs in when the e-mail is confirmed', async () => {
  const w = await world()
  const browser = openBrowser(w)
  const made = await browser.post('auth/sign-up/email', { ...BIA, email: 'Bia@Loja.example' })
  expect([made.statusCode, made.json()]).toEqual([
    200,
    { token: null, user: { email: BIA.email, name: BIA.name, emailVerified: false } },
  ])
  expect(await rowsMade(w)).toEqual({ users: 1, credentials: 1, accounts: 1, balances: 1 })
  expect(await query(w.pool, 'select actor_kind, actor, action from audit_log')).toEqual([
    { actor_kind: 'account', actor: BIA.email, action: 'account.created' },
  ])

  const early = await browser.signIn(BIA.email)
  expect([early.statusCode, early.json().code, await browser.me()]).toEqual([403, 'EMAIL_NOT_VERIFIED', null])
  await confirm(w, 0)
  expect((await browser.signIn(BIA.email)).statusCode).toBe(200)
  expect((await browser.get('balance')).json()).toMatchObject({ success: true, balance: 0 })
})

test('without the right password, nobody learns that an e-mail is not confirmed yet', async () => {
  const w = await world()
  await openBrowser(w).post('auth/sign-up/email', BIA)
  expect((await openBrowser(w).signIn(BIA.email, 'not the password')).statusCode).toBe(401)
})

test('an e-mail that has an account gets the same answer and another letter, and its account stays as it is', async () => {
  const w = await world()
  const browser = openBrowser(w)
  const first = await browser.post('auth/sign-up/email', BIA)
  await confirm(w, 0)
  const again = { ...BIA, password: 'the password of a thief' }
  const second = await browser.post('auth/sign-up/email', again)
  expect([second.statusCode, second.body]).toEqual([first.statusCode, first.body])
  expect(await rowsMade(w)).toEqual({ users: 1, credentials: 1, accounts: 1, balances: 1 })
  expect(w.letters.at(-1)).toMatchObject({
    to: BIA.email,
    subject: 'Você já tem uma conta no guiche',
    link: 'https://guiche.example/forgot-password',
  })
  expect((await browser.signIn(BIA.email, again.password)).statusCode).toBe(401)
  expect((await browser.signIn(BIA.email)).statusCode).toBe(200)
})

// Somebody else may have taken the address first and never confirmed it. Whoever reads its mail still gets in, with a
// password that nobody else knows.
test('a new password chosen by mail confirms the e-mail too', async () => {
  const w = await world()
  const browser = openBrowser(w)
  await browser.post('auth/sign-up/email', BIA)
  await browser.post('auth/request-password-reset', { email: BIA.email })
  const token = new URL(w.letters.at(-1)!.link).searchParams.get('token')!
  await browser.post('auth/reset-password', { newPassword: 'the right one’s password', token })
  expect((await browser.signIn(BIA.email, 'the right one’s password')).statusCode).toBe(200)
  expect((await browser.signIn(BIA.email)).statusCode).toBe(401)
})

test('a confirmation can be sent again, and asking for it tells nothing about the address', async () => {
  const w = await world()
  const browser = openBrowser(w)
  await browser.post('auth/sign-up/email', BIA)
  const known = await browser.post('auth/send-verification-email', { email: BIA.email })
  const unknown = await browser.post('auth/send-verification-email', { email: 'nobody@loja.example' })
  expect([known.statusCode, known.body]).toEqual([unknown.statusCode, unknown.body])
  expect(w.letters.map(({ to }) => to)).toEqual([BIA.email, BIA.email])
  await confirm(w, 1)
  expect((await browser.signIn(BIA.email)).statusCode).toBe(200)
})

test('in the sandbox without a mail server the answer holds the link that confirms, for a known address too', async () => {
  const w = await world()
  const browser = openBrowser({ app: await appWith({ ...w.ctx, mailer: { ...w.ctx.mailer, sendsMail: false } }) })
  const made = await browser.post('auth/sign-up/email', BIA)
  const { confirmationLink: link } = made.json<{ confirmationLink: string }>()
  expect(link).toMatch(/^https:\/\/guiche\.example\/verify-email\?token=/)
  const again = await browser.post('auth/sign-up/email', { ...BIA, password: 'the password of a thief' })
  expect(shape(again.json())).toEqual(shape(made.json()))
  const asked = await browser.post('auth/send-verification-email', { email: BIA.email })
  const unknown = await browser.post('auth/send-verification-email', { email: 'nobody@loja.example' })
  expect(shape(asked.json())).toEqual({ status: true, confirmationLink: 'a link' })
  expect(shape(unknown.json())).toEqual(shape(asked.json()))

  const confirmed = await browser.get(`auth/verify-email${new URL(link).search}`)
  expect(confirmed.json()).toEqual({ status: true, email: BIA.email })
  // Opening the link signs nobody in.
  expect(await browser.me()).toBe(null)
  expect((await browser.signIn(BIA.email)).statusCode).toBe(200)
})

test('where money is real, or mail is sent, no answer holds a link that confirms an e-mail', async () => {
  for (const [mode, sendsMail] of [
    ['live', false],
    ['live', true],
    ['test', true],
  ] as const) {
    const w = await world({ settings: { mode } })
    const browser = openBrowser({ app: await appWith({ ...w.ctx, mailer: { ...w.ctx.mailer, sendsMail } }) })
    for (const path of ['auth/sign-up/email', 'auth/send-verification-email']) {
      const { body } = await browser.post(path, path.endsWith('up/email') ? BIA : { email: BIA.email })
      expect([mode, sendsMail, path, /confirmationLink|verify-email\?|eyJ/.test(body)]).toEqual([
        mode,
        sendsMail,
        path,
        false,
      ])
    }
    expect(await w.count('users')).toBe(1)
  }
})

function shape(answer: { confirmationLink?: string }): object {
  return { ...answer, ...(answer.confirmationLink && { confirmationLink: 'a link' }) }
}

test('a link that was made up confirms nothing', async () => {
  const w = await world()
  await openBrowser(w).post('auth/sign-up/email', BIA)
  const token = new URL(w.letters[0]!.link).searchParams.get('token')!
  for (const wrong of ['', 'x', `${token.slice(0, -3)}abc`]) {
    const answer = await openBrowser(w).get(`auth/verify-email?token=${wrong}`)
    expect([wrong, answer.statusCode]).toEqual([wrong, 401])
  }
  expect(await w.count('users', 'email_verified')).toBe(0)
})

test('a token that the same key signed for something else, or for another service, confirms nothing', async () => {
  const w = await world()
  await openBrowser(w).post('auth/sign-up/email', BIA)
  const [secret] = w.ctx.settings.signIn.secrets()
  const claims = { email: BIA.email, expiresAtMs: w.clock.now().getTime() + 3_600_000 }
  const text = Buffer.from(JSON.stringify(claims)).toString('base64url')
  const [purpose, service] = ['confirm-email', 'https://guiche.example']
  const verify = (signature: string) => openBrowser(w).get(`auth/verify-email?token=${text}.${signature}`)
  for (const wrong of [
    signToken(text, secret!).split('.')[1]!.replaceAll(/[+/=]/g, '_'),
    signConfirmation(text, service, secret!, 'x'),
    signConfirmation(text, 'https://other.example', secret!, purpose),
    signConfirmation(text, service, 'another secret', purpose),
  ]) {
    const answer = await verify(wrong)
    expect([wrong, answer.statusCode, answer.json().code]).toEqual([wrong, 401, 'INVALID_TOKEN'])
  }
  expect(await w.count('users', 'email_verified')).toBe(0)
  const right = signConfirmation(text, service, secret!, purpose)
  expect([(await verify(right)).statusCode, await w.count('users', 'email_verified')]).toEqual([200, 1])
})

test('a link that confirms an e-mail expires after a day', async () => {
  const w = await world()
  await openBrowser(w).post('auth/sign-up/email', BIA)
  w.clock.advance(24 * 3_600_000)
  const { search } = new URL(w.letters[0]!.link)
  const answer = await openBrowser(w).get(`auth/verify-email${search}`)
  expect([answer.statusCode, answer.json().code]).toEqual([401, 'TOKEN_EXPIRED'])
})

test('without a ledger account there is no account, no person and no password: all are made, or none', async () => {
  const w = await world()
  await w.pool.query(`alter table ledger_accounts add constraint full_up check (kind <> 'balance') not valid`)
  expect((await openBrowser(w).post('auth/sign-up/email', BIA)).statusCode).toBe(500)
  expect(await rowsMade(w)).toEqual({ users: 0, credentials: 0, accounts: 0, balances: 0 })
  expect(w.letters).toEqual([])
})

test('what cannot be an account is refused, and told why', async () => {
  const w = await world()
  for (const [fields, code, details, message] of [
    [{ email: 'bia' }, 'field_invalid', { field: 'email' }, 'email must be an e-mail address'],
    [{ name: ' ' }, 'field_invalid', { field: 'name' }, 'An account needs a name of 1 to 100 characters'],
    [
      { password: 'elevenchars' },
      'password_length',
      { min: 12, max: 200 },
      'A password must have 12 to 200 characters',
    ],
    [{ password: 5 }, 'field_invalid', { field: 'password' }, 'password must be a text'],
  ] as const) {
    const answer = await openBrowser(w).post('auth/sign-up/email', { ...BIA, ...fields })
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      { success: false, error: message, code, details, message },
    ])
  }
  expect(await rowsMade(w)).toMatchObject({ users: 0 })
})

test('who signs up again and again is answered as before, and their mailbox is left in peace', async () => {
  const w = await world()
  const answers = []
  for (let time = 0; time < 5; time++) answers.push((await openBrowser(w).post('auth/sign-up/email', BIA)).body)
  expect([new Set(answers).size, w.letters.length]).toEqual([1, 3])
})

test('e-mails are in the reader’s language, as text and as html', async () => {
  const w = await world()
  const browser = openBrowser(w)
  await browser.post('auth/sign-up/email', BIA, { 'accept-language': 'pt-BR' })
  await browser.post('auth/request-password-reset', { email: BIA.email }, { 'accept-language': 'en-GB' })
  expect(w.letters.map(({ subject }) => subject)).toEqual([
    'Confirme seu e-mail no guiche',
    'Reset your guiche password',
  ])
  for (const { text, html, link } of w.letters) {
    expect(text).toContain(`\n${link}\n`)
    expect(html).toContain(`<a href="${link}">`)
  }
})

// ---- Invitations ----

test('where accounts need an invitation, one is made with it and none without', async () => {
  const { w, browser, invite } = await invited()
  const without = await browser.post('auth/sign-up/email', BIA)
  expect([without.statusCode, without.json().code]).toEqual([403, 'not_enabled'])
  const { token, invitation } = await invite(null)
  expect(invitationLink('https://x.example', token)).toBe(`https://x.example/sign-up?invitation=${token}`)
  const made = await browser.post('auth/sign-up/email', { ...BIA, invitation: token })
  expect([made.statusCode, made.json().user.emailVerified]).toEqual([200, false])
  expect(
    await query(w.pool, 'select used_at, used_by from invitations where id = $1', [invitation.invitationId]),
  ).toEqual(await query(w.pool, 'select $1::timestamptz as used_at, id as used_by from accounts', [w.clock.now()]))
  const rows = await query<{ row: string }>(w.pool, 'select i::text as row from invitations i')
  expect(rows.some(({ row }) => row.includes(token))).toBe(false)
})

test('an invitation to an address confirms that address, and is good for no other', async () => {
  const { browser, invite, w } = await invited()
  const { token } = await invite('Bia@loja.example')
  const other = await browser.post('auth/sign-up/email', { ...BIA, email: 'eva@loja.example', invitation: token })
  expect([other.statusCode, other.json().code]).toEqual([409, 'invitation_other_email'])
  // The page asks for the invitation's address and fills it in.
  expect((await browser.post('auth/invitation', { invitation: token })).json()).toEqual({
    success: true,
    invitation: { email: 'bia@loja.example' },
  })
  const made = await browser.post('auth/sign-up/email', { ...BIA, invitation: token })
  expect([made.json().user.emailVerified, w.letters]).toEqual([true, []])
  expect((await browser.signIn(BIA.email)).statusCode).toBe(200)
})

// A lock on the row makes both wait, so neither can use the invitation before the other has looked for it.
test('of two who come with one invitation at once, one gets an account', async () => {
  const { w, invite } = await invited()
  const { token } = await invite(null)
  let first: Promise<unknown> | undefined
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select id from invitations for update')
    first = signUp(w.ctx, { ...BIA, invitation: token }).catch((error: unknown) => error)
    second = signUp(w.ctx, { ...BIA, email: 'eva@loja.example', invitation: token }).catch((error: unknown) => error)
    await until('both wait', async () => {
      const sql = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return (await query(w.pool, sql)).length === 2
    })
  })
  const outcomes = await Promise.all([first, second])
  expect(outcomes).toContainEqual(expect.objectContaining({ isNew: true }))
  expect(outcomes).toContainEqual(expect.objectContaining({ code: 'invitation_used' }))
  expect(await w.count('accounts')).toBe(1)
})

test('an invitation that was tried with an e-mail that has an account ends like one that made an account', async () => {
  const { w, browser, invite } = await invited()
  const [one, other] = [await invite(null), await invite(null)]
  const free = await browser.post('auth/sign-up/email', { ...BIA, invitation: one.token })
  const taken = await browser.post('auth/sign-up/email', { ...BIA, invitation: other.token })
  expect([taken.statusCode, taken.body]).toEqual([free.statusCode, free.body])
  const later = []
  for (const { token } of [one, other]) {
    const answer = await browser.post('auth/sign-up/email', { ...BIA, email: 'eva@loja.example', invitation: token })
    later.push([answer.statusCode, answer.body])
  }
  expect(later[0]).toEqual([409, expect.stringContaining('invitation_used')])
  expect(later[1]).toEqual(later[0])
  const [after, afterTaken] = [one, other].map(({ token }) => browser.post('auth/invitation', { invitation: token }))
  expect((await after)!.body).toBe((await afterTaken)!.body)
  expect(await w.count('accounts')).toBe(1)
  expect(await w.count('audit_log', `action = 'invitation.revoked' and reason is not null`)).toBe(1)
})

test('an invitation that was used, revoked, has expired or was made up says so, before the form and after it', async () => {
  const { w, browser, invite } = await invited()
  const [used, revoked, expired] = [await invite(null), await invite(null), await invite(null, 1)]
  await browser.post('auth/sign-up/email', { ...BIA, invitation: used.token })
  await transact(w.pool, (tx) => revokeInvitation(tx, w.clock.now(), revoked.invitation.invitationId, CONSOLE))
  w.clock.advance(24 * 3_600_000)
  for (const [token, status, code] of [
    [used.token, 409, 'invitation_used'],
    [revoked.token, 409, 'invitation_used'],
    [expired.token, 409, 'invitation_expired'],
    ['made-up', 404, 'not_found'],
    ['', 404, 'not_found'],
  ] as const)
    for (const answer of [
      await browser.post('auth/invitation', { invitation: token }),
      await browser.post('auth/sign-up/email', { ...BIA, email: 'eva@loja.example', invitation: token }),
    ])
      expect([answer.statusCode, answer.json().code]).toEqual([status, code])
  expect(await w.count('accounts')).toBe(1)
})

test('where sign-up is closed, not even an invitation makes an account', async () => {
  const { w, browser, invite } = await invited('closed')
  const { token } = await invite(null)
  const answer = await browser.post('auth/sign-up/email', { ...BIA, invitation: token })
  expect([answer.statusCode, answer.json().error]).toEqual([403, 'Only the operator can create accounts here'])
  expect(await w.count('accounts')).toBe(0)
})

test('an invitation is valid for 1 to 90 days, and making and revoking one is in the audit log', async () => {
  const { w, invite } = await invited()
  for (const days of [0, 91, 1.5]) await expect(invite(null, days)).rejects.toThrow('valid for 1 to 90 days')
  await expect(invite('bia')).rejects.toThrow('Not an e-mail address: bia')
  const { invitation } = await invite('bia@loja.example')
  const revoke = (id: string) => transact(w.pool, (tx) => revokeInvitation(tx, w.clock.now(), id, CONSOLE))
  await revoke(invitation.invitationId)
  await revoke(invitation.invitationId)
  await expect(revoke('x')).rejects.toMatchObject({ code: 'not_found' })
  const log = await query<{ action: string }>(w.pool, 'select action from audit_log order by id')
  expect(log.map(({ action }) => action)).toEqual(['invitation.created', 'invitation.revoked'])
})

test('an operator makes, mails, lists and revokes invitations in the dashboard', async () => {
  const { w, browser } = await invited()
  const olga = await w.session(await makeOperator(w))
  const url = '/dashboard/api/operator/invitations'
  const made = await olga.ask('POST', url, { email: 'Bia@loja.example', expiresInDays: 2 })
  expect([made.statusCode, made.json()]).toMatchObject([
    201,
    { invitation: { email: 'bia@loja.example', madeBy: 'ops@example.com', expiresAt: '2026-03-04T12:00:00.000Z' } },
  ])
  const { link, invitation } = made.json()
  expect(w.letters).toMatchObject([{ to: 'bia@loja.example', subject: 'Convite para o guiche', link }])

  const open = (await olga.ask('POST', url, { email: null, expiresInDays: 1 })).json()
  expect(w.letters).toHaveLength(1)
  const listed = (await olga.ask('GET', url)).json()
  expect(listed.invitations).toEqual([open.invitation, invitation])
  expect(JSON.stringify(listed)).not.toContain(new URL(link).searchParams.get('invitation'))

  const revoked = await olga.ask('DELETE', `${url}/${invitation.id}`)
  expect(revoked.json().invitation).toEqual({ ...invitation, revokedAt: w.clock.now().toISOString() })
  const token = new URL(link).searchParams.get('invitation')
  expect((await browser.post('auth/sign-up/email', { ...BIA, invitation: token })).json().code).toBe('invitation_used')
  for (const [payload, error] of [
    [{ email: 'bia' }, 'email must be an e-mail address, or null'],
    [{ expiresInDays: 91 }, 'expiresInDays must be an integer from 1 to 90'],
  ] as const)
    expect((await olga.ask('POST', url, payload)).json()).toMatchObject({ error, code: 'field_invalid' })
})

async function invited(signup: 'invite' | 'closed' = 'invite') {
  const w = await world({
    settings: {
      signIn: {
        signup,
        secrets: () => ['a secret for sign-in that only tests know'],
        sessions: { account: { hours: 168, idleMinutes: 0 }, operator: { hours: 12, idleMinutes: 30 } },
        requireSecondFactor: 'off',
      },
    },
  })
  const invite = (email: string | null, expiresInDays?: number) =>
    transact(w.pool, (tx) =>
      createInvitation(tx, w.clock.now(), { email, ...(expiresInDays !== undefined && { expiresInDays }) }, CONSOLE),
    )
  return { w, invite, browser: openBrowser(w) }
}

/** Follows the link in an email, as the page does. */
async function confirm(w: World, index: number): Promise<void> {
  const { pathname, searchParams } = new URL(w.letters[index]!.link)
  expect(pathname).toBe('/verify-email')
  const answer = await openBrowser(w).get(`auth/verify-email?token=${searchParams.get('token')}`)
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: true, email: w.letters[index]!.to }])
}

async function rowsMade(w: World) {
  return {
    users: await w.count('users'),
    credentials: await w.count('credentials'),
    accounts: await w.count('accounts'),
    balances: await w.count('ledger_accounts', `kind = 'balance'`),
  }
}
