import { makeSingleFlight, type SingleFlight } from '../../base/single-flight.ts'
import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { makeLane, type Lane } from '../core/lane.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import { markPending, type StoredCharge } from './charge-states.ts'
import { makeChargeWatch, type ChargeWatch } from './charge-watch.ts'
import { insertIntents, type Intent, type IntentResult } from './intents.ts'
import { makePendingLimit, type PendingLimit } from './pending-limit.ts'
import { settle, type Settled } from './settle.ts'

export type DepositLanes = {
  intents: Lane<Intent, IntentResult>
  /** Charges that this process is creating at a provider, or clearing up, at this moment. */
  heldIntents: Set<string>
  acceptances: Lane<{ chargeId: string; emv: string }>
  settlements: Lane<ReceivedPayment[]>
  /** Status checks of a charge at its provider, shared by all who ask at the same time. */
  checkCalls: SingleFlight<StoredCharge>
  /** Tells open payment pages that their charge has ended. */
  chargeWatch: ChargeWatch
  pendingLimit: PendingLimit
}

/** `onSettled` gets every payment of a committed batch, those that were known included. */
export function makeDepositLanes(core: Core, onSettled: (payments: ReceivedPayment[]) => Promise<void>): DepositLanes {
  const chargeWatch = makeChargeWatch(core)
  return {
    intents: makeLane((intents) => transact(core.pool, (tx) => insertIntents(tx, core.now(), intents))),
    heldIntents: new Set(),
    acceptances: makeLane(async (accepted) => {
      const opened = await transact(core.pool, (tx) => markPending(tx, core.instance, accepted))
      core.metrics.deposits.inc({ state: 'opened' }, opened)
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

const DUPLICATE =
  'two providers reported the same payment; it is booked once. Are both configured for the same bank account? See PROVIDERS'

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
