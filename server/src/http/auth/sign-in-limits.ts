import { createHash, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../domain/context.ts'
import { tooMany } from './api-key-auth.ts'
import { deviceOf } from './device-cookie.ts'
import { networkOf } from '../server/client-address.ts'
import type { Rate } from '../server/rate-limit.ts'

// Every try is counted before it is judged, so that a hundred at once are not one, and given back when it succeeds. A stranger must not be able to
// use up the tries of somebody who is signed in, who uses a browser that signed in before, or who asks for a new password: each of
// those has a bucket that strangers cannot reach.

// A person who has forgotten which password it was tries a handful; an office behind one address has a few of those.
const GUESSES_BY_NETWORK: Rate = { perSecond: 1 / 5, burst: 40 }
// For one person's password, from all unknown devices together, from one known device, and within one session.
const GUESSES_BY_PERSON: Rate = { perSecond: 1 / 60, burst: 10 }
// An account is made by hand, one at a time.
const JOINS_BY_NETWORK: Rate = { perSecond: 1 / 60, burst: 10 }
// Who asks for letters to many people asks for few of them.
const REQUESTS_BY_NETWORK: Rate = { perSecond: 1 / 30, burst: 20 }
// Nobody's mailbox is to be filled through us. Each kind of letter by itself: one kind must not keep another from arriving.
const LETTERS_BY_MAILBOX: Rate = { perSecond: 1 / 300, burst: 3 }

export type LetterKind = 'reset' | 'confirm' | 'sign_up'

/** Gives a try back, when it has succeeded. */
export type GiveBack = () => void

export type SignInLimits = ReturnType<typeof makeSignInLimits>

export function makeSignInLimits(ctx: Pick<Context, 'now' | 'settings'>) {
  const networks = makeBucketTable(GUESSES_BY_NETWORK)
  const people = makeBucketTable(GUESSES_BY_PERSON)
  const devices = makeBucketTable(GUESSES_BY_PERSON)
  const sessions = makeBucketTable(GUESSES_BY_PERSON)
  const joins = makeBucketTable(JOINS_BY_NETWORK)
  const requests = makeBucketTable(REQUESTS_BY_NETWORK)
  const letters = makeBucketTable(LETTERS_BY_MAILBOX)

  function take(table: BucketTable, subject: string): GiveBack {
    const waitSeconds = table.take(subject, ctx.now().getTime())
    if (waitSeconds > 0) throw tooMany(waitSeconds)
    return () => table.giveBack(subject)
  }

  const guess = (request: FastifyRequest) => take(networks, networkOf(request.ip))

  return {
    /** A code, or the token of a link. */
    guess,
    /** A password, by somebody who is not signed in. */
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
    /** A password or a code, by somebody who is signed in. More sessions give no more tries: each took the password to open. */
    inSession: (sessionId: string) => take(sessions, sessionId),
    join: (request: FastifyRequest) => void take(joins, networkOf(request.ip)),
    requestLetter(request: FastifyRequest, kind: LetterKind, email: string) {
      take(requests, networkOf(request.ip))
      take(letters, `${kind} ${named(email)}`)
    },
    mayMail: (kind: LetterKind, email: string) => letters.take(`${kind} ${named(email)}`, ctx.now().getTime()) === 0,
  }
}

export function named(email: string): string {
  return email.trim().toLowerCase()
}

// ---- Buckets ----

// 1 MB a table. With a thousand people's buckets empty, one in 65 others shares one of them.
const SLOTS = 65_536

export type BucketTable = {
  /** Takes a token: 0. If there is none: in how many seconds there will be one. */
  take(subject: string, nowMs: number): number
  giveBack(subject: string): void
}

/**
 * Token buckets in a table of fixed size, found by a hash with a key that nobody knows. Nothing is ever evicted, so whoever tries thousands of
 * names does not make the table forget what was spent on one. Two subjects may share a bucket; nobody can choose with whom.
 */
export function makeBucketTable({ perSecond, burst }: Rate, slots = SLOTS): BucketTable {
  const key = randomBytes(16)
  const tokens = new Float64Array(slots).fill(burst)
  const filledAtMs = new Float64Array(slots)
  const slotOf = (subject: string) => createHash('sha256').update(key).update(subject).digest().readUInt32BE() % slots
  return {
    take(subject, nowMs) {
      const slot = slotOf(subject)
      // A clock that steps back must not drain the bucket.
      const elapsedMs = Math.max(0, nowMs - filledAtMs[slot]!)
      const held = Math.min(burst, tokens[slot]! + (elapsedMs * perSecond) / 1000)
      filledAtMs[slot] = nowMs
      tokens[slot] = held < 1 ? held : held - 1
      return held < 1 ? Math.ceil((1 - held) / perSecond) : 0
    },
    giveBack(subject) {
      const slot = slotOf(subject)
      tokens[slot] = Math.min(burst, tokens[slot]! + 1)
    },
  }
}
