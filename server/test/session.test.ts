import type { InjectOptions } from 'fastify'
import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import type { Settings } from '../src/domain/core/settings.ts'
import { inviteMember } from '../src/domain/accounts/member-invitations.ts'
import { listMembers } from '../src/domain/accounts/members.ts'
import { ROLES } from '../src/domain/accounts/roles.ts'
import { SYSTEM } from '../src/domain/core/audit-log.ts'
import { createKey } from '../src/domain/accounts/api-keys.ts'
import { requestPayout } from '../src/domain/payouts/payouts.ts'
import { setOperatorEnabled } from '../src/domain/users/operators.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { cookieNames, signToken } from '../src/http/auth/session-cookie.ts'
import { contest } from './dispute-steps.ts'
import { apiRoutesOf, CONSOLE, filledIn, makeOperator, type Route } from './operators-client.ts'
import { completedCharge } from './refund-steps.ts'
import { appWith, bearer } from './requests.ts'
import { world, type World } from './world.ts'

// These tests check who may use the dashboard. Refusals are tried on every route of the app, so that a new route cannot
// be forgotten.

const ORIGIN = 'https://guiche.example'
/** The routes for people who are not signed in. All others need a session. */
const PUBLIC = new Set([
  'GET /dashboard/api/me',
  'POST /dashboard/api/auth/sign-in/email',
  'POST /dashboard/api/auth/sign-in/passkey',
  'POST /dashboard/api/auth/passkey/begin',
  'POST /dashboard/api/auth/sign-up/email',
  'POST /dashboard/api/auth/invitation',
  'POST /dashboard/api/auth/membership/invitation',
  'POST /dashboard/api/auth/membership/sign-up',
  'POST /dashboard/api/auth/sign-out',
  'POST /dashboard/api/auth/request-password-reset',
  'POST /dashboard/api/auth/reset-password',
  'POST /dashboard/api/auth/send-verification-email',
  'GET /dashboard/api/auth/verify-email',
  'POST /dashboard/api/auth/two-factor/verify-totp',
  'POST /dashboard/api/auth/two-factor/verify-backup-code',
])

test('every route of the dashboard refuses a request that another site made the browser send', async () => {
  const { w, routes, session, operator } = await prepare()
  const unsafe = routes.filter(({ method }) => method !== 'GET')
  expect(unsafe.length).toBeGreaterThan(25)
  await expectNothingWritten(w, async () => {
    for (const route of unsafe) {
      const { cookie } = isOperators(route) ? operator : session
      for (const origin of ['https://evil.example', 'null', 'https://guiche.example.evil.example', '', undefined]) {
        const headers = { cookie, ...(origin !== undefined && { origin }) }
        expect([route, origin, await refusal(w, route, { headers })]).toEqual([route, origin, [403, 'foreign_origin']])
      }
    }
  })
})

test('without a session, with a key instead of one, or with one that was ended, no route does anything', async () => {
  const { w, routes, account, operator, session, olga } = await prepare()
  const ended = { account: await w.session(account), operator: await w.session(olga) }
  await w.pool.query('delete from sessions where id = any($1)', [
    Object.values(ended).map(({ sessionId }) => sessionId),
  ])
  const cookieWith = (value: string) => ({ cookie: `${cookieNames(ORIGIN).session}=${encodeURIComponent(value)}` })
  const wanting = routes.filter((route) => !PUBLIC.has(nameOf(route)))
  expect(wanting.length).toBeGreaterThan(45)
  await expectNothingWritten(w, async () => {
    for (const route of wanting) {
      const { key } = isOperators(route) ? olga : account
      const { token } = isOperators(route) ? operator : session
      const ways: Record<string, InjectOptions> = {
        nothing: {},
        bearer: { headers: bearer(key) },
        header: { headers: { 'x-api-key': key } },
        query: { query: { api_key: key } },
        ended: { headers: { cookie: ended[isOperators(route) ? 'operator' : 'account'].cookie } },
        unsigned: { headers: cookieWith(token) },
        forged: { headers: cookieWith(signToken(token, 'another secret')) },
        'cut off': { headers: cookieWith(signToken(token, w.ctx.settings.signIn.secrets()[0]!).slice(0, -1)) },
      }
      for (const [way, options] of Object.entries(ways)) {
        const [status] = await refusal(w, route, { ...options, headers: { origin: ORIGIN, ...options.headers } })
        expect([route, way, status]).toEqual([route, way, 401])
      }
    }
  })
})

