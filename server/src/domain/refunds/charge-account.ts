import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { markDecided, type Decided } from '../exceptions/exception-states.ts'
import { holdBalances, postTransfers, type LedgerKey, type Transfer } from '../ledger/ledger.ts'

export type Charged = {
  accountId: string
  refundId: string
  paymentId: string
  /** Null if the account was credited without a charge of its own. */
  chargeId: string | null
  amountCents: Cents
  isReversal: boolean
} & Pick<Decided, 'exceptionId' | 'actor' | 'reason'>

export type Borne = { chargedCents: Cents; owedCents: Cents }

/**
 * The account bears a refund made without us: its balance as far as it goes, and the rest it owes. What is reserved for
 * payouts is not touched. The caller holds the lock of the exception.
 */
export async function chargeAccount(tx: Tx, now: Date, charged: Charged): Promise<Borne> {
  const { accountId, refundId, paymentId, chargeId, amountCents, isReversal, exceptionId, actor, reason } = charged
  const balance: LedgerKey = { kind: 'balance', accountId }
  const missing: LedgerKey = { kind: 'missing' }
  const chargedCents = Math.min((await holdBalances(tx, [balance, missing]))(balance), amountCents)
  const owedCents = amountCents - chargedCents
  const how = 'charge_account'
  const details = { kind: 'foreign_refund', how, amountCents, ...(owedCents > 0 && { owedCents }) }
  const decided = { exceptionId, how, accountId, actor, reason, resolvedAt: now, owedCents, details } as const
  await markDecided(tx, now, decided)
  const about = { paymentId, chargeId, refundId, credit: missing, occurredAt: now }
  const kind = isReversal ? 'reversal_charged' : 'refund_charged'
  const transfers: Transfer[] = [
    { ...about, kind, debit: balance, amountCents: chargedCents, exceptionId },
    { ...about, kind: 'reversal_owed', debit: { kind: 'owed', accountId }, amountCents: owedCents },
  ]
  await postTransfers(
    tx,
    now,
    transfers.filter((transfer) => transfer.amountCents > 0),
  )
  return { chargedCents, owedCents }
}
