import { isHexId } from '../../../base/ids.ts'
import { describeSpan, inSpan } from '../../../base/tracing.ts'
import { transact } from '../../../db/tx.ts'
import type { Context } from '../../context.ts'
import type { Core } from '../../core/core.ts'
import { ProviderError, providerNamed } from '../../ports/provider.ts'
import { readCharge, type StoredCharge } from '../charge-reads.ts'
import { EXPIRY_GRACE_MS, markCanceled, markExpired } from '../charge-states.ts'
import { openUnnamedPayment } from '../../exceptions/exception-states.ts'
import { claimIntent } from '../intents.ts'
import type { Checked } from '../lanes.ts'
import { retryAt, type Check } from './check-queue.ts'

// After this many attempts over some minutes, a payment that the provider notified and does not find does not exist.
const MAX_PAYMENT_ATTEMPTS = 8
// About a minute, after which a provider's own records have caught up with its notifications.
const MAX_HINT_ATTEMPTS = 6

// With less left of its lease, a check cannot be asked and ended before another process may claim it.
const LEAST_LEASE_MS = 5_000

type CheckedCharge = Pick<StoredCharge, 'id' | 'provider' | 'status' | 'expiresAt'>

/**
 * Asks the provider and applies its answer. Simultaneous callers share a call, but never one that was sent before they
 * asked. `onBehalfOf` is the account whose caller waits for the answer; `check` is the claim that it answers.
 */
export function checkCharge(
  ctx: Context,
  charge: CheckedCharge,
  options: { onBehalfOf?: string; check?: Check } = {},
): Promise<Checked> {
  return ctx.checkCalls(`${charge.provider} ${charge.id}`, () => askAndApply(ctx, charge, options))
}

async function askAndApply(
  ctx: Context,
  { id, provider, status, expiresAt }: CheckedCharge,
  { onBehalfOf, check }: { onBehalfOf?: string; check?: Check },
): Promise<Checked> {
  describeSpan({ 'guiche.charge_id': id })
  // Read before the call: an answer from before the end of the grace may miss a payment in its last moment.
  const askedAt = ctx.now()
  const bank = providerNamed(ctx, provider)
  const list = ctx.receivedLists.of(bank)
  const answer = await list.alone(() => bank.check(id, { onBehalfOf }))
  const payments = answer === 'absent' ? [] : answer.payments
  const isEnded = payments.length > 0 && (await ctx.settlements.add(payments, check))
  if (isEnded) return { outcome: 'changed', ended: check }
  const isLate = askedAt.getTime() >= expiresAt.getTime() + EXPIRY_GRACE_MS
  // Before its expiry, an unknown charge does not end: a misrouted gateway would say the same of every charge.
  if (answer === 'absent' && status === 'PENDING')
    ctx.log.warn({ chargeId: id, provider }, 'provider does not know a charge that it accepted')
  else if (answer !== 'absent' && answer.status === 'paid' && payments.length === 0)
    await requireEnded(ctx, id, isLate || (check?.attempts ?? 0) >= MAX_HINT_ATTEMPTS)
  else if (answer !== 'absent' && answer.status === 'withdrawn') await markCanceled(ctx, id)
  else if (payments.length === 0 && !isLate) return { outcome: 'unpaid' }
  if (isLate) await markExpired(ctx, id)
  return { outcome: 'changed' }
}

/**
 * The provider calls it paid and names no Pix. That is no answer, unless we know the Pix already or an operator has
 * given it up. `isLasting`: the provider's records do not merely lag behind each other, so it is an exception.
 */
async function requireEnded(core: Core, chargeId: string, isLasting: boolean): Promise<void> {
  const { status, provider } = await readCharge(core, chargeId)
  if (status !== 'PENDING') return
  if (isLasting) {
    const unnamed = await transact(core.pool, (tx) => openUnnamedPayment(tx, core.now(), chargeId))
    if (unnamed?.isNew) core.metrics.exceptionsOpened.inc({ kind: 'unnamed_payment' })
    if (unnamed?.state !== 'open') return
  }
  throw new ProviderError('unknown', `${provider}: check: the charge was paid, and no Pix is named that paid it`)
}

/** When a claimed check is due again: null for never. 'done': nothing is left to record. */
type Next = { nextDueAt: Date | null; untilEnded: boolean; wasAsked: boolean } | 'done'

const NEVER: Next = { nextDueAt: null, untilEnded: false, wasAsked: true }

/** Does a claimed check, and ends or moves it. answer-payer.ts does those about payers. */
export function answerCheck(ctx: Context, check: Check, kind: keyof typeof ANSWERS): Promise<void> {
  const { provider, subject, attempts, cause } = check
  const chargeId = isHexId(subject) ? subject : undefined
  const attributes = {
    'guiche.provider': provider,
    'guiche.check': kind,
    'guiche.attempt': attempts,
    'guiche.charge_id': chargeId,
    'guiche.end_to_end_id': kind === 'payment' ? subject : undefined,
  }
  return inSpan('check', { chargeId, causes: [cause], attributes }, () => answerAndMove(ctx, check, kind))
}

