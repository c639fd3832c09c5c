import { expect, onTestFinished, test } from 'vitest'
import { makePool } from '../src/db/pool.ts'
import { query, transact } from '../src/db/tx.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { setOperatorEnabled } from '../src/domain/users/operators.ts'
import { purgeSessions } from '../src/domain/accounts/sessions.ts'
import { CONSOLE, makeOperator } from './operators-client.ts'
import { appWith, withPool } from './requests.ts'
import { nextTotpOf, openBrowser, PASSWORD, totpOf, type Browser } from './sign-in-client.ts'
import { until, world, type World } from './world.ts'

const ANA = 'ana@loja.example'

test('who has an account signs in by e-mail and password, in any case, and gets a cookie that scripts and other hosts cannot touch', async () => {
  const { browser } = await prepare()
  const answer = await browser.signIn(' Ana@Loja.example '.trim())
  expect(answer.statusCode).toBe(200)
  expect([answer.headers['set-cookie']].flat()).toEqual([
    expect.stringMatching(/^__Host-guiche_session=[^;]+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    expect.stringMatching(/^__Host-guiche_device=[^;]+; Max-Age=31536000; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
  ])
  expect(await browser.me()).toMatchObject({ email: ANA, isFresh: true })
  expect((await browser.get('balance')).json()).toMatchObject({ success: true })
})

test('without "remember me" the cookie ends with the browser, and the session after a day', async () => {
  const { w, browser } = await prepare()
  const answer = await browser.post('auth/sign-in/email', { email: ANA, password: PASSWORD, rememberMe: false })
  expect(String(answer.headers['set-cookie'])).toMatch(/guiche_session=[^;]+; Path=/)
  const [row] = await query<{ hours: number }>(
    w.pool,
    `select extract(epoch from expires_at - created_at)::int / 3600 as hours from sessions`,
  )
  expect(row!.hours).toBe(24)
})

test('where PUBLIC_URL is plain http on a network, the cookie goes without Secure and its prefix; on this machine it keeps them', async () => {
  const { w } = await prepare()
  for (const [publicUrl, name] of [
    ['http://pix.lan:3000', /^guiche_session=[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/],
    ['http://localhost:3000', /^__Host-guiche_session=.* Secure;/],
  ] as const) {
    const app = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, publicUrl } })
    const headers = { origin: publicUrl }
    const payload = { email: ANA, password: PASSWORD }
    const answer = await app.inject({ method: 'POST', url: '/dashboard/api/auth/sign-in/email', headers, payload })
    const [session] = answer.headers['set-cookie'] as string[]
    expect(session).toMatch(name)
    const cookie = session!.split(';')[0]!
    expect((await app.inject({ url: '/dashboard/api/me', headers: { cookie } })).json().me).toMatchObject({
      email: ANA,
    })
  }
})

test('the database holds no cookie: what stands in it opens nothing without the key', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  const [row] = await query<{ row: string; token: string }>(w.pool, 'select s::text as row, token from sessions s')
  const [[name, value]] = [...browser.cookies] as [[string, string]]
  expect(row!.row).not.toContain(decodeURIComponent(value).split('.')[1])
  browser.cookies.set(name, row!.token)
  expect(await browser.me()).toBeNull()
})

test('a wrong password and an e-mail that nobody has get the same answer', async () => {
  const { browser } = await prepare()
  const wrong = await browser.signIn(ANA, 'not the password')
  const nobody = await browser.signIn('nobody@loja.example')
  expect([wrong.statusCode, wrong.json()]).toEqual([
    401,
    { code: 'INVALID_EMAIL_OR_PASSWORD', message: 'Invalid email or password' },
  ])
  expect([nobody.statusCode, nobody.body, Object.keys(nobody.headers)]).toEqual([
    wrong.statusCode,
    wrong.body,
    Object.keys(wrong.headers),
  ])
  expect(await browser.me()).toBeNull()
})

