import { once } from 'node:events'
import { expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { makeGuiche, type CreateDepositBody } from '../src/client.ts'
import { GuicheError } from '../src/errors.ts'
import { isWorthRetrying, RETRY_FOR_MS, withRetries } from '../src/http.ts'
import { pauseMs } from '../src/pause.ts'
import { catchError } from './errors.ts'
import { serve, startScripted, type Scripted } from './sockets.ts'

const CREATED = { status: 201, body: '{"success":true,"charge":{"id":"1"}}' }
const HTML = { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad Gateway</h1>' }
const refusal = (status: number, code: string, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'guiche-error': code, ...headers },
  body: '{"success":false,"error":"words"}',
})
const clientOf = (url: string, options: object = {}) => makeGuiche({ url, key: 'gk_test_1', ...options })

test('a deposit is sent again after 5xx, a proxy that fails and a request in progress, always with one key', async () => {
  const server = await startScripted(refusal(503, 'unavailable'), HTML, refusal(409, 'in_flight'), CREATED)
  const failures: string[] = []
  const client = clientOf(server.url, { onRetry: ({ code }: GuicheError) => failures.push(code) })
  expect(await client.deposits.create({ value: 1 })).toEqual({ id: '1', replayed: false })
  expect(failures).toEqual(['unavailable', 'unexpected_answer', 'in_flight'])
  const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual(Array(4).fill(expect.stringMatching(/^[0-9a-f-]{36}$/)))
  expect(new Set(keys).size).toBe(1)
})

const keysOf = (server: Scripted) => server.requests.map(({ headers }) => headers['idempotency-key'])
const chargeIs = (status: string, id = '1') => ({
  status: 201,
  headers: { 'idempotency-replayed': 'true' },
  body: JSON.stringify({ success: true, charge: { id, status } }),
})

test('two deposits have two keys', async () => {
  const server = await startScripted(CREATED)
  await clientOf(server.url).deposits.create({ value: 1 })
  await clientOf(server.url).deposits.create({ value: 1 })
  expect(new Set(keysOf(server)).size).toBe(2)
})

test('a deposit with an externalId has the same key in every process, unless a field differs', async () => {
  const server = await startScripted(chargeIs('PENDING'))
  const create = (body: CreateDepositBody) => clientOf(server.url).deposits.create(body)
  await create({ value: 1, externalId: 'order-1' })
  await create({ externalId: 'order-1', value: 1, description: undefined as never, expiresIn: null })
  await create({ value: 1, externalId: `order-${'ç'.repeat(58)}` })
  await create({ value: 2, externalId: 'order-1' })
  await create({ value: 1, externalId: 'order-1', description: 'x' })
  const keys = keysOf(server)
  expect(keys[1]).toBe(keys[0])
  expect(new Set(keys).size).toBe(4)
  for (const key of keys) expect(key).toMatch(/^sdk-[0-9a-f]{64}$/)
})

test('a deposit that expired is renewed under the key that follows from it, so that two programs renew it once', async () => {
  const dead = [chargeIs('EXPIRED', 'a'), chargeIs('CANCELED', 'b')]
  const body = { value: 1, externalId: 'order-1' }
  const keys: (string | string[] | undefined)[][] = []
  for (let turn = 0; turn < 2; turn++) {
    const server = await startScripted(...dead, chargeIs('PENDING', 'c'))
    expect(await clientOf(server.url).deposits.create(body)).toEqual({ id: 'c', status: 'PENDING', replayed: true })
    keys.push(keysOf(server))
  }
  expect(new Set(keys[0]).size).toBe(3)
  expect(keys[1]).toEqual(keys[0])

  const paid = await startScripted(chargeIs('COMPLETED'))
  expect(await clientOf(paid.url).deposits.create(body)).toMatchObject({ status: 'COMPLETED', replayed: true })
  expect(paid.requests).toHaveLength(1)
  // With a key of their own, callers decide what counts as the same deposit, so nothing is renewed.
  const own = await startScripted(chargeIs('EXPIRED'))
  const charge = await clientOf(own.url).deposits.create(body, { idempotencyKey: 'order-1' })
  expect([charge.status, charge.replayed, keysOf(own)]).toEqual(['EXPIRED', true, ['order-1']])
  // Renewing ends after a bounded number of expired deposits.
  const all = await startScripted(chargeIs('EXPIRED'))
  await clientOf(all.url).deposits.create(body)
  expect(all.requests).toHaveLength(12)
})

