import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { createKey, revokeKey, type NewKey } from '../src/domain/accounts/api-keys.ts'
import { isWellFormedKey, makeKeyText, requireScope } from '../src/domain/accounts/callers.ts'
import { setAccountTerms } from '../src/domain/accounts/terms.ts'
import type { Pool } from '../src/db/pool.ts'
import { CONSOLE } from './operators-client.ts'
import { sentText } from './requests.ts'
import { authenticate, until, world, type World } from './world.ts'

const INVALID = { code: 'key_invalid', message: 'Invalid API key' }
const MAX_REVOCATION_MS = 2_000

// ---- The text of a key ----

test('a key tells its mode and its kind, and no two are alike', () => {
  const keys = Array.from({ length: 200 }, () => makeKeyText('live'))
  for (const key of keys) expect(key).toMatch(/^gk_live_[0-9A-Za-z]{49}$/)
  expect(keys.every(isWellFormedKey)).toBe(true)
  expect(new Set(keys).size).toBe(200)
  expect(makeKeyText('test')).toMatch(/^gk_test_/)
})

test('a key with one wrong character is known as a typo, wherever it is', () => {
  const key = makeKeyText('test')
  const typos = fc.tuple(fc.nat({ max: key.length - 1 }), fc.constantFrom(...'0123456789abcxyzABCXYZ_-é'.split('')))
  fc.assert(
    fc.property(typos, ([at, character]) => {
      const typed = key.slice(0, at) + character + key.slice(at + 1)
      expect(isWellFormedKey(typed)).toBe(typed === key)
    }),
    { numRuns: 1_000 },
  )
})

test('what is no key is refused without asking the database', async () => {
  const w = await world()
  const { key } = await w.account()
  const asked = vi.spyOn(w.pool, 'query')
  const ofOtherMode = key.replace('test', 'live')
  for (const text of ['', key.slice(0, -1), `${key} `, `${key}\n`, ofOtherMode, key.repeat(10_000)]) {
    await expect(authenticate(w.ctx, text)).rejects.toMatchObject(INVALID)
  }
  expect(asked).not.toHaveBeenCalled()
})

// ---- At rest ----

test('what is stored of a key is its hash: no row of any table holds the key', async () => {
  const w = await world()
  const { key } = await w.account()
  const hash = createHash('sha256').update(key).digest('hex')
  // Finding the hash proves that the search would find the key.
  expect(await tablesThatHold(w.pool, hash)).toEqual(['api_keys'])
  for (const secret of [key, key.slice(14), Buffer.from(key).toString('hex'), Buffer.from(key).toString('base64')]) {
    expect(await tablesThatHold(w.pool, secret)).toEqual([])
  }
  expect(JSON.stringify(w.logged)).not.toContain(key.slice(14))
})

// ---- Who is calling ----

test('a key names its account, its scopes and the account’s own terms', async () => {
  const w = await world()
  const { key, accountId } = await w.account({ scopes: ['deposits:read'] })
  await setAccountTerms(w.ctx, CONSOLE, accountId, { feeBps: 0, valueMaxCents: 500 }, 'contract')
  w.clock.advance(1_000)
  expect(await authenticate(w.ctx, key)).toMatchObject({
    accountId,
    scopes: ['deposits:read'],
    overrides: { feeBps: 0, valueMaxCents: 500, feeBearer: null },
  })
})

test('a key that nobody made is refused in the same words as a revoked one', async () => {
  const w = await world()
  await expect(authenticate(w.ctx, makeKeyText('test'))).rejects.toMatchObject(INVALID)
})

test('a scope that the key lacks is named', async () => {
  const w = await world()
  const { caller } = await w.account({ scopes: ['deposits:read'] })
  expect(() => requireScope(caller, { scope: 'deposits:read' })).not.toThrow()
  expect(() => requireScope(caller, { scope: 'deposits:write' })).toThrow('This API key lacks the scope deposits:write')
})

// ---- Revoking and expiry ----

test('a revoked key fails within 2 seconds, also in a process that has it cached', async () => {
  const w = await world()
  const { ctx: other } = await w.anotherProcess()
  const { key } = await w.account()
  await Promise.all([authenticate(w.ctx, key), authenticate(other, key)])
  await revoke(w, key)
  w.clock.advance(MAX_REVOCATION_MS - 1)
  for (const ctx of [w.ctx, other]) await expect(authenticate(ctx, key)).rejects.toMatchObject(INVALID)
})

test('a clock that steps back does not keep a revoked key alive', async () => {
  const w = await world()
  const { key } = await w.account()
  await revoke(w, key)
  w.clock.advance(-3_600_000)
  await expect(authenticate(w.ctx, key)).rejects.toMatchObject(INVALID)
})

test('a key fails from the moment of its expiry, although it is cached', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const expiresAt = new Date(w.clock.now().getTime() + 10_000)
  const { text } = await make(w, { accountId, expiresAt })
  w.clock.advance(9_999)
  expect(await authenticate(w.ctx, text)).toMatchObject({ accountId })
  w.clock.advance(1)
  await expect(authenticate(w.ctx, text)).rejects.toMatchObject(INVALID)
})

