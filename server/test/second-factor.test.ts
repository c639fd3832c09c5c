import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { resetTwoStep } from '../src/domain/users/passwords.ts'
import { hashRecoveryCodes, totpStepOf } from '../src/domain/users/second-factor.ts'
import { CONSOLE } from './operators-client.ts'
import { hashAsTheService } from './password-cost.ts'
import { nextTotpOf, openBrowser, PASSWORD, totpOf, type Browser } from './sign-in-client.ts'
import { until, world, type World } from './world.ts'

const ANA = 'ana@loja.example'

test('a code of an authenticator app works once, also the one that turned the second factor on', async () => {
  const { w, uri, code } = await prepare()
  const verify = async (given: string) => {
    const phone = openBrowser(w)
    await phone.signIn(ANA)
    const answer = await phone.post('auth/two-factor/verify-totp', { code: given })
    return [answer.statusCode, answer.json().code]
  }
  expect(await verify(code)).toEqual([401, 'INVALID_CODE'])
  const next = nextTotpOf(uri)
  expect(await verify(next)).toEqual([200, undefined])
  expect(await verify(next)).toEqual([401, 'INVALID_CODE'])
  // A code from before the last one is refused too.
  expect(await verify(totpOf(uri, Date.now() - 30_000))).toEqual([401, 'INVALID_CODE'])
})

// A lock on the row makes both wait, so both find the code right before either can use it.
test('of two who come with the same code at once, one gets in', async () => {
  const { w, uri } = await prepare()
  const [phone, thief] = [openBrowser(w), openBrowser(w, '10.0.0.9')]
  await phone.signIn(ANA)
  await thief.signIn(ANA)
  const code = nextTotpOf(uri)
  let both: Promise<number[]> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select user_id from second_factors for update')
    both = Promise.all(
      [phone, thief].map(async (one) => (await one.post('auth/two-factor/verify-totp', { code })).statusCode),
    )
    await until('both wait', async () => {
      const sql = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return (await query(w.pool, sql)).length === 2
    })
  })
  expect((await both)!.filter((status) => status === 200)).toHaveLength(1)
  expect((await Promise.all([phone.me(), thief.me()])).filter((me) => me !== null)).toHaveLength(1)
  // One is the session of the browser that turned the second factor on, the other was just opened.
  expect(await w.count('sessions')).toBe(2)
})

test('a code that is refused is not used up, nor are those before it', async () => {
  const { w, uri } = await prepare()
  const phone = openBrowser(w)
  await phone.signIn(ANA)
  const verify = (code: string) => phone.post('auth/two-factor/verify-totp', { code })
  const code = nextTotpOf(uri)
  await w.pool.query(`update second_factors set locked_until = now() + interval '1 hour'`)
  expect((await verify(code)).json().code).toBe('ACCOUNT_TEMPORARILY_LOCKED')
  await w.pool.query('update second_factors set locked_until = null')
  expect((await verify(code)).statusCode).toBe(200)
  expect(await phone.me()).not.toBeNull()
})

test('a code belongs to the step that it was made for, and to none far away', () => {
  const secret = 'a secret of thirty-two characters'
  const code = (ms: number) => totpOf(`otpauth://totp/x?secret=${base32(secret)}`, ms)
  const now = 1_700_000_000_000
  const step = Math.floor(now / 30_000)
  for (const distance of [-1, 0, 1])
    expect(totpStepOf(secret, code(now + distance * 30_000), now)).toBe(step + distance)
  for (const distance of [-2, 2]) expect(totpStepOf(secret, code(now + distance * 30_000), now)).toBeUndefined()
})

test('with a second factor, what changes the sign-in or ends sessions needs a code besides the password', async () => {
  const { w, browser, uri, code, codes } = await prepare()
  const phone = openBrowser(w)
  await phone.signIn(ANA)
  await phone.post('auth/two-factor/verify-backup-code', { code: codes[0]! })
  const { token } = (await phone.get('auth/list-sessions')).json().find((one: { isCurrent: boolean }) => one.isCurrent)
  const changes: [string, object][] = [
    ['revoke-session', { token }],
    ['revoke-other-sessions', {}],
    ['two-factor/generate-backup-codes', { password: PASSWORD }],
    ['change-password', { currentPassword: PASSWORD, newPassword: 'another long one', revokeOtherSessions: true }],
    ['two-factor/disable', { password: PASSWORD }],
    ['two-factor/enable', { password: PASSWORD }],
  ]
  // No code, wrong ones and used ones are refused. A right code stays good if the password beside it is wrong.
  for (const [path, body] of changes) {
    for (const given of [undefined, '', '000000', 'aaaaa-bbbbb', code, codes[0]]) {
      const answer = await browser.post(`auth/${path}`, { ...body, code: given })
      expect([path, given, answer.statusCode, answer.json().code]).toEqual([path, given, 401, 'INVALID_CODE'])
      w.clock.advance(60_000)
      await browser.post('reauthenticate', { password: PASSWORD })
    }
    w.clock.advance(10 * 60_000)
  }
  const wrong = { password: 'not the password', code: nextTotpOf(uri) }
  expect((await browser.post('auth/two-factor/disable', wrong)).json().code).toBe('INVALID_PASSWORD')
  expect([(await phone.me())?.email, (await browser.me())?.isTwoFactor]).toEqual([ANA, true])

  expect((await browser.post('auth/revoke-session', { token, code: nextTotpOf(uri) })).statusCode).toBe(200)
  expect(await phone.me()).toBeNull()
  expect((await browser.post('auth/revoke-other-sessions', { code: nextTotpOf(uri) })).statusCode).toBe(401)
  const proof = { password: PASSWORD, code: codes[1] }
  expect((await browser.post('auth/two-factor/disable', proof)).statusCode).toBe(200)
  expect((await browser.post('auth/revoke-other-sessions')).statusCode).toBe(200)
})

