import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { makeIsBreached } from '../src/base/breached-passwords.ts'
import { query } from '../src/db/tx.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { createOperator } from '../src/domain/users/operators.ts'
import { checkPassword } from '../src/domain/users/password-rules.ts'
import { confirmEmail, setPassword } from '../src/domain/users/passwords.ts'
import { CONSOLE } from './operators-client.ts'
import { appWith } from './requests.ts'
import { openBrowser, PASSWORD, type Browser } from './sign-in-client.ts'
import { world, type World } from './world.ts'

const ANA = 'ana.souza@lojadaana.example'
const NAME = 'Loja da Ana'
const NEW_PASSWORD = 'another horse, another battery'

/** Weak passwords, by the code of their refusal. */
const WEAK: Record<string, string[]> = {
  password_too_simple: [
    'aaaaaaaaaaaa',
    '            ',
    '\t\n\u00a0\u200b        ',
    'abababababab',
    'abcabcabcabc',
    '123412341234',
    '123456789012',
    '098765432109',
    'abcdefghijkl',
    'ZYXWVUTSRQPO',
    '12345 67890 12345678',
  ],
  password_too_common: [
    'passwordpassword',
    'Password1234!',
    'p@ssw0rdp@ssw0rd',
    'qwertyuiop123',
    'qwertyuiopasdfghjkl',
    '1qaz2wsx3edc4rfv',
    '123456123456',
    'senhasenha123',
    'minhasenha2024',
    'Flamengo@2019',
    'iloveyouforever',
    'correct horse battery staple',
    'changeme1234',
    '123456654321',
  ],
  password_personal: [
    'guiche123456',
    'guicheguiche',
    ANA,
    ANA.toUpperCase(),
    'anasouza2024!',
    'Loja da Ana 2024',
    'lojadaana.example',
    'pix.banco.example',
    'https://pix.banco.example',
  ],
}

test('what is tried first is no password: simple, common and personal ones are told apart by code', () => {
  const owner = { email: ANA, name: NAME, publicUrl: 'https://pix.banco.example' }
  for (const [code, passwords] of Object.entries(WEAK))
    for (const password of passwords) {
      const said = refusalOf(() => checkPassword(password, owner))
      expect([password, said]).toEqual([password, code])
    }
  for (const fine of [
    PASSWORD,
    NEW_PASSWORD,
    'ana gosta de pão com manteiga',
    'k7Fq-2mZp-9xRt',
    '839201745620',
    'guiche do terceiro andar',
  ])
    expect([fine, refusalOf(() => checkPassword(fine, owner))]).toEqual([fine, undefined])
})

test('a weak password is refused wherever one is chosen: at sign-up, by a link, in the settings and at the terminal', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  await browser.post('auth/request-password-reset', { email: ANA })
  const token = tokenIn(w)
  for (const [code, [password]] of Object.entries(WEAK) as [string, [string]][]) {
    const email = 'eva@loja.example'
    const answers = [
      await browser.post('auth/sign-up/email', { name: 'Eva', email, password }),
      await browser.post('auth/reset-password', { newPassword: password, token }),
      await browser.post('auth/change-password', { currentPassword: PASSWORD, newPassword: password }),
    ].map((answer) => [answer.statusCode, answer.json().code])
    expect([password, answers]).toEqual([password, answers.map(() => [400, code])])
    for (const make of [createAccount, createOperator])
      await expect(make(w.ctx, { email, name: 'Eva', password }, CONSOLE)).rejects.toMatchObject({ code })
    const set = { kind: 'account' as const, email: ANA, password, reason: 'asked', publicUrl: 'https://guiche.example' }
    await expect(setPassword(w.ctx, set, CONSOLE)).rejects.toMatchObject({ code })
  }
  // The refusals did not use the link up.
  expect((await browser.post('auth/reset-password', { newPassword: NEW_PASSWORD, token })).statusCode).toBe(200)
})

test('a password that was breached is refused wherever people choose one, and nobody learns which it was', async () => {
  const { w } = await prepare()
  const leaked = 'a horse that everybody knows'
  const service = await startRanges([leaked])
  const browser = openBrowser({ app: await appWith({ ...w.ctx, isBreached: makeIsBreached(service.url, w.ctx.log) }) })
  await browser.signIn(ANA)
  await browser.post('auth/request-password-reset', { email: ANA })
  const token = tokenIn(w)
  const choose = async (password: string) => [
    await browser.post('auth/sign-up/email', { name: 'Eva', email: 'eva@loja.example', password }),
    await browser.post('auth/change-password', { currentPassword: PASSWORD, newPassword: password }),
    await browser.post('auth/reset-password', { newPassword: password, token }),
  ]
  for (const answer of await choose(leaked))
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'password_too_common'])
  expect(service.asked).toEqual(Array(3).fill(`/range/${sha1(leaked).slice(0, 5)}`))

  // Neither padding in the answer nor a service that fails makes a password breached.
  for (const [broken, isTold] of [
    ['', false],
    ['padded', false],
    ['status', true],
    ['endless', true],
    ['gone', true],
  ] as const) {
    service.behave(broken)
    const told = w.logged.length
    const is = makeIsBreached(broken === 'gone' ? `http://127.0.0.1:${await freePort()}` : service.url, w.ctx.log)
    expect([broken, await is(broken === '' ? NEW_PASSWORD : leaked)]).toEqual([broken, false])
    expect([broken, w.logged.length - told]).toEqual([broken, isTold ? 1 : 0])
  }
  const lines = JSON.stringify(w.logged)
  for (const secret of [leaked, sha1(leaked).slice(0, 5)]) expect(lines).not.toContain(secret)
})

