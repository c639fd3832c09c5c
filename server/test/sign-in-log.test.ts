import { expect, test } from 'vitest'
import type { Log } from '../src/base/log.ts'
import { query } from '../src/db/tx.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import type { Settings } from '../src/domain/core/settings.ts'
import { setOperatorEnabled } from '../src/domain/users/operators.ts'
import type { AppOptions } from '../src/http/app.ts'
import { CONSOLE, makeOperator } from './operators-client.ts'
import { appWith, bearer } from './requests.ts'
import { nextTotpOf, openBrowser, PASSWORD, totpOf } from './sign-in-client.ts'
import { world } from './world.ts'

const ANA = 'ana@loja.example'

test('every try to sign in is one line with who, from where and what came of it, and a count', async () => {
  const { w, open, lines, anaId } = await prepare()
  const olga = await makeOperator(w)
  const browser = open('10.0.0.1')
  await browser.signIn(ANA, 'not the password')
  await browser.signIn('nobody@loja.example', 'not the password')
  await browser.signIn(ANA)
  await browser.post('auth/sign-out')
  await browser.post('auth/sign-out')
  await open('10.0.0.2').post('auth/sign-up/email', { name: 'Eva', email: 'eva@loja.example', password: PASSWORD })
  await open('10.0.0.2').signIn('eva@loja.example')
  await setOperatorEnabled(w.ctx, { operatorId: olga.operatorId, isEnabled: false }, CONSOLE)
  await open('10.0.0.3').signIn(olga.email)
  for (let time = 0; time < 12; time++) await open(`10.1.${time}.1`).signIn('nobody@loja.example', 'not the password')

  const told = lines('sign-in').map(({ outcome, network, userId }) => [outcome, network, userId === anaId])
  expect(told.slice(0, 6)).toEqual([
    ['wrong_password', '10.0.0.1', true],
    ['wrong_password', '10.0.0.1', false],
    ['signed_in', '10.0.0.1', true],
    ['signed_out', '10.0.0.1', true],
    ['email_unconfirmed', '10.0.0.2', false],
    ['operator_disabled', '10.0.0.3', false],
  ])
  expect(told.slice(6).map(([outcome]) => outcome)).toEqual([
    ...Array<string>(9).fill('wrong_password'),
    ...Array<string>(3).fill('limited'),
  ])
  const [, nobody] = lines('sign-in')
  expect(nobody).toMatchObject({ userId: undefined, emailHash: expect.stringMatching(/^[\da-f]{16}$/) })
  expect(lines('sign-in').filter(({ emailHash }) => emailHash === nobody!['emailHash'])).toHaveLength(13)

  const second = await makeOperator(w, 'second@example.com')
  const metrics = (await w.app.inject({ url: '/metrics', headers: bearer(second.key) })).body
  for (const line of [
    'guiche_sign_ins_total{outcome="wrong_password"} 11',
    'guiche_sign_ins_total{outcome="limited"} 3',
    'guiche_sign_ins_total{outcome="signed_in"} 1',
    'guiche_sign_ins_total{outcome="second_factor_locked"} 0',
  ])
    expect(metrics).toContain(`${line}\n`)
})

test('whoever is refused is one line: why, from where, and who it was as far as that is known', async () => {
  const { w, open, lines, app, anaId } = await prepare({ rateLimit: { perSecond: 1, burst: 2 } })
  const [account, operator] = [await w.account({ scopes: ['balance:read'] }), await makeOperator(w)]
  const { accountId, caller } = account
  const ofKey = { accountId, keyId: caller.keyId! }
  const ask = (url: string, headers = {}) => app.inject({ url, headers, remoteAddress: '10.0.0.7' })
  const browser = open('10.0.0.7')

  await ask('/api/balance')
  await ask('/api/balance', bearer('gk_test_nonsense'))
  await ask('/api/deposits', bearer(account.key))
  await ask('/api/balance', bearer(account.key))
  await ask('/api/balance', bearer(account.key))
  await ask('/api/balance', bearer(operator.key))
  await browser.get('keys')
  await browser.post('deposit', { value: 5000 }, { origin: 'https://elsewhere.example' })
  await browser.signIn(ANA, 'not the password')
  await browser.signIn(ANA)
  await browser.get('operator/accounts')
  w.clock.advance(15 * 60_000)
  await browser.post('keys', { name: 'x' })

  const refused = lines('request refused')
  const request = { requestId: expect.any(String), ms: expect.any(Number), method: expect.any(String) }
  expect(refused).toEqual(
    [
      { route: '/api/balance', status: 401, code: 'key_missing' },
      { route: '/api/balance', status: 401, code: 'key_invalid' },
      { route: '/api/deposits', status: 403, code: 'scope_missing', ...ofKey },
      { route: '/api/balance', status: 429, code: 'rate_limited', ...ofKey },
      {
        route: '/api/balance',
        status: 403,
        code: 'scope_missing',
        operatorId: operator.operatorId,
        keyId: expect.any(String),
      },
      { route: '/dashboard/api/keys', status: 401, code: 'not_signed_in' },
      { route: '/dashboard/api/deposit', status: 403, code: 'foreign_origin' },
      { route: '/dashboard/api/auth/sign-in/email', status: 401, code: 'INVALID_EMAIL_OR_PASSWORD' },
      {
        route: '/dashboard/api/operator/accounts',
        status: 403,
        code: 'scope_missing',
        userId: anaId,
        accountId: expect.any(String),
      },
      {
        route: '/dashboard/api/keys',
        status: 403,
        code: 'reauthentication_required',
        userId: anaId,
        accountId: expect.any(String),
      },
    ].map((line) => ({ address: '10.0.0.7', ...request, ...line })),
  )
  // No refused request is logged twice, and the others are logged as before.
  const ids = new Set(refused.map(({ requestId }) => requestId))
  expect(ids.size).toBe(refused.length)
  const completed = lines('request completed')
  expect(completed.filter(({ requestId }) => ids.has(requestId))).toEqual([])
  expect(completed).toContainEqual(expect.objectContaining({ route: '/api/balance', status: 200, keyId: caller.keyId }))
})