test('signing out ends the session, also for a copy of the cookie, and clears what the browser keeps', async () => {
  const { browser, w } = await prepare()
  await browser.signIn(ANA)
  const copy = openBrowser(w)
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
  expect(await copy.me()).toMatchObject({ email: ANA })
  const signedOut = await browser.post('auth/sign-out')
  expect([signedOut.statusCode, signedOut.headers['clear-site-data']]).toEqual([200, '"cache", "storage"'])
  expect([await browser.me(), await copy.me()]).toEqual([null, null])
  // The browser keeps only the cookie that names the device.
  expect([...browser.cookies.keys()]).toEqual(['__Host-guiche_device'])
})

test('sessions are listed with which one is this, and each other can be ended, by nobody but their owner', async () => {
  const { browser, w } = await prepare()
  await createAccount(w.ctx, { email: 'bia@loja.example', name: 'Bia', password: PASSWORD })
  const [phone, stranger] = [openBrowser(w), openBrowser(w)]
  await browser.signIn(ANA)
  await phone.signIn(ANA)
  await stranger.signIn('bia@loja.example')
  const listed = (await browser.get('auth/list-sessions')).json() as { token: string; isCurrent: boolean }[]
  expect([listed.length, listed.filter(({ isCurrent }) => isCurrent).length]).toEqual([2, 1])
  const { token } = listed.find(({ isCurrent }) => !isCurrent)!

  await stranger.post('auth/revoke-session', { token })
  expect(await phone.me()).not.toBeNull()
  await browser.post('auth/revoke-session', { token })
  expect([await phone.me(), (await browser.me())?.email]).toEqual([null, ANA])

  await phone.signIn(ANA)
  await browser.post('auth/revoke-other-sessions')
  expect([await phone.me(), (await browser.me())?.email, (await stranger.me())?.email]).toEqual([
    null,
    ANA,
    'bia@loja.example',
  ])
})

test('a new password needs the old one, has to be long, and ends the other sessions if one wishes', async () => {
  const { browser, w } = await prepare()
  const phone = openBrowser(w)
  await browser.signIn(ANA)
  await phone.signIn(ANA)
  const change = (currentPassword: string, newPassword: string) =>
    browser.post('auth/change-password', { currentPassword, newPassword, revokeOtherSessions: true })
  expect((await change('wrong password', 'another long one')).json()).toMatchObject({ code: 'INVALID_PASSWORD' })
  expect((await change(PASSWORD, 'elevenchars')).json()).toMatchObject({ code: 'PASSWORD_TOO_SHORT' })
  expect((await change(PASSWORD, 'another long one')).statusCode).toBe(200)
  expect([await phone.me(), (await browser.me())?.email]).toEqual([null, ANA])
  expect((await phone.signIn(ANA)).statusCode).toBe(401)
  expect((await phone.signIn(ANA, 'another long one')).statusCode).toBe(200)
})

test('who forgot the password gets a link that works once, ends all sessions, and is not in the database', async () => {
  const { browser, w } = await prepare()
  await browser.signIn(ANA)
  const known = await openBrowser(w).post('auth/request-password-reset', { email: ANA })
  const unknown = await openBrowser(w).post('auth/request-password-reset', { email: 'nobody@loja.example' })
  expect([known.statusCode, known.body]).toEqual([unknown.statusCode, unknown.body])
  expect(w.letters).toMatchObject([
    { to: ANA, link: expect.stringMatching(/^https:\/\/guiche.example\/reset-password\?token=/) },
  ])

  const token = new URL(w.letters[0]!.link).searchParams.get('token')!
  const rows = await query<{ row: string }>(w.pool, 'select v::text as row from verifications v')
  expect([rows.length, rows.some(({ row }) => row.includes(token))]).toEqual([1, false])

  const reset = (newPassword: string) => openBrowser(w).post('auth/reset-password', { newPassword, token })
  expect((await reset('a quite new password')).statusCode).toBe(200)
  expect(await browser.me()).toBeNull()
  expect((await browser.signIn(ANA)).statusCode).toBe(401)
  expect((await browser.signIn(ANA, 'a quite new password')).statusCode).toBe(200)
  expect((await reset('once more, for good')).json()).toMatchObject({ code: 'INVALID_TOKEN' })
})