/** Speaks the range API of Have I Been Pwned. */
async function startRanges(breached: string[]) {
  const asked: string[] = []
  let broken = ''
  const server = createServer((request, response) => {
    asked.push(request.url!)
    const found = breached.map(sha1).filter((hash) => request.url!.endsWith(`/${hash.slice(0, 5)}`))
    const count = broken === 'padded' ? 0 : 42
    const lines = ['0018A45C4D1DEF81644B54AB7F969B88D65:1', ...found.map((hash) => `${hash.slice(5)}:${count}`)]
    if (broken === 'status') response.statusCode = 503
    response.end(lines.join('\r\n') + (broken === 'endless' ? '\r\n'.repeat(1024 * 1024) : ''))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/range/`, asked, behave: (how: string) => void (broken = how) }
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex').toUpperCase()
}

test('a link to choose a password ends with the next link, with any reset, and with a change of password', async () => {
  const { w, browser } = await prepare()
  const ask = async () => {
    w.clock.advance(300_000)
    expect((await openBrowser(w).post('auth/request-password-reset', { email: ANA })).statusCode).toBe(200)
    return tokenIn(w)
  }
  const reset = async (token: string, newPassword: string) => {
    const answer = await openBrowser(w).post('auth/reset-password', { newPassword, token })
    return [answer.statusCode, answer.json().code]
  }
  const [first, second] = [await ask(), await ask()]
  expect(await reset(first, NEW_PASSWORD)).toEqual([400, 'INVALID_TOKEN'])
  expect(await reset(second, NEW_PASSWORD)).toEqual([200, undefined])

  const third = await ask()
  await browser.signIn(ANA, NEW_PASSWORD)
  await browser.post('auth/change-password', { currentPassword: NEW_PASSWORD, newPassword: PASSWORD })
  expect(await reset(third, 'the password of a thief')).toEqual([400, 'INVALID_TOKEN'])
  expect((await browser.signIn(ANA)).statusCode).toBe(200)
  expect(await w.count('verifications')).toBe(0)
})

test('what the database holds of a link opens nothing', async () => {
  const { w, browser } = await prepare()
  await browser.post('auth/request-password-reset', { email: ANA })
  const [row] = await query<{ identifier: string }>(w.pool, 'select identifier from verifications')
  for (const token of [row!.identifier, row!.identifier.replace(/^[^:]*:/, '')]) {
    const answer = await browser.post('auth/reset-password', { newPassword: NEW_PASSWORD, token })
    expect([token, answer.json().code]).toEqual([token, 'INVALID_TOKEN'])
  }
})

test('whoever runs the service sets a password: sessions and links end, and the audit log says who and why', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  await browser.post('auth/request-password-reset', { email: ANA })
  const wanted = {
    kind: 'account' as const,
    email: ` ${ANA.toUpperCase()}`,
    reason: 'called us',
    publicUrl: 'https://x.example',
  }
  const set = await setPassword(w.ctx, { ...wanted, password: null }, CONSOLE)
  expect(await browser.me()).toBeNull()
  expect((await browser.post('auth/reset-password', { newPassword: NEW_PASSWORD, token: tokenIn(w) })).statusCode).toBe(
    400,
  )
  expect((await browser.signIn(ANA, set.password)).statusCode).toBe(200)
  const log = await query(
    w.pool,
    `select actor_kind, actor, reason, details from audit_log where action = 'password.set'`,
  )
  expect(log).toEqual([{ actor_kind: 'console', actor: 'tester', reason: 'called us', details: {} }])
  await expect(setPassword(w.ctx, { ...wanted, kind: 'operator', password: null }, CONSOLE)).rejects.toMatchObject({
    code: 'not_found',
  })
})

test('whoever runs the service confirms an e-mail where no mail can prove it, once', async () => {
  const { w } = await prepare()
  const browser = openBrowser(w)
  await browser.post('auth/sign-up/email', { name: 'Eva', email: 'eva@loja.example', password: NEW_PASSWORD })
  expect((await browser.signIn('eva@loja.example', NEW_PASSWORD)).statusCode).toBe(403)
  for (let time = 0; time < 2; time++) await confirmEmail(w.ctx, 'eva@loja.example', 'known to us', CONSOLE)
  expect((await browser.signIn('eva@loja.example', NEW_PASSWORD)).statusCode).toBe(200)
  expect(await w.count('audit_log', `action = 'email.confirmed' and reason = 'known to us'`)).toBe(1)
})

function refusalOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code
  }
}

function tokenIn(w: World): string {
  return new URL(w.letters.at(-1)!.link).searchParams.get('token')!
}

async function prepare(): Promise<{ w: World; browser: Browser }> {
  const w = await world()
  await createAccount(w.ctx, { email: ANA, name: NAME, password: PASSWORD })
  return { w, browser: openBrowser(w) }
}
