import { expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { isReadable } from '../src/base/readable-text.ts'
import { loadConfig } from '../src/config/config.ts'
import { query } from '../src/db/tx.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { setOperatorEnabled } from '../src/domain/users/operators.ts'
import { ask, CONSOLE, makeOperator } from './operators-client.ts'
import { appWith, bearer } from './requests.ts'
import { openBrowser, PASSWORD, totpOf } from './sign-in-client.ts'
import { world } from './world.ts'

const ANA = 'ana@loja.example'
const MINUTE = 60_000

test('an operator’s session ends after 30 minutes without a request, and goes on as long as it is used', async () => {
  const w = await world()
  const browser = openBrowser(w)
  await browser.signIn((await makeOperator(w)).email)
  for (let time = 0; time < 4; time++) {
    w.clock.advance(29 * MINUTE)
    expect((await browser.get('operator/accounts')).statusCode).toBe(200)
  }
  w.clock.advance(30 * MINUTE)
  expect([(await browser.get('operator/accounts')).statusCode, await browser.me()]).toEqual([401, null])
  expect((await browser.get('auth/list-sessions')).statusCode).toBe(401)
})

test('an account holder’s session ends after a day without use, though an open page asks by itself', async () => {
  const w = await world()
  const { sessions } = loadConfig({}).settings.signIn
  const app = await appWith({
    ...w.ctx,
    settings: { ...w.ctx.settings, signIn: { ...w.ctx.settings.signIn, sessions } },
  })
  const { cookie } = await w.session(await w.account())
  const ask = async (headers = {}) =>
    (await app.inject({ url: '/dashboard/api/balance', headers: { cookie, ...headers } })).statusCode
  for (let day = 0; day < 3; day++) {
    w.clock.advance(23 * 60 * MINUTE)
    expect(await ask()).toBe(200)
  }
  const statuses = []
  for (let hours = 0; hours < 24; hours += 12) {
    w.clock.advance(12 * 60 * MINUTE)
    statuses.push(await ask({ 'guiche-unattended': 'true' }))
  }
  expect(statuses).toEqual([200, 401])
})

test('what an open page asks by itself, with nobody before it, does not keep an operator’s session', async () => {
  const w = await world()
  const { cookie } = await w.session(await makeOperator(w))
  const headers = { cookie, 'guiche-unattended': 'true' }
  const statuses = []
  for (let time = 0; time < 3; time++) {
    w.clock.advance(10 * MINUTE)
    statuses.push((await w.app.inject({ url: '/dashboard/api/operator/accounts', headers })).statusCode)
  }
  expect(statuses).toEqual([200, 200, 401])
})

test('an operator’s session lasts 12 hours and an account holder’s a week, however busy', async () => {
  const w = await world()
  const olga = await makeOperator(w)
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  for (const email of [olga.email, ANA]) await openBrowser(w).signIn(email)
  expect(await lifeHours(w)).toEqual([
    { email: ANA, hours: 168 },
    { email: olga.email, hours: 12 },
  ])
})

test('how long sessions last and idle is set by the deployment, for account holders too', async () => {
  const w = await world()
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  const sessions = { account: { hours: 8, idleMinutes: 10 }, operator: { hours: 11, idleMinutes: 0 } }
  const settings = { ...w.ctx.settings, signIn: { ...w.ctx.settings.signIn, sessions } }
  const app = await appWith({ ...w.ctx, settings })
  const [browser, operator] = [openBrowser({ app }), openBrowser({ app })]
  await browser.signIn(ANA)
  await operator.signIn((await makeOperator(w)).email)
  w.clock.advance(9 * MINUTE)
  expect(await browser.me()).not.toBeNull()
  w.clock.advance(10 * MINUTE)
  expect(await browser.me()).toBeNull()
  w.clock.advance(10 * 60 * MINUTE)
  expect(await operator.me()).not.toBeNull()
  expect((await lifeHours(w)).map(({ hours }) => hours)).toEqual([8, 11])
  w.clock.advance(60 * MINUTE)
  expect(await operator.me()).toBeNull()
})

test('that a session is used is written at most once a minute', async () => {
  const w = await world()
  const session = await w.session(await makeOperator(w))
  const written = async () => {
    await session.ask('GET', '/dashboard/api/operator/accounts')
    const [row] = await query<{ at: Date | null }>(w.pool, 'select last_used_at as at from sessions')
    return row!.at
  }
  w.clock.advance(MINUTE - 1)
  expect(await written()).toBeNull()
  w.clock.advance(1)
  const first = w.clock.now()
  expect(await written()).toEqual(first)
  w.clock.advance(MINUTE - 1)
  expect(await written()).toEqual(first)
})

test('an operator ends all sessions of an account holder by key or in the dashboard, with a reason for the audit log', async () => {
  const w = await world()
  const olga = await makeOperator(w)
  const { accountId } = await createAccount(w.ctx, { email: ANA, name: 'Ana', password: PASSWORD })
  const [browser, phone, stranger] = [openBrowser(w), openBrowser(w), await w.session(await w.account())]
  for (const one of [browser, phone]) await one.signIn(ANA)
  await browser.post('auth/request-password-reset', { email: ANA })
  const ended = await ask(w, olga.key, 'POST', `accounts/${accountId}/sign-out`, { reason: 'lost phone' })
  expect(ended).toEqual({ status: 200, body: { success: true, ended: 2 } })
  expect([await browser.me(), await phone.me()]).toEqual([null, null])
  expect(await w.count('verifications')).toBe(0)
  expect((await stranger.ask('GET', '/dashboard/api/balance')).statusCode).toBe(200)

  await browser.signIn(ANA)
  const dashboard = await w.session(olga)
  const url = `/dashboard/api/operator/accounts/${accountId}/sign-out`
  expect((await dashboard.ask('POST', url, { reason: 'again' })).json()).toEqual({ success: true, ended: 1 })
  expect((await dashboard.ask('POST', url, { reason: ' ' })).statusCode).toBe(400)
  expect((await ask(w, olga.key, 'POST', 'accounts/none/sign-out', { reason: 'x' })).status).toBe(404)
  const log = await query(
    w.pool,
    `select actor, reason, details, account_id as "accountId" from audit_log where action = 'sessions.ended' order by id`,
  )
  expect(log).toEqual([
    { actor: olga.email, reason: 'lost phone', details: { ended: 2 }, accountId },
    { actor: olga.email, reason: 'again', details: { ended: 1 }, accountId },
  ])
})

test('where operators must have a second factor, one without it can do nothing but turn it on', async () => {
  const w = await world()
  const signIn = { ...w.ctx.settings.signIn, requireSecondFactor: 'operators' as const }
  const app = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, signIn } })
  const browser = openBrowser({ app })
  const olga = await makeOperator(w)
  await browser.signIn(olga.email)
  const refused = await browser.get('operator/accounts')
  expect([refused.statusCode, refused.json().code]).toEqual([403, 'second_factor_required'])
  const { totpURI } = (await browser.post('auth/two-factor/enable', { password: PASSWORD })).json()
  expect((await browser.get('operator/accounts')).statusCode).toBe(403)
  await browser.post('auth/two-factor/verify-totp', { code: totpOf(totpURI) })
  expect((await browser.get('operator/accounts')).statusCode).toBe(200)
  // Account holders are not asked for a second factor, and a key has none.
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  const holder = openBrowser({ app })
  await holder.signIn(ANA)
  expect((await holder.get('balance')).statusCode).toBe(200)
  expect((await ask({ app }, olga.key, 'GET', 'accounts')).status).toBe(200)
})