test('an account’s session opens no route of the operators, and an operator’s none of an account', async () => {
  const { w, routes, session, operator } = await prepare()
  const behindTheDoor = routes.filter((route) => !isSignIn(route))
  await expectNothingWritten(w, async () => {
    for (const route of behindTheDoor) {
      const { cookie } = isOperators(route) ? session : operator
      const answer = await refusal(w, route, { headers: { cookie, origin: ORIGIN } })
      expect([route, answer]).toEqual([route, [403, 'scope_missing']])
    }
  })
})

test('another account’s ids are unknown to a session, on every route that takes one, and nothing is written', async () => {
  const { w, routes, account } = await prepare({ refunds: { byAccounts: true, returnFee: false } })
  const paid = await completedCharge(w, { account })
  const { charge } = paid
  const { webhook } = await createWebhook(w.ctx, account.accountId, {
    ...WEBHOOK,
    eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
  })
  const requestId = 'order-7'
  const headers = { ...bearer(account.key), 'x-request-id': requestId }
  await w.app.inject({ url: `/api/deposit/${charge.paymentLinkId}`, headers })
  await w.ctx.requestLog.flush()
  const [event] = await query<{ id: string }>(w.pool, 'select id from events')
  const { keyId } = await transact(w.pool, (tx) =>
    createKey(tx, w.clock.now(), 'test', {
      accountId: account.accountId,
      name: 'x',
      scopes: ['balance:read'],
      expiresAt: null,
    }),
  )
  const { accountId } = account
  const asked = { accountId, valueCents: 1, note: null, idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, { kind: 'account', name: account.email }, asked)
  const dispute = await contest(w, paid)
  const wanted = { accountId, email: 'ana@example.com', role: 'viewer' as const }
  const { invitation } = await inviteMember(w.ctx, SYSTEM, wanted)
  const [member] = await listMembers(w.ctx, accountId)
  const ids: Record<string, string> = {
    paymentLinkId: charge.paymentLinkId,
    webhookId: webhook.webhookId,
    eventId: event!.id,
    keyId,
    payoutId: payout.id,
    disputeId: dispute.id,
    id: invitation.invitationId,
    userId: member!.userId,
    requestId,
  }
  const stranger = await w.session(await w.account())
  // The name of an order is its account holder’s own choice, so another account’s may be the same.
  const withIds = routes.filter((route) => !isSignIn(route) && !isOperators(route) && /:(?!externalId)/.test(route.url))
  expect(withIds.length).toBeGreaterThan(10)
  await expectNothingWritten(w, async () => {
    for (const { method, url } of withIds) {
      const filled = url.replaceAll(/:(\w+)/g, (_, name: string) => {
        if (!ids[name]) throw new Error(`tell this test whose id :${name} of ${url} is`)
        return ids[name]
      })
      const file = { fileName: 'x', content: 'JVBERi0xLjQK' }
      const payload = { name: 'mine', value: 1, reason: 'x', overlapSeconds: 60, role: 'viewer', ...file }
      const answer = await stranger.ask(method, filled, method === 'GET' ? undefined : payload)
      expect([method, url, answer.statusCode]).toEqual([method, url, 404])
    }
  })
})

test('the routes of the API answer a session under /dashboard as they answer a key, and the log names the person', async () => {
  const { w, session, account } = await prepare()
  const made = await session.ask('POST', '/dashboard/api/deposit', { value: 5000 })
  expect(made.statusCode).toBe(201)
  const { charge } = made.json()
  const found = await session.ask('GET', `/dashboard/api/deposit/${charge.paymentLinkId}`)
  const byKey = await w.app.inject({ url: `/api/deposit/${charge.paymentLinkId}`, headers: bearer(account.key) })
  expect(found.json()).toEqual(byKey.json())
  expect(found.headers['cache-control']).toBe('no-store')

  expect((await session.ask('POST', '/dashboard/api/webhooks', WEBHOOK)).statusCode).toBe(201)
  const [change] = await query(
    w.pool,
    `select actor_kind, actor, key_id from audit_log where action = 'webhook.created'`,
  )
  expect(change).toEqual({ actor_kind: 'account', actor: account.email, key_id: null })
})

