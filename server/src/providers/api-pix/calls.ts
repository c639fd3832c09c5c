import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { ProviderError } from '../../domain/ports/provider.ts'
import { readProblem } from './messages.ts'
import { makeExchange, type ExchangeBounds, type ExchangeRequest } from '../http/exchange.ts'
import { makeGuard, type Guard, type GuardBounds, type Reply } from '../http/guard.ts'
import { makeHttpClient, type ClientCertificate, type HttpBounds } from '../http/client.ts'
import { basicCredentials, makeTokenSource } from './oauth.ts'
import { makeRepeat, type NotOk, type Repeat, type RepeatBounds } from '../http/retry.ts'

/** One call to API Pix, with its token, under the guard. */
export type ApiPixCalls = {
  call<Body>(request: ApiPixRequest<Body>): Promise<Reply<Body>>
  repeat: Repeat
  hasRoom: Guard['hasRoom']
  health: Guard['health']
  close(): Promise<void>
}

export type ApiPixRequest<Body> = Omit<ExchangeRequest<Body>, 'headers' | 'secrets'> & {
  /** Names the call in errors and logs. */
  operation: string
  headers?: Record<string, string>
  /** What must not show in an error besides our credentials. */
  secrets?: string[]
}

export type CallBounds = GuardBounds &
  RepeatBounds &
  HttpBounds &
  ExchangeBounds & {
    tokenTimeoutMs: number
    tokenMarginMs: number
  }

export type CallOptions = {
  name: string
  url: string
  tokenUrl: string
  clientId: string
  clientSecret: string
  tls?: ClientCertificate
  caPem?: string
  callsPerSecond: number
  now: () => Date
  random: () => number
  log: Log
  metrics?: Metrics | undefined
  bounds: CallBounds
}

const SCOPE = 'cob.write cob.read pix.read pix.write webhook.read webhook.write'

export function makeApiPixCalls(options: CallOptions): ApiPixCalls {
  const { bounds, now, clientId, clientSecret } = options
  const guard = makeGuard(options)
  const http = makeHttpClient({
    bounds,
    ...(options.tls ? { certificate: options.tls } : {}),
    ...(options.caPem === undefined ? {} : { caPem: options.caPem }),
  })
  const exchange = makeExchange({ http, url: options.url, readProblem, bounds, now })
  const tokens = makeTokenSource({
    http,
    tokenUrl: new URL(options.tokenUrl).href,
    clientId,
    clientSecret,
    scope: SCOPE,
    timeoutMs: bounds.tokenTimeoutMs,
    marginMs: bounds.tokenMarginMs,
    now,
  })
  const ourSecrets = [clientSecret, basicCredentials(clientId, clientSecret)]

  return {
    repeat: makeRepeat({ ...options, wait: (ms, deadline) => guard.wait(ms, deadline) }),
    hasRoom: (operation, deadline) => guard.hasRoom(operation, deadline),
    health: () => guard.health(),
    async call(request) {
      let token = ''
      const attempt = () =>
        guard.run(request.operation, request.deadline, async () => {
          const held = await tokens.get(request.deadline)
          if (held.kind !== 'ok') return held
          token = held.body
          return exchange({
            ...request,
            headers: { authorization: `Bearer ${token}`, ...request.headers },
            secrets: [...ourSecrets, token, ...(request.secrets ?? [])],
          })
        })
      const reply = await attempt()
      if (reply.kind !== 'refused' || reply.status !== 401 || token === '') return reply
      // The token ended before its time (revoked, or the PSP restarted). Once more with a new one; a second refusal is meant.
      tokens.drop(token)
      return attempt()
    },
    async close() {
      guard.close()
      await http.close()
    },
  }
}

/** A 404 that is not the PSP's own word is neither an absence nor a refusal. */
export function readError(calls: ApiPixCalls, operation: string, reply: NotOk): ProviderError {
  const error = calls.repeat.errorOf(operation, reply)
  return reply.kind === 'refused' && reply.status === 404 ? new ProviderError('unknown', error.message) : error
}
