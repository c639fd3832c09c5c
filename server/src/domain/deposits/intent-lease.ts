import { uuidFromHex } from '../../base/ids.ts'
import { isPresent } from '../../db/presence.ts'
import { query, transact } from '../../db/tx.ts'
import type { StoredCharge } from './charge-states.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

// Between the intent and the provider's answer, a charge belongs to the process that opens it. These are the ways in which it
// changes hands.

/** Does something with an intent that is ours. */
export async function holdIntent<Result>(ctx: Context, chargeId: string, work: () => Promise<Result>): Promise<Result> {
  ctx.heldIntents.add(chargeId)
  try {
    return await work()
  } finally {
    ctx.heldIntents.delete(chargeId)
  }
}

/**
 * Goes on with an intent that nobody works on any more; undefined when somebody does. Another process that lives is believed to; of ourselves we know better,
 * since we may have had to let go of one without being able to write it down.
 */
export async function claimIntent<Result>(
  ctx: Context,
  charge: StoredCharge,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  if (ctx.heldIntents.has(charge.id)) return undefined
  return holdIntent(ctx, charge.id, async () => ((await claimOpening(ctx, charge)) ? work() : undefined))
}

function claimOpening(core: Core, charge: StoredCharge): Promise<boolean> {
  const owner = charge.openingInstance
  return transact(core.pool, async (tx) => {
    if (owner !== null && owner !== core.instance && (await isPresent(tx, owner))) return false
    const claimed = await tx.run(
      `update charges set opening_instance = $3
       where id = $1 and status = 'OPENING' and opening_instance is not distinct from $2`,
      [uuidFromHex(charge.id), owner, core.instance],
    )
    return claimed === 1
  })
}

/** Lets go of an intent whose outcome nobody knows; a repeated request or the worker goes on with it. */
export function releaseOpening(core: Core, chargeId: string): Promise<void> {
  return transact(core.pool, async (tx) => {
    await tx.run(
      `update charges set opening_instance = null where id = $1 and status = 'OPENING' and opening_instance = $2`,
      [uuidFromHex(chargeId), core.instance],
    )
  })
}

/** False for a process that stood still for so long that another one took the intent over. */
export async function ownsOpening(core: Core, chargeId: string): Promise<boolean> {
  const rows = await query(
    core.pool,
    `select from charges where id = $1 and status = 'OPENING' and opening_instance = $2`,
    [uuidFromHex(chargeId), core.instance],
  )
  return rows.length > 0
}
