import { z } from 'zod'
import { byOwnText, OWN_FIELDS, readMetadata } from '../../domain/core/charge-facts.ts'
import { PAYER_MATCHES, PAYER_POLICIES, showPayer } from '../../domain/core/payers.ts'
import { creditedCents, type Charge } from '../../domain/deposits/charge-reads.ts'
import {
  NOTHING_HELD,
  type HeldMoney,
  type HeldPayment,
  type ReleasedPayment,
} from '../../domain/deposits/held-payments.ts'
import type { FullDeposit } from '../../domain/reports/full-deposit.ts'
import { depositOf, type Deposit } from '../../domain/reports/list-deposits.ts'
import { cents, time } from '../server/schemas.ts'
import { presentRefund, refundSchema } from './refunds.ts'

// A deposit as the API shows it. Presenters translate our names into those of the API.

export const STATUSES = ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED'] as const
export const PAYER_EXAMPLE = { taxId: '123.456.789-09', policy: 'require' }
export const METADATA_EXAMPLE = { cart: '7b1f', channel: 'app' }

const EMV = 'The copy-and-paste code for banking apps. The QR code contains the same text.'

const newCharge = {
  id: z.string().meta({ description: 'The id of the charge, 32 hexadecimal digits. Events call it `transactionId`.' }),
  emv: z.string().meta({ description: EMV }),
  qrCodeLink: z.string().meta({ description: 'URL of the QR code as PNG. `?size=` takes 128 to 1024 pixels.' }),
  paymentLinkId: z.string().meta({ description: 'UUID to query the charge with.' }),
  paymentLinkUrl: z.string().meta({ description: 'Payment page to send the payer to.' }),
  value: cents.meta({ description: 'What the payer pays, in cents.' }),
  originalValue: cents.meta({
    description: 'What you asked for, in cents. Differs from `value` only if the payer bears the fee.',
  }),
  fee: cents.meta({ description: 'The fee, in cents. `value` minus `fee` is credited to your balance.' }),
  status: z.enum(STATUSES).meta({
    description:
      'PENDING: not paid yet. COMPLETED: the payment is confirmed. EXPIRED: not paid in time. CANCELED: you canceled it.',
  }),
}

const EXAMPLE = {
  id: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
  emv: '00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630464E4',
  qrCodeLink: 'https://pay.example.com/qr/7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57.png',
  paymentLinkId: '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
  paymentLinkUrl: 'https://pay.example.com/payment-link/7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
  value: 5000,
  originalValue: 5000,
  fee: 50,
  status: 'PENDING',
}
const CREATED_AT = '2026-01-31T12:00:00.000Z'

export const newChargeSchema = z.object(newCharge).meta({ id: 'NewCharge', examples: [EXAMPLE] })

const queriedCharge = {
  ...newCharge,
  // Nobody can pay it any more, so the provider is not asked for a code that is of no use.
  emv: z.string().meta({
    description: `${EMV} Empty if a COMPLETED charge was paid before its code was known, or by a lasting code.`,
  }),
  createdAt: time.meta({ description: 'When the charge was created.' }),
}
export const queriedChargeSchema = z
  .object(queriedCharge)
  .meta({ id: 'Charge', examples: [{ ...EXAMPLE, createdAt: CREATED_AT }] })

export function presentQueried(publicUrl: string, charge: Charge): z.output<typeof queriedChargeSchema> {
  return { ...presentCharge(publicUrl, charge), createdAt: charge.createdAt.toISOString() }
}

export function presentCharge(publicUrl: string, charge: Charge) {
  return {
    id: charge.id,
    emv: charge.emv,
    qrCodeLink: qrCodeLink(publicUrl, charge),
    paymentLinkId: charge.paymentLinkId,
    paymentLinkUrl: paymentLinkUrl(publicUrl, charge),
    value: charge.valueCents,
    originalValue: charge.originalValueCents,
    fee: charge.feeCents,
    status: charge.status,
  }
}

function qrCodeLink(publicUrl: string, { paymentLinkId }: { paymentLinkId: string }): string {
  return `${publicUrl}/qr/${paymentLinkId}.png`
}

function paymentLinkUrl(publicUrl: string, { paymentLinkId }: { paymentLinkId: string }): string {
  return `${publicUrl}/payment-link/${paymentLinkId}`
}

export const DEPOSIT_EXAMPLE = {
  ...EXAMPLE,
  status: 'COMPLETED',
  createdAt: CREATED_AT,
  expiresAt: '2026-01-31T13:00:00.000Z',
  paidAt: '2026-01-31T12:01:07.000Z',
  receivedValue: null,
  creditedValue: 4950,
  refundedValue: 0,
  heldValue: 0,
  keptValue: 0,
  endToEndId: 'E12345678202601311201s0123456789',
  paidLate: false,
  ...byOwnText((name) => OWN_FIELDS[name].example),
  metadata: METADATA_EXAMPLE,
  code: null,
  payer: null,
  payerMatch: null,
}

