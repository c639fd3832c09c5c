// Deposits as the server answers them; amounts are cents.

export type DepositStatus = 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
export const DEPOSIT_STATUSES: readonly DepositStatus[] = ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED']

export type NewDeposit = {
  id: string
  emv: string
  paymentLinkId: string
  paymentLinkUrl: string
  value: number
  originalValue: number
  fee: number
  status: DepositStatus
}

export type Deposit = NewDeposit & {
  createdAt: string
  expiresAt: string
  paidAt: string | null
  /** What the payer paid, where the operator accepted another amount. */
  receivedValue: number | null
  creditedValue: number | null
  refundedValue: number
  /** Received and not enough, too much or too often: it waits for the operator. */
  heldValue: number
  /** The same, after the operator credited it or wrote it off. */
  keptValue: number
  endToEndId: string | null
  paidLate: boolean
  externalId: string | null
  description: string | null
}

export type Refund = {
  id: string
  value: number
  returnedFee: number
  status: 'PROCESSING' | 'DONE' | 'FAILED'
  reason: string | null
  madeBy: 'account' | 'operator' | 'provider'
  createdAt: string
  endedAt: string | null
}

export type HeldKind = 'wrong_amount' | 'second_payment' | 'unknown_charge' | 'wrong_provider'
export type Released = 'credit' | 'refund' | 'write_off' | 'match'

export type Moment = { at: string } & (
  | { kind: 'created'; provider: string; value: number; fee: number }
  | { kind: 'paid'; endToEndId: string; value: number }
  | { kind: 'confirmed'; provider: string }
  | { kind: 'credited'; value: number; fee: number; balanceAfter: number }
  | { kind: 'payment_held'; endToEndId: string; value: number; why: HeldKind }
  | { kind: 'payment_released'; endToEndId: string; value: number; how: Released; isOwn: boolean }
  | { kind: 'expired' | 'canceled' }
  | {
      kind: 'refund_requested' | 'refund_done' | 'refund_failed'
      refundId: string
      value: number
      reason: string | null
    }
  | { kind: 'event'; eventId: string; event: string }
  | {
      kind: 'webhook_attempt'
      eventId: string
      endpointId: string
      endpointName: string
      number: number
      status: number | null
      error: string | null
      errorCode: string | null
      errorDetail: string | null
      latencyMs: number
    }
  | { kind: 'next_check'; attempts: number }
)

export type DepositLife = { deposit: Deposit; refunds: Refund[]; timeline: Moment[] }

/** Whether a payer may be sent to it: whoever pays while money for it is held, or was kept, pays twice. */
export function asksToPay({ status, heldValue, keptValue }: Deposit): boolean {
  return status === 'PENDING' && heldValue === 0 && keptValue === 0
}

/**
 * How much of the fee comes back with a refund of so much, where the service returns fees: the share of all that was refunded, half a cent up, less what came
 * back before. As the server counts it.
 */
export function returnedFeeCents(
  { deposit, refunds }: Pick<DepositLife, 'deposit' | 'refunds'>,
  cents: number,
): number {
  const made = refunds.filter((refund) => refund.status !== 'FAILED' && refund.madeBy !== 'provider')
  const before = made.reduce((sum, refund) => sum + refund.value, 0)
  const returned = made.reduce((sum, refund) => sum + refund.returnedFee, 0)
  const [fee, refunded, value] = [deposit.fee, before + cents, deposit.receivedValue ?? deposit.value].map(BigInt) as [
    bigint,
    bigint,
    bigint,
  ]
  return Math.max(0, Number((2n * fee * refunded + value) / (2n * value)) - returned)
}

/** What may still be given back: a refund that is under way has its share already. The server has the last word. */
export function refundableCents({ deposit, refunds }: Pick<DepositLife, 'deposit' | 'refunds'>): number {
  if (deposit.status !== 'COMPLETED') return 0
  const given = refunds.filter((refund) => refund.status !== 'FAILED').reduce((sum, refund) => sum + refund.value, 0)
  return Math.max(0, (deposit.receivedValue ?? deposit.value) - Math.max(given, deposit.refundedValue))
}
