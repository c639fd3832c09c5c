import { makeSingleFlight, type SingleFlight } from '../../base/single-flight.ts'
import { autocommit, transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { makeLane, type Lane } from '../core/lane.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import { makePendingLimit, type PendingLimit } from './admission.ts'
import type { StoredCharge } from './charge-reads.ts'
import { markPending, type Acceptance } from './charge-states.ts'
import { makeChargeWatch, type ChargeWatch } from './charge-watch.ts'
import { insertIntents, openIntents, type Intent, type IntentResult } from './intents.ts'
import { settle, type Settled } from './settle.ts'

export type DepositLanes = {
  intents: Lane<Intent, IntentResult>
  /** Ids of charges that this process is creating at a provider, or withdrawing, right now. */
  heldIntents: Set<string>
  /** False: see markPending(). */
  acceptances: Lane<Acceptance, boolean>
  settlements: Lane<ReceivedPayment[]>
  /** Status checks at the provider, shared by simultaneous callers. */
  checkCalls: SingleFlight<StoredCharge>
  /** Notifies open payment pages. */
  chargeWatch: ChargeWatch
  pendingLimit: PendingLimit
}

/** `onSettled` gets every payment of a committed batch, also those that were recorded before. */
export function makeDepositLanes(core: Core, onSettled: (payments: ReceivedPayment[]) => Promise<void>): DepositLanes {
  const chargeWatch = makeChargeWatch(core)
  return {
    intents: makeIntentLane(core),
    heldIntents: new Set(),
    acceptances: makeLane(async (accepted) => {
      const results = await markPending(autocommit(core.pool), core.instance, accepted)
      core.metrics.deposits.inc({ state: 'opened' }, results.filter(Boolean).length)
      return results
    }),
    settlements: makeLane(async (batch) => {
      const payments = batch.flat()
      const settled = await transact(core.pool, (tx) => settle(tx, core.now(), payments))
      countSettled(core, settled)
      chargeWatch.announce(settled.completed, 'COMPLETED')
      await onSettled(payments)
      core.wakeDeliveries()
    }),
    checkCalls: makeSingleFlight(),
    chargeWatch,
    pendingLimit: makePendingLimit(core),
  }
}

/** Repeated requests are few, and have a lane of their own: each lane must be one transaction. */
function makeIntentLane(core: Core): Lane<Intent, IntentResult> {
  const fresh = makeLane((intents: Intent[]) => openIntents(core, intents))
  const contested = makeLane((intents: Intent[]) => transact(core.pool, (tx) => insertIntents(tx, core.now(), intents)))
  return {
    add: async (intent) => (await fresh.add(intent)) ?? contested.add(intent),
    async drained() {
      await fresh.drained()
      await contested.drained()
    },
  }
}

const DUPLICATE =
  'two providers reported the same payment; it is booked once. Do both use the same bank account? Check PROVIDERS'

function countSettled({ metrics, log }: Core, { completed, matched, excepted, duplicates }: Settled): void {
  metrics.deposits.inc({ state: 'completed' }, completed.length)
  metrics.payments.inc({ outcome: 'credited' }, completed.length - matched)
  metrics.payments.inc({ outcome: 'suspense' }, excepted.length)
  for (const { kind } of excepted) metrics.exceptionsOpened.inc({ kind })
  for (const duplicate of duplicates) {
    metrics.paymentsDuplicate.inc({ provider: duplicate.provider })
    log.warn(duplicate, DUPLICATE)
  }
}
