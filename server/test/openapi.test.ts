import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EVENT_KINDS, EVENTS } from '../src/domain/webhooks/event-kinds.ts'
import { makeSigningSecret, signingKey, signWithKeys } from '../src/domain/webhooks/signature.ts'
import { renderOpenapi } from '../src/http/render-openapi.ts'
import { exampleRequest, type ExampleRequest } from '../src/http/docs/reference-examples.ts'
import { VERIFY } from '../src/http/docs/reference-page.ts'
import { curlSample, javascriptSample, phpSample, pythonSample } from '../src/http/docs/reference-samples.ts'
import { ERRORS } from '../src/http/server/error-codes.ts'
import type { Operation } from '../src/http/docs/openapi-postprocess.ts'
import { makeOperator } from './operators-client.ts'
import { startChild } from './process.ts'
import { completedCharge } from './refund-steps.ts'
import { bearer, get } from './requests.ts'
import { world } from './world.ts'

const COMMITTED = new URL('../openapi.json', import.meta.url)

test('server/openapi.json is what the routes say today', async () => {
  const rendered = `${await renderOpenapi()}\n`
  if (process.env['UPDATE_OPENAPI']) await writeFile(COMMITTED, rendered)
  const committed = await readFile(COMMITTED, 'utf8').catch(() => '')
  expect(
    committed === rendered,
    'openapi.json is stale: run `npx guiche openapi > server/openapi.json` and commit it',
  ).toBe(true)
})

test('the document is served as it is committed', async () => {
  const w = await world()
  const answer = await w.app.inject('/openapi.json')
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.json()).toEqual(JSON.parse(await readFile(COMMITTED, 'utf8')))
})

test('every operation teaches: a name, a summary, a description, and words for each answer', async () => {
  const { operations } = await read()
  expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual(
    expect.arrayContaining([
      'post /api/deposit',
      'get /api/deposit/{paymentLinkId}',
      'post /api/deposit/{paymentLinkId}/cancel',
      'get /api/deposits',
      'get /api/balance',
      'get /api/statement',
      'get /payment-link/{paymentLinkId}',
      'get /qr/{paymentLinkId}.png',
      'get /qr/{paymentLinkId}.svg',
    ]),
  )
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length)
  for (const { path, operation } of operations) {
    expect([path, operation.summary.length > 5, operation.description.length > 30]).toEqual([path, true, true])
    for (const parameter of operation.parameters ?? [])
      expect([path, parameter.name, parameter.description]).not.toContain(undefined)
    for (const response of Object.values(operation.responses)) expect(response.description).not.toBe('Default Response')
  }
})

test('every error is the envelope, and an operation behind a key names all that a key can meet', async () => {
  const { operations } = await read()
  for (const { path, operation } of operations.filter((one) => one.path.startsWith('/api'))) {
    expect([path, Object.keys(operation.responses)]).toEqual([
      path,
      expect.arrayContaining(['401', '403', '429', '500', '503']),
    ])
    expect([path, operation.security]).toEqual([path, undefined])
    for (const [status, response] of Object.entries(operation.responses).filter(([status]) => Number(status) >= 400)) {
      expect([path, status, response.content?.['application/json']?.schema]).toEqual([
        path,
        status,
        { $ref: '#/components/schemas/Error' },
      ])
    }
  }
})

test('a charge has exactly the fields of the contract, with an example that has them too', async () => {
  const { document } = await read()
  const { NewCharge, Charge } = document.components.schemas
  const fields = [
    'id',
    'emv',
    'qrCodeLink',
    'paymentLinkId',
    'paymentLinkUrl',
    'value',
    'originalValue',
    'fee',
    'status',
  ]
  for (const [schema, expected] of [
    [NewCharge, fields],
    [Charge, [...fields, 'createdAt']],
  ]) {
    expect(Object.keys(schema.properties)).toEqual(expected)
    expect(schema.required).toEqual(expected)
    expect(schema.additionalProperties).toBe(false)
    expect(Object.keys(schema.examples[0])).toEqual(expected)
  }
})