test('with a second factor the password alone opens nothing; the code of the app does', async () => {
  const { browser, w } = await prepare()
  const { uri } = await enableTwoFactor(browser)
  expect(await browser.me()).toMatchObject({ isTwoFactor: true })
  expect(uri).toMatch(/^otpauth:\/\/totp\/guiche:/)

  const phone = openBrowser(w)
  const first = await phone.signIn(ANA)
  expect(first.json()).toMatchObject({ twoFactorRedirect: true })
  expect([...phone.cookies.keys()]).toEqual(['__Host-guiche_second_step'])
  expect([await phone.me(), (await phone.get('balance')).statusCode]).toEqual([null, 401])
  expect((await phone.post('auth/two-factor/verify-totp', { code: '000000' })).statusCode).toBe(401)
  expect((await phone.post('auth/two-factor/verify-totp', { code: nextTotpOf(uri) })).statusCode).toBe(200)
  expect(await phone.me()).toMatchObject({ email: ANA, isFresh: true })

  const [row] = await query<{ row: string }>(w.pool, 'select s::text as row from second_factors s')
  const secret = new URL(uri).searchParams.get('secret')!
  expect(row!.row).not.toContain(secret)
})

test('a challenge bears five codes, whoever sends them', async () => {
  const { browser, w } = await prepare()
  const { uri } = await enableTwoFactor(browser)
  const phone = openBrowser(w)
  await phone.signIn(ANA)
  for (let time = 0; time < 5; time++) await phone.post('auth/two-factor/verify-totp', { code: '000000' })
  expect((await phone.post('auth/two-factor/verify-totp', { code: nextTotpOf(uri) })).statusCode).not.toBe(200)
  expect(await phone.me()).toBeNull()
})

// A lock on the row makes both wait, so both have read the list of codes before either can write it.
test('a recovery code works once, also when two come with it at once', async () => {
  const { browser, w } = await prepare()
  const { codes } = await enableTwoFactor(browser)
  const [phone, thief] = [openBrowser(w), openBrowser(w, '10.0.0.9')]
  await phone.signIn(ANA)
  await thief.signIn(ANA)
  let both: Promise<number[]> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select user_id from second_factors for update')
    both = Promise.all(
      [phone, thief].map(
        async (one) => (await one.post('auth/two-factor/verify-backup-code', { code: codes[0]! })).statusCode,
      ),
    )
    await until('both wait', async () => {
      const sql = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return (await query(w.pool, sql)).length === 2
    })
  })
  expect((await both)!.filter((status) => status === 200)).toHaveLength(1)

  const later = openBrowser(w)
  await later.signIn(ANA)
  expect((await later.post('auth/two-factor/verify-backup-code', { code: codes[0]! })).statusCode).toBe(401)
  expect((await later.post('auth/two-factor/verify-backup-code', { code: codes[1]! })).statusCode).toBe(200)
})

test('new recovery codes, and no second factor any more, need the password', async () => {
  const { browser, w } = await prepare()
  const { uri, codes } = await enableTwoFactor(browser)
  const [code] = codes
  const wrong = { password: 'not the password', code }
  expect((await browser.post('auth/two-factor/generate-backup-codes', wrong)).statusCode).toBe(400)
  expect((await browser.post('auth/two-factor/disable', wrong)).statusCode).toBe(400)
  const made = await browser.post('auth/two-factor/generate-backup-codes', { password: PASSWORD, code })
  expect(made.json().backupCodes).toHaveLength(codes.length)
  expect(made.json().backupCodes).not.toContain(code)
  const disabled = await browser.post('auth/two-factor/disable', { password: PASSWORD, code: nextTotpOf(uri) })
  expect(disabled.statusCode).toBe(200)
  expect([await browser.me(), await w.count('second_factors')]).toMatchObject([{ isTwoFactor: false }, 0])
})

