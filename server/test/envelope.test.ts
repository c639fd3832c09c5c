import { connect } from 'node:net'
import type { InjectOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { makeKeyCache } from '../src/domain/accounts/callers.ts'
import { makePool } from '../src/db/pool.ts'
import type { Settings } from '../src/domain/core/settings.ts'
import {
  appWith,
  bearer,
  deposit,
  exchange,
  expectEnvelopeHeaders,
  get,
  portOf,
  UNKNOWN_ID,
  UUID,
  withGate,
  withProvider,
  withPool,
} from './requests.ts'
import { world } from './world.ts'

describe('what the router says itself', () => {
  test('an unknown route is 404, with or without a key, whatever the body', async () => {
    const w = await world()
    for (const request of [
      { url: '/api' },
      { url: '/api/' },
      { url: '/api/nothing' },
      { url: '/api/deposit/a/b' },
      { url: '/api/%zz' },
      { method: 'POST', url: '/api/nothing', headers: { 'content-type': 'text/plain' }, payload: 'x'.repeat(100_000) },
      { method: 'POST', url: '/api/nothing', headers: { 'content-type': 'application/json' }, payload: '{' },
    ] as InjectOptions[]) {
      const answer = await w.app.inject(request)
      expect([request.url, answer.statusCode, answer.json()]).toEqual([
        request.url,
        404,
        { success: false, error: 'Not found' },
      ])
      expectEnvelopeHeaders(answer)
    }
  })

  test('a known route by another method is 405 and tells which are allowed, and OPTIONS tells it too', async () => {
    const w = await world()
    for (const [method, url, allow] of [
      ['GET', '/api/deposit', 'OPTIONS, POST'],
      ['PUT', '/api/deposit', 'OPTIONS, POST'],
      ['PROPFIND', '/api/deposit', 'OPTIONS, POST'],
      ['HEAD', '/api/deposit', 'OPTIONS, POST'],
      ['DELETE', `/api/deposit/${UNKNOWN_ID}`, 'GET, HEAD, OPTIONS'],
      ['GET', `/api/deposit/${UNKNOWN_ID}/cancel`, 'OPTIONS, POST'],
      ['POST', '/api/balance', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const answer = await w.app.inject({ method: method as 'GET', url })
      expect([method, url, answer.statusCode, answer.headers['allow']]).toEqual([method, url, 405, allow])
      if (method !== 'HEAD')
        expect(answer.json()).toEqual({ success: false, error: expect.stringContaining('is not allowed here: use') })
      const options = await w.app.inject({ method: 'OPTIONS', url })
      expect([options.statusCode, options.headers['allow'], options.body]).toEqual([204, allow, ''])
    }
  })

  test('a path is the same however it is encoded: never cached, and in the envelope', async () => {
    const w = await world()
    const { key } = await w.account()
    const session = await w.session(await w.account())
    const headers = { ...bearer(key), accept: 'text/html' }
    for (const [url, status] of [
      ['/%61pi/balance', 200],
      ['/%61pi/deposit/x', 404],
      ['/%61pi/nothing', 404],
    ] as const) {
      const answer = await w.app.inject({ url, headers })
      expect([url, answer.statusCode]).toEqual([url, status])
      expectEnvelopeHeaders(answer)
      expect(answer.headers['guiche-error']).toBe(status === 200 ? undefined : 'not_found')
    }
    const own = await session.ask('GET', '/dashboard/%61pi/balance')
    expect([own.statusCode, own.headers['cache-control']]).toEqual([200, 'no-store'])
  })

  test('HEAD answers as GET does, without the body', async () => {
    const w = await world()
    const { key } = await w.account()
    const answer = await w.app.inject({ ...get(key, '/api/balance'), method: 'HEAD' })
    expect([answer.statusCode, answer.body, answer.headers['content-length']]).toEqual([200, '', '90'])
  })

  test('a path to no file of ours is 404 and no fault of ours', async () => {
    const w = await world()
    const paths = ['/assets/', '/assets/../package.json', '/assets/%00', '/assets//etc/passwd', '/docs/static/../../x']
    for (const url of [...paths, '/docs/static/%2e%2e/%2e%2e/x']) {
      const { statusCode, body } = await w.app.inject({ url })
      expect([url, statusCode, JSON.parse(body).error]).toEqual([url, 404, 'Not found'])
    }
    expect(w.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('our own fault is 500, says nothing of its cause, and is logged with the id of the request', async () => {
    const w = await world()
    const { key } = await w.account()
    const app = await appWith(withProvider(w.ctx, { create: () => Promise.reject(new Error('password of the vault')) }))
    const answer = await app.inject(deposit(key, '{"value":5000}', { 'x-request-id': 'my-id.1' }))

    expect([answer.statusCode, answer.json()]).toEqual([500, { success: false, error: 'Internal error' }])
    expect(JSON.stringify(answer.headers) + answer.body).not.toContain('vault')
    expect(w.logged.find((line) => line.level === 'error')?.fields).toMatchObject({
      requestId: 'my-id.1',
      route: '/api/deposit',
    })
  })

  test('a database out of reach is 503 with Retry-After, and providers are told to come again', async () => {
    const w = await world()
    const { key } = await w.account()
    const pool = makePool('postgres://nobody@127.0.0.1:1/none', w.ctx.log)
    const app = await appWith({ ...withPool(w.ctx, pool), keys: { ...makeKeyCache(), get: () => undefined } })
    const callback = '/callbacks/sandbox/secret-of-sandbox/pix'
    for (const request of [
      get(key, '/api/balance'),
      deposit(key, '{"value":5000}'),
      { method: 'POST', url: callback, payload: { pix: [{ txid: 'a'.repeat(32) }] } } as InjectOptions,
    ]) {
      const answer = await app.inject(request)
      expect([request.url, answer.statusCode, answer.json().success]).toEqual([request.url, 503, false])
      expect(answer.headers['retry-after']).toBe('1')
      expect(answer.headers['x-request-id']).toBeDefined()
    }
    const ready = await app.inject('/readyz')
    expect([ready.statusCode, ready.json()]).toEqual([503, { status: 'not ready', reason: 'database' }])
    expect((await app.inject('/livez')).statusCode).toBe(200)
  })
})

test('browsers are told to come by https for a year, where PUBLIC_URL is https, and subdomains only if the operator says so', async () => {
  const w = await world()
  const told = async (settings: Partial<Settings>) => {
    const app = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, ...settings } })
    return (await app.inject({ url: '/livez' })).headers['strict-transport-security']
  }
  expect(await told({})).toBe('max-age=31536000')
  expect(await told({ hstsIncludesSubdomains: true })).toBe('max-age=31536000; includeSubDomains')
  expect(await told({ publicUrl: 'http://localhost:3000', hstsIncludesSubdomains: true })).toBeUndefined()
})

describe('the id of a request', () => {
  test('is on every answer of the server, and the caller’s own is taken over if it is harmless', async () => {
    const w = await world()
    for (const url of [
      '/',
      '/nothing',
      '/livez',
      '/readyz',
      '/docs',
      '/docs/reference',
      '/llms.txt',
      '/docs/static/nothing.js',
      '/openapi.json',
      '/api/balance',
      '/icon.svg',
      '*',
    ]) {
      const answer = await w.app.inject({ url })
      expect([url, answer.headers['x-request-id']]).toEqual([url, expect.stringMatching(UUID)])
      expect([url, answer.headers['referrer-policy']]).toEqual([url, 'no-referrer'])
      expect([url, answer.headers['content-security-policy']]).toEqual([
        url,
        expect.stringContaining("default-src 'none'"),
      ])
    }
    const idOf = async (id: string) =>
      (await w.app.inject({ url: '/livez', headers: { 'x-request-id': id } })).headers['x-request-id']
    expect(await idOf('order_7.a-B')).toBe('order_7.a-B')
    for (const odd of ['', 'a b', 'x'.repeat(65), '{"a":1}']) expect(await idOf(odd)).toMatch(UUID)
  })
})

describe('on a real socket', () => {
  test('requests too broken for the router get the envelope, an id and the strictest policies too', async () => {
    const w = await world()
    await w.app.listen({ host: '127.0.0.1', port: 0 })
    for (const [name, request, status, error] of [
      ['garbage', 'hello\r\n\r\n', 400, 'Malformed HTTP request'],
      [
        'huge headers',
        `GET /api/balance HTTP/1.1\r\nConnection: close\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
        431,
        'Request headers are too large',
      ],
      ['no host', 'GET /api/balance HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'Host header is missing'],
      ['no version', 'GET /livez\r\n\r\n', 400, 'This version of HTTP is not supported: use HTTP/1.1'],
      [
        'two lengths',
        'POST /api/deposit HTTP/1.1\r\nConnection: close\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
        400,
        'Malformed HTTP request',
      ],
      [
        'an odd expectation',
        'GET /api/balance HTTP/1.1\r\nConnection: close\r\nHost: x\r\nExpect: cake\r\n\r\n',
        417,
        'This Expect header is not supported',
      ],
    ] as const) {
      const answer = await exchange(w.app, request)
      expect([name, answer.split('\r\n')[0]]).toEqual([name, expect.stringContaining(`HTTP/1.1 ${status} `)])
      expect([name, answer]).toEqual([name, expect.stringMatching(/x-request-id: /i)])
      expect([name, answer]).toEqual([name, expect.stringMatching(/x-content-type-options: nosniff/i)])
      expect([name, answer]).toEqual([name, expect.stringMatching(/referrer-policy: no-referrer/i)])
      expect([name, answer]).toEqual([name, expect.stringMatching(/security-policy: .*frame-ancestors 'none'/i)])
      expect([name, answer.split('\r\n\r\n')[1]]).toEqual([name, JSON.stringify({ success: false, error })])
    }
  })

  test('a target with scheme and host is the same route, under the same rules', async () => {
    const w = await world()
    await w.app.listen({ host: '127.0.0.1', port: 0 })
    const answer = await exchange(
      w.app,
      'GET http://x.example/api/balance?x=%zz HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    expect(answer).toMatch(/cache-control: no-store/i)
    const whole = await exchange(w.app, 'OPTIONS * HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n')
    expect(whole).toMatch(/^HTTP\/1\.1 204 [^]*x-request-id: /)
  })

  test('a body that grows past 16 KiB without saying so is cut off with 413', async () => {
    const w = await world()
    const { key } = await w.account()
    await w.app.listen({ host: '127.0.0.1', port: 0 })
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
    const head = `POST /api/deposit HTTP/1.1\r\nConnection: close\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const answer = await exchange(w.app, head + chunk + chunk)
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer).toContain('{"success":false,"error":"Request body is too large: at most 16 KiB"}')
  })

  test('a bad key is refused before the body arrives', async () => {
    const w = await world()
    await w.app.listen({ host: '127.0.0.1', port: 0 })
    const answer = await exchange(
      w.app,
      'POST /api/deposit HTTP/1.1\r\nConnection: close\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('a request that trickles in is ended with 408', async () => {
    const w = await world()
    await w.app.listen({ host: '127.0.0.1', port: 0 })
    expect(w.app.server.requestTimeout).toBeLessThanOrEqual(30_000)
    expect(w.app.server.headersTimeout).toBeLessThanOrEqual(10_000)
    expect(w.app.server.maxConnections).toBeGreaterThan(0)
    w.app.server.headersTimeout = 10
    w.app.server.requestTimeout = 20
    const answer = await exchange(w.app, 'GET /api/balance HTTP/1.1\r\nConnection: close\r\nHost: x\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('{"success":false,"error":"Request took too long to arrive"}')
  })
})

describe('under load and on the way out', () => {
  test('a request beyond the bound is 503, and the place is free again afterwards, also after a caller who hung up', async () => {
    const w = await world()
    const { key } = await w.account()
    const gate = withGate(w.ctx)
    const app = await appWith(gate.ctx, { maxInFlight: 1 })
    await app.listen({ host: '127.0.0.1', port: 0 })

    const hangsUp = connect(portOf(app), '127.0.0.1')
    hangsUp.write(
      `POST /api/deposit HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"value":5000}`,
    )
    await gate.reached
    const beyond = await app.inject(get(key, '/api/balance'))
    expect([beyond.statusCode, beyond.json()]).toEqual([
      503,
      { success: false, error: 'The service is overloaded, please try again' },
    ])
    expect(beyond.headers['retry-after']).toBe('1')
    expect((await app.inject('/livez')).statusCode).toBe(200)

    hangsUp.destroy()
    gate.open()
    await expect.poll(async () => (await app.inject(get(key, '/api/balance'))).statusCode).toBe(200)
    expect((await app.inject(get(key, '/api/balance'))).statusCode).toBe(200)
  })

  test('while draining, requests in flight finish and new ones are sent elsewhere', async () => {
    const w = await world()
    const { key } = await w.account()
    const gate = withGate(w.ctx)
    const app = await appWith(gate.ctx)
    const inFlight = app.inject(deposit(key, '{"value":5000}'))
    await gate.reached
    app.drain()
    const late = await app.inject(get(key, '/api/balance'))
    const ready = await app.inject('/readyz')
    gate.open()
    const finished = await inFlight

    expect([late.statusCode, late.json().success, late.headers['connection']]).toEqual([503, false, 'close'])
    expect(Number(late.headers['retry-after'])).toBeGreaterThan(0)
    expect([ready.statusCode, ready.json()]).toEqual([503, { status: 'not ready', reason: 'draining' }])
    expect((await app.inject('/livez')).statusCode).toBe(200)
    expect([finished.statusCode, finished.headers['connection']]).toEqual([201, 'close'])
  })
})
