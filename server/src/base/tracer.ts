import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { isSampled, type Sampling, type SpanContext } from './trace-context.ts'

/**
 * Spans of OpenTelemetry. Only made when tracing is on, so that nobody else pays for it: the rest of the service finds
 * no tracer, and does without.
 *
 * Attributes are names from the code and the configuration, statuses, and ids. Never a URL, a header, a body, or the
 * text of an error: these hold keys, secrets and names of payers.
 */
export type Tracer = {
  /** Runs the work in a span of its own, which is the current one until the work ends. */
  span<Result>(about: NewSpan, work: (span: Span) => Promise<Result>): Promise<Result>
  /** Work for many at once: a trace of its own, linked to each of them, and recorded if one of them is. */
  batch<Result>(about: Batch, work: () => Promise<Result>): Promise<Result>
  /** For work that no function encloses. The caller ends the span. */
  begin(about: NewSpan): Span
  /** Runs the work with this span as the current one. */
  within<Result>(span: Span, work: () => Result): Result
  current(): Span | undefined
  /** Exports what is left, for a short time. */
  close(): Promise<void>
}

export type NewSpan = {
  name: string
  kind?: SpanKind
  /** The span that this one is a part of. Default: the current one. Null: none. */
  parent?: SpanContext | null | undefined
  /**
   * The trace that it belongs to. If its parent is in another one, it is linked to the parent and has none.
   * Default: the trace of the parent, or a new one.
   */
  traceId?: string | undefined
  /** What else caused it. */
  links?: SpanContext[]
  /** Default: as the sampler decides. */
  isSampled?: boolean
  attributes?: Attributes
}

export type Batch = Pick<NewSpan, 'name' | 'attributes'> & { causes: (SpanContext | undefined)[] }

export type SpanKind = 'internal' | 'server' | 'client'
export type Attributes = Record<string, string | number | boolean | null | undefined>

export type Span = SpanContext & {
  set(attributes: Attributes): void
  /** Marks it as failed. `type` is a code or the name of an error. */
  fail(type: string): void
  end(): void
}

/** As it is exported. Times are in milliseconds since 1970. */
export type EndedSpan = Pick<SpanContext, 'traceId' | 'spanId'> & {
  parentSpanId: string | undefined
  name: string
  kind: SpanKind
  startedMs: number
  endedMs: number
  attributes: Attributes
  links: SpanContext[]
  error: string | undefined
}

export type SpanExporter = { add(span: EndedSpan): void; close(): Promise<void> }

// The bound of OpenTelemetry.
const MAX_LINKS = 128

export function makeTracer({ sampling, exporter }: { sampling: Sampling; exporter: SpanExporter }): Tracer {
  const storage = new AsyncLocalStorage<Span>()

  function begin(about: NewSpan): Span {
    const cause = about.parent === undefined ? storage.getStore() : (about.parent ?? undefined)
    const isElsewhere = about.traceId !== undefined && cause !== undefined && cause.traceId !== about.traceId
    const parent = isElsewhere ? undefined : cause
    const traceId = parent?.traceId ?? about.traceId ?? newId(16)
    const context = {
      traceId,
      spanId: newId(8),
      isSampled: about.isSampled ?? isSampled(sampling, traceId, parent),
    }
    if (!context.isSampled) return { ...context, set() {}, fail() {}, end() {} }
    const causes = [...(isElsewhere ? [cause] : []), ...(about.links ?? [])]
    const links = causes.filter((link) => link.isSampled).slice(0, MAX_LINKS)
    return recordSpan(about, { ...context, parentSpanId: parent?.spanId, links }, exporter)
  }

  const within: Tracer['within'] = (span, work) => storage.run(span, work)

  const run: Tracer['span'] = async (about, work) => {
    const span = begin(about)
    try {
      return await within(span, () => work(span))
    } catch (error) {
      span.fail(nameOf(error))
      throw error
    } finally {
      span.end()
    }
  }

  return {
    begin,
    within,
    span: run,
    batch({ causes, ...about }, work) {
      const links = causes.filter((cause) => cause !== undefined)
      return run({ ...about, parent: null, links, isSampled: links.some((link) => link.isSampled) }, work)
    },
    current: () => storage.getStore(),
    close: exporter.close,
  }
}

type Place = SpanContext & Pick<EndedSpan, 'parentSpanId' | 'links'>

function recordSpan(
  { name, kind = 'internal', attributes: given }: NewSpan,
  place: Place,
  exporter: SpanExporter,
): Span {
  const startedMs = nowMs()
  const attributes = { ...given }
  const { parentSpanId, links, ...context } = place
  const { traceId, spanId } = context
  let error: string | undefined
  let isEnded = false
  return {
    ...context,
    set: (more) => void Object.assign(attributes, more),
    fail: (type) => void (error = type),
    end() {
      if (isEnded) return
      isEnded = true
      const endedMs = nowMs()
      exporter.add({ traceId, spanId, parentSpanId, name, kind, startedMs, endedMs, attributes, links, error })
    },
  }
}

/** Of our own errors the code, which says more than the name. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** To the microsecond, and never backwards. */
function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

function newId(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}