test('what somebody changes about how they sign in is in the audit log, once, and without a secret', async () => {
  const { browser, w } = await prepare()
  const { uri, codes } = await enableTwoFactor(browser)
  await browser.post('auth/two-factor/verify-totp', { code: nextTotpOf(uri) })
  const proof = { password: PASSWORD, code: codes[0] }
  const made = await browser.post('auth/two-factor/generate-backup-codes', proof)
  const [code] = made.json().backupCodes
  await browser.post('auth/two-factor/disable', { password: 'not the password', code })
  await browser.post('auth/two-factor/disable', { password: PASSWORD, code })
  await browser.post('auth/change-password', { currentPassword: PASSWORD, newPassword: 'another long one' })
  await browser.post('auth/request-password-reset', { email: ANA })
  const token = new URL(w.letters[0]!.link).searchParams.get('token')!
  await browser.post('auth/reset-password', { newPassword: 'and yet another one', token })
  const log = await query<{ action: string; actor: string; details: object; named: boolean }>(
    w.pool,
    `select action, actor, details, account_id is not null as named from audit_log where subject like 'user %' order by id`,
  )
  const opened = { action: 'session.opened', details: { how: 'password', network: '127.0.0.1' } }
  expect(log[0]).toMatchObject({ ...opened, actor: ANA, named: true })
  expect(log.slice(1)).toEqual(
    [
      'second_factor.enabled',
      'recovery_code.used',
      'recovery_codes.made',
      'recovery_code.used',
      'second_factor.disabled',
      'password.changed',
      'password.reset',
    ].map((action) => ({ action, actor: ANA, details: {}, named: true })),
  )
})

test('a second factor outlives a change of SECRET_KEY, as long as the old one is listed', async () => {
  const { browser, w } = await prepare()
  const { uri } = await enableTwoFactor(browser)
  const signIn = {
    ...w.ctx.settings.signIn,
    secrets: () => ['a newer secret for sign-in, of tests too', ...w.ctx.settings.signIn.secrets()],
  }
  const phone = openBrowser({ app: await appWith({ ...w.ctx, settings: { ...w.ctx.settings, signIn } }) })
  await phone.signIn(ANA)
  expect((await phone.post('auth/two-factor/verify-totp', { code: nextTotpOf(uri) })).statusCode).toBe(200)
})

test('the password, given again, makes a session fresh; another one does not', async () => {
  const { browser, w } = await prepare()
  await browser.signIn(ANA)
  w.clock.advance(15 * 60_000)
  expect(await browser.me()).toMatchObject({ isFresh: false })
  const wrong = await browser.post('reauthenticate', { password: 'not the password' })
  expect([wrong.statusCode, wrong.json().error]).toEqual([400, 'Wrong password'])
  expect(await browser.me()).toMatchObject({ isFresh: false })
  expect((await browser.post('reauthenticate', { password: PASSWORD })).json()).toEqual({ success: true })
  expect(await browser.me()).toMatchObject({ isFresh: true })
})

test('one person’s password can be guessed ten times and then once a minute, from however many addresses, known or not', async () => {
  const { w } = await prepare()
  for (const email of [ANA, 'nobody@loja.example']) {
    const statuses = []
    for (let time = 0; time < 11; time++)
      statuses.push((await openBrowser(w, `10.1.${time}.1`).signIn(email, 'not the password')).statusCode)
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429])
  }
  const refused = await openBrowser(w, '10.2.0.1').signIn(ANA.toUpperCase())
  expect([refused.statusCode, refused.headers['retry-after'], refused.json().code]).toEqual([429, '60', 'rate_limited'])
  w.clock.advance(60_000)
  expect((await openBrowser(w, '10.2.0.1').signIn(ANA)).statusCode).toBe(200)
})

test('from one address only so many passwords can be tried, whoever they are of', async () => {
  const { w } = await prepare()
  const signIn = async (time: number) => (await openBrowser(w).signIn(`n${time}@loja.example`)).statusCode
  const statuses: number[] = []
  // Some tries come at once, because tries that are judged together must be counted one by one. They are few: each
  // keeps a processor busy for a while, and a busy machine would refuse them for want of a connection.
  for (let time = 0; time < 45; time += 5)
    statuses.push(...(await Promise.all([0, 1, 2, 3, 4].map((more) => signIn(time + more)))))
  expect(statuses.filter((status) => status === 401)).toHaveLength(40)
  expect(statuses.filter((status) => status === 429)).toHaveLength(5)
  expect((await openBrowser(w, '10.0.0.2').signIn(ANA)).statusCode).toBe(200)
})