test('the document is whole: version 3.1, three ways to send a key, and no reference that leads nowhere', async () => {
  const { document } = await read()
  expect(document.openapi).toBe('3.1.0')
  expect(Object.values(document.components.securitySchemes)).toEqual([
    expect.objectContaining({ type: 'http', scheme: 'bearer' }),
    expect.objectContaining({ type: 'apiKey', in: 'header', name: 'X-API-Key' }),
    expect.objectContaining({ type: 'apiKey', in: 'query', name: 'api_key' }),
  ])
  for (const [, reference] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = reference!
      .split('/')
      .reduce<Record<string, never> | undefined>((place, key) => place?.[key], document)
    expect([reference, typeof target]).toEqual([reference, 'object'])
  }
  for (const name of Object.keys(document.components.schemas))
    expect(JSON.stringify(document)).toContain(`#/components/schemas/${name}"`)
})

test('the linter of Redocly finds nothing wrong with the document, by its recommended rules', async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: await readFile(COMMITTED, 'utf8'), config })
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
})

test('whoever generates a client finds a server, a licence, and a name for each event and its body', async () => {
  const { document } = await read()
  expect(document.servers).toEqual([{ url: '/', description: expect.any(String) }])
  expect(document.info).toMatchObject({ license: { identifier: 'MIT' }, contact: { name: expect.any(String) } })
  for (const [kind, { post }] of Object.entries<{ post: Operation }>(document.webhooks)) {
    const name = post.operationId.replace(/^on/, '')
    expect([kind, name.replace(/Event$/, '').toLowerCase()]).toEqual([kind, kind.replaceAll('_', '').toLowerCase()])
    expect(post.requestBody?.content['application/json']?.schema).toEqual({ $ref: `#/components/schemas/${name}` })
    expect(post.parameters?.map(({ in: place, name: header, required }) => [place, header, required])).toEqual([
      ['header', 'webhook-id', true],
      ['header', 'webhook-timestamp', true],
      ['header', 'webhook-signature', true],
    ])
  }
})

test('an operation that may get a body names what is refused about bodies, and refuses it so', async () => {
  const w = await world()
  const { key } = await w.account()
  const { operations } = await read()
  const changing = operations.filter(({ path, method }) => path.startsWith('/api/') && method !== 'get')
  for (const { path, operation } of changing)
    expect([path, Object.keys(operation.responses)]).toEqual([path, expect.arrayContaining(['400', '413', '415'])])
  const send = async (path: string, method: string, type: string, payload: string) => {
    const headers = { ...bearer(key), 'content-type': type }
    return (await w.app.inject({ method: method.toUpperCase() as 'POST', url: path, headers, payload })).statusCode
  }
  for (const { path, method } of changing.filter(({ path }) => !path.startsWith('/api/operator/'))) {
    const statuses = [
      await send(path, method, 'application/json', '{'),
      await send(
        path,
        method,
        'application/json',
        JSON.stringify('x'.repeat(path.endsWith('/evidence') ? 5_000_000 : 20_000)),
      ),
      await send(path, method, 'text/plain', 'x'),
    ]
    expect([path, statuses]).toEqual([path, [400, 413, 415]])
  }
})

test('an error code stands under the status that it is sent with, and every error under /api names its codes', async () => {
  const { operations } = await read()
  const answers = operations
    .filter(({ path }) => path.startsWith('/api'))
    .flatMap(({ operation }) => Object.entries(operation.responses))
    .filter(([status]) => Number(status) >= 400)
  for (const [status, { description, 'x-error-codes': codes = [] }] of answers) {
    const statuses = new Set(codes.map((code) => ERRORS[code][0]))
    expect([description, [...statuses]]).toEqual([description, [Number(status)]])
  }
})

