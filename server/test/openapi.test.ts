import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { renderOpenapi } from '../src/http/render-openapi.ts'
import { world } from './world.ts'

const COMMITTED = new URL('../openapi.json', import.meta.url)

type Operation = {
  operationId: string
  summary: string
  description: string
  security?: object[]
  parameters?: { in: string; name: string; description?: string }[]
  responses: Record<string, { description: string; content?: Record<string, { schema: { $ref?: string } }> }>
}

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

test('the documentation is a page of our own files only, under a policy that allows nothing inline', async () => {
  const w = await world()
  const page = await w.app.inject('/docs')
  const policy = String(page.headers['content-security-policy'])
  expect([page.statusCode, page.body.includes('width=device-width')]).toEqual([200, true])
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toMatch(/unsafe|https?:|\*|sha256/)
  expect(page.body).not.toMatch(/<script>|<style>| style=| on\w+=/)
  const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!)
  expect(files.length).toBeGreaterThan(5)
  for (const url of files) {
    expect(url).toMatch(/^\/(docs\/static\/|icon\.svg$)/)
    expect([url, (await w.app.inject(url)).statusCode]).toEqual([url, 200])
  }
})

async function read() {
  const document = JSON.parse(await renderOpenapi())
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return { document, operations }
}
