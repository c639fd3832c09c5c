import { paidCents, type Charge, type ChargeStatus } from '../../domain/deposits/charge-states.ts'
import type { HeldMoney } from '../../domain/deposits/held-payments.ts'

/**
 * What a payer must be told. CLOSING: its time is over, and the provider has not had its last word yet; nobody should begin to pay it.
 * HELD: money arrived that does not complete the charge, and the operator has not decided on it; KEPT: the operator has, and it was not
 * given back. In both, whoever pays now pays twice. REFUNDED: all of it was given back; a page that still said "confirmed" would be a lie.
 */
export type PageState = ChargeStatus | 'CLOSING' | 'HELD' | 'KEPT' | 'REFUNDED'

export function pageStateOf(charge: Charge, { heldCents, keptCents }: HeldMoney, now: Date): PageState {
  if (charge.status === 'COMPLETED') return charge.refundedCents >= paidCents(charge) ? 'REFUNDED' : 'COMPLETED'
  if (heldCents > 0) return 'HELD'
  if (keptCents > 0) return 'KEPT'
  return charge.status === 'PENDING' && now >= charge.expiresAt ? 'CLOSING' : charge.status
}
