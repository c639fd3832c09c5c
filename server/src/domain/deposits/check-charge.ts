import type { Context } from '../context.ts'
import { ProviderError, providerNamed } from '../ports/provider.ts'
import { readCharge, type StoredCharge } from './charge-reads.ts'
import { EXPIRY_GRACE_MS, markCanceled, markExpired, markFailed } from './charge-states.ts'
import { retryAt, type Check } from './check-queue.ts'
import { claimIntent } from './intent-lease.ts'

// After this many attempts over some minutes, a payment that the provider notified and does not find does not exist.
const MAX_PAYMENT_ATTEMPTS = 8
// About a minute, after which a provider's own records have caught up with its notifications.
const MAX_HINT_ATTEMPTS = 6

/**
 * Asks the provider, applies its answer, and resolves to the charge after that. Simultaneous callers share a call, but
 * never one that was sent before they asked. `onBehalfOf` is the account whose caller waits for the answer.
 */
export function checkCharge(
  ctx: Context,
  charge: Pick<StoredCharge, 'id' | 'provider'>,
  onBehalfOf?: string,
): Promise<StoredCharge> {
  return ctx.checkCalls(`${charge.provider} ${charge.id}`, () => askAndApply(ctx, charge, onBehalfOf))
}

async function askAndApply(
  ctx: Context,
  { id, provider }: Pick<StoredCharge, 'id' | 'provider'>,
  onBehalfOf: string | undefined,
): Promise<StoredCharge> {
  // Read before the call: an answer from before the end of the grace may miss a payment in its last moment.
  const askedAt = ctx.now()
  const answer = await providerNamed(ctx, provider).check(id, { onBehalfOf })
  if (answer !== 'absent' && answer.payments.length > 0) await ctx.settlements.add(answer.payments)
  const charge = await readCharge(ctx, id)
  if (charge.status !== 'PENDING') return charge
  // Before its expiry, an unknown charge does not end: a misrouted gateway would say the same of every charge.
  if (answer === 'absent') ctx.log.warn({ chargeId: id, provider }, 'provider does not know a charge that it accepted')
  // If the provider does name a Pix and the charge is still PENDING, that Pix did not fit.
  else if (answer.status === 'paid' && answer.payments.length === 0)
    throw new ProviderError('unknown', `${provider}: check: the charge was paid, and no Pix is named that paid it`)
  else if (answer.status === 'withdrawn') return (await markCanceled(ctx, id)) ?? readCharge(ctx, id)
  const isLate = askedAt.getTime() >= charge.expiresAt.getTime() + EXPIRY_GRACE_MS
  return isLate ? ((await markExpired(ctx, id)) ?? readCharge(ctx, id)) : charge
}

/** Does a claimed check. Resolves to when it is due again: null for never. */
export function answerCheck(ctx: Context, check: Check): Promise<Date | null> {
  return { payment: answerPayment, charge: answerCharge, withdrawal: answerWithdrawal }[check.kind](ctx, check)
}

async function answerPayment(ctx: Context, check: Check): Promise<Date | null> {
  const payment = await providerNamed(ctx, check.provider).findPayment(check.subject)
  if (payment === 'absent') return check.attempts < MAX_PAYMENT_ATTEMPTS ? retryAt(ctx.now(), check.attempts) : null
  await ctx.settlements.add([payment])
  return null
}

async function answerCharge(ctx: Context, check: Check): Promise<Date | null> {
  const charge = await readCharge(ctx, check.subject)
  // Another provider than the charge's own can only have a payment that should have been impossible.
  if (charge.provider !== check.provider) return answerWithdrawal(ctx, check)
  if (charge.status === 'OPENING') return clearIntent(ctx, charge, check)
  const after = await checkCharge(ctx, charge)
  if (after.status !== 'PENDING') return null
  const now = ctx.now()
  const decisiveAt = new Date(after.expiresAt.getTime() + EXPIRY_GRACE_MS)
  // Before its expiry, only a notification makes a check due. Some providers notify before their records are updated,
  // so we ask a few times more. After its expiry it should have ended, and we ask until it has.
  const asksAgain = now >= decisiveAt || check.attempts < MAX_HINT_ATTEMPTS
  return asksAgain ? retryAt(now, check.attempts) : decisiveAt
}

/** Nobody was shown this charge. If the provider made it after all, it is withdrawn, so that nobody can pay it. */
async function clearIntent(ctx: Context, charge: StoredCharge, check: Check): Promise<Date | null> {
  const isCleared = await claimIntent(ctx, charge, async () => {
    const provider = providerNamed(ctx, charge.provider)
    const outcome = await provider.cancel(charge.id)
    const answer = outcome === 'not_active' ? await provider.check(charge.id) : outcome
    const payments = typeof answer === 'object' ? answer.payments : []
    if (payments.length > 0) await ctx.settlements.add(payments)
    // Paid, but the provider does not name the Pix yet: ask again.
    else if (typeof answer === 'object' && answer.status === 'paid') return false
    else await markFailed(ctx, charge.id)
    return true
  })
  return isCleared ? null : retryAt(ctx.now(), check.attempts)
}

/** Withdraws what this provider may still have made. If it was paid after all, the payment becomes an exception. */
async function answerWithdrawal(ctx: Context, check: Check): Promise<Date | null> {
  const provider = providerNamed(ctx, check.provider)
  if ((await provider.cancel(check.subject)) !== 'not_active') return null
  const answer = await provider.check(check.subject)
  if (answer !== 'absent' && answer.payments.length > 0) await ctx.settlements.add(answer.payments)
  return null
}
