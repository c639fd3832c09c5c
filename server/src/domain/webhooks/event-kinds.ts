import { z } from 'zod'
import type { Cents } from '../../base/money.ts'
import { hexId, isoTime } from '../../db/sql-values.ts'

// All that is known of each kind of event. What is sent, the audit, the documents, the client and the dashboard follow.

export type EventField<Facts> = {
  /** Without one, it is the field of a deposit with the same name. */
  schema?: z.ZodType
  example?: unknown
  valueOf: (facts: Facts) => unknown
  /** The same value from rows of charges c, payments p and refunds r, and s, the refunds of the charge so far. */
  sql: string
}
export type EventFields<Facts> = Record<string, EventField<Facts>>

type EventCharge = { id: string; paymentLinkId: string; externalId: string | null; valueCents: Cents }

type Deposit = {
  charge: EventCharge & { originalValueCents: Cents; feeCents: Cents }
  payment: { amountCents: Cents; endToEndId: string; occurredAt: Date }
  isLate: boolean
}

type Refunded = {
  charge: EventCharge & { refundedCents: Cents }
  refund: { id: string; amountCents: Cents; feeReturnedCents: Cents; endToEndId: string }
  at: Date
}

const CHARGE_ID = '0199a3c2f4b87d6e9b1a5c0d3e2f4a68'
const text = (description: string) => z.string().meta({ description })
const cents = (description: string) => z.int().meta({ description: `${description}, in cents.` })
const time = (description: string) => z.iso.datetime().meta({ description })

const CHARGE: EventFields<{ charge: EventCharge }> = {
  transactionId: {
    schema: text('The `id` of the charge.'),
    example: CHARGE_ID,
    valueOf: ({ charge }) => charge.id,
    sql: hexId('c.id'),
  },
  paymentLinkId: { valueOf: ({ charge }) => charge.paymentLinkId, sql: 'c.payment_link_id' },
  externalId: { valueOf: ({ charge }) => charge.externalId, sql: 'c.external_id' },
}

const STATUS = {
  schema: z.literal('COMPLETED').meta({ description: 'The status of the charge.' }),
  valueOf: () => 'COMPLETED',
  sql: `'COMPLETED'::text`,
}

const endToEndId = text('The number of the payment in the Pix system.')

export const DEPOSIT_PAID: EventFields<Deposit> = {
  ...CHARGE,
  value: { valueOf: ({ charge }) => charge.valueCents, sql: 'c.value_cents' },
  originalValue: { valueOf: ({ charge }) => charge.originalValueCents, sql: 'c.original_value_cents' },
  fee: { valueOf: ({ charge }) => charge.feeCents, sql: 'c.fee_cents' },
  creditedValue: {
    schema: cents('What was credited to your balance'),
    valueOf: ({ charge, payment }) => payment.amountCents - charge.feeCents,
    sql: 'p.amount_cents - c.fee_cents',
  },
  status: STATUS,
  paidLate: { valueOf: ({ isLate }) => isLate, sql: 'c.paid_late' },
  endToEndId: { schema: endToEndId, valueOf: ({ payment }) => payment.endToEndId, sql: 'p.end_to_end_id' },
  paidAt: {
    schema: time('When the payer paid.'),
    valueOf: ({ payment }) => payment.occurredAt.toISOString(),
    sql: isoTime('p.occurred_at'),
  },
}

export const DEPOSIT_REFUNDED: EventFields<Refunded> = {
  ...CHARGE,
  refundId: {
    schema: text('The `id` of the refund.'),
    example: '0199a3d07c5e7b1f8a2d4c6e9f0b1a35',
    valueOf: ({ refund }) => refund.id,
    sql: hexId('r.id'),
  },
  refundedValue: {
    schema: cents('What this refund gave back'),
    example: 2500,
    valueOf: ({ refund }) => refund.amountCents,
    sql: 'r.amount_cents',
  },
  totalRefundedValue: {
    schema: cents('What all refunds of the charge gave back'),
    example: 2500,
    valueOf: ({ charge }) => charge.refundedCents,
    sql: 's.cents',
  },
  value: { schema: cents('The value of the charge'), valueOf: ({ charge }) => charge.valueCents, sql: 'c.value_cents' },
  returnedFee: {
    schema: cents('What you got back of the fee'),
    example: 0,
    valueOf: ({ refund }) => refund.feeReturnedCents,
    sql: 'r.fee_returned_cents',
  },
  status: STATUS,
  endToEndId: { schema: endToEndId, valueOf: ({ refund }) => refund.endToEndId, sql: 'p.end_to_end_id' },
  refundedAt: {
    schema: time('When the provider confirmed the refund.'),
    example: '2026-01-31T12:30:04.000Z',
    valueOf: ({ at }) => at.toISOString(),
    sql: isoTime('r.ended_at'),
  },
}

const TEST_MESSAGE = 'guiche can reach this address. Nothing was paid.'

export const WEBHOOK_TEST: EventFields<null> = {
  message: { schema: z.string(), example: TEST_MESSAGE, valueOf: () => TEST_MESSAGE, sql: `'${TEST_MESSAGE}'::text` },
}

/** `name` is what the dashboard calls it. `subject` is the subject of the example. */
export const EVENTS = {
  DEPOSIT_ASSET_SUCCESS: {
    name: { en: 'Deposit paid', 'pt-BR': 'Depósito pago' },
    summary: 'A deposit was paid and credited',
    description: 'Sent once for each charge, in the transaction that credits your balance.',
    subject: CHARGE_ID,
    fields: DEPOSIT_PAID,
  },
  DEPOSIT_REFUNDED: {
    name: { en: 'Deposit refunded', 'pt-BR': 'Depósito devolvido' },
    summary: 'A refund reached the payer',
    description: 'Sent once for each refund, whole or partial.',
    subject: '5f2d0c8be1a94376a3c1d0e7b2984f6c',
    fields: DEPOSIT_REFUNDED,
  },
  WEBHOOK_TEST: {
    name: { en: 'Test', 'pt-BR': 'Teste' },
    summary: 'A test',
    description: 'Sent when a webhook is added, when its URL changes, and on request. Answer 2xx; nothing was paid.',
    subject: '0199a3c31d4e7f20b6a85c9e1d3f7a42',
    fields: WEBHOOK_TEST,
  },
} as const

export type SentKind = keyof typeof EVENTS
export const SENT_KINDS = Object.keys(EVENTS) as SentKind[]

/** The kinds that a webhook can subscribe to. WEBHOOK_TEST goes to one webhook, whatever it subscribes to. */
export type EventKind = Exclude<SentKind, 'WEBHOOK_TEST'>
export const EVENT_KINDS = SENT_KINDS.filter((kind) => kind !== 'WEBHOOK_TEST')

export function dataOf<Facts>(fields: EventFields<Facts>, facts: Facts): object {
  const data: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) data[name] = field.valueOf(facts)
  return data
}