test('an event is documented with exactly the fields that are sent', async () => {
  const w = await world()
  const { charge, account } = await w.paidCharge()
  // The query settles the payment.
  await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  const [deposit] = (await w.app.inject(get(account.key, '/api/events'))).json().events
  const { document } = await read()
  for (const [kind, data] of [
    ['DEPOSIT_ASSET_SUCCESS', deposit.data],
    ['DEPOSIT_REFUNDED', EVENTS.DEPOSIT_REFUNDED.fields],
  ]) {
    const { example, schema } = document.webhooks[kind].post.requestBody.content['application/json']
    expect([kind, Object.keys(example.data)]).toEqual([kind, Object.keys(data)])
    const { properties } = document.components.schemas[schema.$ref.split('/').at(-1)]
    expect([kind, Object.keys(properties.data.properties)]).toEqual([kind, Object.keys(data)])
  }
})

test('the reference shows every operation, object, event and error code, and every link in it leads somewhere', async () => {
  const w = await world()
  const { document, operations } = await read()
  const { body } = await w.app.inject('/docs/reference')
  const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
  expect(ids).toEqual([...new Set(ids)])
  expect(ids).toEqual(expect.arrayContaining(operations.map(({ operation }) => operation.operationId)))
  expect(ids).toEqual(expect.arrayContaining(Object.keys(document.webhooks).map((kind) => `event-${kind}`)))
  expect(Object.keys(document.webhooks)).toEqual([...EVENT_KINDS, 'WEBHOOK_TEST'])
  expect(ids).toEqual(
    expect.arrayContaining(
      document.components.headers['Guiche-Error'].schema.enum.map((code: string) => `error-${code}`),
    ),
  )
  for (const [, link] of body.matchAll(/ href="([^"]+)"/g)) {
    if (link!.startsWith('#')) expect(ids).toContain(link!.slice(1))
    else expect([link, (await w.app.inject(link!)).statusCode]).not.toEqual([link, 404])
  }
  for (const { path } of operations) expect(body).toContain(`<code>${path}</code>`)
})

test('the reference runs no script, loads nothing from elsewhere, and is sent once to whoever keeps it', async () => {
  const w = await world()
  const page = await w.app.inject({ url: '/docs/reference', headers: { 'accept-encoding': 'br' } })
  const policy = String(page.headers['content-security-policy'])
  expect(policy).toMatch(/^default-src 'none'; .*style-src 'sha256-[^']+'; img-src 'self'$/)
  expect([page.statusCode, page.headers['content-encoding']]).toEqual([200, 'br'])
  const plain = await w.app.inject('/docs/reference')
  expect(plain.body).not.toMatch(/<script|<[^>]* (style|src|on\w+)=/)
  const again = await w.app.inject({ url: '/docs/reference', headers: { 'if-none-match': String(plain.headers.etag) } })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})

test('the service understands every example request of the reference', async () => {
  const w = await world({ settings: { refunds: { byAccounts: true, returnFee: false } } })
  // The examples of payouts need a balance.
  const { key } = (await completedCharge(w, { valueCents: 10_000_00 })).account
  const operator = await makeOperator(w)
  const { document, operations } = await read()
  // A stream goes on for ever.
  for (const { path, method, operation } of operations.filter((one) => one.path !== '/api/events/stream')) {
    const curl = curlSample(exampleRequest(document, '', { ...operation, path, method: method.toUpperCase() }))
    const [, url] = /^curl (?:-X \w+ )?(\S+)/.exec(curl)!
    const payload = /-d '([^']*)'/.exec(curl)?.[1]
    const { statusCode, body } = await w.app.inject({
      method: method.toUpperCase() as 'GET',
      url: url!,
      headers: {
        ...bearer(path.startsWith('/api/operator') ? operator.key : key),
        ...(payload && { 'content-type': 'application/json' }),
      },
      ...(payload && { payload }),
    })
    expect([curl, body, [200, 201, 404].includes(statusCode)]).toEqual([curl, body, true])
  }
})

