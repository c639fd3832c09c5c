import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { makeOwnBuckets, type SharedBuckets } from '../../base/shared-buckets.ts'
import type { Tracer } from '../../base/tracer.ts'
import { ProviderError } from '../../domain/ports/provider.ts'
import { certificateExpiry, type ClientCertificate } from '../../base/client-certificate.ts'
import { makeHttpClient, type HttpClient } from './client.ts'
import type { Deadline } from './deadline.ts'
import { makeGuard, type Guard, type Reply } from './guard.ts'
import { makeSendJson, type Call, type RequestBounds } from './json-request.ts'
import { isRefusedWith, makeRetry, type NotOk, type WriteAttempt } from './retry.ts'
import type { Timings } from './timings.ts'
import { traceCalls } from './trace-calls.ts'

export function get<Body>(path: string, read: Call<Body>['read']): Call<Body> {
  return { method: 'GET', path, read }
}

/** `operation` names the call in errors, logs and metrics. */
export type CallBounds = RequestBounds & { operation: string }

/** Calls to one provider, with credentials, rate limit, breaker and retries. */
export type Calls = {
  once<Body>(call: Call<Body>, bounds: CallBounds): Promise<Reply<Body>>
  /** An idempotent call, with retries. */
  read<Body>(call: Call<Body>, bounds: CallBounds): Promise<Reply<Body>>
  /** As read(), but throws ProviderError unless there is a body. */
  readOrThrow<Body>(call: Call<Body>, bounds: CallBounds): Promise<Body>
  /** As readOrThrow(), for one thing by its id. */
  find<Body>(call: Call<Body>, bounds: CallBounds): Promise<Body | 'absent'>
  write<Body>(attempt: WriteAttempt<Body>): Promise<Body>
  /** The provider itself says so. A 404 of a proxy (wrong base URL, deployment in progress) does not count. */
  isAbsent(reply: Reply<unknown>): boolean
  errorOf(operation: string, reply: NotOk): ProviderError
  callsPerSecond: number
  certificateExpiresAt: Date | undefined
  hasRoom: Guard['hasRoom']
  isCallable: Guard['isCallable']
  health: Guard['health']
  close(): Promise<void>
}

export type Credentials = {
  /** Goes before the token in the authorization header. */
  scheme: '' | 'Bearer '
  token(deadline: Deadline): Promise<Reply<string>>
  /** For tokens that can be renewed: the provider rejected this one. */
  drop?(token: string): void
  secrets: string[]
}

export type CallsOptions = {
  name: string
  url: string
  /** 0: no limit. */
  callsPerSecond: number
  /** Without it, rate limit and breaker are those of one process. */
  limits?: SharedBuckets
  now: () => Date
  log: Log
  metrics?: Metrics | undefined
  tracer?: Tracer | undefined
  random?: () => number
  tls?: ClientCertificate
  /** An authority to trust besides the well-known ones. */
  caPem?: string
}

export function makeCalls(
  options: CallsOptions & {
    timings: Timings
    readProblem: (json: unknown) => string | undefined
    /** Statuses by which the provider says that an id does not exist. */
    absentStatuses: Set<number>
    makeCredentials: (http: HttpClient) => Credentials
  },
): Calls {
  const { absentStatuses, tracer, random = Math.random, limits = makeOwnBuckets() } = options
  const parts = { http: makeHttpClient(options), guard: makeGuard({ ...options, limits }) }
  const { http, guard } = tracer ? traceCalls(tracer, options.name, parts) : parts
  const credentials = options.makeCredentials(http)
  const sendJson = makeSendJson({ ...options, http, credentials })
  const { errorOf, ...retry } = makeRetry({ ...options, random, wait: guard.wait })

  async function once<Body>(call: Call<Body>, bounds: CallBounds): Promise<Reply<Body>> {
    const { operation, deadline } = bounds
    let token = ''
    const attempt = () =>
      guard.run(operation, deadline, async () => {
        const held = await credentials.token(deadline)
        if (held.kind !== 'ok') return held
        token = held.body
        return sendJson(call, bounds, token)
      })
    const reply = await attempt()
    if (reply.kind !== 'refused' || reply.status !== 401 || token === '' || !credentials.drop) return reply
    // The token ended early (revoked, or the provider restarted). A second refusal is final.
    credentials.drop(token)
    return attempt()
  }

  const isAbsent = (reply: Reply<unknown>) => isRefusedWith(reply, absentStatuses)

  const read = <Body>(call: Call<Body>, bounds: CallBounds) => retry.read(bounds.deadline, () => once(call, bounds))

  function bodyOf<Body>(reply: Reply<Body>, operation: string): Body {
    if (reply.kind === 'ok') return reply.body
    const error = errorOf(operation, reply)
    // A 404 that the provider did not write is neither an absence nor a refusal.
    const isStray = reply.kind === 'refused' && reply.status === 404 && !reply.isFromProvider
    throw isStray ? new ProviderError('unknown', error.message) : error
  }

  return {
    once,
    read,
    readOrThrow: async (call, bounds) => bodyOf(await read(call, bounds), bounds.operation),
    async find(call, bounds) {
      const reply = await read(call, bounds)
      return isAbsent(reply) ? 'absent' : bodyOf(reply, bounds.operation)
    },
    write: retry.write,
    isAbsent,
    errorOf,
    callsPerSecond: options.callsPerSecond,
    certificateExpiresAt: options.tls && certificateExpiry(options.tls),
    hasRoom: guard.hasRoom,
    isCallable: guard.isCallable,
    health: guard.health,
    async close() {
      guard.close()
      await http.close()
    },
  }
}
