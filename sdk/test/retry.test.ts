import { once } from 'node:events'
import { expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { makeGuiche } from '../src/client.ts'
import { GuicheError } from '../src/errors.ts'
import { retryInMs } from '../src/http.ts'
import { pauseMs } from '../src/pause.ts'
import { catchError } from './errors.ts'
import { serve, startScripted } from './sockets.ts'

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
  expect(await clientOf(server.url).deposits.create({ value: 1 })).toEqual({ id: '1' })
  const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual(Array(4).fill(expect.stringMatching(/^[0-9a-f-]{36}$/)))
  expect(new Set(keys).size).toBe(1)
})

test('two deposits have two keys', async () => {
  const server = await startScripted(CREATED)
  await clientOf(server.url).deposits.create({ value: 1 })
  await clientOf(server.url).deposits.create({ value: 1 })
  expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(2)
})

test('what is refused for good is not sent again', async () => {
  for (const step of [refusal(400, 'field_invalid'), refusal(502, 'provider_refused'), refusal(422, 'a_later_code')]) {
    const server = await startScripted(step)
    const error = await catchError(clientOf(server.url).deposits.create({ value: 1 }))
    expect(error).toMatchObject({ status: step.status, code: step.headers['guiche-error'], message: 'words' })
    expect(server.requests).toHaveLength(1)
  }
})

test('it gives up after as many retries as it may', async () => {
  const server = await startScripted(HTML)
  const error = await catchError(clientOf(server.url, { maxRetries: 1 }).balance.get())
  expect(error).toMatchObject({ code: 'unexpected_answer', status: 502, attempts: 2 })
  expect(server.requests).toHaveLength(2)
})

test('Retry-After is waited for, and one that is too long is left to the caller', async () => {
  const server = await startScripted(refusal(429, 'rate_limited', { 'retry-after': '1' }), CREATED)
  const began = performance.now()
  await clientOf(server.url).deposits.create({ value: 1 })
  expect(performance.now() - began).toBeGreaterThan(990)

  const busy = await startScripted(refusal(429, 'rate_limited', { 'retry-after': '31' }))
  const error = await catchError(clientOf(busy.url).deposits.create({ value: 1 }))
  expect(error).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 31, attempts: 1 })
})

test('what must not happen twice is repeated only if it was refused before it began', () => {
  const error = (code: string, status?: number) => new GuicheError(code, '', { status })
  expect(retryInMs(error('network'), 0, false)).toBeUndefined()
  expect(retryInMs(error('unavailable', 503), 0, false)).toBeUndefined()
  expect(retryInMs(error('rate_limited', 429), 0, false)).toBeGreaterThan(0)
  expect(retryInMs(error('network'), 0, true)).toBeGreaterThan(0)
})

test('pauses double up to a bound, and jitter takes off up to half', () => {
  const pace = { firstMs: 500, factor: 2, maxMs: 8_000 }
  expect([0, 1, 2, 9].map((turn) => pauseMs(pace, turn, 0))).toEqual([500, 1_000, 2_000, 8_000])
  expect(pauseMs(pace, 0, 0.999)).toBeCloseTo(250, 0)
})

test('an attempt that takes too long is a timeout, and the connection is closed', async () => {
  const closed: Promise<unknown>[] = []
  const url = await serve(({ socket }) => void closed.push(once(socket, 'close')))
  // On a busy machine the time may be over before the request arrives.
  while (closed.length === 0) {
    const error = await catchError(clientOf(url, { maxRetries: 0, timeoutMs: 50 }).balance.get())
    expect(error).toMatchObject({ code: 'timeout', message: 'no answer within 50 ms' })
  }
  await Promise.all(closed)
})

test('a caller who aborts ends the request and the pause before a retry', async () => {
  const reason = new Error('enough')
  const silent = new AbortController()
  const url = await serve(() => silent.abort(reason))
  await expect(clientOf(url).balance.get({ signal: silent.signal })).rejects.toBe(reason)

  const server = await startScripted(refusal(429, 'rate_limited', { 'retry-after': '30' }))
  const pausing = new AbortController()
  const waiting = clientOf(server.url).balance.get({ signal: pausing.signal })
  await expect.poll(() => server.requests.length).toBe(1)
  pausing.abort(reason)
  await expect(waiting).rejects.toBe(reason)
})

test('a server that is not there is named as the reason', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  const error = await catchError(clientOf(url, { maxRetries: 0 }).balance.get())
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
  expect(() => makeGuiche({ url: 'https://pay.example.com', key: '' })).toThrow('is the variable set?')
  for (const id of ['', '.', '..'])
    await expect(clientOf('https://pay.example.com').deposits.get(id)).rejects.toThrow('paymentLinkId must be an id')
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