test('a key is revoked by its id, or by itself where somebody found it', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const [byId, byText] = [await make(w, { accountId, name: 'one' }), await make(w, { accountId, name: 'two' })]
  expect(await revoke(w, byId.keyId.toUpperCase())).toEqual({ keyId: byId.keyId, name: 'one' })
  expect(await revoke(w, byText.text)).toEqual({ keyId: byText.keyId, name: 'two' })
  for (const { text } of [byId, byText]) await expect(authenticate(w.ctx, text)).rejects.toMatchObject(INVALID)
})

test('revoking a second time changes nothing, and what is no key is told apart', async () => {
  const w = await world()
  const { key } = await w.account()
  const first = w.clock.now()
  await revoke(w, key)
  w.clock.advance(60_000)
  await revoke(w, key)
  expect(await w.count('api_keys', `revoked_at = '${first.toISOString()}'`)).toBe(1)
  for (const unknown of [makeKeyText('test'), crypto.randomUUID(), "' or true --", '']) {
    expect(await revoke(w, unknown)).toBeUndefined()
  }
})

// ---- The hot path ----

test('a busy key is read once a second, however many call at once', async () => {
  const w = await world({ isDirect: true })
  const { key } = await w.account()
  w.clock.advance(1_000)
  const asked = vi.spyOn(w.pool, 'query')
  const reads = () => asked.mock.calls.filter((call) => sentText(call).includes('api_keys k')).length

  await Promise.all(Array.from({ length: 100 }, () => authenticate(w.ctx, key)))
  w.clock.advance(999)
  for (let call = 0; call < 100; call++) await authenticate(w.ctx, key)
  expect(reads()).toBe(1)
  w.clock.advance(1)
  await authenticate(w.ctx, key)
  expect(reads()).toBe(2)
})

test('a key that does not exist is read once a second too', async () => {
  const w = await world()
  const asked = vi.spyOn(w.pool, 'query')
  const unknown = makeKeyText('test')
  for (let call = 0; call < 10; call++) await expect(authenticate(w.ctx, unknown)).rejects.toMatchObject(INVALID)
  expect(asked).toHaveBeenCalledOnce()
})

test('a read that fails is not remembered', async () => {
  const w = await world()
  const { key, accountId } = await w.account()
  w.clock.advance(1_000)
  vi.spyOn(w.pool, 'query').mockImplementationOnce(() => {
    throw new Error('the database hiccups')
  })
  await expect(authenticate(w.ctx, key)).rejects.toThrow('the database hiccups')
  expect(await authenticate(w.ctx, key)).toMatchObject({ accountId })
})

test('the last use is noted, at most once a minute', async () => {
  const w = await world()
  const { key } = await w.account()
  const noted = (at: Date) =>
    until('the use is noted', () => w.count('api_keys', `last_used_at = '${at.toISOString()}'`).then(Boolean))
  const first = w.clock.now()
  await noted(first)

  const asked = vi.spyOn(w.pool, 'query')
  for (let second = 1; second < 60; second++) {
    w.clock.advance(1_000)
    await authenticate(w.ctx, key)
  }
  expect(asked.mock.calls.filter((call) => sentText(call).startsWith('update'))).toEqual([])
  w.clock.advance(1_000)
  await authenticate(w.ctx, key)
  await noted(w.clock.now())
})

// ---- Creating keys ----

test('a key without a name, a scope or a future is not made, and the refusal says what is wanted', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const refused: [Partial<NewKey>, string][] = [
    [{ name: '' }, 'A key needs a name of 1 to 100 characters, without control or invisible characters'],
    [{ name: 'n'.repeat(101) }, 'A key needs a name of 1 to 100 characters, without control or invisible characters'],
    [{ scopes: [] }, 'A key needs a scope: the scopes are deposits:write, deposits:read, '],
    [{ scopes: JSON.parse('["all"]') }, 'Unknown scope all: the scopes are deposits:write, deposits:read, '],
    [{ expiresAt: w.clock.now() }, 'A key must expire in the future'],
  ]
  for (const [fields, text] of refused) await expect(make(w, { accountId, ...fields })).rejects.toThrow(text)
  expect(await w.count('api_keys')).toBe(1)
})

function make(w: World, key: Partial<NewKey> & { accountId: string }): Promise<{ keyId: string; text: string }> {
  const full: NewKey = { name: 'test', scopes: ['deposits:read'], expiresAt: null, ...key }
  return transact(w.pool, (tx) => createKey(tx, w.clock.now(), 'test', full))
}

function revoke(w: World, idOrText: string) {
  return transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), idOrText))
}

/** Searches each row as one text, in which bytes are hexadecimal. */
async function tablesThatHold(pool: Pool, needle: string): Promise<string[]> {
  const tables = await query<{ name: string }>(
    pool,
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await query(pool, `select from ${name} t where position($1 in t::text) > 0`, [needle])
    if (rows.length > 0) found.push(name)
  }
  return found
}
