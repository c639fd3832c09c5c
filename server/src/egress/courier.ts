import type { LookupFunction } from 'node:net'
import { makeNetworks } from './address.ts'
import { makeDialer } from './dial.ts'
import { makeExchange, type CourierAnswer } from './exchange.ts'
import { makeReceiver, type Receiver } from './receiver.ts'
import { makeResolve } from './resolve.ts'
import { readUrl, type Target, type UrlRefusal } from './url.ts'

export type { CourierAnswer, UrlRefusal }

/**
 * Posts to addresses that strangers hand in. Three things are judged: the URL as typed, every address that its name resolves to, and the
 * address that a connection ended up at, before anything is sent. Redirects are answers and are not followed. Time, bytes and
 * connections are bounded whatever the far side does, and whatever happens comes back as a value.
 */
export type Courier = {
  send(request: CourierRequest): Promise<CourierAnswer>
  /** What is wrong with a URL on the face of it, for saving an endpoint. What its name resolves to is judged at each delivery. */
  check(url: string): UrlRefusal | undefined
  /** Breaks off what is under way. */
  close(): Promise<void>
}

/** `headers`: without `host`, which follows from the URL. */
export type CourierRequest = {
  url: string
  headers: Record<string, string>
  body: string | Buffer
  deadlineMs?: number
}

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

// Some megabytes at most.
const MAX_URLS_REMEMBERED = 1_000
// Origins with open connections. Beyond it the one that was idle for longest makes room.
const MAX_ORIGINS = 500

export function makeCourier(options: CourierOptions): Courier {
  const { proxyUrl, lookup, ca, now = () => new Date() } = options
  const networks = makeNetworks(options)
  const read = rememberUrls((url) => readUrl(url, networks))
  const dialer = makeDialer({
    networks,
    resolve: makeResolve(lookup ? { lookup } : {}),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(ca === undefined ? {} : { ca }),
  })
  const receivers = new Map<string, Receiver>()
  let uses = 0
  let closed = false

  function receiverOf(origin: string): Receiver {
    const receiver = receivers.get(origin) ?? addReceiver(origin)
    // Counted, and not kept in the order of the Map: one that is written for each delivery makes V8's garbage outlive its youth.
    receiver.usedAt = ++uses
    return receiver
  }

  function addReceiver(origin: string): Receiver {
    if (receivers.size >= MAX_ORIGINS) dropLongestIdle()
    const abandoned = () => {
      // One that was dropped has perhaps been replaced.
      if (receivers.get(origin) === receiver) receivers.delete(origin)
    }
    const receiver = makeReceiver({ origin, dialer, abandoned })
    receivers.set(origin, receiver)
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
    async send({ url, headers, body, deadlineMs = DEADLINE_MS }) {
      if (closed) return failed('the service is stopping')
      const target = read(url)
      if ('reason' in target) return failed(target.reason)
      return new Promise((done) => {
        const exchange = makeExchange({ deadlineMs, now, done })
        const taken = receiverOf(target.origin).carry({ path: target.path, headers, body, exchange })
        if (!taken) exchange.giveUp('too many deliveries are waiting for this receiver')
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

// The verdict on a URL's text never changes, and reaching it for each delivery would take a third of the throughput.
function rememberUrls(read: (url: string) => Target | UrlRefusal): (url: string) => Target | UrlRefusal {
  const known = new Map<string, Target | UrlRefusal>()
  return (url) => {
    let target = known.get(url)
    if (target) return target
    if (known.size >= MAX_URLS_REMEMBERED) known.clear()
    target = read(url)
    known.set(url, target)
    return target
  }
}

function failed(reason: string): CourierAnswer {
  return { kind: 'failed', latencyMs: 0, reason }
}
