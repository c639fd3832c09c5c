import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { isSampled, readTraceparent, SAMPLERS, writeTraceparent } from '../src/base/trace-context.ts'
import { loadConfig } from '../src/config.ts'
import { startCheckWorker } from '../src/workers/check.ts'
import { startDeliverWorker } from '../src/workers/deliver.ts'
import { startCollector, startSilentCollector, tracerTo } from './collector.ts'
import { makeOperator } from './operators-client.ts'
import { runCli, startServer, temporaryHome } from './process.ts'
import { startReceiver } from './receiver.ts'
import { bearer, deposit, get } from './requests.ts'
import { connectScripted, ok, SECRET, TXID } from './scripted-psp.ts'
import { add, holds } from './webhooks-client.ts'
import { until, world, type World } from './world.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`

const CREATE = 'POST /api/deposit'
const NOTIFY = 'POST /callbacks/:provider/:secret'

async function tracedWorld() {
  const collector = await startCollector()
  const tracer = tracerTo(collector.url)
  const w = await world({ tracer })
  return { collector, tracer, w }
}

function startWorkers(w: World) {
  const workers = [startCheckWorker(w.ctx), startDeliverWorker(w.ctx)]
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
}

// ---- Traces ----

test('a deposit continues the trace of its caller, down to the call to the provider', async () => {
  const { collector, w } = await tracedWorld()
  const { key } = await w.account()
  const answer = await w.app.inject(deposit(key, '{"value":5000}', { traceparent: TRACEPARENT }))
  expect(answer.statusCode).toBe(201)
  const request = await collector.span(CREATE)
  const call = await collector.span('sandbox create')
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, kind: 2, isFailed: false })
  expect(call).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId, kind: 3 })
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
  expect(request.took).toBeGreaterThanOrEqual(call.took)
})

test('a request without a traceparent, or with a wrong one, begins a trace', async () => {
  const { collector, w } = await tracedWorld()
  const { key } = await w.account()
  for (const wrong of [undefined, 'nonsense', `00-${'0'.repeat(32)}-${CALLER}-01`])
    await w.app.inject(deposit(key, '{"value":5000}', wrong === undefined ? {} : { traceparent: wrong }))
  await until('all arrive', async () => collector.spans.filter(({ name }) => name === CREATE).length === 3)
  const roots = collector.spans.filter(({ name }) => name === CREATE)
  expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(3)
  expect(roots.every(({ parentSpanId }) => parentSpanId === undefined)).toBe(true)
})

test('a request that fails by our fault is a failed span, and one that is refused is not', async () => {
  const { collector, w } = await tracedWorld()
  const { key } = await w.account()
  await w.sandbox.goDown()
  expect((await w.app.inject(deposit(key, '{"value":5000}'))).statusCode).toBe(503)
  expect(await collector.span(CREATE)).toMatchObject({ isFailed: true, attributes: { 'error.type': '503' } })
  await w.app.inject({ method: 'GET', url: '/api/balance' })
  expect(await collector.span('GET /api/balance')).toMatchObject({
    isFailed: false,
    attributes: { 'http.response.status_code': 401 },
  })
})

test('from its payment on, what happens to a charge is a trace with its id: check, settlement and delivery', async () => {
  const { collector, w } = await tracedWorld()
  const { charge, payment, account } = await w.paidCharge()
  const receiver = await startReceiver()
  const { secret } = await add(w, account, receiver.url)
  startWorkers(w)
  const url = '/callbacks/sandbox/secret-of-sandbox'
  const { endToEndId } = payment
  await w.app.inject({ method: 'POST', url, payload: { pix: [{ txid: charge.id, endToEndId }] } })
  // A webhook is tested when it is added.
  const [tested, delivered] = await receiver.got(2)

  const notification = await collector.span(NOTIFY)
  const check = await collector.span('check')
  const call = await collector.span('sandbox check')
  const settled = await collector.span('settle')
  const batch = await collector.span('settle batch')
  const delivery = await collector.span('deliver', charge.id)
  const ofCharge = { 'guiche.charge_id': charge.id }
  expect(check).toMatchObject({ traceId: charge.id, links: [notification.spanId], attributes: ofCharge })
  expect(call).toMatchObject({ traceId: charge.id, parentSpanId: check.spanId })
  expect(settled).toMatchObject({ traceId: charge.id, parentSpanId: check.spanId, links: [] })
  expect(settled.attributes).toMatchObject({ ...ofCharge, 'guiche.end_to_end_id': endToEndId })
  expect(batch).toMatchObject({ links: [settled.spanId], attributes: { 'guiche.payments': 1 } })
  expect(batch.traceId).not.toBe(charge.id)
  expect(delivery).toMatchObject({ traceId: charge.id, kind: 3, isFailed: false })
  expect(delivery.attributes).toMatchObject({ ...ofCharge, 'guiche.event_id': delivered!.id })

  // The receiver continues the trace, and the signature holds.
  expect(delivered!.headers['traceparent']).toBe(`00-${charge.id}-${delivery.spanId}-01`)
  expect(holds(secret, delivered!)).toBe(true)
  const added = await collector.span('POST /api/webhooks')
  const test = await collector.span('deliver', added.traceId)
  expect(test).toMatchObject({ parentSpanId: added.spanId, attributes: { 'guiche.event_id': tested!.id } })
})

