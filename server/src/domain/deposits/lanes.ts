import { makeSingleFlight, type SingleFlight } from '../../base/single-flight.ts'
import { makeLane, type Lane } from '../../base/lane.ts'
import { makeWorkerSlot, type Core, type WorkerSlot } from '../core/core.ts'
import { makeAccountWatch, type AccountWatch } from './account-watch.ts'
import { makePendingLimit, type PendingLimit } from './admission.ts'
import type { Charge } from './charge-reads.ts'
import { endIntents, makeAcceptanceLane, type Acceptance, type IntentEnd } from './charge-states.ts'
import { makeChargeWatch, type ChargeWatch } from './charge-watch.ts'
import { finishChecks, recordHints, type Check, type FinishedCheck, type Hints } from './checks/check-queue.ts'
import { makeReceivedLists, type ReceivedLists } from './checks/received-list.ts'
import { makeIntentLane, type Intent, type IntentResult } from './intents.ts'
import { makeSettlements, type RecordRefunds, type Settlements } from './settlements.ts'

export type DepositLanes = {
  intents: Lane<Intent, IntentResult>
  /** Ids of charges that this process is creating at a provider, or withdrawing, right now. */
  heldIntents: Set<string>
  /** False: see markPending(). */
  acceptances: Lane<Acceptance, boolean>
  endedIntents: Lane<IntentEnd>
  settlements: Settlements
  /** What notifications name. When a call resolves, its hints are stored as checks. */
  hints: Lane<Hints>
  finishedChecks: Lane<FinishedCheck>
  hintFollower: WorkerSlot<HintFollower>
  receivedLists: ReceivedLists
  checkCalls: SingleFlight<Checked>
  queries: SingleFlight<Queried>
  chargeWatch: ChargeWatch
  accountWatch: AccountWatch
  pendingLimit: PendingLimit
}

/** Asks about hints as soon as they are stored. While no check worker runs, hints wait in the queue of checks. */
export type HintFollower = {
  room(): number
  follow(checks: Check[]): void
}

/** 'changed': the charge must be read again. `ended` is the claimed check that ended in the settlement. */
export type Checked = { outcome: 'unpaid' | 'changed'; ended?: Check | undefined }

/** What a query came to. `check`: whether the provider was asked, which it is about a PENDING charge. */
export type Queried = { charge: Charge; check: 'fresh' | 'failed' | 'none' }

// Notifications in one statement. Most name one Pix; API Pix allows a thousand.
const MAX_NOTIFICATIONS = 64
// A list answers thousands of checks at once. Room for all that a process holds: an answer must not get lost.
const FINISHED = { maxWaiting: 25_000 }

export function makeDepositLanes(core: Core, recordRefunds: RecordRefunds): DepositLanes {
  const chargeWatch = makeChargeWatch(core)
  const settlements = makeSettlements(core, { chargeWatch, recordRefunds })
  const hintFollower: WorkerSlot<HintFollower> = makeWorkerSlot({ room: () => 0, follow: () => {} })
  return {
    intents: makeIntentLane(core),
    heldIntents: new Set(),
    acceptances: makeAcceptanceLane(core),
    endedIntents: makeLane(core, 'ended_intents', (ends) => endIntents(core, ends)),
    settlements,
    hints: makeLane(core, 'hints', (given) => storeHints(core, hintFollower.current(), given), {
      maxBatch: MAX_NOTIFICATIONS,
    }),
    finishedChecks: makeLane(core, 'finished_checks', (finished) => finishChecks(core, finished), FINISHED),
    hintFollower,
    receivedLists: makeReceivedLists(core, settlements),
    checkCalls: makeSingleFlight(),
    queries: makeSingleFlight(),
    chargeWatch,
    accountWatch: makeAccountWatch(core),
    pendingLimit: makePendingLimit(core),
  }
}

async function storeHints(core: Core, follower: HintFollower, given: Hints[]): Promise<void> {
  const count = given.reduce((sum, { hints }) => sum + hints.length, 0)
  const isFollowed = follower.room() >= count
  const checks = await recordHints(core, given, isFollowed)
  if (isFollowed) follower.follow(checks)
  else core.wakeChecks()
}
