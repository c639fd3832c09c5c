import { setMaxListeners } from 'node:events'
import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import type { ProviderHealth } from '../../domain/ports/provider.ts'
import { makeBreaker, type Verdict } from './breaker.ts'
import { makeBudget, type Lane } from './rate-limit.ts'
import { pause, type Deadline } from './deadline.ts'

/** What came of one call. */
export type Reply<Body> =
  | { kind: 'ok'; body: Body }
  /** A 4xx. `isFromProvider`: in the provider's own words (JSON), and not a page of some proxy before it. */
  | Refused
  /** 429: not done, ask again later. */
  | { kind: 'busy'; retryAfterMs: number }
  | Failed

export type Refused = { kind: 'refused'; status: number; isFromProvider: boolean; text: string }

/**
 * No answer that can be used. `sent`: it may have been done all the same. `fault`: the provider's own, and counted by its breaker.
 * `again`: worth another try. `isWithheld`: by the guard, which did not let it out. `isOverloaded`: because our own budget is spent.
 */
export type Failed = {
  kind: 'failed'
  sent: boolean
  fault: boolean
  again: boolean
  isWithheld?: true
  isOverloaded?: true
  text: string
}

export type GuardBounds = {
  breakerFaults: number
  breakerCoolDownMs: number
  budgetMaxWaiting: number
}

/** Stands between an adapter and its HTTP calls: breaker, budget and health. */
export type Guard = {
  /** One call, if breaker and budget let it out. */
  run<Body>(operation: string, deadline: Deadline, call: () => Promise<Reply<Body>>): Promise<Reply<Body>>
  /** False when such a call would be refused at once for want of capacity. */
  hasRoom(operation: string, deadline: Deadline): boolean
  /** A pause between calls; false at once when it does not fit the deadline, or when the guard is closed meanwhile. */
  wait(ms: number, deadline: Deadline): Promise<boolean>
  health(): ProviderHealth
  close(): void
}

export function makeGuard(options: {
  name: string
  callsPerSecond: number
  bounds: GuardBounds
  now: () => Date
  log: Log
  metrics?: Metrics | undefined
}): Guard {
  const { name, bounds, now, log, metrics } = options
  const closing = new AbortController()
  // As many listen as calls pause at once, which is bounded elsewhere; Node would warn of a leak from the eleventh on.
  setMaxListeners(0, closing.signal)
  let lastError: string | null = null
  let lastSuccessAt: Date | null = null
  const breaker = makeBreaker({
    faults: bounds.breakerFaults,
    coolDownMs: bounds.breakerCoolDownMs,
    now,
    changed: (state) =>
      log.warn({ provider: name, breaker: state, lastError }, `the breaker of the provider is ${state}`),
  })
  const budget = makeBudget({
    callsPerSecond: options.callsPerSecond,
    maxWaiting: bounds.budgetMaxWaiting,
    now,
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  })

  function note(operation: string, reply: Reply<unknown>) {
    if (reply.kind === 'ok') lastSuccessAt = now()
    else if (reply.kind === 'failed' || (reply.kind === 'refused' && isOurAccess(reply.status))) {
      lastError = `${operation}: ${reply.text}`
      log.warn({ provider: name, operation, text: reply.text }, 'a call to the provider failed')
    }
  }

  async function runGuarded<Body>(operation: string, deadline: Deadline, call: () => Promise<Reply<Body>>) {
    const isDown = () => withheld(`the provider is down, asked again later (${lastError ?? 'breaker open'})`)
    if (!breaker.mayEnter()) return isDown()
    const seconds = stopwatch()
    const hasTurn = await budget.take({ ...shareOf(operation, deadline), remainingMs: deadline.remainingMs() })
    metrics?.budgetWaitSeconds.inc({ provider: name }, seconds())
    if (closing.signal.aborted) return withheld('closed')
    if (!hasTurn) return { ...withheld('budget: too many calls per second'), isOverloaded: true } as const
    // After the wait: a probe that stands in the queue would keep everybody else out, and calls that queued up before the provider failed
    // would all go out to it.
    const pass = breaker.enter()
    if (!pass) return isDown()
    let verdict: Verdict = 'none'
    try {
      const reply = await call()
      verdict = reply.kind !== 'failed' ? 'healthy' : reply.fault ? 'faulty' : 'none'
      note(operation, reply)
      return reply
    } finally {
      pass(verdict)
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
    hasRoom: (operation, deadline) =>
      budget.hasRoom({ ...shareOf(operation, deadline), remainingMs: deadline.remainingMs() }),
    wait: (ms, deadline) => pause(ms, deadline, closing.signal),
    health: () => ({ breaker: breaker.state(), lastError, lastSuccessAt }),
    close() {
      closing.abort()
      budget.close()
    },
  }
}

const WRITES = new Set(['create', 'cancel', 'refund'])

// Accounts share what their callers wait for. Work in the background takes turns by its kind, so that checks do not hold up sweeps.
function shareOf(operation: string, { onBehalfOf }: Deadline): { lane: Lane; sharer: string } {
  if (onBehalfOf === undefined) return { lane: 'background', sharer: operation }
  return { lane: WRITES.has(operation) ? 'write' : 'read', sharer: onBehalfOf }
}

// On the monotonic clock, as deadlines are.
function stopwatch(): () => number {
  const begunAtMs = performance.now()
  return () => (performance.now() - begunAtMs) / 1000
}

function isOurAccess(status: number): boolean {
  return status === 401 || status === 403
}

function withheld(text: string): Failed {
  return { kind: 'failed', sent: false, fault: false, again: false, isWithheld: true, text }
}