test('where everybody must have a second factor, an account holder without it can do nothing but turn it on', async () => {
  const w = await world()
  const signIn = { ...w.ctx.settings.signIn, requireSecondFactor: 'everybody' as const }
  const app = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, signIn } })
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  const holder = openBrowser({ app })
  await holder.signIn(ANA)
  for (const path of ['balance', 'deposits', 'keys']) {
    const refused = await holder.get(path)
    expect([path, refused.statusCode, refused.json().code]).toEqual([path, 403, 'second_factor_required'])
  }
  const { totpURI } = (await holder.post('auth/two-factor/enable', { password: PASSWORD })).json()
  expect((await holder.get('balance')).statusCode).toBe(403)
  await holder.post('auth/two-factor/verify-totp', { code: totpOf(totpURI) })
  expect((await holder.get('balance')).statusCode).toBe(200)
  const olga = openBrowser({ app })
  await olga.signIn((await makeOperator(w)).email)
  expect((await olga.get('operator/accounts')).json().code).toBe('second_factor_required')
  // A key has no second factor, and needs none.
  const { key } = await w.account()
  expect((await app.inject({ url: '/api/balance', headers: bearer(key) })).statusCode).toBe(200)
})

test('an operator who was disabled is answered alike with the right password and with a wrong one', async () => {
  const w = await world()
  const olga = await makeOperator(w)
  await setOperatorEnabled(w.ctx, { operatorId: olga.operatorId, isEnabled: false }, CONSOLE)
  const browser = openBrowser(w)
  const right = await browser.signIn(olga.email)
  const wrong = await browser.signIn(olga.email, 'not the password')
  expect([right.statusCode, right.body, Object.keys(right.headers)]).toEqual([
    wrong.statusCode,
    wrong.body,
    Object.keys(wrong.headers),
  ])
  expect(browser.cookies.size).toBe(0)
})