test('recovery codes are kept as salted, slow hashes: whoever can decrypt them still cannot use them', async () => {
  hashAsTheService()
  const { w, codes } = await prepare()
  const stored = await decryptedCodes(w)
  expect(stored).toHaveLength(10)
  const shape = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([\w+/]{22})\$[\w+/]{43}$/
  const salts = stored.map((code) => shape.exec(code)?.[1])
  expect(new Set(salts).size).toBe(1)
  const other = (await hashRecoveryCodes(codes)).map((code) => shape.exec(code)?.[1])
  expect(other[0]).not.toBe(salts[0])
  for (const code of [...stored, ...codes])
    expect([codes, stored].filter((list) => list.includes(code))).toHaveLength(1)
  const phone = openBrowser(w)
  await phone.signIn(ANA)
  expect((await phone.post('auth/two-factor/verify-backup-code', { code: stored[0]! })).statusCode).toBe(401)
  expect((await phone.post('auth/two-factor/verify-backup-code', { code: codes[0]! })).statusCode).toBe(200)
  expect(await decryptedCodes(w)).toEqual(stored.filter((_, at) => at !== 0))
})

test('for who lost the device an operator turns two steps off: passkeys and sessions go, and the log says why', async () => {
  const { w, browser } = await prepare()
  await query(
    w.pool,
    `insert into passkeys (id, user_id, credential_id, public_key, sign_count, name, created_at)
     select gen_random_uuid(), id, 'lost', 'key', 0, 'phone', now() from users`,
  )
  const lost = { kind: 'account', email: ANA, reason: 'lost the phone' } as const
  const reset = await resetTwoStep(w.ctx, lost, CONSOLE)
  expect(reset).toEqual({ email: ANA, hadTwoStep: true, passkeys: 1, sessions: 1 })
  expect(await browser.me()).toBeNull()
  const phone = openBrowser(w)
  expect((await phone.signIn(ANA)).statusCode).toBe(200)
  expect(await phone.me()).toMatchObject({ email: ANA, isTwoFactor: false })
  const log = await query(
    w.pool,
    `select actor_kind, reason, details from audit_log where action = 'second_factor.disabled'`,
  )
  expect(log).toEqual([{ actor_kind: 'console', reason: 'lost the phone', details: { passkeys: 1 } }])
  expect(await resetTwoStep(w.ctx, lost, CONSOLE)).toMatchObject({ hadTwoStep: false, passkeys: 0, sessions: 1 })
  const asOperator = { ...lost, kind: 'operator' } as const
  await expect(resetTwoStep(w.ctx, asOperator, CONSOLE)).rejects.toMatchObject({ code: 'not_found' })
})

async function decryptedCodes(w: World): Promise<string[]> {
  const sql = 'select recovery_codes as codes, user_id as "userId" from second_factors'
  const [row] = await query<{ codes: string; userId: string }>(w.pool, sql)
  return JSON.parse(w.ctx.settings.secretBox.open(row!.codes, row!.userId))
}

function base32(text: string): string {
  const bits = Array.from(Buffer.from(text), (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? [])
    .map((part) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(part.padEnd(5, '0'), 2)])
    .join('')
}

async function prepare(): Promise<{ w: World; browser: Browser; uri: string; code: string; codes: string[] }> {
  const w = await world()
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  const browser = openBrowser(w)
  await browser.signIn(ANA)
  const enabled = (await browser.post('auth/two-factor/enable', { password: PASSWORD })).json()
  const code = totpOf(enabled.totpURI)
  const verified = await browser.post('auth/two-factor/verify-totp', { code })
  expect(verified.statusCode).toBe(200)
  return { w, browser, uri: enabled.totpURI, code, codes: enabled.backupCodes }
}
