import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { createKey } from '../src/domain/accounts/api-keys.ts'
import { keepRequestPartitions, type ApiRequest } from '../src/domain/accounts/request-log.ts'
import { makeOperator } from './operators-client.ts'
import { bearer, deposit, get, UNKNOWN_ID } from './requests.ts'
import { world, type TestAccount, type World } from './world.ts'

// The log of requests by API keys.

const DAY_MS = 24 * 3_600_000

async function logOf(w: World, account: TestAccount, search = '') {
  await w.ctx.requestLog.flush()
  const session = await w.session(account)
  return (await session.ask('GET', `/dashboard/api/requests${search}`)).json()
}

function example(accountId: string, fields: Partial<ApiRequest> = {}): ApiRequest {
  return {
    accountId,
    keyId: UNKNOWN_ID,
    requestId: 'one',
    method: 'GET',
    route: '/api/balance',
    path: '/api/balance',
    parameters: '',
    status: 200,
    errorCode: null,
    error: null,
    ms: 1,
    hasIdempotencyKey: false,
    network: '203.0.113.0/24',
    ...fields,
  }
}

test('a request by a key is in the log of its account, found by the id of its answer, with what was refused and why', async () => {
  const w = await world()
  const account = await w.account()
  const answer = await w.app.inject(deposit(account.key, '{"value":-1}', { 'idempotency-key': 'order-1' }))
  const requestId = String(answer.headers['x-request-id'])
  const { requests } = await logOf(w, account)
  expect(requests).toEqual([
    {
      requestId,
      at: w.clock.now().toISOString(),
      method: 'POST',
      route: '/api/deposit',
      path: '/api/deposit',
      parameters: [],
      status: 400,
      errorCode: 'field_invalid',
      error: 'value must be a positive integer (cents)',
      ms: expect.any(Number),
      keyId: expect.any(String),
      keyName: 'test',
      keyPrefix: account.key.slice(0, 14),
      hasIdempotencyKey: true,
      network: '127.0.0.0/24',
      paymentLinkId: null,
    },
  ])
  const session = await w.session(account)
  expect((await session.ask('GET', `/dashboard/api/requests/${requestId}`)).json().requests).toEqual(requests)
})

test('the log has ids and names of parameters, and no secret, no value and no body', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const { key } = account
  const body = '{"value":5000,"description":"for Maria da Silva","metadata":{"cpf":"12345678909"}}'
  expect((await w.app.inject(deposit(key, body))).statusCode).toBe(201)
  await w.app.inject({ url: `/api/deposit/${charge.paymentLinkId}?api_key=${key}&maria%40loja.example=1` })
  await w.app.inject(get(key, `/api/deposit/${key}`))
  await w.app.inject(get(key, '/api/deposits?search=Maria&limit=2'))
  await w.app.inject(get(key, '/api/webhooks/whsec_AAAABBBB/stats'))
  const { requests } = await logOf(w, account)
  expect(requests.map(({ path, parameters }: ApiRequest) => [path, parameters])).toEqual([
    ['/api/webhooks/whsec_…/stats', []],
    ['/api/deposits', ['search', 'limit']],
    [`/api/deposit/gk_test_…`, []],
    [`/api/deposit/${charge.paymentLinkId}`, ['api_key', '?']],
    ['/api/deposit', []],
  ])
  expect(requests[3].paymentLinkId).toBe(charge.paymentLinkId)
  const { rows } = await w.pool.query<{ row: string }>('select r::text as row from api_requests r')
  for (const { row } of rows)
    for (const secret of [key, key.slice(14), 'AAAABBBB', 'Maria', 'maria', '12345678909', '127.0.0.1'])
      expect(row).not.toContain(secret)
})

test('neither people, nor operators, nor payers, nor who has no key are in the log', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await (await w.session(account)).ask('GET', '/dashboard/api/deposits')
  const { key } = await makeOperator(w)
  expect((await w.app.inject(get(key, '/api/operator/accounts'))).statusCode).toBe(200)
  await w.app.inject({ url: `/payment-link/${charge.paymentLinkId}` })
  await w.app.inject({ url: '/api/balance' })
  await w.app.inject(get('gk_test_nobody', '/api/balance'))
  await w.ctx.requestLog.flush()
  expect(await w.count('api_requests')).toBe(0)
})