const IMPORT = "import { env } from 'node:process'\n"
type Sample = (request: ExampleRequest) => string
/** `join` makes one program of several samples. */
const LANGUAGES: { name: string; sample: Sample; command: [string, ...string[]]; join: (codes: string[]) => string }[] =
  [
    {
      name: 'JavaScript',
      sample: javascriptSample,
      command: [process.execPath, '--input-type=module', '-'],
      join: (codes) => `${IMPORT}${codes.map((code) => `{${code.replace(IMPORT, '')}}`).join('\n')}`,
    },
    { name: 'Python', sample: pythonSample, command: ['python3', '-'], join: (codes) => codes.join('\n') },
    {
      name: 'PHP',
      sample: phpSample,
      command: ['php'],
      join: (codes) => `<?php ${codes.map((code) => code.replace('<?php', '')).join('\n')}`,
    },
  ]

describe.each(LANGUAGES)('the samples in $name', ({ sample, command: [program, ...args], join }) => {
  // A machine without Python or PHP can still develop guiche.
  test.runIf(spawnSync(program, ['--version']).status === 0)('send the request that they stand beside', async () => {
    const seen: string[] = []
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        const { authorization, 'content-type': type = '' } = request.headers
        seen.push(
          [request.method, request.url, authorization, type, body && JSON.stringify(JSON.parse(body))].join(' '),
        )
        response.setHeader('content-type', 'application/json').end('{"success":true}')
      })
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { document, operations } = await read()
    const requests = operations
      .filter(({ path }) => path.startsWith('/api/'))
      .map(({ path, method, operation }) =>
        exampleRequest(document, url, { ...operation, path, method: method.toUpperCase() }),
      )
    const names = requests.flatMap((request) => request.url.match(/(?<=\$)[A-Z_]+/g) ?? [])
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], GUICHE_KEY: 'gk_1' }
    const child = startChild(program, args, {
      env: { ...env, ...Object.fromEntries(names.map((name) => [name, 'an-id'])) },
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    child.stdin?.end(join(requests.map(sample)))
    const problems = child.stderr ? text(child.stderr) : ''
    await once(child, 'exit')
    expect(await problems).toBe('')
    expect(seen).toEqual(
      requests.map(({ method, url: address, body }) =>
        [
          method,
          address.slice(url.length).replace(/\$[A-Z_]+/, 'an-id'),
          'Bearer gk_1',
          ...(body === undefined ? ['', ''] : ['application/json', JSON.stringify(body)]),
        ].join(' '),
      ),
    )
  })
})

test('the code that the reference gives for verifying a signature accepts ours and no other', async () => {
  const { isGenuine } = await import(`data:text/javascript,${encodeURIComponent(VERIFY)}`)
  const secrets = [makeSigningSecret(), makeSigningSecret()]
  const timestamp = String(Math.floor(Date.now() / 1000))
  const message = { id: 'evt_1', timestamp, body: '{"event":"WEBHOOK_TEST"}' }
  const headers = {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signWithKeys(secrets.map(signingKey), message),
  }
  for (const secret of secrets) expect(isGenuine(secret, headers, message.body)).toBe(true)
  expect(isGenuine(makeSigningSecret(), headers, message.body)).toBe(false)
  expect(isGenuine(secrets[0], headers, `${message.body} `)).toBe(false)
  const old = { ...message, timestamp: String(Number(timestamp) - 301) }
  const replayed = {
    ...headers,
    'webhook-timestamp': old.timestamp,
    'webhook-signature': signWithKeys(secrets.map(signingKey), old),
  }
  expect(isGenuine(secrets[0], replayed, message.body)).toBe(false)
})

async function read() {
  const document = JSON.parse(await renderOpenapi())
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return { document, operations }
}
