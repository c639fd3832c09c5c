import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { makeLane } from '../core/lane.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import type { ChargeWatch } from './charge-watch.ts'
import { endChecks, type Check } from './checks/check-queue.ts'
import { settle, type Settled } from './settle.ts'

/** The lane to settle(). Each payment is an item of its own, so a batch is bounded by the number of payments. */
export type Settlements = {
  /**
   * `check` is the question that these payments answer. Resolves to whether it ended with them: in the transaction that
   * settles the last one, if that completes the check's charge or the check is about the payment itself.
   */
  add(payments: ReceivedPayment[], check?: Check): Promise<boolean>
  addOne(payment: ReceivedPayment, check: Check | undefined): Promise<boolean>
  drained(): Promise<void>
}

// One batch is prepared and answered while another one commits.
const CONCURRENCY = { concurrency: 2 }

type Item = { payment: ReceivedPayment; check: Check | undefined }

/** `onSettled` gets every payment of a committed batch, also those that were recorded before. */
export function makeSettlements(
  core: Core,
  { chargeWatch, onSettled }: { chargeWatch: ChargeWatch; onSettled: (payments: ReceivedPayment[]) => Promise<void> },
): Settlements {
  async function settleBatch(items: Item[]): Promise<boolean[]> {
    const payments = items.map(({ payment }) => payment)
    const now = core.now()
    const settled = await transact(core.pool, async (tx) => {
      const outcome = await settle(tx, now, payments)
      const ended = endedBy(outcome)
      await endChecks(
        tx,
        items.flatMap(({ check }) => (check && ended(check) ? [check] : [])),
      )
      return outcome
    })
    countSettled(core, settled)
    chargeWatch.announce(settled.completed, 'COMPLETED')
    core.wakeDeliveries(now)
    await onSettled(payments)
    const ended = endedBy(settled)
    return items.map(({ check }) => check !== undefined && ended(check))
  }
  const lane = makeLane(core, 'settlements', settleBatch, CONCURRENCY)
  const addOne: Settlements['addOne'] = (payment, check) => lane.add({ payment, check })
  return {
    async add(payments, check) {
      const inOrder = payments.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime())
      const last = check && inOrder.pop()
      await Promise.all(inOrder.map((payment) => addOne(payment, undefined)))
      return last ? addOne(last, check) : false
    },
    addOne,
    drained: lane.drained,
  }
}

function endedBy({ completed }: Settled): (check: Check) => boolean {
  const ids = new Set(completed)
  return ({ kind, subject }) => kind === 'payment' || ids.has(subject)
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
