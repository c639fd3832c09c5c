import { Fault } from '../../base/fault.ts'
import { withTimeLimit } from '../../base/time-limit.ts'
import { transact } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import { ProviderError, providerNamed, type Provider } from '../ports/provider.ts'
import { overloaded } from './admission.ts'
import { requireCode, withGenuineCodes } from './charge-codes.ts'
import {
  readCharge,
  requireCharge,
  visible,
  type Charge,
  type ChargeStatus,
  type StoredCharge,
} from './charge-reads.ts'
import { endCharge, markCanceled } from './charge-states.ts'
import { checkCharge } from './checks/check-charge.ts'
import { enqueueWithdrawal } from './checks/check-queue.ts'
import { readHeld } from './held-payments.ts'
import type { Queried } from './lanes.ts'

// A query answers within this even when the provider does not.
const QUERY_TIMEOUT_MS = 3_000

/**
 * Checks a PENDING charge with the provider first, and answers what is stored if that fails or takes too long.
 * Simultaneous queries of one charge share all of it, and get the same object.
 */
export async function queryDeposit(ctx: Context, accountId: string, paymentLinkId: string): Promise<Queried> {
  try {
    const query = ctx.queries(`${accountId} ${paymentLinkId}`, () => readAndCheck(ctx, accountId, paymentLinkId))
    const queried = await withTimeLimit(query, QUERY_TIMEOUT_MS, tooLate)
    requireCode(queried.charge)
    return queried
  } catch (error) {
    const isExpected = error instanceof Fault && error.code === 'provider_unavailable'
    if (!isExpected && !(error instanceof ProviderError)) throw error
    ctx.log.warn(
      { err: error, paymentLinkId },
      'checking a queried charge with the provider failed; the stored status is answered',
    )
    // Another request or process may have settled the charge while we waited.
    return { charge: requireCode(await requireCharge(ctx, accountId, paymentLinkId)), check: 'failed' }
  }
}

async function readAndCheck(ctx: Context, accountId: string, paymentLinkId: string): Promise<Queried> {
  const charge = await requireCharge(ctx, accountId, paymentLinkId)
  if (charge.status !== 'PENDING') return { charge, check: 'none' }
  if (!providerNamed(ctx, charge.provider).isCallable()) return { charge, check: 'failed' }
  const { outcome } = await checkCharge(ctx, charge, { onBehalfOf: accountId })
  // Unpaid: what was read stands, because the check began after it.
  const checked = outcome === 'unpaid' ? charge : await requireCharge(ctx, accountId, paymentLinkId)
  return { charge: checked, check: 'fresh' }
}

function tooLate(): ProviderError {
  return new ProviderError('unknown', `no answer within ${QUERY_TIMEOUT_MS} ms`)
}

/** Withdraws a PENDING charge at the provider first: a charge that can still be paid is never shown as CANCELED. */
export async function cancelDeposit(ctx: Context, accountId: string, paymentLinkId: string): Promise<Charge> {
  const charge = await requireCharge(ctx, accountId, paymentLinkId)
  if (charge.status === 'CANCELED') return charge
  if (charge.status !== 'PENDING') throw cannotCancel(charge.status)
  try {
    const outcome = await providerNamed(ctx, charge.provider).cancel(charge.id, { onBehalfOf: accountId })
    const canceled =
      outcome === 'withdrawn' ? await markCanceled(ctx, charge.id) : await cancelOtherwise(ctx, charge, outcome)
    if (canceled) return visible((await withGenuineCodes(ctx, [canceled]))[0])
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    ctx.log.warn({ err: error, chargeId: charge.id }, 'provider did not confirm the cancellation of a charge')
    if (error.isOverloaded) throw overloaded(error)
    throw new Fault('provider_unavailable', 'The payment provider did not confirm the cancellation, please try again', {
      retryAfterSeconds: 2,
      cause: error,
    })
  }
  const after = await requireCharge(ctx, accountId, paymentLinkId)
  if (after.status === 'PENDING') throw await notWithdrawn(ctx, after)
  if (after.status !== 'CANCELED') throw cannotCancel(after.status)
  return after
}

/** Undefined if the charge is not PENDING any more, or can still be paid. */
async function cancelOtherwise(
  ctx: Context,
  charge: Charge,
  outcome: 'not_active' | 'absent',
): Promise<StoredCharge | undefined> {
  await checkCharge(ctx, charge, { onBehalfOf: charge.accountId })
  if ((await readCharge(ctx, charge.id)).status !== 'PENDING') return undefined
  const provider = providerNamed(ctx, charge.provider)
  const answer = await provider.check(charge.id)
  if (answer === 'absent') return outcome === 'absent' ? cancelAbsent(ctx, provider, charge) : undefined
  // The provider counts it as paid by a Pix that did not fit: nobody can pay it now, and nothing is left to withdraw.
  return answer.status === 'paid' && answer.payments.length > 0 ? markCanceled(ctx, charge.id) : undefined
}

// The provider itself may catch up within this.
const WITHDRAW_AGAIN_MS = 60_000
const PROBE_MS = 60_000

/**
 * The provider answered that it made the charge, and says of it three times that it has none. It forgot it, or never
 * stored it: there is nothing to withdraw. A gateway that finds nothing at all would say the same, but it has no list
 * either: if that fails, so does the cancellation. The check withdraws a charge that appears later.
 */
async function cancelAbsent(ctx: Context, provider: Provider, charge: Charge): Promise<StoredCharge | undefined> {
  const now = ctx.now()
  const window = { from: new Date(now.getTime() - PROBE_MS), to: now }
  for await (const _ of provider.listReceived(window, () => {})) break
  const canceled = await transact(ctx.pool, async (tx) => {
    const closed = await endCharge(tx, now, charge.id, 'CANCELED')
    if (closed) await enqueueWithdrawal(tx, closed, new Date(now.getTime() + WITHDRAW_AGAIN_MS))
    return closed
  })
  if (!canceled) return undefined
  ctx.metrics.deposits.inc({ state: 'canceled' })
  ctx.log.warn(
    { chargeId: charge.id, provider: provider.name },
    'a charge was canceled that its provider does not have',
  )
  return canceled
}

/** Some providers no longer withdraw a charge after they received another amount for it. */
async function notWithdrawn(core: Core, charge: Charge): Promise<Fault> {
  const heldCents = (await readHeld(core, [charge.id])).get(charge.id)?.heldCents ?? 0
  if (heldCents === 0) return new Fault('provider_refused', 'The payment provider refused to withdraw the charge')
  const text = `A payment of ${heldCents} cents was received for this charge and is held`
  return new Fault('payment_held', `${text}: ask the operator to decide on it`, { details: { heldCents } })
}

function cannotCancel(status: ChargeStatus): Fault {
  return new Fault('not_cancelable', `Charge is ${status} and cannot be canceled`, { details: { status } })
}
