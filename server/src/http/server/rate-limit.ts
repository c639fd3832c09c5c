import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Fault } from '../../base/fault.ts'
import type { SharedBucket } from '../../base/shared-buckets.ts'
import { makeTokenBucket, type Rate, type Taken, type TokenBucket } from '../../base/token-bucket.ts'
import type { KeyCaller } from '../../domain/accounts/key-cache.ts'
import type { Context } from '../../domain/context.ts'
import { addressOf, networkOf } from './client-address.ts'

export type Admission = { isAdmitted: boolean; retryAfterSeconds: number; headers: Record<string, string> }

/** Undefined for a rate of 0, which means no limit. */
export type RateLimiter = (subject: string, now: Date) => Admission | undefined

// Far more than the keys that are active during one refill. An evicted bucket is full anyway.
const MAX_BUCKETS = 10_000

export function makeRateLimiter(rate: Rate): RateLimiter {
  if (rate.perSecond === 0) return () => undefined
  const buckets = boundedMap<TokenBucket>(MAX_BUCKETS)
  const admit = makeAdmit(rate)
  return (subject, now) => admit(buckets.touch(subject, () => makeTokenBucket(rate)).take(now.getTime()))
}

/** Waits only after a lease of tokens at once. */
export type SharedLimiter = (subject: string) => Admission | Promise<Admission> | undefined

// An account may have 100 keys. Its programs together get the rate of this many.
const KEYS_AT_FULL_RATE = 5

/** The requests of one account, whatever keys and sessions they come with. */
export function makeAccountLimiter(ctx: Context): SharedLimiter {
  const { perSecond, burst } = ctx.settings.rateLimit
  return makeSharedLimiter(ctx, 'account', {
    perSecond: perSecond * KEYS_AT_FULL_RATE,
    burst: burst * KEYS_AT_FULL_RATE,
  })
}

/** The requests of one key, and then those of its account. */
export function makeKeyLimiter(
  ctx: Context,
  limitAccount: SharedLimiter,
): (caller: KeyCaller) => ReturnType<SharedLimiter> {
  const limitKey = makeSharedLimiter(ctx, 'key', ctx.settings.rateLimit)
  return (caller) => {
    const ofKey = limitKey(caller.keyId)
    if (caller.kind !== 'account') return ofKey
    const { accountId } = caller
    return ofKey instanceof Promise
      ? ofKey.then((admission) => stricter(admission, () => limitAccount(accountId))!)
      : stricter(ofKey, () => limitAccount(accountId))
  }
}

/** The second is asked only if the first admits, and its headers are sent only if it refuses. */
function stricter(first: Admission | undefined, ask: () => ReturnType<SharedLimiter>): ReturnType<SharedLimiter> {
  if (!first?.isAdmitted) return first
  const second = ask()
  const choose = (admission: Admission | undefined) => (admission && !admission.isAdmitted ? admission : first)
  return second instanceof Promise ? second.then(choose) : choose(second)
}

/** As makeRateLimiter(), for all processes together. */
function makeSharedLimiter(ctx: Context, kind: 'key' | 'account', rate: Rate): SharedLimiter {
  if (rate.perSecond === 0) return () => undefined
  const buckets = boundedMap<SharedBucket>(MAX_BUCKETS)
  const admit = makeAdmit(rate, kind === 'key' ? 'default' : kind)
  return (subject) => {
    const nowMs = ctx.now().getTime()
    const bucket = buckets.touch(subject, () => ctx.limits.bucket(`${kind}:${subject}`, rate))
    const taken = bucket.take(nowMs)
    return taken.ok || taken.waitMs > 0 ? admit(taken) : bucket.takeReported(nowMs).then(admit)
  }
}

