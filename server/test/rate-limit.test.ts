import { expect, test } from 'vitest'
import { makePool } from '../src/db/pool.ts'
import { transact } from '../src/db/tx.ts'
import { createKey } from '../src/domain/accounts/api-keys.ts'
import { makeKeyText, SCOPES } from '../src/domain/accounts/callers.ts'
import { networkOf, plainAddress, makeRateLimiter, makeRefusalDelay } from '../src/http/server/rate-limit.ts'
import { appWith, bearer, get, withPool } from './requests.ts'
import { world, type World } from './world.ts'

test('a key may spend its burst, is then told when to come again, and is served when it does', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 2, burst: 3 } } })
  const { key } = await w.account()
  const ask = async () => {
    const { statusCode, headers } = await w.app.inject(get(key, '/api/balance'))
    return [statusCode, headers['ratelimit'], headers['ratelimit-policy'], headers['retry-after']]
  }
  const policy = '"default";q=3;w=2'

  expect(await ask()).toEqual([200, '"default";r=2;t=1', policy, undefined])
  expect(await ask()).toEqual([200, '"default";r=1;t=1', policy, undefined])
  expect(await ask()).toEqual([200, '"default";r=0;t=2', policy, undefined])
  expect(await ask()).toEqual([429, '"default";r=0;t=2', policy, '1'])
  expect((await w.app.inject(get(key, '/api/balance'))).json()).toEqual({ success: false, error: 'Too many requests' })
  w.clock.advance(500)
  expect(await ask()).toEqual([200, '"default";r=0;t=2', policy, undefined])
  expect((await ask())[0]).toBe(429)
  w.clock.advance(60_000)
  expect(await ask()).toEqual([200, '"default";r=2;t=1', policy, undefined])
})

test('the refusals of a key that goes on and on wait, and those of nobody else do', async () => {
  const waiting: (() => void)[] = []
  const delay = makeRefusalDelay(() => new Promise((resolve) => waiting.push(resolve)))
  const now = new Date()
  for (let refusal = 0; refusal < 100; refusal++) await delay('flooding', now)
  expect(waiting).toHaveLength(0)

  let isAnswered = false
  const late = delay('flooding', now).finally(() => (isAnswered = true))
  await delay('other', now)
  expect([waiting.length, isAnswered]).toEqual([1, false])
  waiting[0]!()
  await late
  // A bound on how many refusals wait keeps memory small: the next one is answered at once.
  for (let refusal = 0; refusal < 1_000; refusal++) void delay('flooding', now)
  await delay('flooding', now)
  expect(waiting).toHaveLength(1_001)
})

test('a key that floods is refused all the same', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 1, burst: 1 } } })
  const { key } = await w.account()
  const statuses = []
  for (let request = 0; request < 103; request++)
    statuses.push((await w.app.inject(get(key, '/api/balance'))).statusCode)
  expect(statuses).toEqual([200, ...Array<number>(102).fill(429)])
})

test('the headers are on every answer behind a key, whatever its status, and a refused one counts', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 1, burst: 5 } } })
  const { key } = await w.account({ scopes: ['deposits:read'] })
  const statuses = []
  for (const url of [
    '/api/deposits',
    '/api/deposits?limit=0',
    '/api/balance',
    '/api/deposit/x',
    '/api/deposits',
    '/api/deposits',
  ]) {
    const answer = await w.app.inject(get(key, url))
    statuses.push(answer.statusCode)
    expect(answer.headers['ratelimit']).toMatch(/^"default";r=\d+;t=\d+$/)
    expect(answer.headers['ratelimit-policy']).toBe('"default";q=5;w=5')
  }
  expect(statuses).toEqual([200, 400, 403, 404, 200, 429])
  expect((await w.app.inject('/api/balance')).headers['ratelimit']).toBeUndefined()
})

test('one key’s requests cost another key nothing', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 1, burst: 1 } } })
  const [one, other] = [await w.account(), await w.account()]
  const statuses = []
  for (const { key } of [one, one, other]) statuses.push((await w.app.inject(get(key, '/api/balance'))).statusCode)
  expect(statuses).toEqual([200, 429, 200])
})

