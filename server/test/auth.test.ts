import type { InjectOptions } from 'fastify'
import { Client } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import type { Log } from '../src/base/log.ts'
import { transact } from '../src/db/tx.ts'
import { createKey, revokeKey } from '../src/domain/accounts/api-keys.ts'
import { makeKeyText, type Scope } from '../src/domain/accounts/callers.ts'
import { appWith, bearer, deposit, get, post, UNKNOWN_ID, withProvider } from './requests.ts'
import { world } from './world.ts'

const ROUTES: [method: 'GET' | 'POST', url: string, scope: Scope][] = [
  ['POST', '/api/deposit', 'deposits:write'],
  ['GET', `/api/deposit/${UNKNOWN_ID}`, 'deposits:read'],
  ['POST', `/api/deposit/${UNKNOWN_ID}/cancel`, 'deposits:write'],
  ['GET', '/api/deposits', 'deposits:read'],
  ['GET', '/api/balance', 'balance:read'],
  ['GET', '/api/statement', 'balance:read'],
]

test('every endpoint needs a key, and looks at it before anything else', async () => {
  const w = await world()
  for (const [method, url] of ROUTES) {
    const request: InjectOptions = {
      method,
      url,
      headers: { 'content-type': 'text/plain' },
      ...(method === 'POST' && { payload: '{' }),
    }
    const without = await w.app.inject(request)
    const wrong = await w.app.inject({ ...request, headers: { ...request.headers, ...bearer(makeKeyText('test')) } })
    expect([url, without.statusCode, without.json()]).toEqual([url, 401, { success: false, error: 'Missing API key' }])
    expect([url, wrong.statusCode, wrong.json()]).toEqual([url, 401, { success: false, error: 'Invalid API key' }])
    expect([without.headers['www-authenticate'], wrong.headers['www-authenticate']]).toEqual(['Bearer', 'Bearer'])
  }
})

test('a key is taken from Authorization, else X-API-Key, else the query, and the first one present decides even if it is bad', async () => {
  const w = await world()
  const { key: good } = await w.account()
  const bad = makeKeyText('test')
  const cases: [name: string, headers: Record<string, string>, query: string, status: number][] = [
    ['Authorization', { authorization: `Bearer ${good}` }, '', 200],
    ['Authorization, scheme in any case', { authorization: `bEARER   ${good}` }, '', 200],
    ['X-API-Key', { 'x-api-key': good }, '', 200],
    ['query', {}, `?api_key=${good}`, 200],
    ['good Authorization, bad others', { authorization: `Bearer ${good}`, 'x-api-key': bad }, `?api_key=${bad}`, 200],
    ['good X-API-Key, bad query', { 'x-api-key': good }, `?api_key=${bad}`, 200],
    ['bad Authorization, good others', { authorization: `Bearer ${bad}`, 'x-api-key': good }, `?api_key=${good}`, 401],
    ['bad X-API-Key, good query', { 'x-api-key': bad }, `?api_key=${good}`, 401],
    ['empty Authorization, good others', { authorization: '', 'x-api-key': good }, `?api_key=${good}`, 401],
    ['Authorization without a token', { authorization: 'Bearer', 'x-api-key': good }, '', 401],
    ['Authorization of another scheme', { authorization: `Basic ${good}`, 'x-api-key': good }, '', 401],
    ['Authorization without a scheme', { authorization: good }, '', 401],
    ['two tokens', { authorization: `Bearer ${good} ${good}` }, '', 401],
    ['empty X-API-Key, good query', { 'x-api-key': '' }, `?api_key=${good}`, 401],
    ['empty query', {}, '?api_key=', 401],
    ['two in the query', {}, `?api_key=${good}&api_key=${good}`, 401],
  ]
  for (const [name, headers, query, status] of cases) {
    const answer = await w.app.inject({ url: `/api/balance${query}`, headers })
    expect([name, answer.statusCode]).toEqual([name, status])
    if (status === 401) expect([name, answer.json().error]).toEqual([name, 'Invalid API key'])
  }
})

test('a revoked and an expired key are invalid like an unknown one', async () => {
  const w = await world()
  const { accountId, key: revoked } = await w.account()
  const { text: expiring } = await transact(w.pool, (tx) =>
    createKey(tx, w.clock.now(), 'test', {
      accountId,
      name: 'expiring',
      scopes: ['balance:read'],
      expiresAt: new Date(w.clock.now().getTime() + 60_000),
    }),
  )
  expect((await w.app.inject(get(revoked, '/api/balance'))).statusCode).toBe(200)
  expect((await w.app.inject(get(expiring, '/api/balance'))).statusCode).toBe(200)

  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), revoked))
  w.clock.advance(60_000)
  for (const key of [revoked, expiring]) {
    const answer = await w.app.inject(get(key, '/api/balance'))
    expect([answer.statusCode, answer.json().error]).toEqual([401, 'Invalid API key'])
  }
})

