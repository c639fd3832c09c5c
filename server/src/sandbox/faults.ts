import { randomInt } from 'node:crypto'
import { isRecord } from './answer.ts'
import { seededRandom } from '../base/seeded-random.ts'

// How the bank is told to misbehave. Rates are fractions from 0 to 1. The faults of answers meet every API Pix operation
// but not `POST /oauth/token`: a plan then says exactly what happens to the operation, and a client without a token
// still gets as far as the operation. They never meet /bank.
export type Faults = {
  // The share of notifications that is never sent.
  dropNotifications: number
  // Extra copies of each notification.
  duplicateNotifications: number
  delayNotificationsMs: number
  // Notifications are gathered for a moment, shuffled and sent one by one.
  reorderNotifications: boolean
  // Each page of the list of received Pix holds one entry more, whose endToEndId is none.
  malformedEntry: boolean
  latencyMs: number
  // 500, 503 or 504, and nothing was done.
  errorRate: number
  // The work was done and the answer is not what was promised: no JSON, cut off, empty or of another shape.
  garbageRate: number
  // Nothing was done and no answer comes.
  hangRate: number
  // The work was done and no answer comes.
  loseAnswerRate: number
  // For this long after a refund was made, lookups and lists do not show it and its id is not recognised, although it counts.
  refundLagMs: number
  seed?: number
}

// Answers and notifications draw from streams of their own: how they interleave is up to the network, and would
// otherwise spoil a seeded plan.
export type FaultPlan = { faults: Faults; draw: () => number; drawNotice: () => number }

// `variant`, from 0 to 1, chooses among the errors or the kinds of garbage.
export type Fate = { kind: 'normal' | 'hang' | 'error' | 'garbage' | 'lose'; variant: number }

export const NO_FAULTS: Faults = {
  dropNotifications: 0,
  duplicateNotifications: 0,
  delayNotificationsMs: 0,
  reorderNotifications: false,
  malformedEntry: false,
  latencyMs: 0,
  errorRate: 0,
  garbageRate: 0,
  hangRate: 0,
  loseAnswerRate: 0,
  refundLagMs: 0,
}

// A minute covers every time-out a client could have; more would only leak sockets.
const DELAY_MAX_MS = 60_000
// Longer than any client should take a lookup for the last word.
const LAG_MAX_MS = 24 * 3_600_000
const COPIES_MAX = 20
const SEED_MAX = 2 ** 32 - 1

export function healthyPlan(): FaultPlan {
  return makePlan(NO_FAULTS)
}

// The plan is replaced as a whole, so that {} heals. Returns what is wrong as a text.
export function parsePlan(body: unknown): FaultPlan | string {
  if (!isRecord(body)) return 'the body must be a JSON object'
  const faults: Faults = { ...NO_FAULTS }
  for (const [name, value] of Object.entries(body)) {
    const parse = FIELDS[name]
    if (!parse) return `unknown fault "${name}"; known are ${Object.keys(FIELDS).join(', ')}`
    const parsed = parse(value)
    if (parsed === undefined) return `${name} must be ${WANTED[name] ?? RATE_WANTED}`
    Object.assign(faults, { [name]: parsed })
  }
  return makePlan(faults)
}

// Always the same number of draws for one request, so that a seeded plan meets the n-th request with the same fate
// whichever rates are set.
export function drawFate(plan: FaultPlan): Fate {
  const { faults, draw } = plan
  const [hang, error, garbage, lose, variant] = [draw(), draw(), draw(), draw(), draw()]
  if (hang < faults.hangRate) return { kind: 'hang', variant }
  if (error < faults.errorRate) return { kind: 'error', variant }
  if (lose < faults.loseAnswerRate) return { kind: 'lose', variant }
  if (garbage < faults.garbageRate) return { kind: 'garbage', variant }
  return { kind: 'normal', variant }
}

export function shuffle<T>(items: T[], draw: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: draw() }))
  const shuffled = keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item)
  // A shuffle may by chance change nothing; whoever asked for disorder must get some.
  const same = shuffled.every((item, index) => item === items[index])
  return same ? shuffled.toReversed() : shuffled
}

const RATE_WANTED = 'a number from 0 to 1'
const WANTED: Record<string, string> = {
  dropNotifications: 'true, false or a number from 0 to 1',
  duplicateNotifications: `an integer from 0 to ${COPIES_MAX}`,
  delayNotificationsMs: `an integer from 0 to ${DELAY_MAX_MS}`,
  reorderNotifications: 'true or false',
  malformedEntry: 'true or false',
  latencyMs: `an integer from 0 to ${DELAY_MAX_MS}`,
  refundLagMs: `an integer from 0 to ${LAG_MAX_MS}`,
  seed: `an integer from 0 to ${SEED_MAX}`,
}

const FIELDS: Record<string, (value: unknown) => number | boolean | undefined> = {
  dropNotifications: (value) => (typeof value === 'boolean' ? Number(value) : rate(value)),
  duplicateNotifications: (value) => integer(value, COPIES_MAX),
  delayNotificationsMs: (value) => integer(value, DELAY_MAX_MS),
  reorderNotifications: (value) => (typeof value === 'boolean' ? value : undefined),
  malformedEntry: (value) => (typeof value === 'boolean' ? value : undefined),
  latencyMs: (value) => integer(value, DELAY_MAX_MS),
  errorRate: rate,
  garbageRate: rate,
  hangRate: rate,
  loseAnswerRate: rate,
  refundLagMs: (value) => integer(value, LAG_MAX_MS),
  seed: (value) => integer(value, SEED_MAX),
}

function rate(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined
}

function integer(value: unknown, max: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max ? value : undefined
}

function makePlan(faults: Faults): FaultPlan {
  const seed = faults.seed ?? randomInt(SEED_MAX)
  return { faults, draw: seededRandom(seed), drawNotice: seededRandom(~seed) }
}