test('an error carries the key, so that a retry by hand cannot create twice', async () => {
  const down = await startScripted(refusal(503, 'unavailable'))
  const error = await catchError(clientOf(down.url, { retryForMs: 0 }).deposits.create({ value: 1 }))
  expect(error).toMatchObject({ code: 'unavailable', idempotencyKey: keysOf(down)[0] })
  const gone = clientOf(`http://127.0.0.1:${await freePort()}`, { retryForMs: 0 })
  expect(await catchError(gone.deposits.create({ value: 1 }))).toMatchObject({
    code: 'network',
    idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  expect(await catchError(gone.balance.get())).toMatchObject({ idempotencyKey: undefined })
})

test('a key may have any characters that an externalId may have', async () => {
  const server = await startScripted(CREATED)
  await clientOf(server.url).deposits.create({ value: 1 }, { idempotencyKey: 'pedido ção 🛒' })
  const [key] = keysOf(server)
  expect(Buffer.from(String(key), 'latin1').toString()).toBe('pedido ção 🛒')
})

test('an externalId that is taken names the deposit that has it', async () => {
  const paymentLinkId = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'
  const server = await startScripted(
    refusal(409, 'external_id_taken', { location: `/api/deposit/${paymentLinkId}` }),
    refusal(409, 'external_id_taken'),
  )
  const create = () => catchError(clientOf(server.url).deposits.create({ value: 1, externalId: 'x' }))
  expect(await create()).toMatchObject({ code: 'external_id_taken', paymentLinkId })
  expect(await create()).toMatchObject({ code: 'external_id_taken', paymentLinkId: undefined })
})

test('what is refused for good is not sent again', async () => {
  for (const step of [refusal(400, 'field_invalid'), refusal(502, 'provider_refused'), refusal(422, 'a_later_code')]) {
    const server = await startScripted(step)
    const error = await catchError(clientOf(server.url).deposits.create({ value: 1 }))
    expect(error).toMatchObject({ status: step.status, code: step.headers['guiche-error'], message: 'words' })
    expect(server.requests).toHaveLength(1)
  }
})

/** Runs attempts against a server that answers from `backAtMs` on. Only the test's own clock advances. */
async function attemptsUntil(
  backAtMs: number,
  options: { retryForMs?: number; takesMs?: number; error?: GuicheError },
) {
  const { retryForMs = RETRY_FOR_MS, takesMs = 0, error = new GuicheError('network', 'no answer') } = options
  const sentAtMs: number[] = []
  let nowMs = 0
  const send = async () => {
    sentAtMs.push(nowMs)
    nowMs += takesMs
    if (nowMs < backAtMs) throw error
    return 'answer'
  }
  const clock = { nowMs: () => nowMs, sleep: async (ms: number) => void (nowMs += ms) }
  const outcome = await withRetries(send, { retryForMs, isRepeatable: true, signal: undefined }, clock).catch(
    () => 'error',
  )
  return { outcome, sentAtMs, lastAtMs: sentAtMs.at(-1) }
}

test('a server that is back within 15 seconds is reached, however late in them', async () => {
  for (const backAtMs of [0, 1, 1_500, 6_000, 14_000, 15_000])
    expect([backAtMs, (await attemptsUntil(backAtMs, {})).outcome]).toEqual([backAtMs, 'answer'])
  const gone = await attemptsUntil(Infinity, {})
  expect(gone).toMatchObject({ outcome: 'error', lastAtMs: 15_000 })
  expect(gone.sentAtMs.length).toBeGreaterThan(8)
  expect(gone.sentAtMs.length).toBeLessThan(25)
})

test('the time for retries begins with the first failure, so that an attempt without an answer has a second one', async () => {
  const silent = await attemptsUntil(Infinity, { takesMs: 30_000 })
  expect(silent.sentAtMs).toEqual([0, expect.any(Number)])
  expect(await attemptsUntil(Infinity, { retryForMs: 0 })).toMatchObject({ outcome: 'error', sentAtMs: [0] })
  expect(await attemptsUntil(Infinity, { retryForMs: Number.NaN })).toMatchObject({ outcome: 'error', sentAtMs: [0] })
})

test('Retry-After is waited for within that time, and one that is longer is left to the caller', async () => {
  const busy = (retryAfterSeconds: number) => new GuicheError('rate_limited', '', { status: 429, retryAfterSeconds })
  expect((await attemptsUntil(7_000, { error: busy(7) })).sentAtMs).toEqual([0, 7_000])
  expect((await attemptsUntil(Infinity, { error: busy(7) })).sentAtMs).toEqual([0, 7_000, 14_000])
  expect((await attemptsUntil(Infinity, { error: busy(16) })).sentAtMs).toEqual([0])

  const server = await startScripted(refusal(429, 'rate_limited', { 'retry-after': '16' }))
  const error = await catchError(clientOf(server.url).deposits.create({ value: 1 }))
  expect(error).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 16, attempts: 1 })
})

