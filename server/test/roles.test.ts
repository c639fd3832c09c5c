import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { createKey } from '../src/domain/accounts/api-keys.ts'
import { SCOPES } from '../src/domain/accounts/callers.ts'
import { ROLES, type Role } from '../src/domain/accounts/roles.ts'
import { join } from './members-client.ts'
import { apiRoutesOf, filledIn, type Route } from './operators-client.ts'
import { appWith, bearer } from './requests.ts'
import { world } from './world.ts'

const ALL = 'owner finance developer cashier viewer'
const READERS = 'owner finance developer viewer'

/**
 * Who may call which route of an account. It repeats the roles by hand, so that a route or a role that changes is
 * noticed here. A role in brackets may do it in the dashboard only, and not by a key with its scopes.
 */
const MAY: Record<string, string> = {
  'POST /api/deposit': 'owner developer [cashier]',
  'GET /api/deposit/:paymentLinkId': 'owner finance developer [cashier] viewer',
  'POST /api/deposit/:paymentLinkId/cancel': 'owner developer [cashier]',
  'GET /api/deposits': 'owner finance developer [cashier] viewer',
  'GET /api/deposits/:paymentLinkId': 'owner finance developer [cashier] viewer',
  'GET /api/deposit/:paymentLinkId/timeline': ALL,
  'GET /api/search': ALL,
  'PUT /api/orders/:externalId/deposit': 'owner developer',
  'GET /api/orders/:externalId': READERS,
  'PUT /api/codes/:externalId': 'owner developer',
  'DELETE /api/codes/:externalId': 'owner developer',
  'GET /api/codes/:externalId': READERS,
  'GET /api/codes': READERS,
  'POST /api/deposit/:paymentLinkId/refund': 'owner finance',
  'GET /api/deposit/:paymentLinkId/refunds': READERS,
  'GET /api/balance': READERS,
  'GET /api/statement': READERS,
  'GET /api/webhooks': 'owner developer [viewer]',
  'GET /api/webhooks/:webhookId': 'owner developer [viewer]',
  'POST /api/webhooks': 'owner developer',
  'PATCH /api/webhooks/:webhookId': 'owner developer',
  'DELETE /api/webhooks/:webhookId': 'owner developer',
  'POST /api/webhooks/:webhookId/test': 'owner developer',
  'GET /api/webhooks/:webhookId/stats': 'owner developer [viewer]',
  'POST /api/webhooks/:webhookId/retry': 'owner developer',
  'POST /api/webhooks/:webhookId/rotate-secret': 'owner developer',
  'GET /api/events': READERS,
  'GET /api/events/:eventId': READERS,
  'POST /api/events/:eventId/resend': 'owner developer',
  'POST /api/events/resend': 'owner developer',
  'GET /api/events/stream': 'owner finance developer [cashier] viewer',
  'GET /api/events/head': READERS,
  'GET /api/events/export': READERS,
  'GET /api/events/:eventId/receipt': READERS,
  'GET /api/counter/takings': ALL,
  'GET /api/overview': READERS,
  'GET /api/open': READERS,
  'GET /api/keys': 'owner developer viewer',
  'POST /api/keys': 'owner developer',
  'DELETE /api/keys/:keyId': 'owner developer',
  'GET /api/requests': 'owner developer viewer',
  'GET /api/requests/:requestId': 'owner developer viewer',
  'GET /api/deliveries': READERS,
  'GET /api/deliveries/:eventId/:webhookId': READERS,
  'GET /api/deposits.csv': READERS,
  'GET /api/statement/export': READERS,
  'POST /api/payouts': 'owner finance',
  'GET /api/payouts': 'owner finance viewer',
  'GET /api/payouts/:payoutId': 'owner finance viewer',
  'GET /api/disputes': READERS,
  'GET /api/disputes/:disputeId': READERS,
  'POST /api/disputes/:disputeId/evidence': 'owner finance',
  'PUT /api/account/time-zone': 'owner',
  'GET /api/shop': 'owner finance developer [cashier] viewer',
  'PUT /api/shop': 'owner',
  'PUT /api/shop/logo': 'owner',
  'DELETE /api/shop/logo': 'owner',
  'GET /api/shop/preview': 'owner',
  'GET /api/notices': READERS,
  'POST /api/notices/seen': READERS,
  'GET /api/notices/choices': READERS,
  'PUT /api/notices/choices': READERS,
  'GET /api/members': 'owner viewer',
  'POST /api/members/invitations': 'owner',
  'POST /api/members/invitations/:id/resend': 'owner',
  'DELETE /api/members/invitations/:id': 'owner',
  'PATCH /api/members/:userId': 'owner',
  'DELETE /api/members/:userId': 'owner',
  'PUT /api/members/second-factor': 'owner',
}

const PEOPLE = ['owner', 'finance', 'developer', 'cashier', 'viewer'] as const satisfies Role[]

function mayBy(way: 'session' | 'key', route: string, role: Role): boolean {
  const listed = (MAY[route] ?? '').split(' ')
  return listed.includes(role) || (way === 'session' && listed.includes(`[${role}]`))
}

/** Without what the route needs, and with what it refuses, so that nothing happens, and a stream does not begin. */
function emptyRequest({ method, url }: Route) {
  const isGet = method === 'GET'
  return { method, url: filledIn(url) + (isGet ? '?limit=0&after=x&from=x' : ''), ...(!isGet && { payload: {} }) }
}

