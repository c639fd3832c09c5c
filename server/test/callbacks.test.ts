import type { InjectOptions } from 'fastify'
import { expect, test } from 'vitest'
import { readHints } from '../src/providers/api-pix/messages.ts'
import { appWith, withProvider } from './requests.ts'
import { world } from './world.ts'

const url = '/callbacks/sandbox/secret-of-sandbox'

test('a notification becomes a question to the provider, at both addresses, with any query', async () => {
  const w = await world()
  const { charge, payment } = await w.paidCharge()
  const due = `due_at <= '${w.clock.now().toISOString()}'`
  expect(await w.count('checks', due)).toBe(0)
  const answer = await w.app.inject({
    method: 'POST',
    url: `${url}/pix?hmac=abc&ignorar=`,
    payload: { pix: [{ txid: charge.id, valor: '9999.00' }] },
  })
  expect([answer.statusCode, answer.json()]).toEqual([200, { success: true }])
  expect(await w.count('checks', due)).toBe(1)

  await w.app.inject({ method: 'POST', url, payload: { pix: [{ endToEndId: payment.endToEndId }] } })
  expect(await w.count('checks', `${due} and kind = 'payment'`)).toBe(1)
  expect(await w.count('payments')).toBe(0)
})

test('a wrong secret or provider looks like an unknown route, before the body is looked at', async () => {
  const w = await world()
  for (const wrong of [
    '/callbacks/sandbox/secret-of-sandbo',
    '/callbacks/sandbox/x/pix',
    '/callbacks/other/secret-of-other',
    '/callbacks/sandbox',
  ]) {
    const answer = await w.app.inject({
      method: 'POST',
      url: wrong,
      headers: { 'content-type': 'application/json' },
      payload: '{',
    })
    expect([wrong, answer.statusCode, answer.json()]).toEqual([wrong, 404, { success: false, error: 'Not found' }])
  }
})

test('a provider’s test is answered 200, by GET, HEAD, without a body, or with one about something else', async () => {
  const w = await world()
  for (const request of [
    { method: 'GET', url },
    { method: 'HEAD', url: `${url}/pix` },
    { method: 'POST', url },
    { method: 'POST', url, payload: { evento: 'teste_webhook' } },
    { method: 'POST', url, payload: { pix: [] } },
    { method: 'POST', url, headers: { 'content-type': 'text/plain' }, payload: '{"pix":[]}' },
  ] as InjectOptions[]) {
    expect((await w.app.inject(request)).statusCode).toBe(200)
  }
  expect(await w.count('checks')).toBe(0)
})

test('a body that is no list of Pix is 400, and more than 1 MiB is 413', async () => {
  const w = await world()
  for (const [payload, status] of [
    ['{', 400],
    ['[]', 400],
    ['"x"', 400],
    ['{"pix":{}}', 400],
    [JSON.stringify({ pix: Array.from({ length: 1001 }, () => ({})) }), 400],
    [`{"x":"${'x'.repeat(1024 * 1024)}"}`, 413],
  ] as const) {
    const answer = await w.app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload })
    expect([payload.slice(0, 20), answer.statusCode, answer.json().success]).toEqual([
      payload.slice(0, 20),
      status,
      false,
    ])
  }
})

test('a body that is nested deeply is refused without being parsed, and brackets within a text are none', async () => {
  const w = await world()
  const send = (payload: string) =>
    w.app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload })
  for (const payload of ['['.repeat(800_000), '{"a":'.repeat(33), `{"x":"\\\\","y":${'['.repeat(33)}`]) {
    const answer = await send(payload)
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'Request body is nested too deeply'])
  }
  const deep = `${'['.repeat(30)}${']'.repeat(30)}`
  const inText = JSON.stringify(`"\\${'['.repeat(50)}`)
  expect((await send(`{"pix":[],"x":[${deep},${deep}],"y":${inText}}`)).statusCode).toBe(200)
})

test('only well-shaped ids are taken from it, and everything else is left', () => {
  const endToEndId = 'E'.padEnd(32, '0')
  expect(
    readHints(
      Buffer.from(
        JSON.stringify({
          pix: [
            { txid: 'abc', endToEndId, valor: '1.00' },
            null,
            7,
            {},
            { txid: "x'; --" },
            { endToEndId: 'short' },
            { txid: ['a'] },
          ],
        }),
      ),
    ),
  ).toEqual([{ txid: 'abc', endToEndId }])
})

test('the provider reads its own notifications, from the bytes and headers as they came', async () => {
  const w = await world()
  const { charge } = await w.paidCharge()
  const seen: { body: string; signature: unknown }[] = []
  const app = await appWith(
    withProvider(w.ctx, {
      async readNotification({ headers, body }) {
        seen.push({ body: body.toString(), signature: headers['x-signature'] })
        return body.includes('forged') ? 'refused' : [{ txid: charge.id, endToEndId: null }]
      },
    }),
  )
  const send = (payload: string) =>
    app.inject({ method: 'POST', url, headers: { 'X-Signature': 's', 'content-type': 'text/xml' }, payload })
  const due = `due_at <= '${w.clock.now().toISOString()}'`
  const forged = await send(' forged ')
  expect([forged.statusCode, forged.json()]).toEqual([403, { success: false, error: 'Invalid notification signature' }])
  expect(await w.count('checks', due)).toBe(0)
  expect((await send('<good/>\r\n')).statusCode).toBe(200)
  expect(await w.count('checks', due)).toBe(1)
  expect(seen).toEqual([
    { body: ' forged ', signature: 's' },
    { body: '<good/>\r\n', signature: 's' },
  ])
})

test('a compressed body is 415, and one that is not UTF-8 is 400', async () => {
  const w = await world()
  const send = (headers: Record<string, string>, payload: Buffer) =>
    w.app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, payload })
  const gzip = await send({ 'content-encoding': 'gzip' }, Buffer.from('{}'))
  expect([gzip.statusCode, gzip.json().success]).toEqual([415, false])
  const latin = await send({}, Buffer.from('{"x":"\xe7"}', 'latin1'))
  expect([latin.statusCode, latin.json().error]).toEqual([400, 'Request body is not valid JSON'])
})
