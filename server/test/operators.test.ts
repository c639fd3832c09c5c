import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { createKey, revokeKey } from '../src/domain/accounts/api-keys.ts'
import { identify } from '../src/domain/accounts/callers.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { createOperator, setOperatorEnabled } from '../src/domain/users/operators.ts'
import { buildApp } from '../src/http/app.ts'
import { requireKeys } from '../src/http/auth/api-key-auth.ts'
import { appWith, bearer, get, sentText, UNKNOWN_ID } from './requests.ts'
import { apiRoutesOf, ask, CONSOLE, filledIn, makeOperator, makeOperatorKey } from './operators-client.ts'
import { spyOnQueries } from './statements.ts'
import { authenticate, until, world, type World } from './world.ts'

const OPERATORS_KEY = 'This is an operator’s API key, which belongs to no account: use a key of the account'
const NOT_AN_OPERATOR = 'This API key lacks the scope operator: only operators’ keys have it'

// ---- Two roles that never meet ----

test('every route of the operators refuses no key, every account’s key, and a key that was an operator’s', async () => {
  const w = await world()
  const { key: accountKey } = await w.account()
  const { operatorId, key: revoked } = await makeOperator(w)
  const { key: expired } = await makeOperatorKey(w, operatorId, new Date(w.clock.now().getTime() + 1_000))
  const { operatorId: leaver, key: ofDisabled } = await makeOperator(w, 'leaver@example.com')
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), revoked))
  await setOperatorEnabled(w.ctx, { operatorId: leaver, isEnabled: false }, CONSOLE)
  w.clock.advance(1_000)

  const routes = apiRoutesOf(await buildApp(w.ctx)).filter(({ url }) => url.startsWith('/api/operator'))
  expect(routes.length).toBeGreaterThanOrEqual(14)
  for (const { method, url } of routes) {
    const tell = async (headers: Record<string, string>) => {
      const answer = await w.app.inject({ method, url: filledIn(url), headers })
      expect([url, answer.json().success]).toEqual([url, false])
      return `${answer.statusCode} ${answer.json().error}`
    }
    expect([method, url, await tell({})]).toEqual([method, url, '401 Missing API key'])
    expect([method, url, await tell(bearer(accountKey))]).toEqual([method, url, `403 ${NOT_AN_OPERATOR}`])
    for (const key of [revoked, expired, ofDisabled])
      expect([method, url, await tell(bearer(key))]).toEqual([method, url, '401 Invalid API key'])
  }
})

test('every route of account holders refuses an operator’s key, and says whose it is', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const routes = apiRoutesOf(await buildApp(w.ctx)).filter(({ url }) => !url.startsWith('/api/operator'))
  expect(routes.map(({ method, url }) => `${method} ${url}`)).toEqual(
    expect.arrayContaining(['POST /api/deposit', 'GET /api/deposit/:paymentLinkId', 'GET /api/balance']),
  )
  for (const { method, url } of routes) {
    const answer = await w.app.inject({ method, url: filledIn(url), headers: bearer(key) })
    expect([method, url, answer.statusCode, answer.json()]).toEqual([
      method,
      url,
      403,
      { success: false, error: OPERATORS_KEY },
    ])
  }
  expect(await w.count('charges')).toBe(0)
})

