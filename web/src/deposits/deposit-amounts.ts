import type { Deposit, DepositHistory } from '../contract/types.ts'

type Refunded = Pick<DepositHistory, 'deposit' | 'refunds'>

/** Returns false if money for the deposit is held or was kept: another payment would be a second one. */
export function isPayable({ status, heldValue, keptValue }: Deposit): boolean {
  return status === 'PENDING' && heldValue === 0 && keptValue === 0
}

/**
 * Computes how much of the fee a refund returns, if the service returns fees. This is the share of everything refunded,
 * half a cent rounded up, minus what was returned before. The server computes the same.
 */
export function returnedFeeCents({ deposit, refunds }: Refunded, cents: number): number {
  const made = refunds.filter((refund) => refund.status !== 'FAILED' && refund.madeBy !== 'provider')
  const refunded = BigInt(made.reduce((sum, refund) => sum + refund.value, cents))
  const returned = made.reduce((sum, refund) => sum + refund.returnedFee, 0)
  const value = BigInt(deposit.receivedValue ?? deposit.value)
  return Math.max(0, Number((2n * BigInt(deposit.fee) * refunded + value) / (2n * value)) - returned)
}

/** What may still be refunded; a refund in progress counts as made. The server has the last word. */
export function refundableCents({ deposit, refunds }: Refunded): number {
  if (deposit.status !== 'COMPLETED') return 0
  const made = refunds.filter((refund) => refund.status !== 'FAILED').reduce((sum, refund) => sum + refund.value, 0)
  return Math.max(0, (deposit.receivedValue ?? deposit.value) - Math.max(made, deposit.refundedValue))
}