test('the log is filtered by class of status, method and key, and read page by page', async () => {
  const w = await world()
  const account = await w.account()
  const other = await w.account()
  const { text: second } = await transact(w.pool, (tx) =>
    createKey(tx, w.clock.now(), 'test', {
      accountId: account.accountId,
      name: 'second',
      scopes: ['balance:read'],
      expiresAt: null,
    }),
  )
  await w.app.inject(get(account.key, '/api/balance'))
  await w.app.inject(get(account.key, `/api/deposit/${UNKNOWN_ID}`))
  await w.app.inject(get(second, '/api/balance'))
  await w.app.inject(get(second, '/api/deposits'))
  await w.app.inject(deposit(account.key, '{"value":5000}'))
  await w.app.inject(get(other.key, '/api/balance'))

  const shown = async (search: string) =>
    (await logOf(w, account, search)).requests.map((one: ApiRequest) => `${one.method} ${one.path} ${one.status}`)
  const all = [
    'POST /api/deposit 201',
    'GET /api/deposits 403',
    'GET /api/balance 200',
    `GET /api/deposit/${UNKNOWN_ID} 404`,
    'GET /api/balance 200',
  ]
  expect(await shown('')).toEqual(all)
  expect(await shown('?status=4xx')).toEqual([all[1], all[3]])
  expect(await shown('?status=5xx')).toEqual([])
  expect(await shown('?method=POST')).toEqual([all[0]])
  const { requests } = await logOf(w, account)
  expect(await shown(`?keyId=${requests[1].keyId}`)).toEqual([all[1], all[2]])
  const pages: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page = await logOf(w, account, `?limit=2${cursor && `&cursor=${cursor}`}`)
    pages.push(...page.requests.map((one: ApiRequest) => `${one.method} ${one.path} ${one.status}`))
    cursor = page.nextCursor
  }
  expect(pages).toEqual(all)
  expect((await (await w.session(account)).ask('GET', '/dashboard/api/requests?status=3xx')).statusCode).toBe(400)
})

test('a search that finds little looks at a bounded number of rows, and the next page goes on where it ended', async () => {
  const w = await world()
  const account = await w.account()
  w.ctx.requestLog.record(account.accountId, false, () => example(account.accountId, { method: 'PUT' }))
  await w.ctx.requestLog.flush()
  await w.pool.query(
    `insert into api_requests select gen_random_uuid(), at, account_id, key_id, request_id, 'GET', route, path, parameters,
       status, error_code, error, ms, has_idempotency_key, network from api_requests, generate_series(1, 5000)`,
  )
  // Newer than the first one, whatever PostgreSQL drew.
  await w.pool.query(`update api_requests set id = ('ff' || substr(id::text, 3))::uuid where method = 'GET'`)
  const first = await logOf(w, account, '?method=PUT')
  expect(first.requests).toEqual([])
  const next = await logOf(w, account, `?method=PUT&cursor=${first.nextCursor}`)
  expect([next.requests.length, next.nextCursor]).toEqual([1, null])
})

test('of one account at most 100 requests a second are recorded, errors first, and the rest is counted', async () => {
  const w = await world()
  const [busy, quiet] = [await w.account(), await w.account()]
  const ask = (account: TestAccount, isError: boolean, times: number) => {
    for (let time = 0; time < times; time++)
      w.ctx.requestLog.record(account.accountId, isError, () =>
        example(account.accountId, { status: isError ? 404 : 200 }),
      )
  }
  ask(busy, false, 200)
  ask(busy, true, 200)
  ask(quiet, false, 1)
  const { requests, unrecorded, keptDays } = await logOf(w, busy, '?limit=100')
  expect([requests.length, unrecorded, keptDays]).toEqual([100, 300, 30])
  expect(requests.filter(({ status }: ApiRequest) => status === 404)).toHaveLength(50)
  expect(await logOf(w, quiet)).toMatchObject({ requests: [{ status: 200 }], unrecorded: 0 })
  w.clock.advance(1_000)
  ask(busy, false, 60)
  await w.ctx.requestLog.flush()
  expect(await w.count('api_requests', `account_id = '${busy.accountId}'`)).toBe(150)
  expect((await logOf(w, busy)).unrecorded).toBe(310)
})