async function answerAndMove(ctx: Context, check: Check, kind: keyof typeof ANSWERS): Promise<void> {
  const next = await ANSWERS[kind](ctx, check).catch((error: unknown): Next => {
    // The outcome is unknown, so the check stays in the queue, however long the provider is down.
    ctx.log.warn({ err: error, subject: check.subject, attempts: check.attempts }, 'provider status check failed')
    return again(ctx, check)
  })
  if (next !== 'done') await ctx.finishedChecks.add({ check, ...next })
}

const ANSWERS = { payment: answerPayment, charge: answerCharge, withdrawal: answerWithdrawal }

function again(ctx: Context, { attempts }: Check): Next {
  return { nextDueAt: retryAt(ctx.now(), attempts), untilEnded: false, wasAsked: true }
}

/** By a list if many wait, else alone. */
async function askFor(
  ctx: Context,
  check: Check,
  steps: { booked: () => Next; alone: () => Promise<Next> },
): Promise<Next> {
  const list = ctx.receivedLists.of(providerNamed(ctx, check.provider))
  const listed = await list.hint(check)
  if (listed === 'ended') return 'done'
  if (listed === 'booked') return steps.booked()
  // Without a lease, whichever process claims it next asks.
  const answer = await list.inTurn(async () => (hasLease(ctx, check) ? steps.alone() : 'done'))
  return answer === 'stopped' ? { nextDueAt: ctx.now(), untilEnded: false, wasAsked: false } : answer
}

function hasLease(ctx: Context, { leasedUntil }: Check): boolean {
  return leasedUntil.getTime() - ctx.now().getTime() >= LEAST_LEASE_MS
}

function answerPayment(ctx: Context, check: Check): Promise<Next> {
  return askFor(ctx, check, {
    booked: () => NEVER,
    async alone() {
      const bank = providerNamed(ctx, check.provider)
      const payment = await ctx.receivedLists.of(bank).alone(() => bank.findPayment(check.subject))
      if (payment === 'absent') return check.attempts < MAX_PAYMENT_ATTEMPTS ? again(ctx, check) : NEVER
      await ctx.settlements.add([payment], check)
      return 'done'
    },
  })
}

async function answerCharge(ctx: Context, check: Check): Promise<Next> {
  const { charge, subject: id } = check
  // Another provider than the charge's own can only have a payment that should have been impossible.
  if (charge?.provider !== check.provider) return answerWithdrawal(ctx, check)
  if (charge.status === 'OPENING') return clearIntent(ctx, await readCharge(ctx, id), check)
  // Paid in time, and nobody told of another payment.
  if (check.isExpiry && charge.status === 'COMPLETED') return NEVER
  if (charge.orderPaid && charge.status === 'PENDING' && (await isWithdrawn(ctx, check))) return NEVER
  return askFor(ctx, check, {
    booked: () => untilEnded(ctx, check, charge.expiresAt),
    async alone() {
      const { ended } = await checkCharge(ctx, { id, ...charge }, { check })
      return ended === check ? 'done' : untilEnded(ctx, check, charge.expiresAt)
    },
  })
}

/** Another charge paid its order, so nobody should pay this one. If it was paid before, it stays and is asked about. */
async function isWithdrawn(ctx: Context, { provider, subject }: Check): Promise<boolean> {
  if ((await providerNamed(ctx, provider).cancel(subject)) !== 'withdrawn') return false
  await markCanceled(ctx, subject)
  return true
}

/** When to ask again about a charge that stays PENDING. */
function untilEnded(ctx: Context, { attempts }: Check, expiresAt: Date): Next {
  const now = ctx.now()
  const decisiveAt = new Date(expiresAt.getTime() + EXPIRY_GRACE_MS)
  // Before its expiry, only a notification makes a check due. Some providers notify before their records are updated,
  // so we ask a few times more. After its expiry it should have ended, and we ask until it has.
  const asksAgain = now >= decisiveAt || attempts < MAX_HINT_ATTEMPTS
  return { nextDueAt: asksAgain ? retryAt(now, attempts) : decisiveAt, untilEnded: true, wasAsked: true }
}

/** Nobody was shown this charge. If the provider made it after all, it is withdrawn, so that nobody can pay it. */
async function clearIntent(ctx: Context, charge: StoredCharge, check: Check): Promise<Next> {
  const provider = providerNamed(ctx, charge.provider)
  if (!provider.isCallable()) return again(ctx, check)
  const isCleared = await claimIntent(ctx, charge, async () => {
    const outcome = await provider.cancel(charge.id)
    const answer = outcome === 'not_active' ? await provider.check(charge.id) : outcome
    const payments = typeof answer === 'object' ? answer.payments : []
    if (payments.length > 0) await ctx.settlements.add(payments)
    // Paid, but the provider does not name the Pix yet: ask again.
    else if (typeof answer === 'object' && answer.status === 'paid') return false
    else await ctx.endedIntents.add({ chargeId: charge.id, outcome: 'failed' })
    return true
  })
  return isCleared ? NEVER : again(ctx, check)
}

/** Withdraws what this provider may still have made. If it was paid after all, the payment becomes an exception. */
async function answerWithdrawal(ctx: Context, check: Check): Promise<Next> {
  const provider = providerNamed(ctx, check.provider)
  if ((await provider.cancel(check.subject)) !== 'not_active') return NEVER
  const answer = await provider.check(check.subject)
  if (answer !== 'absent' && answer.payments.length > 0) await ctx.settlements.add(answer.payments)
  return NEVER
}
