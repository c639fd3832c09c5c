import { createHash, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../domain/context.ts'
import { addressOf, networkOf, tooMany } from '../server/rate-limit.ts'
import type { Rate } from '../../base/token-buckets.ts'
import { deviceOf } from './session-cookie.ts'

// Every attempt is counted before it is checked, and given back when it succeeds. A stranger must not use up the
// attempts of a person who is signed in, who uses a known device, or who asks for a new password.

// A person who forgot a password tries a handful; an office behind one address has a few such people.
const GUESSES_BY_NETWORK: Rate = { perSecond: 1 / 5, burst: 40 }
// For the password of one person: from all unknown devices together, from one known device, and within one session.
const GUESSES_BY_PERSON: Rate = { perSecond: 1 / 60, burst: 10 }
// People sign up by hand, one at a time.
const SIGN_UPS_BY_NETWORK: Rate = { perSecond: 1 / 60, burst: 10 }
const EMAILS_BY_NETWORK: Rate = { perSecond: 1 / 30, burst: 20 }
// Nobody can flood a mailbox through us. Each kind has its own bucket, so that one cannot block another.
const EMAILS_BY_MAILBOX: Rate = { perSecond: 1 / 300, burst: 3 }

export type EmailKind = 'reset' | 'confirm' | 'sign_up' | 'member'

/** Gives an attempt back after it succeeded. */
export type GiveBack = () => void

export type SignInLimits = ReturnType<typeof makeSignInLimits>

export function makeSignInLimits(ctx: Pick<Context, 'now' | 'settings'>) {
  const networks = makeBucketTable(GUESSES_BY_NETWORK)
  const people = makeBucketTable(GUESSES_BY_PERSON)
  const devices = makeBucketTable(GUESSES_BY_PERSON)
  const sessions = makeBucketTable(GUESSES_BY_PERSON)
  const signUps = makeBucketTable(SIGN_UPS_BY_NETWORK)
  const requests = makeBucketTable(EMAILS_BY_NETWORK)
  const mailboxes = makeBucketTable(EMAILS_BY_MAILBOX)

  function take(table: BucketTable, subject: string): GiveBack {
    const waitSeconds = table.take(subject, ctx.now().getTime())
    if (waitSeconds > 0) throw tooMany(waitSeconds)
    return () => table.giveBack(subject)
  }

  const guess = (request: FastifyRequest) => take(networks, networkOf(addressOf(request)))

  return {
    /** A code, or the token of a link. */
    guess,
    /** A password, without a session. */
    signIn(request: FastifyRequest, email: string): GiveBack {
      const device = deviceOf(ctx.settings, request.headers.cookie, email)
      if (device !== undefined) return take(devices, device)
      const network = guess(request)
      const person = take(people, named(email))
      return () => {
        network()
        person()
      }
    },
    /** A password or a code within a session. Opening more sessions is no way around it: each takes the password. */
    inSession: (sessionId: string) => take(sessions, sessionId),
    signUp: (request: FastifyRequest) => void take(signUps, networkOf(addressOf(request))),
    requestEmail(request: FastifyRequest, kind: EmailKind, email: string) {
      take(requests, networkOf(addressOf(request)))
      take(mailboxes, `${kind} ${named(email)}`)
    },
    mayMail: (kind: EmailKind, email: string) => mailboxes.take(`${kind} ${named(email)}`, ctx.now().getTime()) === 0,
  }
}

export function named(email: string): string {
  return email.trim().toLowerCase()
}

// ---- Buckets ----

// 1 MB per table. With a thousand buckets empty, one in 65 other people shares one of them.
const SLOTS = 65_536

export type BucketTable = {
  /** Takes a token and returns 0, or returns the seconds until there is one. */
  take(subject: string, nowMs: number): number
  giveBack(subject: string): void
}

/**
 * Token buckets in a table of fixed size, found by a keyed hash. Nothing is ever evicted, so trying thousands of names
 * does not make the table forget one. Two subjects may share a bucket, but nobody can choose with whom.
 */
export function makeBucketTable({ perSecond, burst }: Rate, slots = SLOTS): BucketTable {
  const key = randomBytes(16)
  // By bucket: tokens taken and not refilled yet, and the time of the last refill. Allocated on first use.
  let taken = new Float64Array()
  let filledAtMs = new Float64Array()
  const slotOf = (subject: string) => createHash('sha256').update(key).update(subject).digest().readUInt32BE() % slots
  return {
    take(subject, nowMs) {
      if (taken.length === 0) [taken, filledAtMs] = [new Float64Array(slots), new Float64Array(slots)]
      const slot = slotOf(subject)
      // A clock that steps back must not drain the bucket.
      const elapsedMs = Math.max(0, nowMs - filledAtMs[slot]!)
      const held = burst - Math.max(0, taken[slot]! - (elapsedMs * perSecond) / 1000)
      filledAtMs[slot] = nowMs
      taken[slot] = burst - (held < 1 ? held : held - 1)
      return held < 1 ? Math.ceil((1 - held) / perSecond) : 0
    },
    giveBack(subject) {
      const slot = slotOf(subject)
      taken[slot] = Math.max(0, taken[slot]! - 1)
    },
  }
}