test('of all accounts a process records at most 500 requests a second, and 400 that are no errors', async () => {
  const w = await world()
  const ids = Array.from({ length: 12 }, (_, n) => UNKNOWN_ID.replace(/^.{2}/, String(n + 10)))
  for (const id of ids) for (let time = 0; time < 50; time++) w.ctx.requestLog.record(id, false, () => example(id))
  for (const id of ids)
    for (let time = 0; time < 50; time++) w.ctx.requestLog.record(id, true, () => example(id, { status: 500 }))
  await w.ctx.requestLog.flush()
  expect(await w.count('api_requests', 'status = 200')).toBe(400)
  expect(await w.count('api_requests', 'status = 500')).toBe(100)
  const { rows } = await w.pool.query('select sum(count)::int as sum from api_requests_unrecorded')
  expect(rows).toEqual([{ sum: 700 }])
})

test('requests are answered while the log cannot be written, and those of that time are counted', async () => {
  const w = await world()
  const account = await w.account()
  await query(w.pool, 'alter table api_requests rename to away')
  expect((await w.app.inject(get(account.key, '/api/balance'))).statusCode).toBe(200)
  await expect(w.ctx.requestLog.flush()).rejects.toThrow('api_requests')
  await query(w.pool, 'alter table away rename to api_requests')
  expect(await logOf(w, account)).toMatchObject({ requests: [], unrecorded: 1 })
  expect((await w.ctx.metrics.apiRequestsUnrecorded.get()).values[0]!.value).toBe(1)
})

test('nobody finds the request of another account, but operators find every one by its id', async () => {
  const w = await world()
  const [owner, stranger] = [await w.account(), await w.account()]
  const mine = { ...get(owner.key, '/api/balance'), headers: { ...bearer(owner.key), 'x-request-id': 'shop-7' } }
  await w.app.inject(mine)
  await w.ctx.requestLog.flush()
  const session = await w.session(stranger)
  expect((await session.ask('GET', '/dashboard/api/requests/shop-7')).statusCode).toBe(404)
  expect((await logOf(w, stranger)).requests).toEqual([])
  const operator = await w.session(await makeOperator(w))
  const found = await operator.ask('GET', '/dashboard/api/operator/requests/shop-7')
  expect(found.json().requests).toMatchObject([{ accountId: owner.accountId, email: owner.email, status: 200 }])
  expect((await operator.ask('GET', '/dashboard/api/operator/requests/shop-8')).statusCode).toBe(404)
})

test('the log is dropped day by day after RETAIN_REQUESTS_DAYS, and with 0 nothing is recorded or kept', async () => {
  const w = await world()
  const account = await w.account()
  expect((await keepRequestPartitions(w.ctx)).made).toHaveLength(8)
  await w.app.inject(get(account.key, '/api/balance'))
  await w.ctx.requestLog.flush()
  expect(await w.count('api_requests_default')).toBe(0)
  w.clock.advance(30 * DAY_MS)
  await keepRequestPartitions(w.ctx)
  expect(await w.count('api_requests')).toBe(1)
  w.clock.advance(DAY_MS)
  expect((await keepRequestPartitions(w.ctx)).dropped).toHaveLength(1)
  expect(await w.count('api_requests')).toBe(0)

  const off = { ...w.ctx, settings: { ...w.ctx.settings, retention: { ...w.ctx.settings.retention, requestsDays: 0 } } }
  await w.app.inject(get(account.key, '/api/balance'))
  await w.ctx.requestLog.flush()
  expect((await keepRequestPartitions(off)).made).toEqual([])
  expect(await w.count('api_requests')).toBe(0)
})

test('with RETAIN_REQUESTS_DAYS=0 nothing is recorded, and the page says so', async () => {
  const w = await world({ settings: { retention: { attemptsDays: 30, requestsDays: 0, signInsDays: 365 } } })
  const account = await w.account()
  await w.app.inject(get(account.key, '/api/balance'))
  expect(await logOf(w, account)).toMatchObject({ requests: [], unrecorded: 0, keptDays: 0 })
})
