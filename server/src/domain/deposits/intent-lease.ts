import { isPresent } from '../../db/presence.ts'
import { query, transact } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import type { StoredCharge } from './charge-reads.ts'

// Between the intent and the provider's answer, a charge belongs to one process. Here it changes its owner.

export async function holdIntent<Result>(ctx: Context, chargeId: string, work: () => Promise<Result>): Promise<Result> {
  ctx.heldIntents.add(chargeId)
  try {
    return await work()
  } finally {
    ctx.heldIntents.delete(chargeId)
  }
}

/** Undefined while a process works on it. Our own intents are looked up in memory: a release may have failed. */
export async function claimIntent<Result>(
  ctx: Context,
  charge: StoredCharge,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  if (ctx.heldIntents.has(charge.id)) return undefined
  return holdIntent(ctx, charge.id, async () => ((await becomeOwner(ctx, charge)) ? work() : undefined))
}

function becomeOwner(core: Core, charge: StoredCharge): Promise<boolean> {
  const owner = charge.openingInstance
  return transact(core.pool, async (tx) => {
    if (owner !== null && owner !== core.instance && (await isPresent(tx, owner))) return false
    const claimed = await tx.run(
      `update charges set opening_instance = $3
       where id = $1 and status = 'OPENING' and opening_instance is not distinct from $2`,
      [charge.id, owner, core.instance],
    )
    return claimed === 1
  })
}

/** False for a process that was suspended for so long that another one claimed the intent. */
export async function ownsIntent(core: Core, chargeId: string): Promise<boolean> {
  const sql = `select from charges where id = $1 and status = 'OPENING' and opening_instance = $2`
  return (await query(core.pool, sql, [chargeId, core.instance])).length > 0
}
