import { Fault } from '../../base/fault.ts'
import { describeSpan } from '../../base/tracing.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import { ProviderError, providerNamed, type Provider, type ProviderChargeRequest } from '../ports/provider.ts'
import { overloaded } from './admission.ts'
import { isVisible, readCharge, type Charge, type StoredCharge } from './charge-reads.ts'
import { ownsIntent } from './intent-lease.ts'
import { INTENT_TIMEOUT_MS } from './intents.ts'

// The caller waits for the QR code. A provider that used up this much time leaves none to try another.
export const FAILOVER_WITHIN_MS = 12_000

/** The most preferred provider that can be called now; with `after`, of those behind it. */
export function preferredProvider(ctx: Context, after?: Provider): Provider | undefined {
  const candidates = after ? ctx.providers.slice(ctx.providers.indexOf(after) + 1) : ctx.providers
  return candidates.find((provider) => provider.isCallable())
}

/** Makes the charge at this provider or the next. `isResumed`: an earlier attempt may have made it already. */
export async function createAtProvider(
  ctx: Context,
  first: Provider,
  intent: StoredCharge,
  { isResumed }: { isResumed: boolean },
): Promise<Charge> {
  describeSpan({ 'guiche.charge_id': intent.id })
  const accepted = await createWithFailover(ctx, first, intent, isResumed)
  if (accepted) return accepted
  // Another process claimed the intent, and accepts the charge or withdraws it.
  const charge = await readCharge(ctx, intent.id)
  if (!isVisible(charge)) throw notConfirmed()
  return withCode(ctx, charge)
}

/** Asks for the code of a charge that was paid before we learned it. It is not stored: see daily-totals.ts. */
export async function withCode(ctx: Context, charge: Charge): Promise<Charge> {
  if (charge.emv !== '') return charge
  const { id, accountId, provider } = charge
  try {
    const answer = await providerNamed(ctx, provider).check(id, { onBehalfOf: accountId })
    if (answer !== 'absent' && answer.emv !== '') return { ...charge, emv: answer.emv }
    throw codeUnknown()
  } catch (error) {
    throw error instanceof ProviderError ? codeUnknown(error) : error
  }
}

/** Moves on only when the provider surely has no charge that could be paid: a deposit never has two codes. */
async function createWithFailover(
  ctx: Context,
  first: Provider,
  intent: StoredCharge,
  isResumed: boolean,
): Promise<Charge | undefined> {
  const chargeId = intent.id
  const startedAtMs = ctx.now().getTime()
  let provider = first
  let mayExist = isResumed
  for (;;) {
    try {
      const { emv } = await provider.create(requestOf(intent, ctx.now()))
      const isAccepted = await ctx.acceptances.add({ chargeId, emv })
      return isAccepted ? { ...intent, provider: provider.name, status: 'PENDING', emv } : undefined
    } catch (caught) {
      const error = mayExist ? asUnknown(caught) : caught
      const next = preferredProvider(ctx, provider)
      const mayMove =
        error instanceof ProviderError &&
        next &&
        ctx.now().getTime() - startedAtMs < FAILOVER_WITHIN_MS &&
        (await ownsIntent(ctx, chargeId)) &&
        (await isSurelyNotPayable(provider, intent, error))
      if (!mayMove) throw await intentFault(ctx, chargeId, error)
      const move = { chargeId, from: provider.name, to: next.name }
      ctx.log.warn({ err: error, ...move }, 'deposit moved to the next provider')
      const mayStillBeMade = error.outcome === 'unknown'
      await transact(ctx.pool, (tx) => moveIntent(tx, ctx.now(), { ...move, instance: ctx.instance, mayStillBeMade }))
      provider = next
      mayExist = false
    }
  }
}

// A failure of this attempt says nothing about an earlier one whose answer was lost.
function asUnknown(error: unknown): unknown {
  return error instanceof ProviderError ? new ProviderError('unknown', error.message, { cause: error }) : error
}

// The time that is left, so that a charge made on a second attempt expires there when it expires here.
function requestOf(intent: StoredCharge, now: Date): ProviderChargeRequest {
  const { id, accountId, valueCents, description, expiresAt } = intent
  const expiresInSeconds = Math.max(1, Math.round((expiresAt.getTime() - now.getTime()) / 1000))
  return { txid: id, valueCents, expiresInSeconds, description, onBehalfOf: accountId }
}

/** Withdraws a charge that may exist. False if it cannot be withdrawn, or nobody knows whether it was. */
async function isSurelyNotPayable(
  provider: Provider,
  { id, accountId }: StoredCharge,
  error: ProviderError,
): Promise<boolean> {
  if (error.outcome !== 'unknown') return true
  try {
    return (await provider.cancel(id, { onBehalfOf: accountId })) !== 'not_active'
  } catch {
    return false
  }
}

type ProviderMove = { chargeId: string; instance: number; from: string; to: string; mayStillBeMade: boolean }

async function moveIntent(tx: Tx, now: Date, move: ProviderMove): Promise<void> {
  const { chargeId, instance, from, to, mayStillBeMade } = move
  const dueAt = new Date(now.getTime() + INTENT_TIMEOUT_MS)
  const [moved] = await tx.rows<{ accountId: string }>(
    `update charges set provider = $3 where id = $1 and provider = $2 and status = 'OPENING' and opening_instance = $4
     returning account_id as "accountId"`,
    [chargeId, from, to, instance],
  )
  // Another process claimed it at the last moment.
  if (!moved) throw notConfirmed()
  // A request that was in flight when we withdrew may still arrive, so the check withdraws the charge once more.
  const oldCheck = mayStillBeMade
    ? `update checks set kind = 'withdrawal', due_at = $3, claim = null where provider = $1 and subject = $2`
    : 'delete from checks where provider = $1 and subject = $2'
  await tx.run(oldCheck, mayStillBeMade ? [from, chargeId, dueAt] : [from, chargeId])
  await insertRow(tx, 'checks', {
    provider: to,
    subject: chargeId,
    kind: 'charge',
    account_id: moved.accountId,
    due_at: dueAt,
  })
}

async function intentFault(ctx: Context, chargeId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof ProviderError)) {
    // The first failure is the one to report.
    await ctx.endedIntents.add({ chargeId, outcome: 'unknown' }).catch(() => {})
    return error
  }
  ctx.log.warn({ err: error, chargeId }, 'provider did not create a charge')
  await ctx.endedIntents.add({ chargeId, outcome: error.outcome === 'unknown' ? 'unknown' : 'failed' })
  if (error.outcome === 'unknown') return notConfirmed(error)
  if (error.isOverloaded) return overloaded(error)
  return error.outcome === 'refused'
    ? new Fault('provider_refused', 'The payment provider refused the charge', { cause: error })
    : unreachable(error)
}

export function notConfirmed(cause?: ProviderError): Fault {
  return unavailable('The payment provider did not confirm the charge, please try again', cause)
}

export function unreachable(cause: ProviderError): Fault {
  return unavailable('The payment provider cannot be reached, please try again', cause)
}

function codeUnknown(cause?: ProviderError): Fault {
  return unavailable('The payment provider did not tell the code of the charge, please try again', cause)
}

function unavailable(text: string, cause?: ProviderError): Fault {
  return new Fault('provider_unavailable', text, { retryAfterSeconds: 2, cause })
}