test('it gives up when the time is over, and says how often it was sent', async () => {
  const server = await startScripted(HTML)
  const error = await catchError(clientOf(server.url, { retryForMs: 100 }).balance.get())
  expect(error).toMatchObject({ code: 'unexpected_answer', status: 502, attempts: server.requests.length })
  expect(server.requests.length).toBeGreaterThan(1)
})

test('what must not happen twice is repeated only if it was refused before it began', () => {
  const error = (code: string, status?: number) => new GuicheError(code, '', { status })
  expect(isWorthRetrying(error('network'), false)).toBe(false)
  expect(isWorthRetrying(error('unavailable', 503), false)).toBe(false)
  expect(isWorthRetrying(error('rate_limited', 429), false)).toBe(true)
  expect(isWorthRetrying(error('network'), true)).toBe(true)
})

test('pauses double up to a bound, and jitter takes off up to half', () => {
  const pace = { firstMs: 500, factor: 2, maxMs: 8_000 }
  expect([0, 1, 2, 9].map((turn) => pauseMs(pace, turn, 0))).toEqual([500, 1_000, 2_000, 8_000])
  expect(pauseMs(pace, 0, 0.999)).toBeCloseTo(250, 0)
})

test('an attempt that takes too long is a timeout, and the connection is closed', async () => {
  const closed: Promise<unknown>[] = []
  const url = await serve(({ socket }) => void closed.push(once(socket, 'close')))
  // On a busy machine the timeout may pass before the request arrives.
  while (closed.length === 0) {
    const error = await catchError(clientOf(url, { retryForMs: 0, timeoutMs: 50 }).balance.get())
    expect(error).toMatchObject({ code: 'timeout', message: 'no answer within 50 ms' })
  }
  await Promise.all(closed)
})

test('a caller who aborts ends the request and the pause before a retry', async () => {
  const reason = new Error('enough')
  const silent = new AbortController()
  const url = await serve(() => silent.abort(reason))
  await expect(clientOf(url).balance.get({ signal: silent.signal })).rejects.toBe(reason)

  const server = await startScripted(refusal(429, 'rate_limited', { 'retry-after': '10' }))
  const pausing = new AbortController()
  const waiting = clientOf(server.url).balance.get({ signal: pausing.signal })
  await expect.poll(() => server.requests.length).toBe(1)
  pausing.abort(reason)
  await expect(waiting).rejects.toBe(reason)
})

test('a server that is not there is named as the reason', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  const error = await catchError(clientOf(url, { retryForMs: 0 }).balance.get())
  expect(error).toMatchObject({ code: 'network', message: expect.stringContaining('ECONNREFUSED') })
})

