import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { currentSpan, flushSpans, inSpan } from '../../src/base/tracing.ts'
import { startCheckWorker } from '../../src/workers/check.ts'
import { startDeliverWorker } from '../../src/workers/deliver.ts'
import { runCli, startServer, temporaryHome } from '../process.ts'
import { startReceiver } from '../receiver.ts'
import { bearer, deposit, get } from '../requests.ts'
import { connectScripted, ok, SECRET, TXID } from '../scripted-psp.ts'
import { add, holds } from '../webhooks-client.ts'
import { until, world, type World } from '../world.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`

const CREATE = 'POST /api/deposit'
const NOTIFY = 'POST /callbacks/:provider/:secret'

// Operators preload this file: docs/operations.md shows it.
const SDK_FILE = new URL('../tracing-sdk.mjs', import.meta.url)

type SeenSpan = {
  name: string
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  attributes: Record<string, unknown>
  /** Ids of spans. */
  links: string[]
}

/** Waits until the only span with this name, in this trace if one is given, has ended. */
async function find<Span extends SeenSpan>(spans: () => Span[], name: string, traceId?: string): Promise<Span> {
  const named = () => spans().filter((span) => span.name === name && (traceId ?? span.traceId) === span.traceId)
  await until(`a span ${name} arrives`, async () => named().length > 0)
  expect(named()).toHaveLength(1)
  return named()[0]!
}

// ---- Without an SDK ----

test('without an SDK nothing is sent, no header is added, and no SDK is loaded', async () => {
  const w = await world()
  const collector = await startCollector()
  const coverage = temporaryHome()
  const env = { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome(), SECRET_KEY: 'k'.repeat(32) }
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'pix' }
  const server = await startServer({ ...env, ...endpoint, NODE_V8_COVERAGE: coverage })
  const delivered = await depositAndPay(w, server.url, env)
  expect(delivered.map(({ headers }) => headers['traceparent'])).toEqual([undefined, undefined])
  expect(await server.end('SIGTERM')).toBe(0)
  expect(collector.requests).toEqual([])

  // Node's coverage lists every file that was loaded.
  const loaded = readdirSync(coverage).map((name) => readFileSync(join(coverage, name), 'utf8'))
  const packages = loaded.join().matchAll(/node_modules\/@opentelemetry\/([^/]+)/g)
  expect(new Set(Array.from(packages, ([, name]) => name))).toEqual(new Set(['api']))
})

test('without an SDK there is no current span, and banks get no header', async () => {
  const { psp, provider } = await connectScripted(() => ok())
  await inSpan('outer', { chargeId: TRACE }, async (span) => {
    expect([span.isRecording(), currentSpan()]).toEqual([false, undefined])
    await provider.check(TXID)
  })
  expect(psp.seen.map(({ headers }) => headers['traceparent'])).toEqual([undefined, undefined])
  await flushSpans()
})

// ---- With the SDK that operators preload ----