test.each([
  ['a trial on this machine is used by any of its names', 'http://localhost:3000', 'test' as const, 201],
  ['a service with an https name is used by that name alone', 'https://guiche.example', 'test' as const, 403],
  ['a live service is used by its own name alone', 'http://localhost:3000', 'live' as const, 403],
])('%s', async (_, publicUrl, mode, byAnotherName) => {
  const w = await world({ settings: { publicUrl } })
  const app = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, mode } })
  const { cookie } = await w.session(await w.account())
  const ask = async (origin: string, host: string) => {
    const headers = { cookie, origin, host }
    const payload = { value: 5000 }
    return (await app.inject({ method: 'POST', url: '/dashboard/api/deposit', payload, headers })).statusCode
  }
  const own = new URL(publicUrl)
  expect(await ask('http://127.0.0.1:3000', '127.0.0.1:3000')).toBe(byAnotherName)
  expect(await ask(`http://${own.host}`, own.host)).toBe(own.protocol === 'http:' ? 201 : 403)
  expect(await ask('http://127.0.0.1:3001', '127.0.0.1:3000')).toBe(403)
  expect(await ask(own.origin, '127.0.0.1:3000')).toBe(201)
})

test('what changes security wants a password given within 15 minutes, and says so', async () => {
  const { w, routes, session, operator } = await prepare()
  w.clock.advance(15 * 60_000)
  const stale = []
  // A stream that is allowed goes on for ever.
  for (const route of routes.filter((one) => !isSignIn(one) && !one.url.endsWith('/stream'))) {
    const { cookie } = isOperators(route) ? operator : session
    const [, code] = await refusal(w, route, { headers: { cookie, origin: ORIGIN } })
    if (code === 'reauthentication_required') stale.push(nameOf(route))
  }
  expect(stale).toEqual(
    expect.arrayContaining([
      'POST /dashboard/api/webhooks',
      'PATCH /dashboard/api/webhooks/:webhookId',
      'POST /dashboard/api/webhooks/:webhookId/rotate-secret',
      'POST /dashboard/api/keys',
      'PATCH /dashboard/api/operator/accounts/:accountId/terms',
      'POST /dashboard/api/operator/exceptions/:exceptionId/resolve',
      'POST /dashboard/api/operator/deposits/:paymentLinkId/refund',
    ]),
  )
  expect((await session.ask('POST', '/dashboard/api/auth/two-factor/disable', { password: 'x' })).json()).toMatchObject(
    {
      code: 'reauthentication_required',
    },
  )
  // A key is not asked for the password.
  const { key } = await w.account()
  const byKey = { method: 'POST', url: '/api/webhooks', headers: bearer(key), payload: WEBHOOK } as const
  expect((await w.app.inject(byKey)).statusCode).toBe(201)
})

test('a session that is ended, has expired, or whose operator was disabled is refused from the next request on', async () => {
  const { w, session, account, operator, olga } = await prepare()
  const status = async (one: { ask: typeof session.ask }, url: string) => (await one.ask('GET', url)).statusCode
  expect(await status(session, '/dashboard/api/balance')).toBe(200)
  await w.pool.query('delete from sessions where id = $1', [session.sessionId])
  expect(await status(session, '/dashboard/api/balance')).toBe(401)

  expect(await status(operator, '/dashboard/api/operator/accounts')).toBe(200)
  const { operatorId } = olga
  await setOperatorEnabled(w.ctx, { operatorId, isEnabled: false }, CONSOLE)
  expect(await status(operator, '/dashboard/api/operator/accounts')).toBe(401)

  const old = await w.session(account)
  w.clock.advance(31 * 366 * 24 * 3_600_000)
  expect(await status(old, '/dashboard/api/balance')).toBe(401)
})