test('a flood of refusals by an overloaded service is one line with their number, without a stack', async () => {
  const { w, app, all } = await prepare({}, { maxInFlight: 0 })
  const { key } = await w.account()
  const before = all.length
  for (let request = 0; request < 20; request++)
    expect((await app.inject({ url: '/api/balance', headers: bearer(key) })).statusCode).toBe(503)
  const told = all.slice(before)
  expect(told).toEqual([
    {
      text: 'requests refused: the service is overloaded or restarting',
      fields: { code: 'unavailable', reason: 'The service is overloaded, please try again', failures: 1 },
    },
  ])
  const operator = await makeOperator(w)
  const metrics = (await app.inject({ url: '/metrics', headers: bearer(operator.key) })).body
  expect(metrics).toContain(
    'guiche_http_request_duration_seconds_count{method="GET",route="/api/balance",status="5xx"} 20',
  )
})

test('no line holds a password, a code, a token or an e-mail address', async () => {
  const { open, all } = await prepare()
  const browser = open('10.0.0.1')
  await browser.signIn(ANA, 'not the password')
  await browser.signIn('nobody@loja.example', 'not the password')
  await browser.signIn(ANA)
  const enabled = (await browser.post('auth/two-factor/enable', { password: PASSWORD })).json()
  const code = totpOf(enabled.totpURI)
  await browser.post('auth/two-factor/verify-totp', { code })
  const phone = open('10.0.0.2')
  await phone.signIn(ANA)
  await phone.post('auth/two-factor/verify-backup-code', { code: enabled.backupCodes[0] })
  const text = JSON.stringify(all)
  for (const secret of [PASSWORD, 'not the password', ANA, 'nobody@loja.example', code, ...enabled.backupCodes])
    expect([secret, text.includes(secret)]).toEqual([secret, false])
  for (const { cookies } of [browser, phone])
    for (const value of cookies.values()) expect(text).not.toContain(decodeURIComponent(value).split('.')[0])
})

test('steps with a second factor are told: wanted, wrong, used before, locked, opened by a recovery code', async () => {
  const { w, open, lines, anaId } = await prepare()
  const browser = open('10.0.0.1')
  await browser.signIn(ANA)
  const enabled = (await browser.post('auth/two-factor/enable', { password: PASSWORD })).json()
  const used = totpOf(enabled.totpURI)
  await browser.post('auth/two-factor/verify-totp', { code: used })
  const before = lines('sign-in').length

  const phone = open('10.0.0.2')
  await phone.signIn(ANA)
  await phone.post('auth/two-factor/verify-totp', { code: used })
  await phone.post('auth/two-factor/verify-backup-code', { code: enabled.backupCodes[0] })
  for (let round = 0; round < 2; round++) {
    const thief = open(`10.2.${round}.1`)
    await thief.signIn(ANA)
    for (let time = 0; time < 5; time++) await thief.post('auth/two-factor/verify-totp', { code: 'wrong!' })
  }
  const late = open('10.0.0.3')
  await late.signIn(ANA)
  await late.post('auth/two-factor/verify-totp', { code: nextTotpOf(enabled.totpURI) })

  const told = lines('sign-in').slice(before)
  expect(told.map(({ outcome }) => outcome)).toEqual([
    'second_factor_wanted',
    'code_used_before',
    'signed_in',
    'second_factor_wanted',
    ...Array<string>(5).fill('wrong_code'),
    'second_factor_wanted',
    ...Array<string>(5).fill('wrong_code'),
    'second_factor_wanted',
    'second_factor_locked',
  ])
  expect(told.every(({ userId }) => userId === anaId)).toBe(true)
  const log = await query<{ action: string; details: object }>(
    w.pool,
    `select action, details from audit_log where subject = $1 order by id`,
    [`user ${anaId}`],
  )
  expect(log).toEqual([
    { action: 'session.opened', details: { network: '10.0.0.1', how: 'password' } },
    { action: 'second_factor.enabled', details: {} },
    { action: 'recovery_code.used', details: { network: '10.0.0.2' } },
    { action: 'session.opened', details: { network: '10.0.0.2', how: 'recovery_code', isNew: true } },
    { action: 'second_factor.locked', details: { network: '10.2.1.1' } },
  ])
})

async function prepare(settings: Partial<Settings> = {}, options: AppOptions = {}) {
  const w = await world({ settings })
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  const [ana] = await query<{ id: string }>(w.pool, 'select id from users')
  const all: { text: string; fields: Record<string, unknown> }[] = []
  const note = (fields: object, text: string) => void all.push({ text, fields: { ...fields } })
  const log: Log = { debug: note, info: note, warn: note, error: note }
  const app = await appWith({ ...w.ctx, log }, options)
  const lines = (wanted: string) => all.filter(({ text }) => text === wanted).map(({ fields }) => fields)
  return { w, app, all, lines, anaId: ana!.id, open: (address: string) => openBrowser({ app }, address) }
}