test('keys that share a connection are told apart, and one that is revoked fails on it', async () => {
  const w = await world()
  const [{ key: ana }, { key: bob }] = [await w.account(), await w.account()]
  const { charge } = (await w.app.inject(deposit(ana, '{"value":5000}'))).json()
  let connections = 0
  w.app.server.on('connection', () => connections++)
  const connection = new Client(await w.app.listen({ port: 0, host: '127.0.0.1' }))
  onTestFinished(() => connection.close())
  const ask = async (key: string) => {
    const path = `/api/deposit/${charge.paymentLinkId}`
    const { statusCode, body } = await connection.request({ path, method: 'GET', headers: bearer(key) })
    await body.dump()
    return statusCode
  }
  // The second request with a key finds it in memory.
  for (const key of [ana, ana, bob, bob, ana, bob]) expect(await ask(key)).toBe(key === ana ? 200 : 404)
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), ana))
  w.clock.advance(2_000)
  expect([await ask(bob), await ask(ana), await ask(bob)]).toEqual([404, 401, 404])
  expect(connections).toBe(1)
})

test('a key without the scope is refused and told which one it lacks', async () => {
  const w = await world()
  for (const [method, url, scope] of ROUTES) {
    const others = (['deposits:write', 'deposits:read', 'balance:read', 'webhooks:write'] as const).filter(
      (one) => one !== scope,
    )
    const { key } = await w.account({ scopes: others })
    const answer = await w.app.inject(method === 'GET' ? get(key, url) : post(key, url))
    expect([url, answer.statusCode, answer.json()]).toEqual([
      url,
      403,
      { success: false, error: `This API key lacks the scope ${scope}` },
    ])
  }
  expect(await w.count('charges')).toBe(0)
})

test('a key with only the scope of a route may use it', async () => {
  const w = await world()
  for (const [method, url, scope] of ROUTES) {
    const { key } = await w.account({ scopes: [scope] })
    const answer = await w.app.inject(
      url === '/api/deposit' ? deposit(key, '{"value":5000}') : method === 'GET' ? get(key, url) : post(key, url),
    )
    expect([url, answer.statusCode]).toEqual([url, url === '/api/deposit' ? 201 : url.includes(UNKNOWN_ID) ? 404 : 200])
  }
})

test('a key reaches no log, no header and no body, wherever it was sent and whatever went wrong', async () => {
  const w = await world()
  const { key } = await w.account()
  const lines: string[] = []
  const note = (fields: object, text: string) => void lines.push(text + JSON.stringify(fields, withErrors))
  const log: Log = { debug: note, info: note, warn: note, error: note }
  const app = await appWith(withProvider({ ...w.ctx, log }, { create: () => Promise.reject(new Error('broken')) }))

  const secrets = [key, makeKeyText('test'), 'gk_test_mistyped']
  const seen: string[] = []
  for (const secret of secrets) {
    for (const url of [
      '/api/balance',
      '/api/deposit',
      '/api/nothing',
      `/api/deposit/${secret}`,
      '/api/deposits?limit=x',
      '/payment-link/x',
      '/qr/x.png?size=1',
      '/%zz',
    ]) {
      const query = `${url.includes('?') ? '&' : '?'}api_key=${secret}`
      const requests: InjectOptions[] = [
        { method: 'GET', url: url + query },
        { method: 'POST', url: url + query, payload: { value: 5000 } },
        { method: 'POST', url, headers: bearer(secret), payload: { value: 5000 } },
        { method: 'POST', url, headers: { 'x-api-key': secret, 'content-type': 'application/json' }, payload: '{' },
      ]
      for (const request of requests) {
        const answer = await app.inject(request)
        seen.push(JSON.stringify(answer.headers) + answer.body)
      }
    }
  }
  expect(lines.filter((line) => line.includes('internal error while handling a request'))).not.toHaveLength(0)
  expect(lines.filter((line) => line.startsWith('request completed'))).not.toHaveLength(0)
  for (const secret of secrets) {
    expect(lines.filter((line) => line.includes(secret))).toEqual([])
    expect(seen.filter((answer) => answer.includes(secret))).toEqual([])
  }
})

function withErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value
}
