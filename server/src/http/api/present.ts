import { creditedCents, type Charge } from '../../domain/deposits/charge-states.ts'
import { NOTHING_HELD, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import type { StatementLine } from '../../domain/ledger/account-statement.ts'

// A charge as callers see it. Pure, and the only place that turns our names into the contract's.

/** The answer to a new deposit, and to its repetition: the first answer again, so PENDING even if it was paid meanwhile. */
export function presentNew(publicUrl: string, charge: Charge) {
  return { ...core(publicUrl, charge), status: 'PENDING' as const }
}

export function presentQueried(publicUrl: string, charge: Charge) {
  return { ...core(publicUrl, charge), createdAt: charge.createdAt.toISOString() }
}

export function presentRecord(publicUrl: string, charge: Charge, { heldCents, keptCents }: HeldMoney = NOTHING_HELD) {
  return {
    ...presentQueried(publicUrl, charge),
    expiresAt: charge.expiresAt.toISOString(),
    paidAt: charge.paidAt?.toISOString() ?? null,
    receivedValue: charge.receivedCents,
    creditedValue: creditedCents(charge),
    refundedValue: charge.refundedCents,
    heldValue: heldCents,
    keptValue: keptCents,
    endToEndId: charge.endToEndId,
    paidLate: charge.paidLate,
    externalId: charge.externalId,
    description: charge.description,
  }
}

export function presentLine(line: StatementLine) {
  return {
    id: line.id,
    kind: line.kind,
    amount: line.amountCents,
    balance: line.balanceCents,
    chargeId: line.chargeId,
    paymentLinkId: line.paymentLinkId,
    refundId: line.refundId,
    occurredAt: line.occurredAt.toISOString(),
    recordedAt: line.recordedAt.toISOString(),
  }
}

function core(publicUrl: string, charge: Charge) {
  return {
    id: charge.id,
    emv: charge.emv,
    qrCodeLink: `${publicUrl}/qr/${charge.paymentLinkId}.png`,
    paymentLinkId: charge.paymentLinkId,
    paymentLinkUrl: `${publicUrl}/payment-link/${charge.paymentLinkId}`,
    value: charge.valueCents,
    originalValue: charge.originalValueCents,
    fee: charge.feeCents,
    status: charge.status,
  }
}
