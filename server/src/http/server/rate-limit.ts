import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../../base/fault.ts'
import {
  type SharedBucket,
  makeTokenBucket,
  type Rate,
  type Taken,
  type TokenBucket,
} from '../../base/token-buckets.ts'
import type { KeyCaller } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'

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

export type SharedLimiter = (subject: string) => Promise<Admission | undefined>

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

/** The requests of one key, and then those of its account, whose headers are sent only if it refuses. */
export function makeKeyLimiter(
  ctx: Context,
  limitAccount: SharedLimiter,
): (caller: KeyCaller) => Promise<Admission | undefined> {
  const limitKey = makeSharedLimiter(ctx, 'key', ctx.settings.rateLimit)
  return async (caller) => {
    const ofKey = await limitKey(caller.keyId)
    if (!ofKey?.isAdmitted || caller.kind !== 'account') return ofKey
    const ofAccount = await limitAccount(caller.accountId)
    return ofAccount && !ofAccount.isAdmitted ? ofAccount : ofKey
  }
}

// A person presses a button a few times, and a script of theirs runs after a repair.
const BY_HAND: Rate = { perSecond: 20 / 60, burst: 20 }

/** What an account starts by hand, and what makes us send: retries, and samples of events. */
export function makeByHandLimiter(ctx: Context): SharedLimiter {
  return makeSharedLimiter(ctx, 'by_hand', BY_HAND)
}

export async function refuseTooMany(limiter: SharedLimiter, subject: string): Promise<void> {
  const admission = await limiter(subject)
  if (admission && !admission.isAdmitted) throw tooMany(admission.retryAfterSeconds)
}

export function tooMany(retryAfterSeconds: number): Fault {
  return new Fault('rate_limited', 'Too many requests', { retryAfterSeconds })
}

/** As makeRateLimiter(), for all processes together. */
function makeSharedLimiter(ctx: Context, kind: 'key' | 'account' | 'by_hand', rate: Rate): SharedLimiter {
  if (rate.perSecond === 0) return async () => undefined
  const buckets = boundedMap<SharedBucket>(MAX_BUCKETS)
  const admit = makeAdmit(rate, kind === 'key' ? 'default' : kind)
  return async (subject) => {
    const nowMs = ctx.now().getTime()
    const bucket = buckets.touch(subject, () => ctx.limits.bucket(`${kind}:${subject}`, rate))
    const taken = bucket.take(nowMs)
    return admit(taken.ok || taken.waitMs > 0 ? taken : await bucket.takeReported(nowMs))
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

/** Delays the refusals of a program in a loop: thousands per second would take the processor from everyone else. */
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

/** For what is public: a rate per network, enough for an office or a mobile carrier. */
export function makePublicLimit(ctx: Context): (app: FastifyInstance) => void {
  const limiter = makeRateLimiter(ctx.settings.publicRateLimit)
  return (app) => {
    app.addHook('onRequest', async (request, reply) => {
      const admission = limiter(networkOf(addressOf(request)), ctx.now())
      if (!admission || admission.isAdmitted) return
      reply.headers(admission.headers)
      throw tooMany(admission.retryAfterSeconds)
    })
  }
}

/** Slows down callers who try unknown keys, so that guessing cannot load the database. Only failures count. */
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

// ---- Addresses ----

/** The caller's address in one spelling. If a proxy sends no valid address, its own is used. */
export function addressOf(request: FastifyRequest): string {
  return plainAddress(request.ip) ?? plainAddress(request.raw.socket.remoteAddress ?? '') ?? 'unknown'
}

/** Without port, brackets and zone; IPv6 in its shortest form; IPv4-mapped IPv6 as IPv4. */
export function plainAddress(text: string): string | undefined {
  const bare = withoutPort(text.trim()).replace(/%.*$/, '')
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : undefined
  const groups = groupsOf(bare)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  return mapped ? [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.') : shortest(bare)
}

/** An IPv6 customer has a whole /64 of addresses. */
export function networkOf(address: string): string {
  const plain = plainAddress(address) ?? address
  if (isIP(plain) !== 6) return plain
  const network = groupsOf(plain).slice(0, 4)
  return `${network.map((group) => group.toString(16)).join(':')}::/64`
}

/** Tells where a request came from, and not who sent it: a /24 or a /48. */
export function regionOf(address: string): string {
  const plain = plainAddress(address) ?? address
  if (isIP(plain) === 4) return plain.replace(/\d+$/, '0/24')
  if (isIP(plain) !== 6) return plain
  return `${groupsOf(plain)
    .slice(0, 3)
    .map((group) => group.toString(16))
    .join(':')}::/48`
}

function withoutPort(text: string): string {
  const [, inBrackets] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? []
  const [, beforePort] = /^([\d.]+):\d{1,5}$/.exec(text) ?? []
  return inBrackets ?? beforePort ?? text
}

function shortest(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The shortest form has no dots, at most one `::`, and no leading zeros.
  const [head = '', tail] = shortest(address).split('::')
  const read = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  if (tail === undefined) return read(head)
  const [before, after] = [read(head), read(tail)]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}