test('a payment that a query finds is settled in the trace of its charge, and linked to the query', async () => {
  const { collector, w } = await tracedWorld()
  const { charge, account } = await w.paidCharge()
  const query = get(account.key, `/api/deposit/${charge.paymentLinkId}`)
  await w.app.inject({ ...query, headers: { ...bearer(account.key), traceparent: TRACEPARENT } })
  const request = await collector.span('GET /api/deposit/:paymentLinkId')
  expect(request).toMatchObject({ traceId: TRACE, attributes: { 'guiche.charge_id': charge.id } })
  expect(await collector.span('sandbox check')).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId })
  expect(await collector.span('settle')).toMatchObject({ traceId: charge.id, links: [request.spanId] })
})

test('a batch that settles several payments is linked to each of them', async () => {
  const { collector, w } = await tracedWorld()
  const account = await w.account()
  const paid = await Promise.all(Array.from({ length: 3 }, () => w.paidCharge({ account })))
  await Promise.all(paid.map(({ payment }) => w.ctx.settlements.add([payment])))
  const batch = await collector.span('settle batch')
  const settled = collector.spans.filter(({ name }) => name === 'settle')
  expect(settled.map(({ traceId }) => traceId).toSorted()).toEqual(paid.map(({ charge }) => charge.id).toSorted())
  expect(batch.links.toSorted()).toEqual(settled.map(({ spanId }) => spanId).toSorted())
  expect(batch.attributes).toEqual({ 'guiche.payments': 3 })
})

test('a list that answers many checks is asked for once, linked to each of them, and each charge keeps its trace', async () => {
  const { collector, w } = await tracedWorld()
  const account = await w.account()
  const paid = await Promise.all(Array.from({ length: 12 }, () => w.paidCharge({ account })))
  const txids = paid.map(({ charge }) => charge.id).toSorted()
  startWorkers(w)
  const url = '/callbacks/sandbox/secret-of-sandbox'
  await w.app.inject({ method: 'POST', url, payload: { pix: txids.map((txid) => ({ txid })) } })
  const list = await collector.span('ask for many')
  await until('all arrive', async () => collector.spans.filter(({ name }) => name === 'check').length === 12)
  const checks = collector.spans.filter(({ name }) => name === 'check')
  const settled = collector.spans.filter(({ name }) => name === 'settle')
  expect(list.links.toSorted()).toEqual(checks.map(({ spanId }) => spanId).toSorted())
  expect(await collector.span('sandbox listReceived')).toMatchObject({ parentSpanId: list.spanId })
  for (const spans of [checks, settled]) expect(spans.map(({ traceId }) => traceId).toSorted()).toEqual(txids)
  expect(settled.every(({ links }) => links.join() === list.spanId)).toBe(true)
  const notification = await collector.span(NOTIFY)
  expect(checks.every(({ links }) => links.join() === notification.spanId)).toBe(true)
})

test('the bank gets the traceparent of the call, with the token request too', async () => {
  const collector = await startCollector()
  const tracer = tracerTo(collector.url)
  const { psp, provider } = await connectScripted(() => ok(), { tracer })
  await tracer.span({ name: 'outer', parent: readTraceparent(TRACEPARENT) }, () => provider.check(TXID))
  const call = await collector.span('bank check')
  expect(call).toMatchObject({ traceId: TRACE, parentSpanId: (await collector.span('outer')).spanId })
  const sent = `00-${TRACE}-${call.spanId}-01`
  expect(psp.seen.map(({ headers }) => headers['traceparent'])).toEqual([sent, sent])
  expect(collector.raw()).not.toContain(SECRET)
})

