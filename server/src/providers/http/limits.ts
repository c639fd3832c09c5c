import { setTimeout as sleep } from 'node:timers/promises'
import { makeCollapsedLog } from '../../base/collapsed-log.ts'
import type { Log } from '../../base/log.ts'
import type { SharedBucket, SharedBuckets, Rate } from '../../base/token-buckets.ts'
import type { ProviderHealth } from '../../domain/ports/provider.ts'

/** The bounds of an adapter. Tests pass smaller ones. */
export type Timings = typeof DEFAULT_TIMINGS

export const DEFAULT_TIMINGS = {
  // A payer tries again after about this long.
  createDeadlineMs: 8_000,
  // Half of the deadline is left to look up the outcome.
  writeTimeoutMs: 4_000,
  // Then the query is answered from the database.
  checkDeadlineMs: 3_000,
  cancelDeadlineMs: 8_000,
  // A thousand Pix take a bank a while.
  listDeadlineMs: 20_000,
  refundDeadlineMs: 15_000,
  // Some providers call the new URL before they answer.
  registerDeadlineMs: 20_000,
  pageSize: 1_000,
  // Half a million Pix in one window.
  maxPages: 500,
  // With one failure in three, 96 % of reads and writes still succeed.
  readAttempts: 3,
  writeAttempts: 3,
  backoffBaseMs: 100,
  backoffCapMs: 1_000,
  // Ten failures in a row are not chance. A restart of the provider takes about five seconds.
  breakerFailures: 10,
  breakerCoolDownMs: 5_000,
  // A time-out shorter than this says nothing about the provider.
  fairTimeoutMs: 1_000,
  // At 10 calls per second, the lowest limit known, these wait longer than any deadline.
  rateLimitMaxWaiting: 200,
  // For a 429 without Retry-After.
  defaultRetryAfterMs: 1_000,
  // At 200 ms per call these carry 300 calls per second, more than any provider allows.
  connections: 64,
  maxPending: 1_000,
  maxResponseBytes: 4 * 1024 * 1024,
  connectTimeoutMs: 5_000,
}

/** The processes on one database share breaker and rate limit. */
export function makeLimits(options: {
  name: string
  /** 0: no limit. */
  callsPerSecond: number
  timings: Pick<Timings, 'breakerFailures' | 'breakerCoolDownMs' | 'rateLimitMaxWaiting'>
  limits: SharedBuckets
  now: () => Date
  log: Log
}) {
  const { name, callsPerSecond, timings, now, log } = options
  let lastError: string | null = null
  let lastErrorAt: Date | null = null
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
  const maxWaiting = timings.rateLimitMaxWaiting

  return {
    breaker,
    rateLimit: makeRateLimit({ callsPerSecond, bucket, maxWaiting, now, sleep: (ms) => sleep(ms) }),
    succeeded() {
      lastSuccessAt = now()
      outage.worked()
    },
    failed(operation: string, text: string) {
      lastError = `${operation}: ${text}`
      lastErrorAt = now()
      outage.failed(text, { operation, text })
    },
    /** Returns the reason. */
    heldBack(operation: string): string {
      outage.failed('down', { operation, text: 'held back by the breaker' })
      return `the provider is down, retried later (${lastError ?? 'breaker open'})`
    },
    /** Without a rate limit nothing else reads the breaker of others. */
    askOthers: () => bucket.ask(),
    health: (): ProviderHealth => ({ breaker: breaker.state(), lastError, lastErrorAt, lastSuccessAt }),
  }
}

export type BreakerState = 'closed' | 'open' | 'half-open'

/** 'none': the call was not sent, or its time-out was too short to blame the provider. */
export type Verdict = 'healthy' | 'faulty' | 'none'
export type Report = (verdict: Verdict) => void

/**
 * Opens after `failures` in a row and refuses calls. After the cool-down it lets one probe through (half-open), whose
 * outcome closes or reopens it.
 */
