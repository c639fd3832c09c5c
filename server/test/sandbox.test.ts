import { request, type RequestOptions } from 'node:http'
import { describe, expect, test } from 'vitest'
import { runCli, temporaryHome } from './process.ts'
import { bank, newTxid, open, send, sharedBank } from './sandbox-client.ts'
import { world } from './world.ts'

const calmBank = sharedBank()

const ANY_TIME = 'inicio=2000-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z'

const errorNamed = (name: string) => `https://pix.bcb.gov.br/api/v2/error/${name}`

describe('a token', () => {
  test('is given for Basic credentials with a form, and opens the API', async () => {
    const { url } = await open()
    const reply = await send(`${url}/oauth/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa('sandbox:sandbox')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    })
    expect(reply).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: 3600 } })
    expect(reply.body.scope).toContain('cob.write')
    const asked = await send(`${url}/cob?${ANY_TIME}`, { method: 'GET', token: reply.body.access_token })
    expect(asked.status).toBe(200)
  })

  test('is refused without credentials or with another grant', async () => {
    const { url } = await open()
    const ask = (body: unknown) => send(`${url}/oauth/token`, { method: 'POST', body })
    expect((await ask({ grant_type: 'client_credentials' })).status).toBe(401)
    expect((await ask({ grant_type: 'client_credentials', client_id: 'a', client_secret: '' })).status).toBe(401)
    expect((await ask({ grant_type: 'password', client_id: 'a', client_secret: 'b' })).status).toBe(400)
    expect((await ask('')).status).toBe(400)
  })

  test('expires after an hour', async () => {
    const { clock, call } = await bank()
    clock.at = new Date(clock.at.getTime() + 3_599_999)
    expect((await call('GET', `/cob?${ANY_TIME}`)).status).toBe(200)
    clock.at = new Date(clock.at.getTime() + 1)
    expect((await call('GET', `/cob?${ANY_TIME}`)).status).toBe(401)
  })

  test('is asked for by every API Pix operation and by nothing of the bank side', async () => {
    const { url } = await open()
    const e2eid = 'E'.repeat(32)
    const txid = newTxid()
    const operations = [
      ['PUT', `/cob/${txid}`],
      ['GET', `/cob/${txid}`],
      ['PATCH', `/cob/${txid}`],
      ['GET', '/cob'],
      ['GET', '/pix'],
      ['GET', `/pix/${e2eid}`],
      ['PUT', `/pix/${e2eid}/devolucao/1`],
      ['GET', `/pix/${e2eid}/devolucao/1`],
      ['PUT', '/webhook/key'],
      ['GET', '/webhook/key'],
      ['DELETE', '/webhook/key'],
    ] as const
    for (const [method, path] of operations) {
      for (const token of [undefined, 'made-up']) {
        const reply = await send(url + path, { method, ...(token ? { token } : {}) })
        expect(reply).toMatchObject({ status: 401, type: 'application/problem+json' })
      }
    }
    expect((await send(`${url}/bank/stats`, { method: 'GET' })).status).toBe(200)
  })
})

describe('webhooks', () => {
  test('are set, read and removed by key', async () => {
    const { clock, call } = await bank()
    const path = `/webhook/${encodeURIComponent('+5561912345678')}`
    expect((await call('GET', path)).body.type).toBe(errorNamed('WebhookNaoEncontrado'))
    expect((await call('PUT', path, { webhookUrl: 'http://127.0.0.1:9/hook' })).status).toBe(200)
    expect((await call('GET', path)).body).toMatchObject({
      chave: '+5561912345678',
      webhookUrl: 'http://127.0.0.1:9/hook',
      criacao: clock.at.toISOString(),
    })
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('DELETE', path)).status).toBe(404)
  })

  test.each(['', 'nowhere', 'ftp://example.com', 7, undefined])('refuse the address %s', async (webhookUrl) => {
    const { call } = await calmBank()
    const reply = await call('PUT', '/webhook/key', { webhookUrl })
    expect(reply).toMatchObject({ status: 400, body: { type: errorNamed('WebhookOperacaoInvalida') } })
  })
})

describe('the bank side', () => {
  test('lists all payments in the order they were made, page by page', async () => {
    const { url, charge, pay } = await bank()
    const { txid } = await charge()
    const { body: paid } = await pay({ txid, times: 5 })
    const page = async (query: string) => (await send(`${url}/bank/payments${query}`, { method: 'GET' })).body
    expect(await page('')).toEqual({ pix: paid.pix, total: 5, more: false })
    expect(await page('?limit=2')).toEqual({ pix: paid.pix.slice(0, 2), total: 5, more: true })
    const rest = await page(`?limit=10&after=${paid.pix[1].endToEndId}`)
    expect(rest).toEqual({ pix: paid.pix.slice(2), total: 5, more: false })
    expect(await page('?limit=1001')).toHaveProperty('error')
    expect(await page('?after=nothing')).toHaveProperty('error')
  })

  test('counts the calls of each operation', async () => {
    const { call, charge, stats } = await bank()
    const { txid } = await charge()
    await call('GET', `/cob/${txid}`)
    await call('GET', `/cob/${txid}`)
    const { calls } = await stats()
    expect(calls).toMatchObject({
      'POST /oauth/token': 1,
      'PUT /cob/:txid': 1,
      'GET /cob/:txid': 2,
      'PATCH /cob/:txid': 0,
      'GET /pix': 0,
    })
  })

  // These are simple requests, which a browser sends for any page without asking this server first.
  test('a page of another site can pay nothing and read nothing, however its request looks', async () => {
    const { url, charge, pay, stats } = await bank()
    const { txid } = await charge()
    const order = JSON.stringify({ txid })
    const from = (headers: Record<string, string>, path = '/bank/pay', method = 'POST') =>
      statusOf(new URL(path, url), { method, headers, body: method === 'GET' ? '' : order })
    const json = { 'content-type': 'application/json' }
    expect(await from({ 'content-type': 'text/plain' })).toBe(415)
    expect(await from({ 'content-type': 'application/x-www-form-urlencoded' })).toBe(415)
    expect(await from({})).toBe(415)
    for (const origin of ['https://evil.example', 'null', url]) expect(await from({ ...json, origin })).toBe(403)
    for (const path of ['/oauth/token', '/bank/history']) expect(await from({ ...json, origin: url }, path)).toBe(403)
    for (const path of ['/bank/payments', '/bank/stats', '/bank/faults'])
      expect(await from({ host: 'rebound.evil.example:4000' }, path, 'GET')).toBe(403)
    expect(await from({ ...json, host: 'evil.example' })).toBe(403)
    expect((await stats()).payments).toBe(0)
    expect((await pay({ txid })).status).toBe(201)
  })

  test('answers at its address, and at names that only a private network knows', async () => {
    const { url } = await bank()
    const at = (host: string) => statusOf(new URL('/bank/stats', url), { headers: { host } })
    for (const host of ['127.0.0.1', '10.1.2.3:4000', '[::1]:4000', 'localhost', 'sandbox:4000', 'bank.internal'])
      expect([host, await at(host)]).toEqual([host, 200])
    for (const host of ['localhost.evil.example', '127.0.0.1.evil.example', 'evil.local.example', 'a:b:c'])
      expect([host, await at(host)]).toEqual([host, 403])
  })
})

/** Uses node:http, because fetch lets nobody choose Host or Origin. */
function statusOf(url: URL, { body = '', ...options }: RequestOptions & { body?: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (answer) => resolve(answer.resume().statusCode ?? 0))
    sent.once('error', reject).end(body)
  })
}

describe('HTTP', () => {
  test('answers unknown paths, wrong methods, broken JSON and large bodies in JSON', async () => {
    const { url, token, call } = await bank()
    const txid = newTxid()
    expect(await call('GET', '/cobv/x')).toMatchObject({ status: 404, type: 'application/problem+json' })
    expect(await call('GET', '/bank/nothing')).toMatchObject({ status: 404, type: 'application/json' })
    expect(await call('GET', '/cob/%E0%A4%A')).toMatchObject({ status: 404 })
    const wrong = await call('POST', `/cob/${txid}`, {})
    expect(wrong).toMatchObject({ status: 405, type: 'application/problem+json' })
    expect(wrong.headers.get('allow')).toBe('PUT, GET, PATCH')
    expect(await send(`${url}/bank/pay`, { method: 'GET' })).toMatchObject({ status: 405, body: { error: 'Use POST' } })
    expect(await call('PUT', `/cob/${txid}`, '{"a":')).toMatchObject({ status: 400, type: 'application/problem+json' })
    expect(await send(`${url}/bank/pay`, { method: 'POST', body: '' })).toMatchObject({
      status: 400,
      body: { error: 'The body is not valid JSON' },
    })
    const large = { method: 'PUT', token, body: JSON.stringify({ chave: 'x'.repeat(70_000) }) }
    expect((await send(`${url}/cob/${txid}`, large)).status).toBe(413)
  })
})

describe('a bank that is down', () => {
  test('is told by /readyz with what to do, and leaves the service ready', async () => {
    const w = await world()
    const ready = async () => {
      const answer = await w.app.inject('/readyz')
      return [answer.statusCode, answer.json()]
    }
    expect(await ready()).toEqual([200, { status: 'ready' }])
    await w.sandbox.goDown()
    const sandbox = expect.stringContaining('the sandbox bank does not answer: run guiche start or guiche sandbox')
    expect(await ready()).toEqual([200, { status: 'ready', sandbox }])
    await w.sandbox.comeBack()
    expect(await ready()).toEqual([200, { status: 'ready' }])
  })

  test('is named by doctor, which fails for nothing else that is wrong', async () => {
    const w = await world()
    const home = temporaryHome()
    const env = { DATABASE_URL: w.databaseUrl, GUICHE_HOME: home }
    const doctor = async () => {
      const { code, stdout } = await runCli(['doctor'], env)
      return [code, /^! sandbox .*/m.exec(stdout)?.[0]]
    }
    expect(await doctor()).toEqual([0, expect.stringContaining(`the sandbox of ${home}/sandbox is not running`)])
    await open({ home: `${home}/sandbox` })
    expect(await doctor()).toEqual([0, undefined])
  })
})
