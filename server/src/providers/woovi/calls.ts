import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { ProviderError } from '../../domain/ports/provider.ts'
import { makeExchange, type ExchangeRequest } from '../http/exchange.ts'
import { makeGuard, type Guard, type Reply } from '../http/guard.ts'
import { makeHttpClient } from '../http/client.ts'
import { makeRepeat, type NotOk, type Repeat } from '../http/retry.ts'
import type { TellUnread } from '../http/unread.ts'
import { readProblem } from './messages.ts'
import type { WooviTimings } from './timings.ts'

/** What the operations of the adapter share. */
export type WooviAdapter = {
  name: string
  calls: WooviCalls
  timings: WooviTimings
  tellUnread: TellUnread
}

/** One call to Woovi, with our AppID, under the guard. */
export type WooviCalls = {
  call<Body>(request: WooviRequest<Body>): Promise<Reply<Body>>
  repeat: Repeat
  hasRoom: Guard['hasRoom']
  health: Guard['health']
  close(): Promise<void>
}

export type WooviRequest<Body> = Omit<ExchangeRequest<Body>, 'headers' | 'secrets'> & {
  /** Names the call in errors and logs. */
  operation: string
  /** What must not show in an error besides our AppID. */
  secrets?: string[]
}

export function makeWooviCalls(options: {
  name: string
  url: string
  appId: string
  callsPerSecond: number
  now: () => Date
  random: () => number
  log: Log
  metrics?: Metrics | undefined
  bounds: WooviTimings
}): WooviCalls {
  const { bounds, appId, now } = options
  const guard = makeGuard(options)
  const http = makeHttpClient({ bounds })
  const exchange = makeExchange({ http, url: options.url, readProblem, bounds, now })
  return {
    repeat: makeRepeat({ ...options, wait: (ms, deadline) => guard.wait(ms, deadline) }),
    hasRoom: (operation, deadline) => guard.hasRoom(operation, deadline),
    health: () => guard.health(),
    call: (request) =>
      guard.run(request.operation, request.deadline, () =>
        exchange({
          ...request,
          // The bare AppID, without a scheme before it.
          headers: { authorization: appId },
          secrets: [appId, ...(request.secrets ?? [])],
        }),
      ),
    async close() {
      guard.close()
      await http.close()
    },
  }
}

/**
 * The answer to a question for one thing by its id. Woovi has no 404 of its own: it says 400 for an id that it does not know, and there is
 * nothing else in such a question that could be wrong.
 */
export function askedById<Body>(reply: Reply<Body>): Reply<Body> {
  return reply.kind === 'refused' && reply.status === 400 && reply.isFromProvider ? { ...reply, status: 404 } : reply
}

/** A 404 that is not Woovi's own word is neither an absence nor a refusal. */
export function readError({ calls }: WooviAdapter, operation: string, reply: NotOk): ProviderError {
  const error = calls.repeat.errorOf(operation, reply)
  const isStrange = reply.kind === 'refused' && reply.status === 404 && !reply.isFromProvider
  return isStrange ? new ProviderError('unknown', error.message) : error
}