export function makeBreaker(options: {
  failures: number
  coolDownMs: number
  now: () => Date
  /** `isOwn`: not because of another process. */
  onChange: (state: BreakerState, isOwn: boolean) => void
}) {
  let current: BreakerState = 'closed'
  let failuresInARow = 0
  let openedAtMs = 0
  let healthyAtMs = -Infinity
  let isProbing = false
  // A call that began before the last change is ignored.
  let generation = 0

  const nowMs = () => options.now().getTime()

  function change(state: BreakerState) {
    current = state
    generation += 1
    failuresInARow = 0
    isProbing = false
    if (state === 'open') openedAtMs = nowMs()
    options.onChange(state, true)
  }

  // A clock that is set back must not keep the breaker open.
  const isCool = () => Math.abs(nowMs() - openedAtMs) >= options.coolDownMs
  const mayEnter = () => current === 'closed' || (current === 'open' ? isCool() : !isProbing)

  function count(verdict: Verdict) {
    if (verdict === 'none') isProbing = false
    else if (verdict === 'healthy') {
      healthyAtMs = nowMs()
      if (current !== 'closed') change('closed')
      else failuresInARow = 0
    } else {
      failuresInARow += 1
      if (current === 'half-open' || failuresInARow >= options.failures) change('open')
    }
  }

  return {
    mayEnter,
    /** The call must report its verdict. Undefined: refused. */
    enter(): Report | undefined {
      if (!mayEnter()) return undefined
      if (current === 'open') change('half-open')
      if (current === 'half-open') isProbing = true
      const entered = generation
      let isReported = false
      return (verdict: Verdict) => {
        if (isReported || entered !== generation) return
        isReported = true
        count(verdict)
      }
    },
    /** Stays closed if our own calls succeed: then perhaps only the connection of the other process is broken. */
    openWithOther(forMs: number) {
      const succeeds = failuresInARow === 0 && nowMs() - healthyAtMs < options.coolDownMs
      if (current !== 'closed' || succeeds) return
      // Calls in flight keep their vote: one that succeeds closes it.
      current = 'open'
      openedAtMs = nowMs() - Math.max(0, options.coolDownMs - forMs)
      options.onChange('open', false)
    },
    state: (): BreakerState => (current === 'open' && isCool() ? 'half-open' : current),
  }
}

/**
 * Keeps within the rate that a provider allows. Accounts take turns, so a flood of one delays only its own calls. A
 * call that cannot have a turn before its deadline is refused at once.
 */
export type RateLimit = {
  acquire(call: RateLimitCall): Promise<boolean>
  hasRoom(call: RateLimitCall): boolean
  close(): void
}

export type RateLimitCall = {
  priority: Priority
  /** An account, or in the background an operation. */
  sharer: string
  remainingMs: number
}

/** write: a caller waits for a change. read: a caller waits for an answer. background: nobody waits. */
export type Priority = 'write' | 'read' | 'background'

// Writes come first, because a payer waits for the code. The others get at least every fourth turn each.
const PRIORITIES: Priority[] = ['write', 'read', 'background']
const GUARANTEED_EVERY = 4
// For sharers without a recent turn. Otherwise every call of a quiet account would wait while another floods.
const RESERVED_SHARE = 0.2
// After this many turns of others a sharer is quiet.
const QUIET_TURNS = 5
const MAX_REMEMBERED = 1_000

type Waiting = { answer: (granted: boolean) => void }
/** Oldest first. */
type Queue = { priority: Priority; key: string; waiting: Waiting[] }

/** Providers count per second or longer. */
export function rateOf(callsPerSecond: number): Rate {
  return { perSecond: callsPerSecond, burst: Math.max(1, callsPerSecond) }
}

