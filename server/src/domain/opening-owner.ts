import { uuidFromHex } from '../base/ids.ts'
import { isPresent } from '../db/presence.ts'
import { read, transact } from '../db/tx.ts'
import type { StoredCharge } from './charges.ts'
import type { Context } from './context.ts'

// Between the intent and the provider's answer, a charge belongs to the process that opens it. These are the ways in which it
// changes hands.

/** Does something with an opening that is ours. */
export async function whileOpening<Result>(
  ctx: Context,
  chargeId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  ctx.openingNow.add(chargeId)
  try {
    return await work()
  } finally {
    ctx.openingNow.delete(chargeId)
  }
}

/**
 * Goes on with an opening that nobody works on any more; undefined when somebody does. Another process that lives is believed to; of ourselves we know better,
 * since we may have had to let go of one without being able to write it down.
 */
export async function takeOverOpening<Result>(
  ctx: Context,
  charge: StoredCharge,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  if (ctx.openingNow.has(charge.id)) return undefined
  return whileOpening(ctx, charge.id, async () => ((await claimOpening(ctx, charge)) ? work() : undefined))
}

function claimOpening(ctx: Context, charge: StoredCharge): Promise<boolean> {
  const owner = charge.openingInstance
  return transact(ctx.pool, async (tx) => {
    if (owner !== null && owner !== ctx.instance && (await isPresent(tx, owner))) return false
    const claimed = await tx.run(
      `update charges set opening_instance = $3
       where id = $1 and status = 'OPENING' and opening_instance is not distinct from $2`,
      [uuidFromHex(charge.id), owner, ctx.instance],
    )
    return claimed === 1
  })
}

/** Lets go of an opening whose outcome nobody knows; a repeated request or the worker goes on with it. */
export function releaseOpening(ctx: Context, chargeId: string): Promise<void> {
  return transact(ctx.pool, async (tx) => {
    await tx.run(
      `update charges set opening_instance = null where id = $1 and status = 'OPENING' and opening_instance = $2`,
      [uuidFromHex(chargeId), ctx.instance],
    )
  })
}

/** False for a process that stood still for so long that another one took the opening over. */
export async function ownsOpening(ctx: Context, chargeId: string): Promise<boolean> {
  const rows = await read(
    ctx.pool,
    `select from charges where id = $1 and status = 'OPENING' and opening_instance = $2`,
    [uuidFromHex(chargeId), ctx.instance],
  )
  return rows.length > 0
}
