import { randomInt } from 'node:crypto'
import { isRecord } from './answer.ts'
import { seededRandom } from '../base/seeded-random.ts'

// The faults that PUT /bank/faults injects. Rates are fractions from 0 to 1. Faults of answers apply to every API Pix
// operation but not to `POST /oauth/token`, so that a client without a token still reaches the operation. They never
// apply to /bank.
export type Faults = {
  // The share of notifications that is never sent.
  dropNotifications: number
  // Extra copies of each notification.
  duplicateNotifications: number
  delayNotificationsMs: number
  // Notifications are held for a moment, shuffled and sent one by one.
  reorderNotifications: boolean
  // Each page of the list of received Pix holds one more entry, whose endToEndId is malformed.
  malformedEntry: boolean
  latencyMs: number
  // 500, 503 or 504, and nothing was done.
  errorRate: number
  // The work was done and the answer is malformed: no JSON, truncated, empty or of another shape.
  garbageRate: number
  // Nothing was done and no answer comes.
  hangRate: number
  // The work was done and no answer comes.
  loseAnswerRate: number
  // For this long after a refund was made, lookups and lists do not show it and its id is not recognised, although its
  // amount counts.
  refundLagMs: number
  // Refunds that were made are shown as NAO_REALIZADO with their Pix; a lookup of the refund itself shows the truth.
  refundsListedFailed: boolean
  // Refunds that were made are shown as NAO_REALIZADO everywhere: the bank took them back, for as long as this lasts.
  refundsFailed: boolean
  seed?: number
}

// Answers and notifications have random streams of their own: the network decides how they interleave, and a shared
// stream would make a seeded plan unrepeatable.
export type FaultPlan = { faults: Faults; random: () => number; randomNotice: () => number }

// `variant`, from 0 to 1, chooses among the errors or the kinds of garbage.
export type Outcome = { kind: 'normal' | 'hang' | 'error' | 'garbage' | 'lose'; variant: number }

const NO_FAULTS: Faults = {
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
  refundsListedFailed: false,
  refundsFailed: false,
}

// A minute covers every time-out a client could have; more would only leak sockets.
const DELAY_MAX_MS = 60_000
// Longer than any client should wait before it trusts a lookup.
const LAG_MAX_MS = 24 * 3_600_000
const COPIES_MAX = 20
const SEED_MAX = 2 ** 32 - 1

export function healthyPlan(): FaultPlan {
  return makePlan(NO_FAULTS)
}

// The plan is replaced as a whole, so that {} removes all faults. Returns what is wrong as a text.
export function parsePlan(body: unknown): FaultPlan | string {
  if (!isRecord(body)) return 'the body must be a JSON object'
  const faults: Faults = { ...NO_FAULTS }
  for (const [name, value] of Object.entries(body)) {
    const field = FIELDS[name]
    if (!field) return `unknown fault "${name}"; known are ${Object.keys(FIELDS).join(', ')}`
    const parsed = field.parse(value)
    if (parsed === undefined) return `${name} must be ${field.wanted}`
    Object.assign(faults, { [name]: parsed })
  }
  return makePlan(faults)
}

// Every request takes the same number of random values, so that a seeded plan gives the n-th request the same outcome
// whichever rates are set.
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
  // A shuffle may change nothing by chance, and the fault promises another order.
  const same = shuffled.every((item, index) => item === items[index])
  return same ? shuffled.toReversed() : shuffled
}

type Field = { wanted: string; parse: (value: unknown) => number | boolean | undefined }

const RATE: Field = { wanted: 'a number from 0 to 1', parse: rate }
const SWITCH: Field = {
  wanted: 'true or false',
  parse: (value) => (typeof value === 'boolean' ? value : undefined),
}

const FIELDS: Record<string, Field> = {
  dropNotifications: {
    wanted: 'true, false or a number from 0 to 1',
    parse: (value) => (typeof value === 'boolean' ? Number(value) : rate(value)),
  },
  duplicateNotifications: integerTo(COPIES_MAX),
  delayNotificationsMs: integerTo(DELAY_MAX_MS),
  reorderNotifications: SWITCH,
  malformedEntry: SWITCH,
  latencyMs: integerTo(DELAY_MAX_MS),
  errorRate: RATE,
  garbageRate: RATE,
  hangRate: RATE,
  loseAnswerRate: RATE,
  refundLagMs: integerTo(LAG_MAX_MS),
  refundsListedFailed: SWITCH,
  refundsFailed: SWITCH,
  seed: integerTo(SEED_MAX),
}

function rate(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined
}

function integerTo(max: number): Field {
  const isFit = (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max
  return { wanted: `an integer from 0 to ${max}`, parse: (value) => (isFit(value) ? Number(value) : undefined) }
}

function makePlan(faults: Faults): FaultPlan {
  const seed = faults.seed ?? randomInt(SEED_MAX)
  return { faults, random: seededRandom(seed), randomNotice: seededRandom(~seed) }
}