function makeAdmit(rate: Rate, name = 'default'): (taken: Taken) => Admission {
  const policy = `"${name}";q=${rate.burst};w=${Math.ceil(rate.burst / rate.perSecond)}`
  return (taken) => {
    const left = taken.ok ? taken.left : 0
    // Until the whole burst is available again, rounded up.
    const resetSeconds = Math.ceil((rate.burst - left) / rate.perSecond)
    return {
      isAdmitted: taken.ok,
      retryAfterSeconds: taken.ok ? 0 : Math.ceil(taken.waitMs / 1000),
      headers: { ratelimit: `"${name}";r=${left};t=${resetSeconds}`, 'ratelimit-policy': policy },
    }
  }
}

// Refusals per key that are sent without delay, for a program that was too fast for a moment.
const REFUSALS_AT_ONCE: Rate = { perSecond: 20, burst: 100 }
// Long enough to serve others in between, and shorter than any client's time-out.
const REFUSAL_DELAY_MS = 250
// Each waiting refusal costs memory and a connection. Beyond this many, refusals are sent at once.
const MAX_DELAYED = 1_000

/**
 * A key that continues after a hundred refusals belongs to a program in a loop. Thousands of refusals per second would
 * take the processor from everyone else, so they are delayed, and the loop with them.
 */
export function makeRefusalDelay(
  wait: () => Promise<void> = () => sleep(REFUSAL_DELAY_MS),
): (subject: string, now: Date) => Promise<void> {
  const atOnce = makeRateLimiter(REFUSALS_AT_ONCE)
  let delayed = 0
  return async (subject, now) => {
    if (atOnce(subject, now)!.isAdmitted || delayed >= MAX_DELAYED) return
    delayed++
    await wait()
    delayed--
  }
}

/**
 * For what is public: a rate per network, enough for an office or the customers of a mobile carrier who pay at the same
 * time, and too little for one caller to keep the process busy.
 */
export function makePublicLimit(ctx: Context): (app: FastifyInstance) => void {
  const limiter = makeRateLimiter(ctx.settings.publicRateLimit)
  // One bucket for all public routes together.
  return (app) => {
    app.addHook('onRequest', async (request, reply) => {
      const admission = limiter(networkOf(addressOf(request)), ctx.now())
      if (!admission || admission.isAdmitted) return
      reply.headers(admission.headers)
      throw new Fault('rate_limited', 'Too many requests', { retryAfterSeconds: admission.retryAfterSeconds })
    })
  }
}

/**
 * Slows down callers who try unknown keys, so that guessing cannot load the database. Only failures count: a caller
 * with a valid key is never affected, however many share its address.
 */
export type GuessGuard = {
  /** Seconds until this address may try an unknown key again. */
  waitSeconds(address: string, now: Date): number
  recordFailure(address: string, now: Date): void
}

// A person who pastes a wrong key needs a handful. A program in a loop is slowed down after 300.
const GUESSES: Rate = { perSecond: 20, burst: 300 }
// About 2 MB. An attacker with more addresses has a new bucket for each anyway.
const MAX_ADDRESSES = 10_000

export function makeGuessGuard(): GuessGuard {
  const guessers = boundedMap<{ bucket: TokenBucket; blockedUntilMs: number }>(MAX_ADDRESSES)
  return {
    waitSeconds(address, now) {
      const guesser = guessers.peek(networkOf(address))
      return guesser ? Math.max(0, Math.ceil((guesser.blockedUntilMs - now.getTime()) / 1000)) : 0
    },
    recordFailure(address, now) {
      const guesser = guessers.touch(networkOf(address), () => ({
        bucket: makeTokenBucket(GUESSES),
        blockedUntilMs: 0,
      }))
      const taken = guesser.bucket.take(now.getTime())
      if (!taken.ok) guesser.blockedUntilMs = now.getTime() + taken.waitMs
    },
  }
}

/** Holds at most `max` entries and evicts the least recently touched. */
export function boundedMap<Value>(max: number) {
  const entries = new Map<string, Value>()
  return {
    peek: (key: string): Value | undefined => entries.get(key),
    touch(key: string, make: () => Value): Value {
      const value = entries.get(key) ?? make()
      entries.delete(key)
      entries.set(key, value)
      if (entries.size > max) entries.delete(entries.keys().next().value!)
      return value
    },
  }
}
