import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { createKey } from '../src/domain/accounts/api-keys.ts'
import { bearer, get } from './requests.ts'
import { authenticate, world } from './world.ts'

const KEYS = '/dashboard/api/keys'
const WANTED = { name: 'shop', scopes: ['deposits:write', 'deposits:read'], expiresAt: null }

test('a key that is made in the dashboard works, and its text is shown this once', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  const made = await session.ask('POST', KEYS, { ...WANTED, expiresAt: '2026-04-01T00:00:00-03:00' })
  expect(made.statusCode).toBe(201)
  const { key, text, ...rest } = made.json()
  expect(rest).toEqual({ success: true })
  expect(key).toEqual({
    keyId: expect.any(String),
    name: 'shop',
    prefix: text.slice(0, 14),
    scopes: ['deposits:write', 'deposits:read'],
    createdAt: '2026-03-02T12:00:00.000Z',
    expiresAt: '2026-04-01T03:00:00.000Z',
    revokedAt: null,
    lastUsedAt: null,
    madeBy: account.email,
  })
  expect(await authenticate(w.ctx, text)).toMatchObject({ accountId: account.accountId, scopes: WANTED.scopes })

  const listed = await session.ask('GET', KEYS)
  expect(listed.body).not.toContain(text)
  expect(listed.json().keys.map((one: { name: string }) => one.name)).toEqual(['shop', 'test'])
  const { rows } = await w.pool.query('select k::text as row from api_keys k union all select l::text from audit_log l')
  expect(rows.map(({ row }) => row).join()).not.toContain(text.slice(15))
  expect(rows.map(({ row }) => row).join()).toContain('key.created')
})

test('a key is not made without a password that was given a short while ago', async () => {
  const w = await world()
  const session = await w.session(await w.account())
  w.clock.advance(16 * 60_000)
  const refused = await session.ask('POST', KEYS, WANTED)
  expect(refused.statusCode).toBe(403)
  expect(refused.json()).toMatchObject({ success: false, code: 'reauthentication_required' })
  expect((await session.ask('GET', KEYS)).json().keys).toHaveLength(1)
})

test('a revoked key stops working, stays in the list, and can be revoked again', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  const { keyId } = (await session.ask('GET', KEYS)).json().keys[0]
  const revoked = await session.ask('DELETE', `${KEYS}/${keyId}`)
  expect(revoked.json()).toMatchObject({ success: true, key: { keyId, revokedAt: '2026-03-02T12:00:00.000Z' } })
  w.clock.advance(2_000)
  expect((await w.app.inject(get(account.key, '/api/balance'))).statusCode).toBe(401)
  expect((await session.ask('DELETE', `${KEYS}/${keyId}`)).json().key.revokedAt).toBe('2026-03-02T12:00:00.000Z')
  expect((await session.ask('GET', KEYS)).json().keys).toHaveLength(1)
})

test("another account's key, an unknown one and no id at all are not found", async () => {
  const w = await world()
  const other = await w.account()
  const session = await w.session(await w.account())
  const { keyId } = other.caller
  for (const id of [keyId!, '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57', 'nonsense', other.key]) {
    const refused = await session.ask('DELETE', `${KEYS}/${id}`)
    expect([refused.statusCode, refused.json().error]).toEqual([404, 'Key not found'])
  }
  w.clock.advance(2_000)
  expect((await w.app.inject(get(other.key, '/api/balance'))).statusCode).toBe(200)
})

test('a key needs a name, a scope that account holders have, and an end in the future', async () => {
  const w = await world()
  const session = await w.session(await w.account())
  const bad = [
    { ...WANTED, name: '' },
    { ...WANTED, name: 'a\u{0}b' },
    { ...WANTED, scopes: [] },
    { ...WANTED, scopes: ['operator'] },
    { ...WANTED, expiresAt: 'tomorrow' },
    { ...WANTED, expiresAt: '2026-03-02T11:59:59Z' },
    {},
  ]
  for (const body of bad) expect((await session.ask('POST', KEYS, body)).statusCode).toBe(400)
  expect((await session.ask('GET', KEYS)).json().keys).toHaveLength(1)
})

test('an account has at most a hundred active keys', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const session = await w.session({ accountId })
  const key = { accountId, name: 'more', scopes: ['deposits:read' as const], expiresAt: null }
  await transact(w.pool, async (tx) => {
    for (let made = 1; made < 100; made++) await createKey(tx, w.clock.now(), 'test', key)
  })
  const refused = await session.ask('POST', KEYS, WANTED)
  expect([refused.statusCode, refused.json().error]).toEqual([
    409,
    'An account can have at most 100 active keys: revoke one first',
  ])
  const { keyId } = (await session.ask('GET', KEYS)).json().keys[0]
  await session.ask('DELETE', `${KEYS}/${keyId}`)
  expect((await session.ask('POST', KEYS, WANTED)).statusCode).toBe(201)
})

test('no API key opens what the dashboard alone has', async () => {
  const w = await world()
  const { key } = await w.account()
  for (const path of ['keys', 'overview', 'deposits.csv', 'deliveries', 'operator/overview']) {
    expect((await w.app.inject(get(key, `/dashboard/api/${path}`))).statusCode).toBe(401)
    expect((await w.app.inject(get(key, `/api/${path}`))).statusCode).toBe(404)
  }
  const made = await w.app.inject({ method: 'POST', url: KEYS, headers: bearer(key), payload: WANTED })
  expect([401, 403]).toContain(made.statusCode)
  expect(await w.count('api_keys')).toBe(1)
})
