import { Fault, type FaultCode } from '../../base/fault.ts'
import type { Context } from '../context.ts'
import { checkReason, type Actor } from '../core/audit-log.ts'
import type { ChargeAction, Resolution } from '../exceptions/exception-states.ts'
import { findException, type Exception } from './exceptions.ts'
import { resolveException } from './resolve-exception.ts'

/** One answer has to be read by a person. */
export const MAX_RESOLVED = 50
// Each may call the provider. More would take the rate limit from deposits.
const IN_PARALLEL = 5

/** How to decide several alike. credit: to the account of the charge that the payment names. */
export type SharedDecision = { how: Exclude<Resolution['how'], 'charge_account'>; charge: ChargeAction }

export type Decided = {
  id: string
  result: 'resolved' | 'resolving' | 'refused'
  /** Of a refusal. */
  code: FaultCode | null
  error: string | null
  /** As it is now; null if there is no such exception. */
  exception: Exception | null
}

/**
 * Decides each by itself, by the rules of one: a refusal of one keeps none from being decided. A repeated request
 * decides nothing twice, and answers what became of each. If one fails unexpectedly, the others are decided before that
 * is thrown.
 */
export async function resolveExceptions(
  ctx: Context,
  actor: Actor,
  ids: readonly string[],
  decision: SharedDecision,
  givenReason: string,
): Promise<Decided[]> {
  const reason = checkReason(givenReason)
  const decided = new Map<string, Decided>()
  const failures: unknown[] = []
  const waiting = [...ids]
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      try {
        decided.set(id, await resolveOne(ctx, actor, id, decision, reason))
      } catch (error) {
        failures.push(error)
      }
  }
  await Promise.all(Array.from({ length: IN_PARALLEL }, work))
  if (failures.length > 0) throw failures[0]
  return ids.map((id) => decided.get(id)!)
}

async function resolveOne(
  ctx: Context,
  actor: Actor,
  id: string,
  decision: SharedDecision,
  reason: string,
): Promise<Decided> {
  try {
    const resolution = resolutionOf(await findException(ctx, id), decision)
    return outcomeOf(id, await resolveException(ctx, actor, id, resolution, reason))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (error.code === 'not_found') return refused(id, error.code, error.message, null)
    const now = await findException(ctx, id)
    const { how, by, reason: said } = now.resolution ?? {}
    const isRepeated = how === decision.how && by?.kind === actor.kind && by.name === actor.name && said === reason
    return isRepeated ? outcomeOf(id, now) : refused(id, error.code, error.message, now)
  }
}

function resolutionOf({ kind, charge }: Exception, { how, charge: action }: SharedDecision): Resolution {
  if (how === 'match') return { how }
  // Several are decided alike, and only some name a charge that can still be paid.
  const closes = action === 'close' && charge?.status === 'PENDING' && kind !== 'unnamed_payment'
  const resolution = { charge: closes ? 'close' : 'keep' } as const
  if (how !== 'credit') return { how, ...resolution }
  if (charge) return { how, accountId: charge.accountId, ...resolution }
  throw new Fault('charge_not_named', 'This payment names no charge of ours, and so no account to credit')
}

function outcomeOf(id: string, exception: Exception): Decided {
  if (exception.state !== 'open') return { id, result: exception.state, code: null, error: null, exception }
  // The provider refused the refund at once, and the money is in suspense again.
  return refused(id, 'provider_refused', exception.refund?.failure ?? 'The refund failed', exception)
}

function refused(id: string, code: FaultCode, error: string, exception: Exception | null): Decided {
  return { id, result: 'refused', code, error, exception }
}
