import { Fault } from '../../base/fault.ts'
import { query } from '../../db/tx.ts'
import { overloaded } from './failover.ts'
import { FULL_MS } from './pending-limit.ts'
import { ProviderError } from '../ports/provider.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

/**
 * Refuses a deposit of an account that floods, before anything is written down: a refusal that costs two transactions would make the flood
 * worse for everybody. A repeated request opens nothing new, is owed its first answer, and passes.
 */
export async function admitDeposit(ctx: Context, accountId: string, idempotencyKey: string | null): Promise<void> {
  const refusal = await refusalOf(ctx, accountId)
  if (refusal && !(idempotencyKey !== null && (await isKeyUsed(ctx, accountId, idempotencyKey)))) throw refusal
}

async function refusalOf(ctx: Context, accountId: string): Promise<Fault | undefined> {
  // Any provider with room will do: a deposit goes to the next one when the first has none.
  if (!ctx.providers.some((provider) => provider.hasRoomFor(accountId)))
    return overloaded(
      new ProviderError('unreachable', 'too many deposits of this account wait', { isOverloaded: true }),
    )
  if (await ctx.pendingLimit.admit(accountId)) return undefined
  const text = `Too many deposits are PENDING: at most ${ctx.pendingLimit.max} at a time. Wait until some are paid or expire, or cancel some`
  return new Fault('rate_limited', text, { retryAfterSeconds: FULL_MS / 1000 })
}

async function isKeyUsed(core: Core, accountId: string, key: string): Promise<boolean> {
  const rows = await query(core.pool, 'select from idempotency_keys where account_id = $1 and key = $2', [
    accountId,
    key,
  ])
  return rows.length > 0
}