test('the list of routes that these tests walk is that of the OpenAPI document', async () => {
  const w = await world()
  const { paths } = (await w.app.inject('/openapi.json')).json()
  const documented = Object.entries(paths as Record<string, object>)
    .filter(([path]) => path.startsWith('/api'))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
  const walked = apiRoutesOf(await buildApp(w.ctx)).map(
    ({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`,
  )
  expect(walked.toSorted()).toEqual(documented.toSorted())
})

test('a route of the operators with an account’s scope, or the other way round, or with none, stops the server at start', async () => {
  const w = await world()
  const start = (url: string, scope?: 'operator' | 'balance:read') => {
    const app = Fastify()
    requireKeys(app, w.ctx, async () => undefined)
    app.get(url, scope ? { config: { scope } } : {}, async () => ({}))
  }
  expect(() => start('/api/operator/x', 'balance:read')).toThrow('/api/operator is for operators, and only that')
  expect(() => start('/api/x', 'operator')).toThrow('/api/operator is for operators, and only that')
  expect(() => start('/api/operators', 'operator')).toThrow('/api/operator is for operators, and only that')
  expect(() => start('/api/operator/x')).toThrow('names no scope')
  expect(() => start('/api/operator/x', 'operator')).not.toThrow()
})

test('no account’s key can have the operators’ scope, by the code and by the schema', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const { operatorId } = await makeOperator(w)
  const scopes = JSON.parse('["balance:read", "operator"]')
  await expect(
    transact(w.pool, (tx) => createKey(tx, w.clock.now(), 'test', { accountId, name: 'x', scopes, expiresAt: null })),
  ).rejects.toMatchObject({
    code: 'field_invalid',
    message:
      'An account’s key cannot have the scope operator; create an operator’s key with: guiche operator key create',
  })
  const set = (columns: string) => w.pool.query(`update api_keys set ${columns}`)
  for (const broken of [
    `account_id = '${accountId}', operator_id = null, scopes = '{operator}'`,
    `account_id = '${accountId}', operator_id = null, scopes = '{balance:read,operator}'`,
    `account_id = null, operator_id = '${operatorId}', scopes = '{operator,balance:read}'`,
    `account_id = null, operator_id = '${operatorId}', scopes = '{balance:read}'`,
    `account_id = null, operator_id = null`,
    `account_id = '${accountId}', operator_id = '${operatorId}'`,
  ]) {
    await expect(set(broken)).rejects.toThrow(/api_keys_(one_holder|operator_scope)/)
  }
  await set(`account_id = null, operator_id = '${operatorId}', scopes = '{operator}'`)
})

// ---- Their keys are keys like any other ----

test('an operator’s key is taken from all three places, and held to the same rate', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const app = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, rateLimit: { perSecond: 1, burst: 3 } } })
  const url = '/api/operator/providers'
  const answers = [
    await app.inject(get(key, url)),
    await app.inject({ url, headers: { 'x-api-key': key } }),
    await app.inject(`${url}?api_key=${key}`),
    await app.inject(get(key, url)),
  ]
  expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200, 200, 429])
  expect(answers[0]!.headers['ratelimit']).toBe('"default";r=2;t=1')
})

test('an operator’s key is read once a second, its use is noted, and revoked it fails within two', async () => {
  const w = await world()
  const { ctx: other } = await w.anotherProcess()
  const { key, keyId, operatorId, email } = await makeOperator(w)
  const asked = await spyOnQueries(w.pool)
  for (let call = 0; call < 10; call++)
    expect(await identify(w.ctx, key)).toEqual({ kind: 'operator', keyId, operatorId, email, scope: 'operator' })
  expect(asked.mock.calls.filter((call) => sentText(call).includes('from api_keys k'))).toHaveLength(1)
  await until('the use is noted', () => w.count('api_keys', 'last_used_at is not null').then(Boolean))
  await expect(authenticate(w.ctx, key)).rejects.toMatchObject({ code: 'scope_missing', message: OPERATORS_KEY })

  await identify(other, key)
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), key))
  w.clock.advance(1_999)
  for (const ctx of [w.ctx, other]) await expect(identify(ctx, key)).rejects.toMatchObject({ code: 'key_invalid' })
})

test('a disabled operator’s keys work again when the operator is enabled, but for those revoked', async () => {
  const w = await world()
  const { key, operatorId } = await makeOperator(w)
  const { key: revoked } = await makeOperatorKey(w, operatorId)
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), revoked))
  const set = async (isEnabled: boolean) => {
    await setOperatorEnabled(w.ctx, { operatorId, isEnabled }, CONSOLE)
    w.clock.advance(1_000)
  }
  await set(false)
  await expect(identify(w.ctx, key)).rejects.toMatchObject({ code: 'key_invalid' })
  await set(true)
  expect(await identify(w.ctx, key)).toMatchObject({ operatorId })
  await expect(identify(w.ctx, revoked)).rejects.toMatchObject({ code: 'key_invalid' })
})

// ---- Making operators ----

test('an operator is no account holder, and its password is stored as a hash', async () => {
  const w = await world()
  const olga = { email: 'olga@example.com', name: 'Olga', password: null }
  const { password } = await createOperator(w.ctx, olga, CONSOLE)
  const [row] = await query<{ row: string }>(w.pool, 'select c::text as row from credentials c')
  expect(password).toHaveLength(20)
  expect(row!.row).toContain('$argon2id$')
  expect(row!.row).not.toContain(password)
  expect([await w.count('accounts'), await w.count('ledger_accounts', `kind = 'balance'`)]).toEqual([0, 0])
})

test('an e-mail is an account holder’s or an operator’s: the second role is refused, and nothing is made', async () => {
  const w = await world()
  const { email } = await w.account()
  const olga = await makeOperator(w)
  const before = await w.count('users')
  await expect(createOperator(w.ctx, { email, name: 'Olga', password: null }, CONSOLE)).rejects.toMatchObject({
    code: 'email_taken',
    message: `The e-mail ${email} is an account holder’s, and an e-mail is one or the other: use another`,
  })
  await expect(createAccount(w.ctx, { email: olga.email, name: 'Olga', password: null })).rejects.toMatchObject({
    code: 'email_taken',
    message: `The e-mail ${olga.email} is an operator’s, and an e-mail is one or the other: use another`,
  })
  expect(await w.count('users')).toBe(before)
  // Whatever the code does, the schema refuses it too.
  const second = `insert into operators (id, user_id, email, name, created_at)
    select gen_random_uuid(), user_id, email, name, created_at from accounts`
  await expect(w.pool.query(second)).rejects.toThrow('operators_user')
})

test('a second operator with an e-mail, and what cannot be one, is refused and told why', async () => {
  const w = await world()
  await makeOperator(w)
  const make = (fields: object) =>
    createOperator(w.ctx, { email: 'b@example.com', name: 'B', password: null, ...fields }, CONSOLE)
  await expect(make({ email: 'OPS@example.com' })).rejects.toMatchObject({
    code: 'email_taken',
    message: 'An operator with the e-mail ops@example.com already exists',
  })
  await expect(make({ email: 'ops' })).rejects.toThrow('Not an e-mail address: ops')
  await expect(make({ name: ' ' })).rejects.toThrow('An operator needs a name of 1 to 100 characters')
  await expect(make({ password: 'short' })).rejects.toThrow('A password must have 12 to 200 characters')
  expect(await w.count('operators')).toBe(1)
})

// ---- What they see ----

test('accounts are listed newest first, in pages, and found by any part of name or e-mail', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const made = []
  for (let index = 0; index < 3; index++) {
    made.unshift(await w.account())
    w.clock.advance(1_000)
  }
  const first = (await ask(w, key, 'GET', 'accounts?limit=2')).body
  const second = (await ask(w, key, 'GET', `accounts?limit=2&cursor=${first.nextCursor}`)).body
  expect(first.accounts[0]).toEqual({
    id: made[0]!.accountId,
    email: made[0]!.email,
    name: made[0]!.caller.accountName,
    createdAt: '2026-03-02T12:00:02.000Z',
    balance: 0,
    owed: 0,
    suspendedAt: null,
    suspendedReason: null,
  })
  expect([...first.accounts, ...second.accounts].map(({ id }) => id)).toEqual(made.map((one) => one.accountId))
  expect(second.nextCursor).toBeNull()

  const found = async (search: string) =>
    (await ask(w, key, 'GET', `accounts?search=${encodeURIComponent(search)}`)).body.accounts.map(
      ({ id }: { id: string }) => id,
    )
  expect(await found(made[1]!.email.toUpperCase())).toEqual([made[1]!.accountId])
  expect(await found(made[2]!.caller.accountName.slice(2).toUpperCase())).toEqual([made[2]!.accountId])
  expect(await found('LOJA')).toHaveLength(3)
  for (const nothing of ['%', '_', 'nobody']) expect(await found(nothing)).toEqual([])
})

test('an account is shown with its balance, its terms, and how its deposits fare', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { account, charge } = await w.paidCharge({ valueCents: 50_00 })
  await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  await w.deposit(account)
  const { status, body } = await ask(w, key, 'GET', `accounts/${account.accountId}`)
  expect(status).toBe(200)
  expect(body.account).toMatchObject({ id: account.accountId, balance: 49_50 })
  expect(body.counts).toEqual({
    pending: 1,
    completed: 1,
    expired: 0,
    canceled: 0,
    isCut: false,
    activeKeys: 1,
    webhooks: 0,
  })
  expect(body.terms.effective).toMatchObject({ feeBps: 100, feeBearer: 'account', feeMax: null })
  expect(body.terms.own).toMatchObject({ feeBps: null, feeBearer: null })
  expect(body.terms.history).toEqual([])
})

test('an account that does not exist is not found, by whatever it is asked for', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const notFound = { status: 404, body: { success: false, error: 'Account not found' } }
  for (const id of [UNKNOWN_ID, 'x', '%00']) {
    expect(await ask(w, key, 'GET', `accounts/${id}`)).toEqual(notFound)
    expect(await ask(w, key, 'PATCH', `accounts/${id}/terms`, { feeBps: 1, reason: 'x' })).toEqual(notFound)
    expect(await ask(w, key, 'POST', `accounts/${id}/suspend`, { reason: 'x' })).toEqual(notFound)
    expect(await ask(w, key, 'POST', `accounts/${id}/resume`, { reason: 'x' })).toEqual(notFound)
  }
  expect(await w.count('audit_log', `actor_kind = 'operator'`)).toBe(0)
})

test('the health of providers is shown: what failed last, and when it last worked', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const health = async () => (await ask(w, key, 'GET', 'providers')).body.providers
  await w.deposit(await w.account())
  expect(await health()).toEqual([
    { name: 'sandbox', breaker: 'closed', lastError: null, lastSuccessAt: w.clock.now().toISOString() },
  ])
  await w.sandbox.faults({ errorRate: 1 })
  await expect(w.deposit(await w.account())).rejects.toThrow('The payment provider')
  expect((await health())[0]).toMatchObject({ name: 'sandbox', lastError: expect.stringContaining('50') })
})

test('a bad parameter is named together with what is allowed', async () => {
  const w: World = await world()
  const { key } = await makeOperator(w)
  for (const [path, error] of [
    ['accounts?search=', 'search must be 1 to 100 characters, without control or invisible characters'],
    ['accounts?search=%00', 'search must be 1 to 100 characters, without control or invisible characters'],
    ['accounts?limit=101', 'limit must be an integer from 1 to 100'],
    ['accounts?cursor=x!', 'cursor must be a nextCursor of an earlier answer'],
    ['audit-log?accountId=x', 'accountId must be the id of an account'],
    ['audit-log?action=x', 'action must be the name of an action, such as account.suspended'],
    ['audit-log?actor=', 'actor must be 1 to 254 characters, without control or invisible characters'],
    ['audit-log?cursor=abc', 'cursor must be a nextCursor of an earlier answer'],
  ] as const) {
    expect([path, await ask(w, key, 'GET', path)]).toEqual([path, { status: 400, body: { success: false, error } }])
  }
})