test('spans hold no key, no secret, no address, no name and no body', async () => {
  const { collector, w } = await tracedWorld()
  const { charge, account } = await w.paidCharge()
  const receiver = await startReceiver()
  const { secret } = await add(w, account, receiver.url)
  startWorkers(w)
  const url = `/callbacks/sandbox/secret-of-sandbox?hmac=of-the-bank`
  await w.app.inject({ method: 'POST', url, payload: { pix: [{ txid: charge.id }] } })
  await w.app.inject({ method: 'GET', url: `/api/balance?api_key=${account.key}` })
  await receiver.got(2)
  await collector.span('deliver', charge.id)
  await collector.span('GET /api/balance')
  const raw = collector.raw()
  const { accountName } = account.caller
  const hidden = [account.key, account.email, accountName, secret, 'secret-of-sandbox', 'of-the-bank', charge.emv]
  for (const text of [...hidden, receiver.url, charge.paymentLinkId]) expect(raw).not.toContain(text)
})

// ---- The collector ----

test('while the collector is silent requests are answered, spans past the queue are dropped, and a stop is short', async () => {
  const tracer = tracerTo(await startSilentCollector())
  const w = await world({ tracer })
  const { key } = await w.account()
  for (let count = 0; count < 5_000; count++) tracer.begin({ name: 'filler' }).end()
  // One batch is on its way, and the queue is full behind it.
  await until('some are dropped', async () => tracer.counts.dropped >= 5_000 - 512 - 2_048)
  for (let count = 0; count < 10; count++)
    expect((await w.app.inject(deposit(key, '{"value":5000}'))).statusCode).toBe(201)
  expect(tracer.counts.exported).toBe(0)
  const began = performance.now()
  await tracer.close()
  expect(performance.now() - began).toBeLessThan(3_000)
  expect(tracer.counts.dropped).toBeGreaterThanOrEqual(5_000 + 20)
})

test('a collector that refuses or is gone costs spans, which are counted, and one line of the log', async () => {
  const refusing = tracerTo((await startCollector({ status: 503 })).url)
  const gone = tracerTo(`http://127.0.0.1:${await freePort()}`)
  for (const [tracer, reason] of [
    [refusing, 'the collector answered 503'],
    [gone, 'ECONNREFUSED'],
  ] as const) {
    for (let round = 1; round <= 3; round++) {
      tracer.begin({ name: 'lost' }).end()
      await until('it is dropped', async () => tracer.counts.dropped === round)
    }
    expect(tracer.logged).toEqual([`spans cannot be exported, and are dropped {"reason":"${reason}"}`])
  }
})

test('a service exports what it has when it stops, as the variables of OpenTelemetry say', async () => {
  const w = await world()
  const collector = await startCollector()
  const { key } = await w.account()
  const operator = await makeOperator(w)
  const server = await startServer({
    DATABASE_URL: w.databaseUrl,
    GUICHE_HOME: temporaryHome(),
    SECRET_KEY: 'k'.repeat(32),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=payments,authorization=Bearer%20abc',
    OTEL_SERVICE_NAME: 'pix',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  const created = await fetch(`${server.url}/api/deposit`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', traceparent: TRACEPARENT },
    body: '{"value":5000}',
  })
  expect(created.status).toBe(201)
  const metrics = await (await fetch(`${server.url}/metrics`, { headers: bearer(operator.key) })).text()
  expect(metrics).toContain('guiche_spans_total{outcome="dropped"} 0')
  expect(await server.end('SIGTERM')).toBe(0)

  const request = await collector.span(CREATE)
  expect(request.traceId).toBe(TRACE)
  expect(await collector.span('sandbox create')).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId })
  expect(request.service).toMatchObject({ 'service.name': 'pix', 'deployment.environment.name': 'test' })
  expect(collector.headers[0]).toMatchObject({ 'x-team': 'payments', authorization: 'Bearer abc' })
})

// ---- Off ----

test('without an endpoint nothing of it is loaded, and no traceparent leaves', async () => {
  const w = await world()
  const coverage = temporaryHome()
  const env = { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome(), SECRET_KEY: 'k'.repeat(32) }
  const server = await startServer({ ...env, NODE_V8_COVERAGE: coverage })
  const { key, email } = await w.account()
  const receiver = await startReceiver()
  await runCli(['webhooks', 'add', '--email', email, '--url', receiver.url], env)
  const created = await fetch(`${server.url}/api/deposit`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', traceparent: TRACEPARENT },
    body: '{"value":5000}',
  })
  const { charge } = (await created.json()) as { charge: { paymentLinkId: string } }
  expect((await runCli(['pay', charge.paymentLinkId], env)).code).toBe(0)
  const delivered = await receiver.got(2)
  expect(delivered.map(({ headers }) => headers['traceparent'])).toEqual([undefined, undefined])
  expect(await server.end('SIGTERM')).toBe(0)

  // Node lists in its coverage every file that was loaded.
  const loaded = readdirSync(coverage).map((name) => readFileSync(join(coverage, name), 'utf8'))
  expect(loaded.join()).toContain('/dist/wiring.js')
  expect(loaded.join()).not.toMatch(/\/dist\/base\/(tracer|otlp)\.js/)
})

