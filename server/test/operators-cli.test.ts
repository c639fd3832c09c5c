import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { identify } from '../src/domain/accounts/callers.ts'
import { makeOperator } from './operators-client.ts'
import { runCli, temporaryHome } from './process.ts'
import { world } from './world.ts'

const ME = `console ${userInfo().username}`

/** Commands use the real clock, so the world's clock is set to it. */
async function terminal() {
  const w = await world()
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const env = { DATABASE_URL: w.databaseUrl, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
  const guiche = (...args: string[]) => runCli(args, env)
  return { w, env, guiche }
}

test('operator create prints JSON with a password once, and operator key create a key that works, alone', async () => {
  const { w, env, guiche } = await terminal()
  const made = await guiche('operator', 'create', '--email', 'Olga@Ops.example', '--name', 'Olga')
  expect(JSON.parse(made.stdout)).toEqual({
    operatorId: expect.any(String),
    email: 'olga@ops.example',
    name: 'Olga',
    password: expect.stringMatching(/^\S{20}$/),
  })
  const given = ['operator', 'create', '--email', 'ben@ops.example', '--password-stdin']
  const silent = await runCli(given, env, 'correct horse battery\n')
  expect([silent.code, silent.stdout.includes('correct horse')]).toEqual([0, false])
  expect((await guiche('operator', 'list')).stdout).toMatch(
    /^ID .*\n\S+ {2}ben@ops\.example .* active\n\S+ {2}olga@ops\.example {2}Olga .* active\n$/,
  )

  const key = await guiche('operator', 'key', 'create', '--email', 'olga@ops.example', '--name', 'laptop')
  expect(key.stdout).toMatch(/^gk_test_[0-9A-Za-z]{49}\n$/)
  expect(await identify(w.ctx, key.stdout.trim())).toMatchObject({ kind: 'operator', email: 'olga@ops.example' })
})

test('an operator’s key is listed without being shown, stops with its operator, and is revoked like any other', async () => {
  const { w, guiche } = await terminal()
  const { email, key } = await makeOperator(w)
  const list = await guiche('key', 'list', '--email', email)
  expect(list.stdout).toMatch(/ops@example\.com \(operator\) {2}laptop .* operator\n$/)
  expect(list.stdout).not.toContain(key)
  const after = async (...args: string[]) => {
    expect((await guiche(...args)).code).toBe(0)
    w.clock.advance(2_000)
    return identify(w.ctx, key).then(
      ({ kind }) => kind,
      (error: Error) => error.message,
    )
  }
  expect(await after('operator', 'disable', '--email', email, '--reason', 'left')).toBe('Invalid API key')
  expect(await after('operator', 'enable', '--email', email, '--reason', 'came back')).toBe('operator')
  expect(await after('key', 'revoke', key)).toBe('Invalid API key')
})

test('who cannot sign in gets a new password at the terminal, and is signed out or confirmed there, with a reason', async () => {
  const { w, env, guiche } = await terminal()
  const { email } = await makeOperator(w)
  const ana = await w.account()
  const session = await w.session(ana)
  const made = await guiche('operator', 'password', '--email', email, '--reason', 'forgot it')
  expect(JSON.parse(made.stdout)).toEqual({ email, password: expect.stringMatching(/^\S{20}$/) })
  const given = ['account', 'password', '--email', ana.email, '--reason', 'called us', '--password-stdin']
  const set = await runCli(given, env, 'another horse, another battery\n')
  expect([set.code, JSON.parse(set.stdout)]).toEqual([0, { email: ana.email }])
  expect((await session.ask('GET', '/dashboard/api/balance')).statusCode).toBe(401)
  const weak = await runCli(given, env, 'senhasenha123\n')
  expect([weak.code, weak.stderr]).toEqual([1, expect.stringContaining('This password is too common')])
  expect((await guiche('account', 'password', '--email', email, '--reason', 'x')).stderr).toContain('No account has')
  expect((await guiche('account', 'password', '--email', ana.email)).stderr).toContain('--reason')

  await w.session(ana)
  const ended = await guiche('account', 'sign-out', '--email', ana.email, '--reason', 'lost phone')
  expect(ended.stdout).toBe(`${ana.email}: 1 session ended\n`)
  const confirmed = await guiche('account', 'confirm', '--email', ana.email, '--reason', 'known to us')
  expect(confirmed.stdout).toBe(`${ana.email}: confirmed\n`)
  const log = await query(
    w.pool,
    `select actor_kind as kind, action, reason from audit_log where action in ('password.set', 'sessions.ended') order by id`,
  )
  expect(log).toEqual([
    { kind: 'console', action: 'password.set', reason: 'forgot it' },
    { kind: 'console', action: 'password.set', reason: 'called us' },
    { kind: 'console', action: 'sessions.ended', reason: 'lost phone' },
  ])
})

test('disabling and enabling an operator wants a reason, which the audit log keeps', async () => {
  const { w, guiche } = await terminal()
  const { email } = await makeOperator(w)
  const unsaid = await guiche('operator', 'disable', '--email', email)
  expect([unsaid.code, unsaid.stderr]).toEqual([1, expect.stringContaining('--reason')])
  await guiche('operator', 'disable', '--email', email, '--reason', 'left')
  const log = await query(w.pool, `select action, reason from audit_log where action like 'operator.%abled'`)
  expect(log).toEqual([{ action: 'operator.disabled', reason: 'left' }])
})

test('account terms sets what is named, and without a change shows terms and history', async () => {
  const { w, guiche } = await terminal()
  const { email, accountId } = await w.account()
  const terms = (...args: string[]) => guiche('account', 'terms', '--email', email, ...args)
  expect((await terms()).stdout).toMatch(/fee-bps +100 +default\n[^]*\n\nThis account never had terms of its own\.\n$/)

  const set = ['--fee-bps', '80', '--fee-bearer', 'payer', '--value-max', '500000', '--reason', 'contract of March']
  expect((await terms(...set)).stdout).toMatch(/fee-bps +80 +account\n/)
  await terms('--fee-bps', 'default', '--reason', 'it ended')
  const shown = (await terms()).stdout
  expect(shown).toMatch(/fee-bps +100 +default\n/)
  expect(shown).toMatch(new RegExp(`fee-bearer payer, value-max 500000 +${ME} +it ended\n`))
  expect(shown).toMatch(new RegExp(`fee-bps 80, fee-bearer payer, value-max 500000 +${ME} +contract of March\n$`))
  const { overrides, history } = JSON.parse((await terms('--json')).stdout)
  expect([overrides.feeBps, overrides.feeBearer, history.length]).toEqual([null, 'payer', 2])

  const log = await guiche('audit-log', '--email', email, '--action', 'account.terms_changed', '--json')
  expect(JSON.parse(log.stdout)).toMatchObject([
    { actorKind: 'console', actor: userInfo().username, reason: 'it ended', accountId },
    { reason: 'contract of March', details: { before: { feeBps: null }, after: { feeBps: 80 } } },
  ])
})

test('account suspend and resume take a reason, and the audit log shows who did what', async () => {
  const { w, guiche } = await terminal()
  const { email, key } = await w.account()
  const suspended = await guiche('account', 'suspend', '--email', email, '--reason', 'under review')
  expect(suspended.stdout).toMatch(new RegExp(`^${email}: suspended since .*: under review\n$`))
  w.clock.advance(2_000)
  expect(await identify(w.ctx, key)).toMatchObject({ suspendedAt: expect.any(Date) })
  expect((await guiche('account', 'list', '--search', email)).stdout).toMatch(/R\$ 0,00 .* suspended since .*review\n$/)
  const resumed = await guiche('account', 'resume', '--email', email, '--reason', 'cleared')
  expect(resumed.stdout).toBe(`${email}: active\n`)
  const log = (await guiche('audit-log', '--actor', userInfo().username)).stdout.split('\n')
  expect(log[1]).toMatch(new RegExp(`${ME} +account.resumed +account \\S+ +cleared +\\{"after":`))
  expect(log[2]).toMatch(/account\.suspended .* under review /)
})

test.each([
  ['a change without a reason', ['account', 'terms', '--fee-bps', '1'], 'To change terms, add --reason "…"'],
  ['a rate above all', ['account', 'terms', '--fee-bps', '10001'], 'It must be a whole number from 0 to 10000.'],
  ['a bearer that is none', ['account', 'terms', '--fee-bearer', 'me'], 'It must be account, payer or default.'],
  [
    'terms that contradict each other',
    ['account', 'terms', '--fee-min', '9', '--fee-max', '8', '--reason', 'x'],
    'The minimum fee (9) must not be above the maximum fee (8)',
  ],
  [
    'the operators’ scope for an account',
    ['key', 'create', '--name', 'x', '--scopes', 'operator'],
    'guiche operator key create',
  ],
  [
    'a key of an operator who is none',
    ['operator', 'key', 'create', '--name', 'x'],
    'No operator has the e-mail ana@loja.example; create one with: guiche operator create --email ana@loja.example',
  ],
])('%s is refused in one line', async (_, args, words) => {
  const { w, guiche } = await terminal()
  await createAccount(w.ctx, { email: 'ana@loja.example', name: 'Ana', password: null })
  const refused = await guiche(...args, '--email', 'ana@loja.example')
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain(words)
})
