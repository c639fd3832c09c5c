import type { SpanContext } from '@opentelemetry/api'
import { hexIdOf } from '../../base/ids.ts'
import { inSpan, type NewSpan } from '../../base/tracing.ts'
import type { Core } from '../core/core.ts'
import { makeLane } from '../../base/lane.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import type { ChargeWatch } from './charge-watch.ts'
import { endChecks, type Check } from './checks/check-queue.ts'
import { lockCodes } from './code-payments.ts'
import { transactOrders } from './order-locks.ts'
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

/** `cause`: the span that waits for it. */
type Item = { payment: ReceivedPayment; check: Check | undefined; cause: SpanContext }

/** `hasEnded`: the check ended with the batch. `announce` tells others of the whole batch, when first called. */
type Booked = { hasEnded: boolean; announce: () => void }

/** `recordRefunds` is one transaction. It gets payments of committed batches, also those that were recorded before. */
export function makeSettlements(
  core: Core,
  { chargeWatch, recordRefunds }: { chargeWatch: ChargeWatch; recordRefunds: RecordRefunds },
): Settlements {
  async function settleBatch(items: Item[]): Promise<Booked[]> {
    const payments = items.map(({ payment }) => payment)
    const now = core.now()
    const settled = await transactOrders(core, async (tx, open) => {
      const outcome = await settle(tx, now, payments, open, await lockCodes(tx, core.settings, now, payments))
      const ended = endedBy(outcome)
      await endChecks(
        tx,
        items.flatMap(({ check }) => (check && ended(check) ? [check] : [])),
      )
      return outcome
    })
    const announce = once(() => {
      countSettled(core, settled)
      chargeWatch.announce(settled.completed, 'COMPLETED')
      core.wakeDeliveries()
      if (settled.excepted.some(({ kind }) => kind === 'payer_unconfirmed')) core.wakeChecks()
    })
    const ended = endedBy(settled)
    return items.map(({ check }) => ({ hasEnded: check !== undefined && ended(check), announce }))
  }
  const tracedBatch = (items: Item[]) => {
    const causes = items.map(({ cause }) => cause)
    return inSpan('settle batch', { causes, attributes: { 'guiche.payments': items.length } }, () => settleBatch(items))
  }
  const lane = makeLane(core, 'settlements', tracedBatch, CONCURRENCY)
  const refunds = makeLane(core, 'reported_refunds', recordRefunds)
  const adding = new Set<Promise<boolean>>()

  // What follows a commit stands outside of the lane: a failure there must not repeat the batch.
  async function settleOne(payment: ReceivedPayment, check: Check | undefined): Promise<boolean> {
    const { hasEnded, announce } = await inSpan('settle', aboutSettling(payment), (span) =>
      lane.add({ payment, check, cause: span.spanContext() }),
    )
    announce()
    if (payment.refunds?.length || payment.givenBack === 'all') await refunds.add(payment)
    return hasEnded
  }

  function addOne(payment: ReceivedPayment, check: Check | undefined): Promise<boolean> {
    const settling = settleOne(payment, check).finally(() => adding.delete(settling))
    adding.add(settling)
    return settling
  }

  return {
    async add(payments, check) {
      const inOrder = payments.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime())
      const last = check && inOrder.pop()
      await Promise.all(inOrder.map((payment) => addOne(payment, undefined)))
      return last ? addOne(last, check) : false
    },
    addOne,
    drained: async () => void (await Promise.allSettled(adding)),
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}

export type RecordRefunds = (payments: ReceivedPayment[]) => Promise<void>

/** From the wait for a batch to its commit, in the trace of the charge. */
function aboutSettling({ provider, txid, endToEndId }: ReceivedPayment): NewSpan {
  const chargeId = hexIdOf(txid) ?? undefined
  const attributes = { 'guiche.provider': provider, 'guiche.charge_id': chargeId, 'guiche.end_to_end_id': endToEndId }
  return { chargeId, attributes }
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