test('a redirect is not followed: it would carry the key elsewhere, and lose the body', async () => {
  const other = await startScripted(CREATED)
  const server = await startScripted({ status: 308, headers: { location: other.url } })
  const error = await catchError(clientOf(server.url).deposits.create({ value: 1 }))
  expect(error).toMatchObject({ code: 'unexpected_answer', status: 308, attempts: 1 })
  expect(other.requests).toEqual([])
})

test('a url with a path in front is kept, and ids and filters are escaped', async () => {
  const server = await startScripted({ status: 200, body: '{"success":true,"deposits":[],"nextCursor":null}' })
  const client = clientOf(`${server.url}/pix/`)
  await client.deposits.list({ search: 'a&b', limit: 5 }).page()
  await client.deposits.get('../x').catch(() => {})
  expect(server.requests.map(({ url }) => url)).toEqual([
    '/pix/api/deposits?search=a%26b&limit=5',
    '/pix/api/deposit/..%2Fx',
  ])
  expect(server.requests[0]?.headers.authorization).toBe('Bearer gk_test_1')
})

test('a url, a key or an id that is missing is refused in words, before anything is sent', async () => {
  expect(() => clientOf('pay.example.com')).toThrow('url must be the address of guiche')
  expect(() => clientOf('ftp://pay.example.com')).toThrow('url must be the address of guiche')
  expect(() => makeGuiche({ url: 'https://pay.example.com', key: '' })).toThrow('is the variable set?')
  for (const id of ['', '.', '..'])
    await expect(clientOf('https://pay.example.com').deposits.get(id)).rejects.toThrow('paymentLinkId must be an id')
})

test('a key is never sent over a network in the clear', () => {
  for (const host of ['pay.example.com', '10.0.0.1', '192.168.0.1', '127.0.0.1.example.com', '0.0.0.0', '[::2]'])
    expect(() => clientOf(`http://${host}`)).toThrow('url must be an https URL')
  for (const host of ['localhost', 'guiche.localhost', '127.0.0.1:3000', '127.1', '[::1]:3000', 'LOCALHOST'])
    expect(() => clientOf(`http://${host}`)).not.toThrow()
})

test('a network of one’s own may be plain http, if the client is told so', async () => {
  const sent: unknown[] = []
  const options = {
    fetch: async (url: unknown) => {
      sent.push(url)
      return new Response(CREATED.body, { status: CREATED.status })
    },
  }
  const url = 'http://guiche:3000'
  await clientOf(url, { ...options, allowInsecureHttp: true }).deposits.create({ value: 1 })
  expect(sent).toEqual([`${url}/api/deposit`])
  // Only `true` counts: any other value may be the text of an environment variable.
  for (const allowInsecureHttp of [undefined, false, 'false', 'true', 1])
    expect(() => clientOf(url, { ...options, allowInsecureHttp })).toThrow('in a private network: allowInsecureHttp')
  expect(() => clientOf('ftp://guiche', { allowInsecureHttp: true })).toThrow('url must be the address of guiche')
})

test('a field that the server ignored is told once, by name', async () => {
  const server = await startScripted({ ...CREATED, headers: { 'guiche-ignored': 'externalID, cor' } })
  const warnings: string[] = []
  const client = clientOf(server.url, { onWarning: (message: string) => warnings.push(message) })
  for (let turn = 0; turn < 2; turn++) await client.deposits.create({ value: 1 })
  expect(warnings).toEqual([
    'guiche ignored the field externalID of createDeposit: it is misspelt, or newer than the server',
    'guiche ignored the field cor of createDeposit: it is misspelt, or newer than the server',
  ])
})

test('a fetch of your own is used', async () => {
  const fetch = async () => new Response('{"success":true,"balance":7,"currency":"BRL"}')
  expect(await clientOf('https://pay.example.com', { fetch }).balance.get()).toEqual({ balance: 7, currency: 'BRL' })
})
