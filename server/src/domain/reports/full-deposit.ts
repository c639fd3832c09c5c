import { transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import { requireChargeIn, type Charge } from '../deposits/charge-reads.ts'
import { readHeldIn, SELECT_HELD_PAYMENTS, type HeldMoney, type HeldPayment } from '../deposits/held-payments.ts'
import type { Queried } from '../deposits/lanes.ts'
import { queryDeposit } from '../deposits/query-deposit.ts'
import { SELECT_REFUNDS, type Refund } from '../refunds/refund-states.ts'

/** Refunds are newest first, held payments oldest first. */
export type FullDeposit = { charge: Charge; held: HeldMoney; heldPayments: HeldPayment[]; refunds: Refund[] }

// Refunds in many parts are rare, and the newest tell enough.
const MAX_REFUNDS = 100
// Nobody needs a longer list of payments of one code.
const MAX_HELD = 100

/** A PENDING charge is first checked with its provider. Then all is read in one snapshot. */
export async function retrieveDeposit(
  ctx: Context,
  accountId: string,
  paymentLinkId: string,
): Promise<FullDeposit & Pick<Queried, 'check'>> {
  const { check } = await queryDeposit(ctx, accountId, paymentLinkId)
  const full = await transact(ctx.pool, (tx) => readFullDeposit(tx, accountId, paymentLinkId), {
    isolation: 'repeatable read',
  })
  return { ...full, check }
}

/** Null is any account. */
export async function readFullDeposit(tx: Tx, accountId: string | null, paymentLinkId: string): Promise<FullDeposit> {
  const charge = await requireChargeIn(tx, accountId, paymentLinkId)
  return {
    charge,
    refunds: await tx.rows<Refund>(`${SELECT_REFUNDS} where r.charge_id = $1 order by r.id desc limit $2`, [
      charge.id,
      MAX_REFUNDS,
    ]),
    held: await readHeldIn(tx, charge.id),
    heldPayments: await tx.rows<HeldPayment>(SELECT_HELD_PAYMENTS, [charge.id, MAX_HELD]),
  }
}
