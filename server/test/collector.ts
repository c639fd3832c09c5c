import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { makeOtlpExporter } from '../src/base/otlp.ts'
import type { Sampling } from '../src/base/trace-context.ts'
import { makeTracer, type Tracer } from '../src/base/tracer.ts'
import { until } from './world.ts'

export type CollectedSpan = {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  kind: number
  /** In nanoseconds. */
  took: bigint
  attributes: Record<string, string | number | boolean>
  /** Ids of spans. */
  links: string[]
  isFailed: boolean
  /** Of the resource. */
  service: Record<string, string | number | boolean>
}

export type Collector = {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string
  spans: CollectedSpan[]
  /** All that was received, as text. */
  raw(): string
  headers: IncomingHttpHeaders[]
  /** The only span with this name, or with this name in this trace, when it has come. */
  span(name: string, traceId?: string): Promise<CollectedSpan>
}

/** A collector of OpenTelemetry on loopback, which receives OTLP over HTTP as JSON. `status`: what it answers. */
export async function startCollector({ status = 200 } = {}): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const requests: unknown[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      headers.push(request.headers)
      requests.push(body)
      if (request.method === 'POST' && request.url === '/v1/traces') spans.push(...spansOf(body as ExportRequest))
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}')
    })
  })
  return {
    url: await listen(server),
    spans,
    headers,
    raw: () => JSON.stringify(requests),
    async span(name, traceId) {
      const isMeant = (span: CollectedSpan) => span.name === name && (traceId ?? span.traceId) === span.traceId
      const named = () => spans.filter(isMeant)
      await until(`a span ${name} arrives`, async () => named().length > 0)
      if (named().length > 1) throw new Error(`${named().length} spans are called ${name}`)
      return named()[0]!
    },
  }
}

/** A collector that takes every request and answers none. */
export async function startSilentCollector(): Promise<string> {
  return listen(createServer(() => {}))
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export type TestTracer = Tracer & { counts: { exported: number; dropped: number }; logged: string[] }

/** As wiring.ts makes it, but faster. */
export function tracerTo(url: string, sampling: Sampling = { sampler: 'parentbased_always_on', ratio: 1 }): TestTracer {
  const counts = { exported: 0, dropped: 0 }
  const logged: string[] = []
  const note = (fields: object, text: string) => void logged.push(`${text} ${JSON.stringify(fields)}`)
  const exporter = makeOtlpExporter({
    url: `${url}/v1/traces`,
    headers: {},
    resource: { 'service.name': 'guiche' },
    version: '0',
    log: { debug: note, info: note, warn: note, error: note },
    count: (outcome, spans) => void (counts[outcome] += spans),
    exportEveryMs: 10,
  })
  const tracer = makeTracer({ sampling, exporter })
  onTestFinished(tracer.close)
  return { ...tracer, counts, logged }
}

// ---- The format ----

type Value = { stringValue?: string; intValue?: string; boolValue?: boolean; doubleValue?: number }
type Attribute = { key: string; value: Value }
type OtlpSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  links: { traceId: string; spanId: string }[]
  status?: { code: number }
}
type ExportRequest = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[]
}

function spansOf({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        name: span.name,
        kind: span.kind,
        took: BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano),
        attributes: attributesOf(span.attributes),
        links: span.links.map(({ spanId }) => spanId),
        isFailed: span.status?.code === 2,
        service: attributesOf(resource.attributes),
      })),
    ),
  )
}

function attributesOf(attributes: Attribute[]): CollectedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  )
}
