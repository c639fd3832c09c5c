import type { LookupFunction } from 'node:net'
import type { WebhookSender, WebhookAnswer } from '../domain/ports/webhook-sender.ts'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import { makeNetworks } from './address.ts'
import { makeDialer } from './dial.ts'
import { makeExchange } from './exchange.ts'
import { STOPPING } from './reason.ts'
import { makeReceiver, type Receiver } from './connections.ts'
import { makeResolve } from './resolve.ts'
import { readUrl, type Target, type UrlRefusal } from './url.ts'

export type CourierOptions = {
  /** CIDRs that may be reached although they are special, and by plain http. */
  allowNetworks: string[]
  /** Plain http to public addresses. */
  allowHttp: boolean
  proxyUrl?: string
  now?: () => Date
  /** For tests: asked instead of the name servers. */
  lookup?: LookupFunction
  /** For tests: trusted besides the well-known authorities. */
  ca?: string
}

const DEADLINE_MS = 15_000

// Some megabytes at most, as a URL has 2 kB.
const MAX_URLS_REMEMBERED = 1_000
// Origins with open connections. Beyond it the one that was idle for longest makes room.
const MAX_ORIGINS = 500

/**
 * Posts to addresses that strangers hand in. Three things are judged: the URL as typed, every address that its name
 * resolves to, and the address that a connection ended up at, before anything is sent. Redirects are answers and are
 * not followed. Time, bytes and connections are bounded whatever the far side does, and whatever happens comes back as
 * a value.
 */
export function makeWebhookSender(options: CourierOptions): WebhookSender {
  const { proxyUrl, lookup, ca, now = () => new Date() } = options
  const networks = makeNetworks(options)
  const read = rememberTargets((url) => readUrl(url, networks))
  const dialer = makeDialer({
    networks,
    resolve: makeResolve(lookup ? { lookup } : {}),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(ca === undefined ? {} : { ca }),
  })
  const receivers = new Map<string, Receiver>()
  let uses = 0
  let closed = false

  function receiverOf(lane: string, origin: string): Receiver {
    const key = `${lane} ${origin}`
    const receiver = receivers.get(key) ?? addReceiver(key, origin)
    // Counted, and not kept in the order of the Map: one that is written for each delivery makes V8's garbage outlive
    // its youth.
    receiver.usedAt = ++uses
    return receiver
  }

  function addReceiver(key: string, origin: string): Receiver {
    if (receivers.size >= MAX_ORIGINS) dropLongestIdle()
    const abandoned = () => {
      // One that was dropped has perhaps been replaced.
      if (receivers.get(key) === receiver) receivers.delete(key)
    }
    const receiver = makeReceiver({ origin, dialer, abandoned })
    receivers.set(key, receiver)
    return receiver
  }

  // If all are busy there are more than MAX_ORIGINS for a while; the caller bounds how many.
  function dropLongestIdle() {
    const idle = [...receivers].filter(([, receiver]) => receiver.isIdle())
    const oldest = idle.toSorted(([, a], [, b]) => a.usedAt - b.usedAt)[0]
    if (!oldest) return
    receivers.delete(oldest[0])
    void oldest[1].close()
  }

  return {
    send({ url, headers, body, deadlineMs = DEADLINE_MS, lane = '' }) {
      if (closed) return Promise.resolve(failed(STOPPING))
      const target = read(url)
      if ('reason' in target) return Promise.resolve(failed(target.reason))
      return new Promise((done) => {
        const exchange = makeExchange({ deadlineMs, now, done })
        const taken = receiverOf(lane, target.origin).carry({ path: target.path, headers, body, exchange })
        if (!taken) exchange.giveUp(QUEUE_FULL)
      })
    },

    check(url) {
      const target = readUrl(url, networks)
      return 'reason' in target ? target : undefined
    },

    async close() {
      closed = true
      await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
      await dialer.close()
    },
  }
}

// The verdict on a URL's text never changes, and reaching it takes as long as a whole delivery on an open connection.
function rememberTargets(read: (url: string) => Target | UrlRefusal): (url: string) => Target | UrlRefusal {
  const known = new Map<string, Target>()
  return (url) => {
    const remembered = known.get(url)
    if (remembered) return remembered
    const target = read(url)
    // A refused one may be of any length, and is not worth it.
    if ('reason' in target) return target
    if (known.size >= MAX_URLS_REMEMBERED) known.clear()
    known.set(url, target)
    return target
  }
}

const QUEUE_FULL = makeReason('queue_full', 'too many deliveries are waiting for this receiver')

function failed(reason: Reason): WebhookAnswer {
  return { kind: 'failed', latencyMs: 0, reason }
}