test('the keys and sessions of an account together get the rate of five keys, and another account its own', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 1, burst: 2 } } })
  const [account, other] = [await w.account(), await w.account()]
  const session = await w.session(account)
  const keys = [account.key]
  while (keys.length < 7) keys.push(await moreKeys(w, account.accountId))
  const statuses = []
  for (const key of keys)
    for (let request = 0; request < 2; request++)
      statuses.push((await w.app.inject(get(key, '/api/balance'))).statusCode)
  expect(statuses).toEqual([...Array<number>(10).fill(200), ...Array<number>(4).fill(429)])

  const refused = await w.app.inject(get(await moreKeys(w, account.accountId), '/api/balance'))
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1'])
  expect(refused.headers['ratelimit-policy']).toBe('"account";q=10;w=2')
  expect((await session.ask('GET', '/dashboard/api/balance')).statusCode).toBe(429)
  expect((await w.app.inject(get(other.key, '/api/balance'))).statusCode).toBe(200)
  w.clock.advance(1000)
  expect((await session.ask('GET', '/dashboard/api/balance')).statusCode).toBe(200)
})

async function moreKeys(w: World, accountId: string): Promise<string> {
  const wanted = { accountId, name: 'another', scopes: [...SCOPES], expiresAt: null }
  return (await transact(w.pool, (tx) => createKey(tx, w.clock.now(), 'test', wanted))).text
}

test('a rate of 0 is no limit', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 0, burst: 1 } } })
  const { key } = await w.account()
  for (let request = 0; request < 20; request++) {
    const answer = await w.app.inject(get(key, '/api/balance'))
    expect([answer.statusCode, answer.headers['ratelimit']]).toEqual([200, undefined])
  }
})

test('the limiter holds a bounded number of keys', () => {
  const limit = makeRateLimiter({ perSecond: 1, burst: 1 })
  const now = new Date(0)
  expect([limit('first', now)?.isAdmitted, limit('first', now)?.isAdmitted]).toEqual([true, false])
  for (let key = 0; key < 10_000; key++) limit(`key ${key}`, now)
  // The limiter has forgotten the first key, so it is admitted again. That is the price of a bound, and only a key that
  // was idle for ten thousand others pays it.
  expect(limit('first', now)?.isAdmitted).toBe(true)
})

test('whoever guesses keys is stopped before the database, and a known key from the same address is not', async () => {
  const w = await world()
  const { key } = await w.account()
  expect((await w.app.inject(get(key, '/api/balance'))).statusCode).toBe(200)
  let guesses = 0
  while ((await w.app.inject(get('gk_test_nonsense', '/api/balance'))).statusCode === 401) guesses += 1
  expect(guesses).toBeGreaterThanOrEqual(300)

  const refused = await w.app.inject(get(makeKeyText('test'), '/api/balance'))
  expect([refused.statusCode, refused.json()]).toEqual([429, { success: false, error: 'Too many requests' }])
  expect(refused.headers['retry-after']).toBe('1')
  expect((await w.app.inject(get(key, '/api/balance'))).statusCode).toBe(200)
  expect(
    (await w.app.inject({ url: '/api/balance', headers: bearer('x'), remoteAddress: '203.0.113.9' })).statusCode,
  ).toBe(401)
  w.clock.advance(1000)
  expect((await w.app.inject(get(makeKeyText('test'), '/api/balance'))).statusCode).toBe(401)
})

test('a stopped guess asks the database nothing', async () => {
  const w = await world()
  const pool = makePool('postgres://nobody@127.0.0.1:1/none', w.ctx.log)
  const app = await appWith(withPool(w.ctx, pool))
  const wellFormed = get(makeKeyText('test'), '/api/balance')
  expect((await app.inject(wellFormed)).statusCode).toBe(503)
  while ((await app.inject(get('gk_test_nonsense', '/api/balance'))).statusCode === 401);
  expect((await app.inject(wellFormed)).statusCode).toBe(429)
})