const isOfAccount = ({ url }: Route) => !/\/api\/(operator|auth)\b|\/(me|reauthenticate)$/.test(url)

test.each(PEOPLE)('what the dashboard lets a member do who is: %s', async (role) => {
  const w = await world()
  const { accountId } = await w.account()
  const { cookie } = await w.session(await join(w, accountId, role))
  const routes = apiRoutesOf(await appWith(w.ctx), '/dashboard/api').filter(isOfAccount)
  const named = routes.map(({ method, url }) => `${method} ${url.slice('/dashboard'.length)}`)
  expect(Object.keys(MAY).toSorted()).toEqual(named.toSorted())
  for (const route of routes) {
    const answer = await w.app.inject({ ...emptyRequest(route), headers: { cookie, origin: 'https://guiche.example' } })
    const name = `${route.method} ${route.url.slice('/dashboard'.length)}`
    const isRefused = answer.statusCode === 403 && answer.json().code === 'scope_missing'
    expect([name, !isRefused]).toEqual([name, mayBy('session', name, role)])
  }
})

test.each(PEOPLE.filter((role) => role !== 'cashier'))('what a key may that has the scopes of: %s', async (role) => {
  const w = await world({ settings: { refunds: { byAccounts: true, returnFee: false } } })
  const { accountId } = await w.account()
  const scopes = SCOPES.filter((scope) => ROLES[role].some((held) => held === scope))
  const key = { accountId, name: role, scopes, expiresAt: null }
  const { text } = await transact(w.pool, (tx) => createKey(tx, w.clock.now(), 'test', key))
  const routes = apiRoutesOf(await appWith(w.ctx), '/api/').filter(isOfAccount)
  expect(routes.length).toBeGreaterThan(20)
  for (const route of routes) {
    const answer = await w.app.inject({ ...emptyRequest(route), headers: bearer(text) })
    const name = `${route.method} ${route.url}`
    const isRefused = answer.statusCode === 403 && answer.headers['guiche-error'] === 'scope_missing'
    expect([name, !isRefused]).toEqual([name, mayBy('key', name, role)])
  }
})

test('a cashier sees the deposits of today in São Paulo, and finds no other', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(await join(w, account.accountId, 'cashier'))
  const old = await w.deposit(account, { expiresInSeconds: 86_400 })
  const url = (link: string, prefix = 'deposit') => `/dashboard/api/${prefix}/${link}`
  const listed = async (query = '') =>
    (await session.ask('GET', `/dashboard/api/deposits${query}`)).json().deposits.map((one: { id: string }) => one.id)
  expect(await listed()).toEqual([old.id])
  // 12:00 UTC is 9:00 there; midnight is fifteen hours later.
  w.clock.advance(15 * 3_600_000 - 1)
  expect(await listed()).toEqual([old.id])
  w.clock.advance(1)
  expect(await listed()).toEqual([])
  expect(await listed('?from=2026-01-01T00:00:00Z')).toEqual([])
  expect(await listed('?status=PENDING')).toEqual([])
  expect(await listed(`?search=${old.id}`)).toEqual([])
  for (const path of [url(old.paymentLinkId), url(old.paymentLinkId, 'deposits'), `${url(old.paymentLinkId)}/timeline`])
    expect([path, (await session.ask('GET', path)).statusCode]).toEqual([path, 404])
  expect((await session.ask('POST', `${url(old.paymentLinkId)}/cancel`)).statusCode).toBe(404)

  const made = await session.ask('POST', '/dashboard/api/deposit', { value: 50_00 })
  const { paymentLinkId, id } = made.json().charge
  expect(await listed()).toEqual([id])
  expect((await session.ask('GET', `${url(paymentLinkId)}/timeline`)).json().timeline[0]).toMatchObject({
    kind: 'created',
  })
  expect((await session.ask('POST', `${url(paymentLinkId)}/cancel`)).json().charge.status).toBe('CANCELED')
})

test('a cashier’s page of a deposit tells nothing of the balance and the webhooks', async () => {
  const w = await world()
  const { charge, account } = await w.paidCharge()
  await w.app.inject({ url: `/api/deposit/${charge.paymentLinkId}`, headers: bearer(account.key) })
  const kindsFor = async (role: Role) => {
    const session = await w.session(await join(w, account.accountId, role))
    const answer = await session.ask('GET', `/dashboard/api/deposit/${charge.paymentLinkId}/timeline`)
    return answer.json().timeline.map((moment: { kind: string }) => moment.kind)
  }
  expect(await kindsFor('viewer')).toEqual(['created', 'paid', 'confirmed', 'credited', 'event'])
  expect(await kindsFor('cashier')).toEqual(['created', 'paid', 'confirmed'])
})

test('a member gives a key only scopes that the role has, and the list says who made it', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const developer = await join(w, accountId, 'developer')
  const session = await w.session(developer)
  const make = (scopes: string[]) => session.ask('POST', '/dashboard/api/keys', { name: 'shop', scopes })
  const refused = await make(['deposits:write', 'refunds:write'])
  expect([refused.statusCode, refused.json().code]).toEqual([403, 'scope_missing'])
  expect((await make(['deposits:write'])).json().key).toMatchObject({ madeBy: developer.email })
})
