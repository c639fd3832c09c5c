import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import type { Resolution } from '../deposits/exception-states.ts'
import { holdBalances, type Transfer } from '../ledger/ledger.ts'

// What deciding on an exception does in the ledger, where it is one transfer.

/** All ids are UUIDs. */
type Decided = {
  id: string
  kind: string
  paymentId: string
  refundId: string | null
  amountCents: Cents
  chargeId: string | null
  chargeAccountId: string | null
}

/** Pure. The account is the one that gains or bears, if one does. */
export function transferOf(now: Date, exception: Decided, how: Resolution['how'], accountId: string | null): Transfer {
  // On the statement of one account stands no charge of another.
  const isForeign = accountId !== null && accountId !== exception.chargeAccountId
  return {
    ...moveOf(exception, how, accountId),
    paymentId: exception.paymentId,
    chargeId: isForeign ? null : exception.chargeId,
    exceptionId: exception.id,
    ...(exception.refundId !== null && { refundId: exception.refundId }),
    occurredAt: now,
  }
}

type Move = Pick<Transfer, 'kind' | 'debit' | 'credit' | 'amountCents'>

function moveOf({ kind, amountCents }: Decided, how: Resolution['how'], accountId: string | null): Move {
  const balance = { kind: 'balance', accountId: accountId! } as const
  if (how === 'credit') return { kind: 'exception_credited', debit: { kind: 'suspense' }, credit: balance, amountCents }
  if (how === 'charge_account')
    return { kind: 'refund_charged', debit: balance, credit: { kind: 'missing' }, amountCents }
  return kind === 'foreign_refund'
    ? { kind: 'refund_written_off', debit: { kind: 'written_off' }, credit: { kind: 'missing' }, amountCents }
    : { kind: 'exception_written_off', debit: { kind: 'suspense' }, credit: { kind: 'written_off' }, amountCents }
}

export async function requireFunds(tx: Tx, { debit, credit, amountCents }: Move): Promise<void> {
  const held = await holdBalances(tx, [debit, credit])
  if (held(debit) >= amountCents) return
  throw new Fault(
    'balance_too_small',
    `Balance is too small: it is ${held(debit)} cents, and ${amountCents} are needed`,
    { details: { balanceCents: held(debit), neededCents: amountCents } },
  )
}
