import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from './log.ts'
import type { Attributes, EndedSpan, SpanExporter, SpanKind } from './tracer.ts'

export type OtlpOptions = {
  /** Where spans are posted. */
  url: string
  headers: Record<string, string>
  /** What all spans share: the name of the service, its version, the process. */
  resource: Attributes
  /** The version of the code that makes the spans. */
  version: string
  log: Log
  /** Counts spans. Dropped: the queue was full, or the collector did not take them. */
  count(outcome: 'exported' | 'dropped', spans: number): void
  /** Tests pass shorter times. */
  exportEveryMs?: number
  timeoutMs?: number
}

// These four are the defaults of OpenTelemetry's own exporters.
const MAX_QUEUED = 2_048
const MAX_BATCH = 512
const EXPORT_EVERY_MS = 5_000
const TIMEOUT_MS = 10_000
// A shutdown has seconds, and other things to finish.
const CLOSE_WITHIN_MS = 1_000

/**
 * Sends spans to a collector by OTLP over HTTP, as JSON, in the background. Nothing waits for it but close(). A batch
 * that fails is dropped and counted: spans help to find faults, and must not cause one.
 */
export function makeOtlpExporter(options: OtlpOptions): SpanExporter {
  const { log, count, exportEveryMs = EXPORT_EVERY_MS } = options
  const queue: EndedSpan[] = []
  const closing = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let hasFailed = false

  function plan(inMs: number) {
    if (sending || (timer && inMs > 0)) return
    clearTimeout(timer)
    timer = setTimeout(start, inMs).unref()
  }

  function start() {
    clearTimeout(timer)
    timer = undefined
    sending ??= sendAll().finally(() => {
      sending = undefined
      if (queue.length > 0 && !closing.signal.aborted) plan(exportEveryMs)
    })
  }

  /** After a failure the rest waits for the next time: a collector that is down is not asked again at once. */
  async function sendAll(): Promise<void> {
    while (queue.length > 0 && !closing.signal.aborted) if (!(await sendBatch(queue.splice(0, MAX_BATCH)))) return
  }

  async function sendBatch(spans: EndedSpan[]): Promise<boolean> {
    const trouble = await post(options, spans, closing.signal)
    count(trouble === undefined ? 'exported' : 'dropped', spans.length)
    if (trouble !== undefined && !hasFailed) log.warn({ reason: trouble }, 'spans cannot be exported, and are dropped')
    if (trouble === undefined && hasFailed) log.info({}, 'spans are exported again')
    hasFailed = trouble !== undefined
    return !hasFailed
  }

  return {
    add(span) {
      if (queue.length >= MAX_QUEUED || closing.signal.aborted) return count('dropped', 1)
      queue.push(span)
      plan(queue.length >= MAX_BATCH && !hasFailed ? 0 : exportEveryMs)
    },
    async close() {
      const late = sleep(CLOSE_WITHIN_MS, undefined, { ref: false })
      // What is on its way first, and then what came meanwhile.
      await Promise.race([late, sending])
      start()
      await Promise.race([late, sending])
      closing.abort()
      await sending
      if (queue.length > 0) count('dropped', queue.splice(0).length)
    },
  }
}

/** Undefined if the collector took them, else why not. */
async function post(options: OtlpOptions, spans: EndedSpan[], closing: AbortSignal): Promise<string | undefined> {
  const { url, headers, timeoutMs = TIMEOUT_MS } = options
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(exportRequest(options, spans)),
      redirect: 'manual',
      signal: AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]),
    })
    await answer.body?.cancel()
    return answer.ok ? undefined : `the collector answered ${answer.status}`
  } catch (error) {
    // fetch() wraps what went wrong. A time-out comes as it is.
    const { name, cause } = error as Error & { cause?: { code?: string; message?: string } }
    return cause?.code ?? cause?.message ?? name
  }
}

// ---- The format: opentelemetry-proto, ExportTraceServiceRequest in its JSON form ----

const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3 }
const STATUS_ERROR = 2

function exportRequest({ resource, version }: OtlpOptions, spans: EndedSpan[]): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'guiche', version }, spans: spans.map(spanOf) }],
      },
    ],
  }
}

function spanOf({ kind, startedMs, endedMs, attributes, links, error, ...span }: EndedSpan): object {
  return {
    ...span,
    kind: KINDS[kind],
    startTimeUnixNano: nanosOf(startedMs),
    endTimeUnixNano: nanosOf(endedMs),
    attributes: attributesOf(error === undefined ? attributes : { ...attributes, 'error.type': error }),
    links: links.map(({ traceId, spanId }) => ({ traceId, spanId })),
    ...(error !== undefined && { status: { code: STATUS_ERROR } }),
  }
}

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: valueOf(value) }],
  )
}

function valueOf(value: string | number | boolean): object {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'string') return { stringValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** A number cannot hold them, so they are written as text. */
function nanosOf(ms: number): string {
  return `${Math.round(ms * 1_000)}000`
}
