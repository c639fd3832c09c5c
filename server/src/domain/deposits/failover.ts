import { Fault } from '../../base/fault.ts'
import { uuidFromHex } from '../../base/ids.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { markFailed } from './charge-states.ts'
import { providerNamed } from '../ports/provider.ts'
import { ownsOpening, releaseOpening } from './intent-lease.ts'
import { INTENT_PATIENCE_MS, type Intent } from './intents.ts'
import { ProviderError, type Provider, type ProviderChargeRequest } from '../ports/provider.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

/** What a provider must know to make the charge of an intent. */
export type ProviderRequest = Pick<
  Intent,
  'chargeId' | 'accountId' | 'provider' | 'valueCents' | 'description' | 'expiresAt'
> & {
  /** An earlier attempt may have had it made already. */
  isResumed: boolean
}

// Somebody waits for the QR code. A provider that used up this much leaves no time to try another.
const FAILOVER_WITHIN_MS = 12_000

/** Whom to ask first: the most preferred one that is not known to be down. If all are, the first, which then refuses at once. */
export function preferredProvider(ctx: Context): Provider {
  return ctx.providers.find(isUp) ?? ctx.providers[0]!
}

function isUp(provider: Provider): boolean {
  return provider.health().breaker !== 'open'
}

/**
 * Has the charge made by the provider of the intent, or by the next one when that one fails. It goes to another only when the first surely has no charge
 * that could be paid, so that one deposit never has two codes. Throws what the caller should be told.
 */
export async function createAtProvider(ctx: Context, proposal: ProviderRequest): Promise<void> {
  const begunAtMs = ctx.now().getTime()
  let provider = providerNamed(ctx, proposal.provider)
  let isInDoubt = proposal.isResumed
  for (;;) {
    try {
      const made = await provider.create(requestOf(proposal, ctx.now()))
      return await ctx.acceptances.add({ chargeId: proposal.chargeId, emv: made.emv })
    } catch (caught) {
      const error = isInDoubt ? doubted(caught) : caught
      const next = ctx.providers.slice(ctx.providers.indexOf(provider) + 1).find(isUp)
      const isInTime = ctx.now().getTime() - begunAtMs < FAILOVER_WITHIN_MS
      const mayMove =
        error instanceof ProviderError &&
        next &&
        isInTime &&
        (await ownsOpening(ctx, proposal.chargeId)) &&
        (await isSurelyNotPayable(provider, proposal, error))
      if (!mayMove) throw await openingFault(ctx, proposal.chargeId, error)
      ctx.log.warn(
        { err: error, chargeId: proposal.chargeId, from: provider.name, to: next.name },
        'a deposit goes to the next provider',
      )
      const move = {
        chargeId: proposal.chargeId,
        instance: ctx.instance,
        from: provider.name,
        to: next.name,
        mayStillBeMade: error.outcome === 'unknown',
      }
      await transact(ctx.pool, (tx) => moveOpening(tx, ctx.now(), move))
      provider = next
      isInDoubt = false
    }
  }
}

// That this attempt did not get through, or was refused, says nothing about an earlier one whose answer was lost.
function doubted(error: unknown): unknown {
  return error instanceof ProviderError ? new ProviderError('unknown', error.message, { cause: error }) : error
}

// What is left of its time, so that a charge made on a second attempt ends there when it ends here.
function requestOf(proposal: ProviderRequest, now: Date): ProviderChargeRequest {
  const { chargeId, accountId, valueCents, description, expiresAt } = proposal
  const expiresInSeconds = Math.max(1, Math.round((expiresAt.getTime() - now.getTime()) / 1000))
  return { txid: chargeId, valueCents, expiresInSeconds, description, onBehalfOf: accountId }
}

/** A charge whose fate is unknown is withdrawn. What cannot be withdrawn, or is not known to be, stays where it is. */
async function isSurelyNotPayable(
  provider: Provider,
  { chargeId, accountId }: ProviderRequest,
  error: ProviderError,
): Promise<boolean> {
  if (error.outcome !== 'unknown') return true
  try {
    return (await provider.cancel(chargeId, { onBehalfOf: accountId })) !== 'not_active'
  } catch {
    return false
  }
}

type Move = { chargeId: string; instance: number; from: string; to: string; mayStillBeMade: boolean }

async function moveOpening(tx: Tx, now: Date, move: Move): Promise<void> {
  const { chargeId, instance, from, to, mayStillBeMade } = move
  const soon = new Date(now.getTime() + INTENT_PATIENCE_MS)
  const moved = await tx.run(
    `update charges set provider = $3 where id = $1 and provider = $2 and status = 'OPENING' and opening_instance = $4`,
    [uuidFromHex(chargeId), from, to, instance],
  )
  // ImportedPage over by another process in the last moment.
  if (moved !== 1) throw notConfirmed()
  if (mayStillBeMade) {
    // A request that was under way when we withdrew may yet arrive; it is looked for once more, and withdrawn again.
    await tx.run(`update checks set kind = 'withdrawal', due_at = $3 where provider = $1 and subject = $2`, [
      from,
      chargeId,
      soon,
    ])
  } else {
    await tx.run('delete from checks where provider = $1 and subject = $2', [from, chargeId])
  }
  await tx.run(`insert into checks (provider, subject, kind, due_at) values ($1, $2, 'charge', $3)`, [
    to,
    chargeId,
    soon,
  ])
}

async function openingFault(core: Core, chargeId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof ProviderError)) {
    await releaseOpening(core, chargeId).catch(() => {}) // the first failure is the one to report
    return error
  }
  core.log.warn({ err: error, chargeId }, 'the provider did not make a charge')
  if (error.outcome === 'unknown') {
    await releaseOpening(core, chargeId)
    return notConfirmed(error)
  }
  await markFailed(core, chargeId)
  if (error.isOverloaded) return overloaded(error)
  return error.outcome === 'refused'
    ? new Fault('provider_refused', 'The payment provider refused the charge', { cause: error })
    : unavailable('The payment provider cannot be reached, please try again', error)
}

/** Nobody was shown a code. */
export function notConfirmed(cause?: ProviderError): Fault {
  return unavailable('The payment provider did not confirm the charge, please try again', cause)
}

function unavailable(text: string, cause?: ProviderError): Fault {
  return new Fault('provider_unavailable', text, { retryAfterSeconds: 2, cause })
}

/** Our own budget for the provider is spent. That is no news of the provider. */
export function overloaded(cause: ProviderError): Fault {
  return new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds: 2, cause })
}