test('the way of a deposit is exported from the request to the webhook, also what is left at the stop', async () => {
  const w = await world()
  const collector = await startCollector()
  const env = { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome(), SECRET_KEY: 'k'.repeat(32) }
  const server = await startServer({
    ...env,
    NODE_OPTIONS: `--import ${SDK_FILE.href}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=payments',
    OTEL_SERVICE_NAME: 'pix',
    // Nothing is exported before the stop.
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  })
  const [, paid] = await depositAndPay(w, server.url, env)
  expect(await server.end('SIGTERM')).toBe(0)

  const span = (name: string, traceId?: string) => find(() => collector.requests.flatMap(spansOf), name, traceId)
  const request = await span(CREATE)
  const charge = String(request.attributes['guiche.charge_id'])
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: CALLER })
  expect(await span('sandbox create')).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId })
  const notification = await span(`${NOTIFY}/pix`)
  const check = await span('check')
  expect(check).toMatchObject({ traceId: charge, parentSpanId: charge.slice(16), links: [notification.spanId] })
  expect(await span('sandbox check')).toMatchObject({ traceId: charge, parentSpanId: check.spanId })
  const settled = await span('settle')
  expect(settled).toMatchObject({ traceId: charge, parentSpanId: check.spanId })
  expect(await span('settle batch')).toMatchObject({ parentSpanId: undefined, links: [settled.spanId] })
  const delivery = await span('deliver', charge)
  expect(delivery).toMatchObject({ parentSpanId: charge.slice(16) })
  expect(paid!.headers['traceparent']).toBe(`00-${charge}-${delivery.spanId}-01`)
  expect(collector.headers[0]).toMatchObject({ 'x-team': 'payments' })
  expect(JSON.stringify(collector.requests[0])).toContain('{"key":"service.name","value":{"stringValue":"pix"}}')
})

test('the page for operators shows the file that these tests preload', () => {
  const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  const { devDependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(page).toContain(`\n${readFileSync(SDK_FILE, 'utf8')}`)
  for (const [name, version] of Object.entries(devDependencies))
    if (name.startsWith('@opentelemetry/')) expect(page).toContain(`${name}@${String(version)}`)
})

/** Resolves to what a receiver gets: the test of its webhook, and the event of the payment. */
async function depositAndPay(w: World, url: string, env: Record<string, string>) {
  const { key, email } = await w.account()
  const receiver = await startReceiver()
  await runCli(['webhooks', 'add', '--email', email, '--url', receiver.url], env)
  const created = await fetch(`${url}/api/deposit`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', traceparent: TRACEPARENT },
    body: '{"value":5000}',
  })
  const { charge } = (await created.json()) as { charge: { paymentLinkId: string } }
  expect((await runCli(['pay', charge.paymentLinkId], env)).code).toBe(0)
  return receiver.got(2)
}

/** Receives OTLP over HTTP, as JSON. */
async function startCollector() {
  const [requests, headers]: [ExportRequest[], object[]] = [[], []]
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      headers.push(request.headers)
      requests.push(body as ExportRequest)
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, headers }
}

type OtlpSpan = Pick<SeenSpan, 'name' | 'traceId' | 'spanId' | 'parentSpanId'> & {
  attributes: { key: string; value: { stringValue?: string } }[]
  links: { spanId: string }[]
}
type ExportRequest = { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] }

function spansOf({ resourceSpans }: ExportRequest): SeenSpan[] {
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map(({ parentSpanId, attributes, links, ...span }) => ({
      ...span,
      parentSpanId,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
      links: links.map(({ spanId }) => spanId),
    }))
}

// ---- Spans ----

describe('with an SDK in this process', () => {
  const exporter = new InMemorySpanExporter()
  const flush = { hangs: false }
  const provider = new NodeTracerProvider({
    spanProcessors: [
      new SimpleSpanProcessor(exporter),
      {
        onStart() {},
        onEnd() {},
        forceFlush: () => (flush.hangs ? new Promise(() => {}) : Promise.resolve()),
        shutdown: () => Promise.resolve(),
      },
    ],
  })

  beforeAll(() => provider.register())
  beforeEach(() => exporter.reset())
  afterAll(async () => {
    await provider.shutdown()
    for (const part of [trace, context, propagation]) part.disable()
  })

  const spans = () =>
    exporter.getFinishedSpans().map((ended) => ({
      ...ended.spanContext(),
      name: ended.name,
      kind: ended.kind,
      attributes: ended.attributes,
      events: ended.events,
      status: ended.status,
      parentSpanId: ended.parentSpanContext?.spanId,
      links: ended.links.map((link) => link.context.spanId),
      isFailed: ended.status.code === SpanStatusCode.ERROR,
    }))
  const span = (name: string, traceId?: string) => find(spans, name, traceId)

  function startWorkers(w: World) {
    const workers = [startCheckWorker(w.ctx), startDeliverWorker(w.ctx)]
    onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
  }

  test('a deposit continues the trace of its caller, down to the call to the provider', async () => {
    const w = await world()
    const { key } = await w.account()
    const answer = await w.app.inject(deposit(key, '{"value":5000}', { traceparent: TRACEPARENT }))
    expect(answer.statusCode).toBe(201)
    const request = await span(CREATE)
    const call = await span('sandbox create')
    expect(request).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, kind: SpanKind.SERVER, isFailed: false })
    expect(call).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId, kind: SpanKind.CLIENT })
    expect(request.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/api/deposit',
      'http.response.status_code': 201,
      'guiche.request_id': answer.headers['x-request-id'],
      'guiche.charge_id': answer.json().charge.id,
    })
    expect(call.attributes).toEqual({
      'guiche.provider': 'sandbox',
      'guiche.operation': 'create',
      'guiche.outcome': 'ok',
    })
  })

  test('a request without a traceparent, or with a wrong one, begins a trace', async () => {
    const w = await world()
    const { key } = await w.account()
    for (const wrong of [undefined, 'nonsense', `00-${'0'.repeat(32)}-${CALLER}-01`])
      await w.app.inject(deposit(key, '{"value":5000}', wrong === undefined ? {} : { traceparent: wrong }))
    await until('all arrive', async () => spans().filter(({ name }) => name === CREATE).length === 3)
    const roots = spans().filter(({ name }) => name === CREATE)
    expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(3)
    expect(roots.every(({ parentSpanId }) => parentSpanId === undefined)).toBe(true)
  })

  test('a request that fails by our fault is a failed span, and one that is refused is not', async () => {
    const w = await world()
    const { key } = await w.account()
    await w.sandbox.goDown()
    expect((await w.app.inject(deposit(key, '{"value":5000}'))).statusCode).toBe(503)
    expect(await span(CREATE)).toMatchObject({ isFailed: true, attributes: { 'error.type': '503' } })
    await w.app.inject({ method: 'GET', url: '/api/balance' })
    expect(await span('GET /api/balance')).toMatchObject({
      isFailed: false,
      attributes: { 'http.response.status_code': 401 },
    })
  })

  test('from its payment on, what happens to a charge is a trace with its id: check, settlement and delivery', async () => {
    const w = await world()
    const { charge, payment, account } = await w.paidCharge()
    const receiver = await startReceiver()
    const { secret } = await add(w, account, receiver.url)
    startWorkers(w)
    const url = '/callbacks/sandbox/secret-of-sandbox'
    const { endToEndId } = payment
    await w.app.inject({ method: 'POST', url, payload: { pix: [{ txid: charge.id, endToEndId }] } })
    // A webhook is tested when it is added.
    const [tested, delivered] = await receiver.got(2)

    const notification = await span(NOTIFY)
    const check = await span('check')
    const call = await span('sandbox check')
    const settled = await span('settle')
    const batch = await span('settle batch')
    const delivery = await span('deliver', charge.id)
    const ofCharge = { 'guiche.charge_id': charge.id }
    const root = charge.id.slice(16)
    expect(check).toMatchObject({
      traceId: charge.id,
      parentSpanId: root,
      links: [notification.spanId],
      attributes: ofCharge,
    })
    expect(call).toMatchObject({ traceId: charge.id, parentSpanId: check.spanId })
    expect(settled).toMatchObject({ traceId: charge.id, parentSpanId: check.spanId, links: [] })
    expect(settled.attributes).toMatchObject({ ...ofCharge, 'guiche.end_to_end_id': endToEndId })
    expect(batch).toMatchObject({ links: [settled.spanId], attributes: { 'guiche.payments': 1 } })
    expect([charge.id, notification.traceId]).not.toContain(batch.traceId)
    expect(delivery).toMatchObject({
      traceId: charge.id,
      parentSpanId: root,
      links: [],
      kind: SpanKind.CLIENT,
      isFailed: false,
    })
    expect(delivery.attributes).toMatchObject({ ...ofCharge, 'guiche.event_id': delivered!.id })

    // The receiver can continue the trace, and the signature is valid.
    expect(delivered!.headers['traceparent']).toBe(`00-${charge.id}-${delivery.spanId}-01`)
    expect(holds(secret, delivered!)).toBe(true)
    const added = await span('POST /api/webhooks')
    const test = await span('deliver', added.traceId)
    expect(test).toMatchObject({ parentSpanId: added.spanId, attributes: { 'guiche.event_id': tested!.id } })
  })

  test('a payment that a query finds is settled in the trace of its charge, and linked to the query', async () => {
    const w = await world()
    const { charge, account } = await w.paidCharge()
    const query = get(account.key, `/api/deposit/${charge.paymentLinkId}`)
    await w.app.inject({ ...query, headers: { ...bearer(account.key), traceparent: TRACEPARENT } })
    const request = await span('GET /api/deposit/:paymentLinkId')
    expect(request).toMatchObject({ traceId: TRACE, attributes: { 'guiche.charge_id': charge.id } })
    expect(await span('sandbox check')).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId })
    expect(await span('settle')).toMatchObject({ traceId: charge.id, links: [request.spanId] })
  })

  test('a batch that settles several payments is linked to each of them', async () => {
    const w = await world()
    const account = await w.account()
    const paid = await Promise.all(Array.from({ length: 3 }, () => w.paidCharge({ account })))
    await Promise.all(paid.map(({ payment }) => w.ctx.settlements.add([payment])))
    const batch = await span('settle batch')
    const settled = spans().filter(({ name }) => name === 'settle')
    expect(settled.map(({ traceId }) => traceId).toSorted()).toEqual(paid.map(({ charge }) => charge.id).toSorted())
    expect(batch.links.toSorted()).toEqual(settled.map(({ spanId }) => spanId).toSorted())
    expect(batch.attributes).toEqual({ 'guiche.payments': 3 })
  })

  test('a list that answers many checks is asked for once, linked to each of them, and each charge keeps its trace', async () => {
    const w = await world()
    const account = await w.account()
    const paid = await Promise.all(Array.from({ length: 12 }, () => w.paidCharge({ account })))
    const txids = paid.map(({ charge }) => charge.id).toSorted()
    startWorkers(w)
    const url = '/callbacks/sandbox/secret-of-sandbox'
    await w.app.inject({ method: 'POST', url, payload: { pix: txids.map((txid) => ({ txid })) } })
    const list = await span('ask for many')
    await until('all arrive', async () => spans().filter(({ name }) => name === 'check').length === 12)
    const checks = spans().filter(({ name }) => name === 'check')
    const settled = spans().filter(({ name }) => name === 'settle')
    expect(list.links.toSorted()).toEqual(checks.map(({ spanId }) => spanId).toSorted())
    expect(await span('sandbox listReceived')).toMatchObject({ parentSpanId: list.spanId })
    for (const spans of [checks, settled]) expect(spans.map(({ traceId }) => traceId).toSorted()).toEqual(txids)
    expect(settled.every(({ links }) => links.join() === list.spanId)).toBe(true)
    const notification = await span(NOTIFY)
    expect(checks.every(({ links }) => links.join() === notification.spanId)).toBe(true)
  })

  test('the bank gets the traceparent of the call, with the token request too', async () => {
    const { psp, provider } = await connectScripted(() => ok())
    await inSpan('outer', {}, () => provider.check(TXID))
    const outer = await span('outer')
    const call = await span('bank check')
    expect(call).toMatchObject({ traceId: outer.traceId, parentSpanId: outer.spanId })
    const sent = `00-${call.traceId}-${call.spanId}-01`
    expect(psp.seen.map(({ headers }) => headers['traceparent'])).toEqual([sent, sent])
    expect(JSON.stringify(spans())).not.toContain(SECRET)
  })

  test('spans hold no key, no secret, no address, no name and no body', async () => {
    const w = await world()
    const { charge, account } = await w.paidCharge()
    const receiver = await startReceiver()
    const { secret } = await add(w, account, receiver.url)
    startWorkers(w)
    const url = `/callbacks/sandbox/secret-of-sandbox?hmac=of-the-bank`
    await w.app.inject({ method: 'POST', url, payload: { pix: [{ txid: charge.id }] } })
    await w.app.inject({ method: 'GET', url: `/api/balance?api_key=${account.key}` })
    await receiver.got(2)
    await span('deliver', charge.id)
    await span('GET /api/balance')
    const raw = JSON.stringify(spans())
    const { accountName } = account.caller
    const hidden = [account.key, account.email, accountName, secret, 'secret-of-sandbox', 'of-the-bank', charge.emv]
    for (const text of [...hidden, receiver.url, charge.paymentLinkId]) expect(raw).not.toContain(text)
  })

  test('what a caller puts into tracestate and baggage reaches no bank, and a trace that it does not record stays so', async () => {
    const { psp, provider } = await connectScripted(() => ok())
    const w = await world()
    w.ctx.providers.splice(0, 1, provider)
    const { key } = await w.account()
    const headers = { traceparent: `00-${TRACE}-${CALLER}-00`, tracestate: 'vendor=1', baggage: 'user=1' }
    await w.app.inject(deposit(key, '{"value":5000}', headers))
    const sent = psp.seen.at(-1)!.headers
    expect(sent['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
    expect([sent['tracestate'], sent['baggage']]).toEqual([undefined, undefined])
    expect(spans().filter(({ traceId }) => traceId === TRACE)).toEqual([])
  })

  test('work that fails is a failed span, with the code of the error and not its text', async () => {
    const error = Object.assign(new Error('a secret'), { code: 'ECONNRESET' })
    await expect(inSpan('broken', {}, () => Promise.reject(error))).rejects.toBe(error)
    expect(await span('broken')).toMatchObject({ isFailed: true, attributes: { 'error.type': 'ECONNRESET' } })
    expect(JSON.stringify(spans())).not.toContain('a secret')
  })

  test('a collector that does not answer delays a stop by a second', async () => {
    flush.hangs = true
    const began = performance.now()
    await flushSpans()
    expect(performance.now() - began).toBeGreaterThan(900)
    flush.hangs = false
  })
})