test('nobody’s mailbox can be filled: three letters, then one in five minutes', async () => {
  const { w } = await prepare()
  const statuses = []
  for (let time = 0; time < 4; time++)
    statuses.push(
      (await openBrowser(w, `10.1.${time}.1`).post('auth/request-password-reset', { email: ANA })).statusCode,
    )
  expect([statuses, w.letters.length]).toEqual([[200, 200, 200, 429], 3])
})

test('there is no other way to sign in, and fields that we do not know change nothing', async () => {
  const { browser, w } = await prepare()
  await browser.signIn(ANA)
  for (const path of ['ok', 'error', 'get-session', 'list-accounts', 'reset-password/x', 'two-factor/get-totp-uri'])
    expect([path, (await browser.get(`auth/${path}`)).statusCode]).toEqual([path, expect.toBeOneOf([404, 405])])
  for (const path of [
    'update-user',
    'change-email',
    'delete-user',
    'set-password',
    'sign-in/social',
    'link-social',
    'revoke-sessions',
    'two-factor/send-otp',
    'two-factor/get-totp-uri',
    'verify-password',
    'update-session',
  ])
    expect([path, (await browser.post(`auth/${path}`, { name: 'x' })).statusCode]).toEqual([path, 404])

  const { uri } = await enableTwoFactor(browser)
  const phone = openBrowser(w)
  await phone.post('auth/sign-in/email', { email: ANA, password: PASSWORD, callbackURL: 'https://evil.example' })
  const done = await phone.post('auth/two-factor/verify-totp', { code: nextTotpOf(uri), trustDevice: true })
  expect([done.statusCode, done.headers.location, String(done.headers['set-cookie'])]).toEqual([
    200,
    undefined,
    expect.not.stringContaining('trust'),
  ])
})

test('an operator signs in as such, and one who was disabled does not', async () => {
  const { w } = await prepare()
  const olga = await makeOperator(w)
  const browser = openBrowser(w)
  await browser.signIn(olga.email)
  expect(await browser.me()).toMatchObject({ kind: 'operator', accountId: null })
  expect((await browser.get('operator/accounts')).statusCode).toBe(200)
  await setOperatorEnabled(w.ctx, { operatorId: olga.operatorId, isEnabled: false }, CONSOLE)
  expect(await browser.me()).toBeNull()
  expect([(await browser.signIn(olga.email)).statusCode, await browser.me()]).toEqual([401, null])
})

test('sessions and links that have expired are deleted, and no others', async () => {
  const { browser, w } = await prepare()
  await browser.signIn(ANA)
  await browser.post('auth/request-password-reset', { email: ANA })
  await purgeSessions(w.ctx, w.clock.now())
  expect([await w.count('sessions'), await w.count('verifications')]).toEqual([1, 1])
  await purgeSessions(w.ctx, new Date(w.clock.now().getTime() + 8 * 24 * 3_600_000))
  expect([await w.count('sessions'), await w.count('verifications')]).toEqual([0, 0])
})

test('a database that is out of reach is told as such, and to come again', async () => {
  const { w } = await prepare()
  const pool = makePool('postgresql://nobody@127.0.0.1:1/none', w.ctx.log)
  onTestFinished(() => pool.end())
  const answer = await openBrowser({ app: await appWith(withPool(w.ctx, pool)) }).signIn(ANA)
  expect([answer.statusCode, answer.headers['retry-after'], answer.json().code]).toEqual([503, '1', 'unavailable'])
})

async function prepare(): Promise<{ w: World; browser: Browser }> {
  const w = await world()
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  return { w, browser: openBrowser(w) }
}

async function enableTwoFactor(browser: Browser): Promise<{ uri: string; codes: string[] }> {
  if (!(await browser.me())) await browser.signIn(ANA)
  const enabled = await browser.post('auth/two-factor/enable', { password: PASSWORD })
  const { totpURI: uri, backupCodes: codes } = enabled.json()
  const verified = await browser.post('auth/two-factor/verify-totp', { code: totpOf(uri) })
  expect([enabled.statusCode, verified.statusCode]).toEqual([200, 200])
  return { uri, codes }
}
