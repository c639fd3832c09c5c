import { randomInt } from 'node:crypto'
import { z } from 'zod'
import { seededRandom } from '../base/seeded-random.ts'
import { readBody } from './answer.ts'

// A minute covers every time-out a client could have.
const delay = z.int().min(0).max(60_000).default(0)
const rate = z.number().min(0).max(1)
const share = rate.default(0)
const toggle = z.boolean().default(false)
const SEED_MAX = 2 ** 32 - 1

// The faults that PUT /bank/faults injects. Faults of answers apply to every API Pix operation but not to `POST
// /oauth/token`, so that a client without a token still reaches the operation. They never apply to /bank.
const faultsBody = z.strictObject({
  // The share of notifications that is never sent; true is all of them.
  dropNotifications: z.union([rate, z.boolean().transform(Number)]).default(0),
  // Extra copies of each notification.
  duplicateNotifications: z.int().min(0).max(20).default(0),
  delayNotificationsMs: delay,
  // Notifications are held for a moment, shuffled and sent one by one.
  reorderNotifications: toggle,
  // Each page of the list of received Pix holds one more entry, whose endToEndId is malformed.
  malformedEntry: toggle,
  latencyMs: delay,
  // 500, 503 or 504, and nothing was done.
  errorRate: share,
  // The work was done and the answer is malformed: no JSON, truncated, empty or of another shape.
  garbageRate: share,
  // Nothing was done and no answer comes.
  hangRate: share,
  // The work was done and no answer comes.
  loseAnswerRate: share,
  // For this long after a refund was made, lookups and lists do not show it and its id is not recognised, although its
  // amount counts.
  refundLagMs: z
    .int()
    .min(0)
    .max(24 * 3_600_000)
    .default(0),
  // Refunds that were made are shown as NAO_REALIZADO with their Pix; a lookup of the refund itself shows the truth.
  refundsListedFailed: toggle,
  // Refunds that were made are shown as NAO_REALIZADO everywhere: the bank took them back, for as long as this lasts.
  refundsFailed: toggle,
  // For this long after a Pix, a list by its payer does not show it.
  payerLagMs: z
    .int()
    .min(0)
    .max(24 * 3_600_000)
    .default(0),
  // The share of lists by a payer that fail.
  payerErrorRate: share,
  // New refunds are refused.
  refundsRefused: toggle,
  seed: z.int().min(0).max(SEED_MAX).optional(),
})

export type Faults = z.input<typeof faultsBody>

// Separate streams: the network decides how answers and notifications interleave, and a seeded plan must be repeatable.
export type FaultPlan = { faults: z.infer<typeof faultsBody>; random: () => number; randomNotice: () => number }

// `variant`, from 0 to 1, chooses among the errors or the kinds of garbage.
export type Outcome = { kind: 'normal' | 'hang' | 'error' | 'garbage' | 'lose'; variant: number }

// {} removes all faults. Returns what is wrong as a text.
export function parsePlan(body: unknown): FaultPlan | string {
  const faults = readBody(faultsBody, body)
  return typeof faults === 'string' ? faults : makePlan(faults)
}

export const healthyPlan = (): FaultPlan => makePlan(faultsBody.parse({}))

function makePlan(faults: FaultPlan['faults']): FaultPlan {
  const seed = faults.seed ?? randomInt(SEED_MAX)
  return { faults, random: seededRandom(seed), randomNotice: seededRandom(~seed) }
}

// Every request takes the same number of random values, whichever rates are set.
export function randomOutcome(plan: FaultPlan): Outcome {
  const { faults, random } = plan
  const [hang, error, garbage, lose, variant] = [random(), random(), random(), random(), random()]
  if (hang < faults.hangRate) return { kind: 'hang', variant }
  if (error < faults.errorRate) return { kind: 'error', variant }
  if (lose < faults.loseAnswerRate) return { kind: 'lose', variant }
  if (garbage < faults.garbageRate) return { kind: 'garbage', variant }
  return { kind: 'normal', variant }
}

export function shuffle<T>(items: T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }))
  const shuffled = keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item)
  // A shuffle may change nothing by chance.
  const same = shuffled.every((item, index) => item === items[index])
  return same ? shuffled.toReversed() : shuffled
}
