import { Fault } from '../../base/fault.ts'
import { uuidFromHex } from '../../base/ids.ts'
import type { Tx } from '../../db/tx.ts'
import { CHARGE_COLUMNS, chargeFromRow, type ChargeRow, type StoredCharge } from '../deposits/charge-states.ts'
import { cancelDeposit } from '../deposits/deposits.ts'
import { NAMED_CHARGE } from '../deposits/exception-states.ts'
import { completeFromSuspense } from '../deposits/settle.ts'
import type { Context } from '../context.ts'

// What deciding on an exception does to the charge that its payment names.

/** Before the exception's own lock, which is the order of all who lock both. */
export async function lockNamedCharge(tx: Tx, exceptionId: string): Promise<StoredCharge | undefined> {
  const [row] = await tx.rows<ChargeRow>(
    `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id
     where c.id = (select ${NAMED_CHARGE} from exceptions x join payments p on p.id = x.payment_id where x.id = $1)
     for no key update of c`,
    [uuidFromHex(exceptionId)],
  )
  return row && chargeFromRow(row)
}

type HeldPayment = {
  id: string
  provider: string
  end_to_end_id: string
  txid: string | null
  amount_cents: number
  occurred_at: Date
  is_refunded: boolean
}

/** Completes the charge out of suspense, or says why it cannot. The caller holds both locks, and resolves the exception. */
export async function matchCharge(
  tx: Tx,
  now: Date,
  exception: { id: string; paymentId: string },
  charge: StoredCharge | undefined,
): Promise<void> {
  const payment = await readPayment(tx, exception.paymentId)
  if (!charge || charge.provider !== payment.provider)
    throw new Fault(
      'charge_not_named',
      'This payment names no charge that it could complete: choose another resolution',
    )
  if (charge.status === 'COMPLETED')
    throw new Fault('charge_completed', 'Another payment completed this charge: choose another resolution')
  if (payment.is_refunded)
    throw new Fault(
      'payment_refunded',
      'Part of this payment was refunded at the provider: resolve it with credit or write_off',
    )
  const { feeCents } = charge
  if (payment.amount_cents <= feeCents) {
    const text = `The payment of ${payment.amount_cents} cents does not exceed the charge's fee of ${feeCents} cents`
    throw new Fault('payment_below_fee', `${text}: choose another resolution`, { details: { feeCents } })
  }
  const { provider, end_to_end_id: endToEndId, amount_cents: amountCents, occurred_at: occurredAt } = payment
  await completeFromSuspense(tx, now, {
    paymentId: payment.id,
    payment: { provider, endToEndId, txid: charge.id, amountCents, occurredAt },
    charge,
    exceptionId: exception.id,
  })
  if (charge.status === 'PENDING') await withdrawLater(tx, now, charge)
}

async function readPayment(tx: Tx, paymentId: string): Promise<HeldPayment> {
  const [payment] = await tx.rows<HeldPayment>(
    `select p.id, p.provider, p.end_to_end_id, p.txid, p.amount_cents, p.occurred_at,
       exists (select from refunds r where r.payment_id = p.id and r.status <> 'FAILED') as is_refunded
     from payments p where p.id = $1`,
    [paymentId],
  )
  return payment!
}

/** A provider may let the code of a charge be paid again after a payment of another amount. The check withdraws it there. */
async function withdrawLater(tx: Tx, now: Date, charge: StoredCharge): Promise<void> {
  await tx.run(
    `insert into checks (provider, subject, kind, due_at) values ($1, $2, 'withdrawal', $3)
     on conflict (provider, subject) do update set kind = 'withdrawal', due_at = $3, attempts = 0`,
    [charge.provider, charge.id, now],
  )
}

/** Withdraws the charge at the provider and CANCELs it, so that nobody pays it any more. Refused if it was paid meanwhile. */
export async function closeCharge(
  ctx: Context,
  charge: { accountId: string; paymentLinkId: string; status: StoredCharge['status'] } | null,
): Promise<void> {
  if (!charge)
    throw new Fault('charge_not_named', 'This payment names none of our charges, so there is no charge to close')
  // Closed before, perhaps by an attempt that was cut off before it resolved the exception.
  if (charge.status === 'EXPIRED' || charge.status === 'CANCELED' || charge.status === 'FAILED') return
  await cancelDeposit(ctx, charge.accountId, charge.paymentLinkId)
}

/** After the commit. */
export function announceMatched(ctx: Context, chargeId: string): void {
  ctx.metrics.deposits.inc({ state: 'completed' })
  ctx.chargeWatch.announce([chargeId], 'COMPLETED')
  ctx.wakeDeliveries()
  ctx.wakeChecks()
}
