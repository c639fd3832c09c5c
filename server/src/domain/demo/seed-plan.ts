import { randomBytes } from 'node:crypto'
import { base62, newSecretUuid7 } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { seededRandom } from '../../base/seeded-random.ts'
import { RETRY_AFTER_MS } from '../webhooks/attempts.ts'
import type { ChargeFacts } from '../core/charge-facts.ts'
import { priceDeposit, type Price, type Terms } from '../core/terms.ts'

// An invented history: when people pay, how much, and what goes wrong now and then.

export type PastDeposit = Price & {
  chargeId: string // 32 hexadecimal digits
  paymentLinkId: string
  externalId: string | null
  description: string | null
  createdAt: Date
  expiresAt: Date
  payment: { endToEndId: string; paidAt: Date; isLate: boolean } | null
  status: 'COMPLETED' | 'EXPIRED' | 'CANCELED'
  endedAt: Date
}

/** `at` is when guiche learned of it. `failures` is how many attempts to deliver its event fail. */
export type Step = { at: Date; deposit: PastDeposit; failures: number; refundCents: Cents | null }

export type SeedPlan = {
  deposits: number
  days: number
  seed: number
  now: Date
  terms: Terms
  /** The last number that an earlier seed used: an external id is used once. */
  earlier?: number
  newChargeId: (createdAt: Date, facts: Omit<ChargeFacts, 'accountId'>) => string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
// Everything has ended by now, so no provider still has to decide anything.
const OVER_BEFORE_MS = 2 * HOUR_MS
const EXPIRES_MS = HOUR_MS
// All attempts to deliver an event take 3.2 days, see RETRY_AFTER_MS.
const ALL_FAILURES = RETRY_AFTER_MS.length + 1
const ALL_ATTEMPTS_MS = 4 * DAY_MS
// Steps of one moment are replayed together. A large history has few moments, so that its replay stays fast. A moment
// is shorter than the five minutes before now in which nothing is paid.
const EXACT_MAX_DEPOSITS = 20_000
const COARSE_MS = 4 * MINUTE_MS

const SHARE_PAID = 0.7
const SHARE_LATE = 0.012
const SHARE_CANCELED = 0.07
const SHARE_REFUNDED = 0.015
const SHARE_WITH_EXTERNAL_ID = 0.8
const SHARE_RETRIED = 0.02
const SHARE_UNDELIVERED = 0.005
// A webhook without a success for five days is disabled, so a quiet account has no event that is never delivered.
const UNDELIVERED_MIN_PER_DAY = 5

// From Sunday: Fridays are busy, Sundays quiet.
const WEEKDAYS = [0.55, 1, 1.02, 1, 1.08, 1.3, 0.95]
// From midnight, in Brazil.
const HOURS = [4, 2, 1, 1, 1, 2, 4, 8, 14, 20, 24, 26, 28, 25, 22, 22, 23, 25, 28, 30, 29, 24, 16, 9]
const BRAZIL_MS = -3 * HOUR_MS
const PRICES: Cents[] = [19_90, 29_90, 49_90, 50_00, 79_90, 99_90, 100_00, 149_90, 199_90, 250_00, 499_90]
const THINGS = ['Order', 'Subscription', 'Ticket', 'Course', 'Donation']

/** The seed decides amounts, times and outcomes. Ids are always new, so two accounts may have the same history. */
export function planHistory(plan: SeedPlan): Step[] {
  const { deposits, now } = plan
  const random = seededRandom(plan.seed)
  // Never earlier than it was, or a deposit would end before its payment.
  const stepMs = deposits > EXACT_MAX_DEPOSITS ? COARSE_MS : 1
  const moment = (ms: number) => new Date(Math.ceil(ms / stepMs) * stepMs)
  const times = Array.from({ length: deposits }, () => moment(randomTime(random, plan)))
  const steps = times
    .toSorted((a, b) => a.getTime() - b.getTime())
    .flatMap((createdAt, index): Step[] => {
      const deposit = randomDeposit(random, plan, { number: (plan.earlier ?? 0) + index + 1, createdAt })
      deposit.endedAt = moment(deposit.endedAt.getTime())
      const at = deposit.endedAt
      const paid = { at, deposit, failures: randomFailures(random, plan, at), refundCents: null }
      const [share, part, delay] = [random(), random(), random()]
      const refundedAt = moment(at.getTime() + 10 * MINUTE_MS + delay * 5 * DAY_MS)
      const isOver = refundedAt.getTime() < now.getTime() - OVER_BEFORE_MS
      if (!deposit.payment || share >= SHARE_REFUNDED || !isOver) return [paid]
      const refundCents = Math.max(1, Math.floor(deposit.valueCents * (part < 0.75 ? 1 : part - 0.5)))
      return [paid, { at: refundedAt, deposit, failures: 0, refundCents }]
    })
  return affordable(steps.toSorted((a, b) => a.at.getTime() - b.at.getTime()))
}

/** More often by day, on weekdays and recently, as in an account that grows. Rejected times are drawn again. */
function randomTime(random: () => number, { now, days }: SeedPlan): number {
  const until = now.getTime() - OVER_BEFORE_MS
  for (let tries = 0; ; tries++) {
    const age = random()
    const ms = Math.floor(until - 1 - age * days * DAY_MS)
    const local = new Date(ms + BRAZIL_MS)
    const weight = (HOURS[local.getUTCHours()]! / 30) * (WEEKDAYS[local.getUTCDay()]! / 1.3) * (1 - 0.45 * age)
    if (random() < weight || tries === 1_000) return ms
  }
}

function randomDeposit(
  random: () => number,
  { terms, now, newChargeId }: SeedPlan,
  { number, createdAt }: { number: number; createdAt: Date },
): PastDeposit {
  const createdAtMs = createdAt.getTime()
  const reference = String(number).padStart(6, '0')
  const price = priceDeposit(terms, randomValue(random, terms))
  const externalId = random() < SHARE_WITH_EXTERNAL_ID ? `order-${reference}` : null
  const thing = THINGS[Math.floor(random() * THINGS.length)]!
  const facts = {
    ...price,
    paymentLinkId: newSecretUuid7(createdAt),
    externalId,
    description: externalId && `${thing} ${reference}`,
    expiresAt: new Date(createdAtMs + EXPIRES_MS),
  }
  return {
    ...facts,
    chargeId: newChargeId(createdAt, facts),
    createdAt,
    ...randomOutcome(random, createdAtMs, now.getTime()),
  }
}

function randomValue(random: () => number, terms: Terms): Cents {
  const listPrice = PRICES[Math.floor(random() * PRICES.length)]!
  const bell = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const other = Math.round(85_00 * Math.exp(0.9 * bell))
  const wanted = random() < 0.45 ? listPrice : Math.max(5_00, other)
  return Math.min(terms.valueMaxCents, Math.max(terms.valueMinCents, wanted))
}

function randomOutcome(
  random: () => number,
  createdAtMs: number,
  nowMs: number,
): Pick<PastDeposit, 'status' | 'endedAt' | 'payment'> {
  const [outcome, kind, delay, lag] = [random(), random(), random(), random()]
  if (outcome >= SHARE_PAID) {
    const isCanceled = outcome >= 1 - SHARE_CANCELED
    const afterMs = isCanceled ? MINUTE_MS + delay * 40 * MINUTE_MS : EXPIRES_MS + MINUTE_MS + lag * 1_000
    const endedAt = new Date(createdAtMs + Math.floor(afterMs))
    return { status: isCanceled ? 'CANCELED' : 'EXPIRED', endedAt, payment: null }
  }
  const isLate = kind < SHARE_LATE
  const soonMs = Math.min(55 * MINUTE_MS, 8_000 - 4 * MINUTE_MS * Math.log(1 - delay))
  const lateMs = EXPIRES_MS + 2 * MINUTE_MS + delay * DAY_MS
  const paidAtMs = Math.min(nowMs - 5 * MINUTE_MS, createdAtMs + Math.floor(isLate ? lateMs : soonMs))
  const paidAt = new Date(paidAtMs)
  const endedAt = new Date(paidAtMs + 500 + Math.floor(lag * 3_000))
  const payment = { endToEndId: newEndToEndId(paidAt), paidAt, isLate }
  return { status: 'COMPLETED', endedAt, payment }
}

function randomFailures(random: () => number, { deposits, days, now }: SeedPlan, at: Date): number {
  const share = random()
  const mayFail = deposits >= UNDELIVERED_MIN_PER_DAY * days && at.getTime() + ALL_ATTEMPTS_MS < now.getTime()
  if (mayFail && share < SHARE_UNDELIVERED) return ALL_FAILURES
  return share < SHARE_RETRIED ? 1 : 0
}

/** Drops refunds that the balance cannot pay: no balance may go below zero. */
function affordable(steps: Step[]): Step[] {
  let balanceCents = 0
  return steps.filter(({ deposit, refundCents }) => {
    if (refundCents === null) balanceCents += deposit.payment ? deposit.valueCents - deposit.feeCents : 0
    else if (refundCents > balanceCents) return false
    else balanceCents -= refundCents
    return true
  })
}

// The Pix format: the bank's number (of none that exists), the minute in UTC, and a unique part.
function newEndToEndId(at: Date): string {
  const minute = at.toISOString().replaceAll(/[-:T]/g, '').slice(0, 12)
  return `E88888888${minute}${base62(randomBytes(8)).padStart(11, '0')}`
}
