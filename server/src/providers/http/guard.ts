import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCollapsedLog } from '../../base/collapsed-log.ts'
import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import type { SharedBuckets } from '../../base/shared-buckets.ts'
import type { ProviderHealth } from '../../domain/ports/provider.ts'
import { makeBreaker, type Verdict } from './breaker.ts'
import type { Deadline } from './deadline.ts'
import { makeRateLimit, rateOf, type RateLimitCall } from './rate-limit.ts'
import type { Timings } from './timings.ts'

/** The outcome of one call. */
export type Reply<Body> =
  | { kind: 'ok'; body: Body }
  | Refused
  /** 429: not done. */
  | { kind: 'busy'; retryAfterMs: number }
  | Failed

/** A 4xx. `isFromProvider`: written by the provider (JSON), and not by a proxy before it. */
export type Refused = { kind: 'refused'; status: number; isFromProvider: boolean; text: string }

/** No usable response. */
export type Failed = {
  kind: 'failed'
  /** The provider may have done it. */
  wasSent: boolean
  /** Counts for the breaker. */
  isProviderFault: boolean
  isRetryable: boolean
  /** The guard did not let it out. */
  isWithheld?: true
  /** The breaker did not let it out. */
  isDown?: true
  /** The rate limit did not let it out. */
  isOverloaded?: true
  text: string
}

/** Breaker, rate limit and health of a provider. */
export type Guard = {
  /** Makes the call if breaker and rate limit allow it. */
  run<Body>(operation: string, deadline: Deadline, call: () => Promise<Reply<Body>>): Promise<Reply<Body>>
  /** False when the rate limit would refuse the call at once. */
  hasRoom(operation: string, deadline: Deadline): boolean
  /** False when the breaker would refuse a call at once. */
  isCallable(): boolean
  /** False at once when the pause does not fit the deadline; false also when the guard closes meanwhile. */
  wait(ms: number, deadline: Deadline): Promise<boolean>
  health(): ProviderHealth
  close(): void
}

export function makeGuard(options: {
  name: string
  callsPerSecond: number
  timings: Pick<Timings, 'breakerFailures' | 'breakerCoolDownMs' | 'rateLimitMaxWaiting'>
  limits: SharedBuckets
  now: () => Date
  log: Log
  metrics?: Metrics | undefined
}): Guard {
  const { name, callsPerSecond, timings, now, log, metrics } = options
  const closing = new AbortController()
  // One listener per pause, and pauses are bounded elsewhere. Node would warn of a leak beyond ten.
  setMaxListeners(0, closing.signal)
  let lastError: string | null = null
  let lastSuccessAt: Date | null = null
  let isKnownDown = false
  const outage = makeCollapsedLog(
    log,
    { began: 'provider call failed', ended: 'the provider works again', fields: { provider: name } },
    () => now().getTime(),
  )
  const breaker = makeBreaker({
    failures: timings.breakerFailures,
    coolDownMs: timings.breakerCoolDownMs,
    now,
    onChange(state, isOwn) {
      if (!isOwn) lastError = 'another process found the provider down'
      // A probe every few seconds is part of the outage.
      const isNews = state !== 'half-open' && isKnownDown !== (state === 'open')
      isKnownDown = state !== 'closed'
      log[isNews ? 'warn' : 'debug']({ provider: name, breaker: state, lastError }, `provider breaker is ${state}`)
      if (state === 'open' && isOwn) bucket.announceOpen(timings.breakerCoolDownMs)
    },
  })
  const bucket = options.limits.bucket(`provider:${name}`, rateOf(callsPerSecond), {
    isDivided: true,
    onOpen: breaker.openWithOther,
  })
  const rateLimit = makeRateLimit({
    callsPerSecond,
    bucket,
    maxWaiting: timings.rateLimitMaxWaiting,
    now,
    sleep: (ms) => sleep(ms),
  })

  function record(operation: string, reply: Reply<unknown>) {
    if (reply.kind === 'ok') {
      lastSuccessAt = now()
      outage.worked()
    } else if (reply.kind === 'failed' || (reply.kind === 'refused' && isAccessDenied(reply.status))) {
      lastError = `${operation}: ${reply.text}`
      outage.failed(reply.text, { operation, text: reply.text })
    }
  }

  function isDown(operation: string): Failed {
    outage.failed('down', { operation, text: 'held back by the breaker' })
    return { ...withheld(`the provider is down, retried later (${lastError ?? 'breaker open'})`), isDown: true }
  }

  async function runGuarded<Body>(operation: string, deadline: Deadline, call: () => Promise<Reply<Body>>) {
    if (!breaker.mayEnter()) return isDown(operation)
    const seconds = stopwatch()
    const hasTurn = await rateLimit.acquire(shareOf(operation, deadline))
    metrics?.budgetWaitSeconds.inc({ provider: name }, seconds())
    if (closing.signal.aborted) return withheld('closed')
    if (!hasTurn) return { ...withheld('rate limit: too many calls per second'), isOverloaded: true } as const
    // After the wait. A probe in the queue would block all others, and queued calls would reach a failed provider.
    const report = breaker.enter()
    if (!report) return isDown(operation)
    let verdict: Verdict = 'none'
    try {
      const reply = await call()
      verdict = reply.kind !== 'failed' ? 'healthy' : reply.isProviderFault ? 'faulty' : 'none'
      record(operation, reply)
      return reply
    } finally {
      // Another process may know more. Where calls are not counted, nothing else asks.
      if (verdict === 'faulty') bucket.ask()
      report(verdict)
    }
  }

  return {
    async run(operation, deadline, call) {
      const seconds = stopwatch()
      const reply = await runGuarded(operation, deadline, call)
      const outcome = reply.kind === 'failed' && reply.isWithheld ? 'withheld' : reply.kind
      metrics?.providerSeconds.observe({ provider: name, operation, outcome }, seconds())
      return reply
    },
    hasRoom: (operation, deadline) => rateLimit.hasRoom(shareOf(operation, deadline)),
    isCallable: breaker.mayEnter,
    async wait(ms, deadline) {
      if (ms >= deadline.remainingMs()) return false
      return sleep(ms, true, { signal: closing.signal }).catch(() => false)
    },
    health: () => ({ breaker: breaker.state(), lastError, lastSuccessAt }),
    close() {
      closing.abort()
      rateLimit.close()
    },
  }
}

const WRITES = new Set(['create', 'cancel', 'refund'])

// Accounts share the rate for calls that their callers wait for. Background work takes turns by operation.
function shareOf(operation: string, { onBehalfOf, remainingMs }: Deadline): RateLimitCall {
  if (onBehalfOf === undefined) return { priority: 'background', sharer: operation, remainingMs: remainingMs() }
  const priority = WRITES.has(operation) ? 'write' : 'read'
  return { priority, sharer: onBehalfOf, remainingMs: remainingMs() }
}

// On the monotonic clock, as deadlines are.
function stopwatch(): () => number {
  const beganAtMs = performance.now()
  return () => (performance.now() - beganAtMs) / 1000
}

function isAccessDenied(status: number): boolean {
  return status === 401 || status === 403
}

function withheld(text: string): Failed {
  return { kind: 'failed', wasSent: false, isProviderFault: false, isRetryable: false, isWithheld: true, text }
}
