import { expect, test } from 'vitest'
import { makeApiPix } from '../src/providers/api-pix/adapter.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// A world for tests of what one account may take from the others. The bank allows ten calls a second, and the clock
// stands still. Unless a test says so, nobody may wait: a call that finds no token is refused at once.
async function scarceWorld(maxWaiting = 0): Promise<World> {
  const w = await world()
  const provider = makeApiPix({
    name: 'sandbox',
    url: w.sandbox.url,
    tokenUrl: `${w.sandbox.url}/oauth/token`,
    clientId: 'sandbox',
    clientSecret: 'sandbox',
    pixKey: 'sandbox@guiche.example',
    callsPerSecond: 10,
    now: w.clock.now,
    log: w.ctx.log,
    timings: { rateLimitMaxWaiting: maxWaiting },
  })
  await w.ctx.providers[0]!.close()
  w.ctx.providers[0] = provider
  return w
}

const ask = (
  w: World,
  { key }: TestAccount,
  method: 'GET' | 'POST',
  url: string,
  payload?: object,
  headers: Record<string, string> = {},
) => w.app.inject({ method, url, headers: { authorization: `Bearer ${key}`, ...headers }, ...(payload && { payload }) })

const post = (w: World, account: TestAccount) => ask(w, account, 'POST', '/api/deposit', { value: 5000 })

async function exhaust(w: World, account: TestAccount): Promise<{ links: string[] }> {
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(w, account)))
  const made = answers.filter(({ statusCode }) => statusCode === 201)
  expect(made).toHaveLength(8)
  return { links: made.map((answer) => answer.json().charge.paymentLinkId) }
}

test('an account that uses up its share of the provider’s rate leaves enough for the others', async () => {
  const w = await scarceWorld()
  const [alice, bob] = [await w.account(), await w.account()]
  await exhaust(w, alice)
  const created = await post(w, bob)
  expect(created.statusCode).toBe(201)
  const queried = await ask(w, bob, 'GET', `/api/deposit/${created.json().charge.paymentLinkId}`)
  expect(queried.headers['guiche-provider-check']).toBe('fresh')
})

test('a flood of queries gets stored answers that say so, and the deposit of another account is made', async () => {
  const w = await scarceWorld()
  const [alice, bob] = [await w.account(), await w.account()]
  const { links } = await exhaust(w, alice)
  w.clock.advance(400)
  const queries = await Promise.all([...links, ...links].map((link) => ask(w, alice, 'GET', `/api/deposit/${link}`)))
  const checks = queries.map(({ headers }) => headers['guiche-provider-check'])
  expect(checks).toContain('failed')
  for (const { statusCode, body } of queries) {
    expect(statusCode).toBe(200)
    expect(JSON.parse(body).charge.status).toBe('PENDING')
  }
  const created = await post(w, bob)
  expect(created.statusCode).toBe(201)
  const queried = await ask(w, bob, 'GET', `/api/deposit/${created.json().charge.paymentLinkId}`)
  expect(queried.headers['guiche-provider-check']).toBe('fresh')
})

test('what our own rate limit refuses is called overload, and not that the provider cannot be reached', async () => {
  const w = await scarceWorld()
  const alice = await w.account()
  const { links } = await exhaust(w, alice)
  const refused = await post(w, alice)
  expect(refused.statusCode).toBe(503)
  expect(refused.json()).toEqual({ success: false, error: 'The service is overloaded, please try again' })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  const notCanceled = await ask(w, alice, 'POST', `/api/deposit/${links[0]}/cancel`)
  expect(notCanceled.statusCode).toBe(503)
  expect(notCanceled.json()).toEqual({ success: false, error: 'The service is overloaded, please try again' })
  // The deposit was certainly not made, so no intent is left to look up.
  expect(await w.count('charges', `status = 'OPENING'`)).toBe(0)
})

test('a deposit that could not have its turn is refused before anything is written, unless it repeats an earlier one', async () => {
  const w = await scarceWorld(3)
  const [alice, bob] = [await w.account(), await w.account()]
  const first = await ask(w, alice, 'POST', '/api/deposit', { value: 5000 }, { 'idempotency-key': 'order-1' })
  for (let i = 0; i < 7; i++) expect((await post(w, alice)).statusCode).toBe(201)
  const waiting = [post(w, alice), post(w, alice), post(w, alice)]
  await until('three wait for their turn', async () => (await w.count('charges')) === 11)
  const refused = await until('a fourth is refused', async () => {
    const answer = await post(w, alice)
    return answer.statusCode === 503 && answer
  })
  expect(refused.json()).toEqual({ success: false, error: 'The service is overloaded, please try again' })
  const before = await w.count('charges')
  expect((await post(w, alice)).statusCode).toBe(503)
  expect(await w.count('charges')).toBe(before)
  const again = await ask(w, alice, 'POST', '/api/deposit', { value: 5000 }, { 'idempotency-key': 'order-1' })
  expect([again.statusCode, again.json()]).toEqual([201, first.json()])
  expect((await post(w, bob)).statusCode).toBe(201)
  w.clock.advance(1_000)
  for (const answer of await Promise.all(waiting)) expect(answer.statusCode).toBe(201)
})
