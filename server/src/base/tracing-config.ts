import { SAMPLERS, type Sampling } from './trace-context.ts'
import { oneOf, refusal, secret, text, url, type Env } from './variables.ts'

/** Where spans go, by the variables of OpenTelemetry. */
export type TracingConfig = {
  url: string
  /** Sent to the collector. They may hold its key. */
  headers: Record<string, string>
  /** What all spans share, the name of the service among them. */
  resource: Record<string, string>
  sampling: Sampling
}

/** Undefined: no tracing. */
export function readTracing(env: Env): TracingConfig | undefined {
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT) return undefined
  // Over HTTP a collector takes JSON wherever it takes protobuf. gRPC has another port.
  oneOf(env, 'OTEL_EXPORTER_OTLP_PROTOCOL', ['http/json', 'http/protobuf'], 'http/json')
  const resource = pairs('OTEL_RESOURCE_ATTRIBUTES', env.OTEL_RESOURCE_ATTRIBUTES)
  return {
    url: `${url(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')}/v1/traces`,
    headers: pairs('OTEL_EXPORTER_OTLP_HEADERS', secret(env, 'OTEL_EXPORTER_OTLP_HEADERS')),
    resource: { ...resource, 'service.name': text(env, 'OTEL_SERVICE_NAME', resource['service.name'] ?? 'guiche') },
    sampling: {
      sampler: oneOf(env, 'OTEL_TRACES_SAMPLER', [...SAMPLERS], 'parentbased_always_on'),
      ratio: share(env, 'OTEL_TRACES_SAMPLER_ARG'),
    },
  }
}

/** `name=value,name=value`, with values as in a URL. A refusal quotes none of it, because it may be a key. */
function pairs(name: string, text = ''): Record<string, string> {
  const parts = text.split(',').filter((part) => part.trim() !== '')
  return Object.fromEntries(
    parts.map((part) => {
      const [, key, value = ''] = /^\s*([^=\s]+)\s*=(.*)$/.exec(part) ?? []
      if (key === undefined) throw refusal(name, 'must look like name=value,name=value')
      try {
        return [key, decodeURIComponent(value.trim())]
      } catch {
        throw refusal(name, `must have values as in a URL: that of ${key} has a % that is no code`)
      }
    }),
  )
}

function share(env: Env, name: string): number {
  const value = env[name]
  if (!value) return 1
  const parsed = /^\d(\.\d{1,15})?$/.test(value) ? Number(value) : Number.NaN
  if (!(parsed <= 1)) throw refusal(name, `must be a number from 0 to 1, such as 0.05, not ${JSON.stringify(value)}`)
  return parsed
}
