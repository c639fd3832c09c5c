import {
  context,
  INVALID_SPAN_CONTEXT,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type TracerProvider,
} from '@opentelemetry/api'
import { withTimeLimit } from './time-limit.ts'
import { VERSION } from './version.ts'

/**
 * Spans of OpenTelemetry, for the SDK that the operator preloads. Without one, all of this does nothing.
 *
 * Attributes are names from the code and the configuration, statuses, and ids. Never a URL, a header, a body, or the
 * text of an error: these hold keys, secrets and names of payers.
 */
export const tracer = trace.getTracer('guiche', VERSION)

const NO_PROVIDER = providerOf(new ProxyTracerProvider())
const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)

export type NewSpan = {
  kind?: SpanKind
  attributes?: Attributes
  /** The charge whose trace it belongs to. If the current span is in another trace, the new one is linked to it. */
  chargeId?: string | undefined
  /** For work that is not a part of the current span: the spans that caused it, which it is linked to. */
  causes?: (SpanContext | undefined)[]
}

/** Whether there is an SDK. Spans that nobody takes would cost a tenth of a delivery. */
export function isTraced(): boolean {
  return providerOf(trace.getTracerProvider()) !== NO_PROVIDER
}

/** Runs the work in a span of its own, which is the current one until the work ends. */
export function inSpan<Result>(
  name: string,
  { kind = SpanKind.INTERNAL, attributes = {}, chargeId, causes }: NewSpan,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  if (!isTraced()) return work(NO_SPAN)
  const current = currentSpan()
  const isPart = causes === undefined && (chargeId === undefined || current?.traceId === chargeId)
  const parent = isPart ? context.active() : traceOf(chargeId)
  const links = isPart ? [] : (causes ?? [current]).flatMap((cause) => (cause ? [{ context: cause }] : []))
  return tracer.startActiveSpan(name, { kind, attributes, links }, parent, async (span) => {
    try {
      return await work(span)
    } catch (error) {
      failSpan(span, nameOf(error))
      throw error
    } finally {
      span.end()
    }
  })
}

export function currentSpan(): SpanContext | undefined {
  return trace.getActiveSpan()?.spanContext()
}

export function describeSpan(attributes: Attributes): void {
  trace.getActiveSpan()?.setAttributes(attributes)
}

export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

export function withTraceparent(headers: Record<string, string>): Record<string, string> {
  if (!isTraced()) return headers
  const carrier = { ...headers }
  propagation.inject(context.active(), carrier)
  return carrier
}

const FLUSH_WITHIN_MS = 1_000

/** Exports what the SDK still holds. */
export async function flushSpans(): Promise<void> {
  const flushed = Promise.resolve(providerOf(trace.getTracerProvider()).forceFlush?.())
  await withTimeLimit(flushed, FLUSH_WITHIN_MS, () => new Error('The collector did not answer')).catch(() => {})
}

/**
 * The id of a charge is a trace id, so its spans meet in one trace although nothing of a trace is stored. The API makes
 * a span in a given trace only below a parent; this one stands for the charge, and is never exported.
 */
function traceOf(chargeId: string | undefined): Context {
  if (chargeId === undefined) return ROOT_CONTEXT
  const charge = { traceId: chargeId, spanId: chargeId.slice(16), traceFlags: TraceFlags.SAMPLED, isRemote: true }
  return trace.setSpanContext(ROOT_CONTEXT, charge)
}

/** The provider of the SDK, behind the one of the API. `forceFlush` is not in the API, but in every SDK. */
function providerOf(provider: TracerProvider & { getDelegate?(): TracerProvider }): TracerProvider & {
  forceFlush?(): Promise<void>
} {
  return provider.getDelegate?.() ?? provider
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
