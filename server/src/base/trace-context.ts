/** The place of a span in its trace, as W3C Trace Context passes it on: 32 and 16 hexadecimal digits. */
export type SpanContext = { traceId: string; spanId: string; isSampled: boolean }

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined unless the header is valid. A later version of the format may have more fields. */
export function readTraceparent(header: string | string[] | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(String(header).trim()) ?? []
  const isKnown = version === '00' ? more === undefined : version !== undefined && version !== 'ff'
  if (!isKnown || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (parseInt(flags, 16) & 1) === 1 }
}

export function writeTraceparent({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${isSampled ? 1 : 0}`
}

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** Which traces are recorded, by the names of OpenTelemetry. `ratio`, from 0 to 1, is for those that end in it. */
export type Sampling = { sampler: (typeof SAMPLERS)[number]; ratio: number }

/** Depends on the id of a trace alone where it has no parent, so all processes decide alike. */
export function isSampled(
  { sampler, ratio }: Sampling,
  traceId: string,
  parent: Pick<SpanContext, 'isSampled'> | undefined,
): boolean {
  if (parent && sampler.startsWith('parentbased_')) return parent.isSampled
  if (sampler.endsWith('always_on')) return true
  if (sampler.endsWith('always_off')) return false
  // The last 56 bits are random, as the standard has it.
  return parseInt(traceId.slice(-14), 16) >= (1 - ratio) * 2 ** 56
}
