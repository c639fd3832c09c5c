import type { Charge, ChargeStatus } from '../domain/charges.ts'

/**
 * What a payer must be told. CLOSING: its time is over, and the provider has not had its last word yet; nobody should begin to pay it.
 * REFUNDED: all of it was given back; a page that still said "confirmed" would be a lie.
 */
export type PageState = ChargeStatus | 'CLOSING' | 'REFUNDED'

export function pageStateOf(charge: Charge, now: Date): PageState {
  if (charge.status === 'PENDING' && now >= charge.expiresAt) return 'CLOSING'
  if (charge.status === 'COMPLETED' && charge.refundedCents >= charge.valueCents) return 'REFUNDED'
  return charge.status
}