test('text that people read has no character that nobody sees or that turns the text around, wherever it is written', async () => {
  const w = await world({ settings: { refunds: { byAccounts: true, returnFee: false } } })
  const account = await w.account()
  const session = await w.session(account)
  const operator = await w.session(await makeOperator(w))
  const { charge } = await w.paidCharge({ account })
  await session.ask('GET', `/dashboard/api/deposit/${charge.paymentLinkId}`)
  const hidden = ['\u200b', '\u202e', '\u2066', '\u{e0041}', '\u00ad', '\u2060', '\ufeff', '\u3164', '\u115f', '\u180e']
  hidden.push('\u2028', '\u034f', '\u2800', '\u200c', '\u200d', '\ufe0f', '\u{e0100}', '\u061c', '\u001b')
  const url = `http://127.0.0.1:${await freePort()}`
  for (const mark of hidden) expect([mark, isReadable(`Loja${mark} da Ana`)]).toEqual([mark, false])
  for (const mark of ['\u200b', '\u202e', '\u{e0041}', '\u001b']) {
    const name = `Loja${mark} da Ana`
    await expect(createAccount(w.ctx, { email: 'x@loja.example', name, password: PASSWORD })).rejects.toThrow(
      'A name must',
    )
    const writes: [typeof session, string, object][] = [
      [session, 'keys', { name, scopes: ['balance:read'] }],
      [session, 'webhooks', { name, url }],
      [session, 'deposit', { value: 5000, description: name }],
      [session, 'deposit', { value: 5000, externalId: name }],
      [session, `deposit/${charge.paymentLinkId}/refund`, { value: 100, reason: name }],
      [operator, 'operator/accounts', { name, email: 'x@loja.example' }],
      [operator, `operator/accounts/${account.accountId}/suspend`, { reason: name }],
    ]
    for (const [who, path, body] of writes) {
      const answer = await who.ask('POST', `/dashboard/api/${path}`, body)
      expect([mark, path, answer.statusCode, answer.json().code]).toEqual([mark, path, 400, 'field_invalid'])
    }
  }
  for (const name of ['Açaí & Cia. – 24 h', 'قهوة', '咖啡店', '❤️ Doces', '👨‍👩‍👧 Padaria', '👩🏽‍🍳 da Ana'])
    expect([name, isReadable(name)]).toEqual([name, true])
})

test('names without control characters, and fields without halves of characters, or a refusal and never a failure', async () => {
  const w = await world()
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  const person = { email: 'eva@loja.example', password: PASSWORD }
  const browser = openBrowser(w)
  const names = [
    'a\r\nBcc: x@y',
    '\u001b[2J\u001b[31mOWNED',
    '\u202eevil',
    'a\u2066b',
    'a\u0000b',
    'x\ud800y',
    '\u200fx',
  ]
  for (const name of names) {
    const answer = await browser.post('auth/sign-up/email', { ...person, name })
    const code = /\0|\p{Cs}/u.test(name) ? 'body_invalid' : 'field_invalid'
    expect([name, answer.statusCode, answer.json().code]).toEqual([name, 400, code])
  }
  expect(await w.count('accounts')).toBe(1)
  await browser.signIn(ANA)
  const fields: [string, object][] = ['\0', 'a\0b', '\ud800', 'x\udc00'].flatMap((bad) => [
    ['auth/sign-in/email', { email: `a${bad}@loja.example`, password: PASSWORD }],
    ['auth/sign-in/email', { email: ANA, password: bad }],
    ['auth/reset-password', { token: bad, newPassword: 'another horse, another battery' }],
    ['auth/reset-password', { token: 'x', newPassword: `another horse, ${bad}` }],
    ['auth/revoke-session', { token: bad }],
    ['auth/request-password-reset', { email: bad }],
    ['auth/send-verification-email', { email: bad }],
    ['auth/two-factor/verify-totp', { code: bad }],
    ['auth/two-factor/verify-backup-code', { code: bad }],
    ['auth/two-factor/enable', { password: bad }],
    ['auth/change-password', { currentPassword: bad, newPassword: `another horse, ${bad}` }],
    ['auth/sign-up/email', { ...person, name: 'Eva', invitation: bad }],
    ['auth/sign-up/email', { ...person, name: 'Eva', email: `e${bad}@loja.example` }],
    ['auth/invitation', { invitation: bad }],
    ['reauthenticate', { password: bad }],
  ])
  for (const [path, payload] of fields) {
    const { statusCode } = await browser.post(path, payload)
    expect([path, payload, statusCode]).toEqual([
      path,
      payload,
      expect.toSatisfy((status: number) => status >= 400 && status < 500),
    ])
  }
  expect((await browser.get('auth/verify-email?token=%00')).statusCode).toBe(400)
  expect(w.logged.filter(({ level }) => level === 'error')).toEqual([])
})

async function lifeHours({ pool }: Awaited<ReturnType<typeof world>>): Promise<{ email: string; hours: number }[]> {
  return query(
    pool,
    `select u.email, round(extract(epoch from s.expires_at - s.created_at) / 3600)::int as hours
     from sessions s join users u on u.id = s.user_id order by u.email`,
  )
}