export function makeRateLimit(options: {
  /** 0: no limit. */
  callsPerSecond: number
  bucket: SharedBucket
  maxWaiting: number
  now: () => Date
  sleep: (ms: number) => Promise<void>
}): RateLimit {
  if (options.callsPerSecond <= 0) return { acquire: () => Promise.resolve(true), hasRoom: () => true, close: () => {} }
  const { bucket } = options
  const reserved = Math.floor(rateOf(options.callsPerSecond).burst * RESERVED_SHARE)
  const nowMs = () => options.now().getTime()
  const turns = makeTurns(options.callsPerSecond)
  const queues = new Map<string, Queue>()
  let waitingCount = 0
  let pumping = false

  function join(call: RateLimitCall): Promise<boolean> {
    const key = keyOf(call)
    const queue = queues.get(key) ?? { priority: call.priority, key, waiting: [] }
    queues.set(key, queue)
    return new Promise((resolve) => {
      const waiting: Waiting = {
        answer(granted) {
          clearTimeout(timer)
          queue.waiting.splice(queue.waiting.indexOf(waiting), 1)
          if (queue.waiting.length === 0) queues.delete(key)
          waitingCount -= 1
          resolve(granted)
        },
      }
      const timer = setTimeout(() => waiting.answer(false), call.remainingMs)
      queue.waiting.push(waiting)
      waitingCount += 1
    })
  }

  function takeTurn(waiting: Queue[]): Queue | undefined {
    const atMs = nowMs()
    const next = turns.next(waiting, atMs)
    if (!bucket.take(atMs, next.mayUseReserve ? 0 : reserved).ok) return undefined
    turns.record(next.queue, atMs)
    return next.queue
  }

  function serve() {
    while (queues.size > 0) {
      const queue = takeTurn([...queues.values()])
      if (!queue) return
      queue.waiting[0]!.answer(true)
    }
  }

  async function pump() {
    pumping = true
    while (queues.size > 0) {
      await (bucket.reported() ?? options.sleep(bucket.nextTokenMs(nowMs())))
      serve()
    }
    pumping = false
  }

  function keepBound(own: Queue) {
    if (waitingCount > options.maxWaiting) longestOf(own).waiting.at(-1)!.answer(false)
  }

  function longestOf(own: Queue): Queue {
    return [...queues.values()].reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a), own)
  }

  /** Queues of the same priority alternate. */
  function turnInMs(own: Queue, nth: number): number {
    let before = nth - 1
    for (const queue of queues.values()) {
      if (queue !== own && queue.priority === own.priority) before += Math.min(queue.waiting.length, nth - 1)
    }
    return bucket.nextTokenMs(nowMs()) + (before * 1000) / options.callsPerSecond
  }

  return {
    acquire(call) {
      const alone = { priority: call.priority, key: keyOf(call), waiting: [] }
      if (queues.size === 0 && takeTurn([alone])) return Promise.resolve(true)
      const granted = join(call)
      serve()
      const own = queues.get(keyOf(call))
      if (own && turnInMs(own, own.waiting.length) > call.remainingMs) own.waiting.at(-1)!.answer(false)
      else if (own) keepBound(own)
      if (!pumping && queues.size > 0) void pump()
      return granted
    },
    hasRoom(call) {
      const own = queues.get(keyOf(call))
      // A sharer without a queue may find a token, or replace a call of the longest queue.
      if (!own) return true
      if (turnInMs(own, own.waiting.length + 1) > call.remainingMs) return false
      return waitingCount < options.maxWaiting || longestOf(own).waiting.length > own.waiting.length + 1
    },
    close() {
      for (const queue of queues.values()) while (queue.waiting.length > 0) queue.waiting[0]!.answer(false)
    },
  }
}

function keyOf({ priority, sharer }: RateLimitCall): string {
  return `${priority} ${sharer}`
}

type Next = { queue: Queue; mayUseReserve: boolean }

function makeTurns(perSecond: number) {
  const quietMs = (QUIET_TURNS * 1000) / perSecond
  // By queue, with the latest turn last.
  const served = new Map<string, { turn: number; atMs: number }>()
  const priorityTurn: Record<Priority, number> = { write: 0, read: 0, background: 0 }
  let turn = 0

  const lastTurn = ({ key }: Queue) => served.get(key)?.turn ?? -1
  // A clock that is set back must not make all sharers loud.
  const isQuiet = ({ key }: Queue, atMs: number) => {
    const last = served.get(key)
    return last === undefined || Math.abs(atMs - last.atMs) >= quietMs
  }
  const longestAgo = (queues: Queue[]) =>
    queues.length > 0 ? queues.reduce((a, b) => (lastTurn(b) < lastTurn(a) ? b : a)) : undefined
  const firstOf = (queues: Queue[]) => {
    for (const priority of PRIORITIES) {
      const found = longestAgo(queues.filter((queue) => queue.priority === priority))
      if (found) return found
    }
    return undefined
  }

  return {
    next(queues: Queue[], atMs: number): Next {
      const quiet = firstOf(queues.filter((queue) => isQuiet(queue, atMs)))
      const overdue = longestAgo(
        queues.filter(({ priority }) => priority !== 'write' && turn - priorityTurn[priority] >= GUARANTEED_EVERY - 1),
      )
      return { queue: overdue ?? quiet ?? firstOf(queues)!, mayUseReserve: quiet !== undefined }
    },
    record(queue: Queue, atMs: number) {
      turn += 1
      priorityTurn[queue.priority] = turn
      served.delete(queue.key)
      served.set(queue.key, { turn, atMs })
      if (served.size > MAX_REMEMBERED) served.delete(served.keys().next().value!)
    },
  }
}