test('a suspended account’s session may look and do nothing more, as its keys', async () => {
  const { w, session, account } = await prepare()
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'fraud')
  expect((await session.ask('GET', '/dashboard/api/balance')).statusCode).toBe(200)
  const refused = await session.ask('POST', '/dashboard/api/deposit', { value: 5000 })
  expect([refused.statusCode, refused.json()]).toEqual([
    403,
    { success: false, error: 'This account is suspended', code: 'account_suspended' },
  ])
  expect((await session.ask('GET', '/dashboard/api/me')).json().me).toMatchObject({ suspendedReason: 'fraud' })
})

test('requests are limited for each session by itself', async () => {
  const { w, session, account } = await prepare({ rateLimit: { perSecond: 1, burst: 2 } })
  const other = await w.session(account)
  const statuses = []
  for (const one of [session, session, session, other]) {
    const answer = await one.ask('GET', '/dashboard/api/balance')
    statuses.push([answer.statusCode, answer.headers['retry-after']])
  }
  expect(statuses).toEqual([
    [200, undefined],
    [200, undefined],
    [429, '1'],
    [200, undefined],
  ])
})

test('who is signed in, and what the service is like, can be asked by anybody', async () => {
  const { w, session, account, operator } = await prepare()
  const service = {
    mode: 'test',
    publicUrl: ORIGIN,
    signup: 'open',
    sendsMail: true,
    accountsMayRefund: false,
    refundsReturnFee: false,
    chargeExpiresSeconds: 3600,
    chargeMaxExpiresSeconds: 2_592_000,
  }
  expect((await w.app.inject('/dashboard/api/me')).json()).toEqual({ success: true, me: null, service })
  expect((await session.ask('GET', '/dashboard/api/me')).json().me).toEqual({
    kind: 'account',
    email: account.email,
    name: account.caller.accountName,
    accountId: account.accountId,
    accounts: [{ accountId: account.accountId, name: account.caller.accountName, role: 'owner' }],
    role: 'owner',
    scopes: [...ROLES.owner],
    suspendedReason: null,
    isTwoFactor: false,
    mustSetUpSecondFactor: false,
    isFresh: true,
    timeZone: 'America/Sao_Paulo',
    cursor: expect.stringMatching(/^[0-9a-f]{32}\.0$/),
  })
  expect((await operator.ask('GET', '/dashboard/api/me')).json().me).toMatchObject({
    kind: 'operator',
    accountId: null,
  })
})

const WEBHOOK = {
  name: 'shop',
  url: 'https://shop.example/hook',
  authorization: null,
}

async function prepare(settings: Partial<Settings> = {}) {
  const w = await world({ settings })
  const account = await w.account()
  const olga = await makeOperator(w)
  const routes = apiRoutesOf(await appWith(w.ctx), '/dashboard/api')
  return { w, account, olga, routes, session: await w.session(account), operator: await w.session(olga) }
}

const nameOf = ({ method, url }: Route) => `${method} ${url}`
const isOperators = ({ url }: Route) => url.startsWith('/dashboard/api/operator')
const isSignIn = ({ url }: Route) =>
  url.startsWith('/dashboard/api/auth/') || ['/dashboard/api/me', '/dashboard/api/reauthenticate'].includes(url)

async function refusal(w: World, { method, url }: Route, options: InjectOptions): Promise<[number, unknown]> {
  const answer = await w.app.inject({ method, url: filledIn(url), ...options })
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return [answer.statusCode, isJson ? answer.json().code : undefined]
}

/** Compares all rows of all tables, before and after. Processes are left out, because they renew their leases. */
async function expectNothingWritten(w: World, work: () => Promise<void>): Promise<void> {
  const tables = await query<{ name: string }>(
    w.pool,
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'processes' order by 1`,
  )
  const snapshot = async () => {
    const sums = tables.map(async ({ name }) => {
      const [row] = await query<{ sum: string }>(
        w.pool,
        `select md5(string_agg(t::text, ',' order by t::text)) as sum from ${name} t`,
      )
      return [name, row!.sum]
    })
    return Object.fromEntries(await Promise.all(sums))
  }
  const before = await snapshot()
  await work()
  expect(await snapshot()).toEqual(before)
}