test('behind a proxy the caller is who the proxy says, and not who the caller says', async () => {
  const w = await world()
  const app = await appWith(w.ctx, { trustProxy: true })
  const guess = (forwarded: string) =>
    app.inject({ url: '/api/balance', headers: { ...bearer('gk_test_nonsense'), 'x-forwarded-for': forwarded } })
  let guesses = 0
  while ((await guess(`10.0.0.${guesses % 250}, 203.0.113.9`)).statusCode === 401) guesses += 1
  expect((await guess('198.51.100.7, 203.0.113.9')).statusCode).toBe(429)
  expect((await guess('203.0.113.9, 198.51.100.7')).statusCode).toBe(401)
})

test('a proxy that is not trusted is counted by request and logged once, whoever sends its headers', async () => {
  const w = await world()
  const ignored = async () => (await w.ctx.metrics.forwardedIgnored.get()).values[0]?.value
  const trusting = await appWith(w.ctx, { trustProxy: true })
  await trusting.inject({ url: '/livez', headers: { 'x-forwarded-for': '203.0.113.9' } })
  const app = await appWith(w.ctx)
  await app.inject({ url: '/livez' })
  expect([await ignored(), w.logged]).toEqual([0, []])
  for (const url of ['/livez', '/api/balance', '/docs'])
    await app.inject({ url, headers: { 'x-forwarded-for': '203.0.113.9' } })
  await app.inject({ url: '/livez', headers: { forwarded: 'for=203.0.113.9' } })
  expect(await ignored()).toBe(4)
  expect(w.logged).toEqual([
    {
      level: 'warn',
      fields: {},
      text: expect.stringContaining('set TRUST_PROXY=true if exactly one proxy is in front'),
    },
  ])
})

test('one address counts as one however a proxy spells it, and with any port', async () => {
  const w = await world()
  const app = await appWith(w.ctx, { trustProxy: true })
  const guess = async (forwarded: string) =>
    (
      await app.inject({
        url: '/api/balance',
        headers: { ...bearer('gk_test_nonsense'), 'x-forwarded-for': forwarded },
      })
    ).statusCode
  let guesses = 0
  while ((await guess(`198.51.100.99:${20_000 + guesses}`)) === 401) guesses += 1
  expect(guesses).toBe(301)
  for (const same of ['198.51.100.99', '::ffff:198.51.100.99', '[::ffff:c633:6463]:443', '0:0:0:0:0:ffff:c633:6463'])
    expect([same, await guess(same)]).toEqual([same, 429])
  expect(await guess('198.51.100.98:20000')).toBe(401)
})

test('what is no address counts as the proxy that wrote it', async () => {
  const w = await world()
  const app = await appWith(w.ctx, { trustProxy: true })
  const guess = async (forwarded: string) => {
    const headers = { ...bearer('gk_test_nonsense'), 'x-forwarded-for': forwarded }
    return (await app.inject({ url: '/api/balance', headers })).statusCode
  }
  let guesses = 0
  while ((await guess(`nobody-${guesses}`)) === 401) guesses += 1
  expect(guesses).toBe(301)
  expect(await guess('127.0.0.1')).toBe(429)
  expect(await guess('203.0.113.9')).toBe(401)
})

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:443', '203.0.113.9'],
  ['[2001:DB8::0001]:443', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::1', '::1'],
  ['unknown', undefined],
  ['203.0.113', undefined],
  ['203.0.113.9:', undefined],
  ['', undefined],
])('the address %s is %s', (spelled, plain) => {
  expect(plainAddress(spelled)).toBe(plain)
})

test('an IPv6 network of one customer counts as one address', () => {
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe(networkOf('2001:db8:1:2:ffff::1'))
  expect(networkOf('2001:db8::1')).toBe(networkOf('2001:db8::2'))
  expect(networkOf('2001:db8:1:2::1')).not.toBe(networkOf('2001:db8:1:3::1'))
  expect(networkOf('203.0.113.9')).not.toBe(networkOf('203.0.113.10'))
  expect(networkOf('::ffff:203.0.113.9')).not.toBe(networkOf('::ffff:203.0.113.10'))
  expect(networkOf('2001:db8::1')).toBe(networkOf('2001:db8:0:0:1::1'))
})