export const depositSchema = z
  .object({
    ...queriedCharge,
    expiresAt: time.meta({
      description:
        'When the charge expires. It stays PENDING for about a minute longer, because a payment of the last moment may still be on its way.',
    }),
    paidAt: time.nullable().meta({ description: 'When the payer paid, according to the provider.' }),
    receivedValue: cents
      .nullable()
      .meta({ description: 'What the payer paid, in cents, if the operator accepted an amount other than `value`.' }),
    creditedValue: cents
      .nullable()
      .meta({ description: 'What was credited to your balance, in cents. Null unless COMPLETED.' }),
    refundedValue: cents.meta({ description: 'Total of the refunds that are DONE, in cents.' }),
    heldValue: cents.meta({
      description:
        'Money received for this charge that did not complete it, in cents: a wrong amount or a second payment. It is held until the operator decides. Do not ask the payer to pay again meanwhile.',
    }),
    keptValue: cents.meta({
      description:
        'Held money that the operator did not refund, in cents: it was credited to a balance or written off.',
    }),
    endToEndId: z
      .string()
      .nullable()
      .meta({ description: 'Id of the payment in the Pix system, also on the payer’s receipt.' }),
    paidLate: z.boolean().meta({ description: 'True if it was paid after it had expired or been canceled.' }),
    ...byOwnText((name) => z.string().nullable().meta({ description: OWN_FIELDS[name].answered })),
    metadata: z.record(z.string(), z.string()).nullable().meta({ description: 'Your own data about the deposit.' }),
    code: z.string().nullable().meta({
      description: 'The `externalId` of the code that the payer paid by. Null for a charge that you asked for.',
    }),
    payer: z
      .object({
        taxId: z.string().meta({ description: 'Its last two digits: `***.***.***-09`. The rest is not kept.' }),
        policy: z.enum(PAYER_POLICIES),
      })
      .nullable()
      .meta({ description: 'The person who is to pay.' }),
    payerMatch: z.enum(PAYER_MATCHES).nullable().meta({
      description:
        'matched: that person paid. mismatched: another one did. unknown: the provider has not said. Null when nobody asked, because nobody paid or `payer` is null.',
    }),
  })
  .meta({
    id: 'Deposit',
    examples: [DEPOSIT_EXAMPLE],
  })

/** Each field by itself: copying those of presentCharge would take most of the time of a list. */
export function presentDeposit(
  publicUrl: string,
  deposit: Deposit,
  { heldCents, keptCents }: HeldMoney = NOTHING_HELD,
): z.output<typeof depositSchema> {
  return {
    id: deposit.id,
    emv: deposit.emv,
    qrCodeLink: qrCodeLink(publicUrl, deposit),
    paymentLinkId: deposit.paymentLinkId,
    paymentLinkUrl: paymentLinkUrl(publicUrl, deposit),
    value: deposit.valueCents,
    originalValue: deposit.originalValueCents,
    fee: deposit.feeCents,
    status: deposit.status,
    createdAt: deposit.createdAt,
    expiresAt: deposit.expiresAt,
    paidAt: deposit.paidAt,
    receivedValue: deposit.receivedCents,
    creditedValue: creditedCents(deposit),
    refundedValue: deposit.refundedCents,
    heldValue: heldCents,
    keptValue: keptCents,
    endToEndId: deposit.endToEndId,
    paidLate: deposit.paidLate,
    ...byOwnText((name) => deposit[name]),
    metadata: readMetadata(deposit.metadata),
    code: deposit.code,
    payer: showPayer(deposit.payer),
    payerMatch: deposit.payerMatch,
  }
}

// ---- All that is known of one ----

const DECISIONS = { match: 'completed', refund: 'refunded', write_off: 'written_off' } as const

const heldPaymentSchema = z
  .object({
    endToEndId: z.string().meta({ description: 'Id of the payment in the Pix system.' }),
    value: cents.meta({ description: 'What the payer paid, in cents.' }),
    paidAt: time.meta({ description: 'When the payer paid, according to the provider.' }),
    heldAt: time.meta({ description: 'Since when it is held.' }),
    reason: z
      .enum([
        'wrong_amount',
        'second_payment',
        'wrong_provider',
        'refunded_payment',
        'unknown_charge',
        'payer_unconfirmed',
      ])
      .meta({
        description:
          'wrong_amount: it was not the `value`. second_payment: another payment had completed the charge, or another deposit of its order. wrong_provider: it came by another provider than the charge’s. refunded_payment: the provider had already given it back. unknown_charge: the provider first did not say which charge it was for. payer_unconfirmed: the provider had to say first who paid.',
      }),
    decision: z.enum(['completed', 'credited', 'credited_elsewhere', 'refunded', 'written_off']).nullable().meta({
      description:
        'What became of it, null while it is held. completed: it completed the charge. credited: to your balance. credited_elsewhere: to another account. refunded: the payer has it back. written_off: the operator kept it.',
    }),
    decidedAt: time.nullable().meta({ description: 'When it was decided.' }),
  })
  .meta({ id: 'HeldPayment' })

function presentHeldPayment(payment: HeldPayment): z.output<typeof heldPaymentSchema> {
  return {
    endToEndId: payment.endToEndId,
    value: payment.amountCents,
    paidAt: payment.paidAt.toISOString(),
    heldAt: payment.heldAt.toISOString(),
    reason: payment.kind,
    decision: payment.resolvedAt === null ? null : decisionOf(payment),
    decidedAt: payment.resolvedAt?.toISOString() ?? null,
  }
}

function decisionOf({ resolution, isOwn }: ReleasedPayment) {
  if (resolution !== 'credit') return DECISIONS[resolution]
  return isOwn ? 'credited' : 'credited_elsewhere'
}

export const fullDepositSchema = z
  .object({
    ...depositSchema.shape,
    heldPayments: heldPaymentSchema.array().meta({
      description: 'Payments for this charge that were held, oldest first, at most 100: also those decided by now.',
    }),
    refunds: refundSchema.array().meta({ description: 'Its refunds, newest first, at most 100.' }),
  })
  .meta({ id: 'FullDeposit', examples: [{ ...DEPOSIT_EXAMPLE, heldPayments: [], refunds: [] }] })

export function presentFull(
  publicUrl: string,
  { charge, held, heldPayments, refunds }: FullDeposit,
): z.output<typeof fullDepositSchema> {
  return {
    ...presentDeposit(publicUrl, depositOf(charge), held),
    heldPayments: heldPayments.map(presentHeldPayment),
    refunds: refunds.map(presentRefund),
  }
}