// ---- Formats ----

test('a traceparent is read as the standard has it, and written so that it can be read', () => {
  const context = { traceId: TRACE, spanId: CALLER, isSampled: true }
  expect(readTraceparent(TRACEPARENT)).toEqual(context)
  expect(readTraceparent(` ${TRACEPARENT} `)).toEqual(context)
  expect(readTraceparent(`00-${TRACE}-${CALLER}-00`)).toEqual({ ...context, isSampled: false })
  // Other flags, and fields of a later version, are not ours to judge.
  expect(readTraceparent(`00-${TRACE}-${CALLER}-03`)).toEqual(context)
  expect(readTraceparent(`01-${TRACE}-${CALLER}-01-more`)).toEqual(context)
  expect(readTraceparent(writeTraceparent(context))).toEqual(context)
})

test.each([
  ['none', undefined],
  ['several', [TRACEPARENT, TRACEPARENT]],
  ['the forbidden version', `ff-${TRACE}-${CALLER}-01`],
  ['more fields than the version has', `${TRACEPARENT}-more`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${CALLER}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capital letters', TRACEPARENT.toUpperCase()],
  ['too few digits', `00-${TRACE.slice(1)}-${CALLER}-01`],
])('a traceparent with %s counts as none', (_, header) => {
  expect(readTraceparent(header)).toBeUndefined()
})

test('samplers decide by the parent, by the id of the trace, or always', () => {
  const low = '0'.repeat(31) + '1'
  const high = 'f'.repeat(32)
  const decide = (sampler: (typeof SAMPLERS)[number], traceId: string, parent?: boolean) =>
    isSampled({ sampler, ratio: 0.5 }, traceId, parent === undefined ? undefined : { isSampled: parent })
  const decisions = SAMPLERS.map((sampler) => [
    sampler,
    decide(sampler, low),
    decide(sampler, high),
    decide(sampler, low, true),
    decide(sampler, high, false),
  ])
  expect(decisions).toEqual([
    ['always_on', true, true, true, true],
    ['always_off', false, false, false, false],
    ['traceidratio', false, true, false, true],
    ['parentbased_always_on', true, true, true, false],
    ['parentbased_always_off', false, false, true, false],
    ['parentbased_traceidratio', false, true, true, false],
  ])
})

test('a trace that is not sampled is passed on as such, and not exported', async () => {
  const collector = await startCollector()
  const tracer = tracerTo(collector.url)
  const { psp, provider } = await connectScripted(() => ok(), { tracer })
  const parent = readTraceparent(`00-${TRACE}-${CALLER}-00`)
  await tracer.span({ name: 'outer', parent }, () => provider.check(TXID))
  expect(psp.seen[0]!.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  await tracer.close()
  expect(collector.spans).toEqual([])
})

test('the variables of OpenTelemetry are read, and wrong ones are refused without showing a key', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }
  expect(loadConfig({ OTEL_SERVICE_NAME: 'pix' }).tracing).toBeUndefined()
  expect(loadConfig(endpoint).tracing).toEqual({
    url: 'http://collector:4318/v1/traces',
    headers: {},
    resource: { 'service.name': 'guiche' },
    sampling: { sampler: 'parentbased_always_on', ratio: 1 },
  })
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.05' }
  expect(loadConfig({ ...endpoint, ...sampled }).tracing?.sampling).toEqual({
    sampler: 'parentbased_traceidratio',
    ratio: 0.05,
  })
  for (const [wrong, text] of [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, 'must be an http or https URL'],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'must be one of http/json, http/protobuf, not "grpc"'],
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 'must be one of always_on, always_off, traceidratio'],
    [{ OTEL_TRACES_SAMPLER_ARG: '5' }, 'must be a number from 0 to 1, such as 0.05, not "5"'],
  ] as const)
    expect(() => loadConfig({ ...endpoint, ...wrong })).toThrow(`${Object.keys(wrong)[0]} ${text}`)
  const refusal = 'OTEL_EXPORTER_OTLP_HEADERS must look like name=value,name=value'
  expect(() => loadConfig({ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'topsecret' })).toThrow(refusal)
})
