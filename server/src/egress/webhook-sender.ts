import type { LookupFunction } from 'node:net'
import type { WebhookSender, WebhookAnswer } from '../domain/ports/webhook-sender.ts'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import { makeNetworks } from './address.ts'
import { makeConnectionPool, type ConnectionPool } from './connections.ts'
import { makeDialer } from './dial.ts'
import { STOPPING } from './reason.ts'
import { makePendingRequest } from './request.ts'
import { makeResolve } from './resolve.ts'
import { readUrl, type Target, type UrlRefusal } from './url.ts'

export type WebhookSenderOptions = {
  /** CIDRs that may be reached although they are special, and by plain http. */
  allowNetworks: string[]
  /** Plain http to public addresses. */
  allowHttp: boolean
  /** Whether users may read what servers in `allowNetworks` answer, which may be meant for nobody outside. */
  showsPrivateAnswers?: boolean
  proxyUrl?: string
  now?: () => Date
  /** For tests: replaces DNS. */
  lookup?: LookupFunction
  /** For tests: trusted besides the well-known authorities. */
  ca?: string
}

// At 2 kB per URL, some megabytes at most.
const MAX_CACHED_URLS = 1_000
// Past this, the pool that was idle for longest is closed.
const MAX_POOLS = 500

const QUEUE_FULL = makeReason('queue_full', 'too many deliveries are waiting for this receiver')

/**
 * Posts to URLs that users typed. It checks the URL as written, every address that the name resolves to, and the
 * address of the connection, before it sends anything. It does not follow redirects. Time, bytes and connections are
 * bounded.
 */
export function makeWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { proxyUrl, lookup, ca, now = () => new Date(), showsPrivateAnswers = false } = options
  const networks = makeNetworks(options)
  const readCached = cacheTargets((url) => readUrl(url, networks))
  const dialer = makeDialer({
    networks,
    resolve: makeResolve(lookup ? { lookup } : {}),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(ca === undefined ? {} : { ca }),
  })
  const pools = new Map<string, ConnectionPool>()
  let uses = 0
  let isClosed = false

  function poolOf(connectionGroup: string, origin: string): ConnectionPool {
    const key = `${connectionGroup} ${origin}`
    const pool = pools.get(key) ?? addPool(key, origin)
    // A counter is cheaper than reordering the Map for each delivery: that keeps garbage alive in V8.
    pool.usedAt = ++uses
    return pool
  }

  function addPool(key: string, origin: string): ConnectionPool {
    if (pools.size >= MAX_POOLS) dropLongestIdle()
    const onEmpty = () => {
      // A dropped pool may have been replaced.
      if (pools.get(key) === pool) pools.delete(key)
    }
    const pool = makeConnectionPool({ origin, dialer, onEmpty })
    pools.set(key, pool)
    return pool
  }

  // If all are busy there are more than MAX_POOLS for a while; the caller bounds how many.
  function dropLongestIdle() {
    const idle = [...pools].filter(([, pool]) => pool.isIdle())
    const oldest = idle.toSorted(([, a], [, b]) => a.usedAt - b.usedAt)[0]
    if (!oldest) return
    pools.delete(oldest[0])
    void oldest[1].close()
  }

  return {
    send({ url, headers, body, deadlineMs, connectionGroup }) {
      if (isClosed) return Promise.resolve(failed(STOPPING))
      const target = readCached(url)
      if ('reason' in target) return Promise.resolve(failed(target.reason))
      return new Promise((resolve) => {
        const pending = makePendingRequest({ deadlineMs, now, showsPrivateAnswers, resolve })
        const isAccepted = poolOf(connectionGroup, target.origin).send({ path: target.path, headers, body, pending })
        if (!isAccepted) pending.abort(QUEUE_FULL)
      })
    },

    check(url) {
      const target = readUrl(url, networks)
      return 'reason' in target ? target : undefined
    },

    async close() {
      isClosed = true
      await Promise.all([...pools.values()].map((pool) => pool.close()))
      await dialer.close()
    },
  }
}

// The result for a URL never changes, and costs as much as a delivery on an open connection.
function cacheTargets(read: (url: string) => Target | UrlRefusal): (url: string) => Target | UrlRefusal {
  const cache = new Map<string, Target>()
  return (url) => {
    const cached = cache.get(url)
    if (cached) return cached
    const target = read(url)
    // A refused URL may be of any length, so it is not kept.
    if ('reason' in target) return target
    if (cache.size >= MAX_CACHED_URLS) cache.clear()
    cache.set(url, target)
    return target
  }
}

function failed(reason: Reason): WebhookAnswer {
  return { kind: 'failed', latencyMs: 0, reason }
}
