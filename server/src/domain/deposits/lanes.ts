import { makeSingleFlight, type SingleFlight } from '../../base/single-flight.ts'
import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { makeLane, type Lane } from '../core/lane.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import { makePendingLimit, type PendingLimit } from './admission.ts'
import type { Charge, StoredCharge } from './charge-reads.ts'
import { markPending, type Acceptance } from './charge-states.ts'
import { makeChargeWatch, type ChargeWatch } from './charge-watch.ts'
import { insertIntents, type Intent, type IntentResult } from './intents.ts'
import { settle, type Settled } from './settle.ts'

export type DepositLanes = {
  intents: Lane<Intent, IntentResult>
  /** Ids of charges that this process is creating at a provider, or withdrawing, right now. */
  heldIntents: Set<string>
  acceptances: Lane<Acceptance, Charge | undefined>
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
    intents: makeLane((intents) => transact(core.pool, (tx) => insertIntents(tx, core.now(), intents))),
    heldIntents: new Set(),
    acceptances: makeLane(async (accepted) => {
      const charges = await transact(core.pool, (tx) => markPending(tx, core.instance, accepted))
      core.metrics.deposits.inc({ state: 'opened' }, charges.filter(Boolean).length)
      return charges
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
