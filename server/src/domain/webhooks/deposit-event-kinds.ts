import { z } from 'zod'
import type { Cents } from '../../base/money.ts'
import { isoTime } from '../../db/sql-values.ts'
import { readMetadata } from '../core/charge-facts.ts'
import {
  cents,
  CHARGE,
  CHARGE_ID,
  CODE_OF_CHARGE,
  endToEndId,
  METADATA,
  statusField,
  text,
  time,
  type EventCharge,
  type EventFields,
  type FieldsInSql,
  type WithMetadata,
} from './event-fields.ts'

// The kinds about a deposit, and about money that was held for one.

type Paid = {
  charge: EventCharge &
    WithMetadata & {
      valueCents: Cents
      originalValueCents: Cents
      feeCents: Cents
      code: string | null
      payer: string | null
    }
  payment: { amountCents: Cents; endToEndId: string; occurredAt: Date }
  isLate: boolean
  isPayerConfirmed: boolean
}

export const DEPOSIT_PAID: FieldsInSql<Paid> = {
  ...CHARGE,
  value: { valueOf: ({ charge }) => charge.valueCents, sql: 'c.value_cents' },
  originalValue: { valueOf: ({ charge }) => charge.originalValueCents, sql: 'c.original_value_cents' },
  fee: { valueOf: ({ charge }) => charge.feeCents, sql: 'c.fee_cents' },
  creditedValue: {
    schema: cents('What was credited to your balance'),
    valueOf: ({ charge, payment }) => payment.amountCents - charge.feeCents,
    sql: 'p.amount_cents - c.fee_cents',
  },
  status: statusField('COMPLETED'),
  paidLate: { valueOf: ({ isLate }) => isLate, sql: 'c.paid_late' },
  endToEndId: { schema: endToEndId, valueOf: ({ payment }) => payment.endToEndId, sql: 'p.end_to_end_id' },
  paidAt: {
    schema: time('When the payer paid.'),
    valueOf: ({ payment }) => payment.occurredAt.toISOString(),
    sql: isoTime('p.occurred_at'),
  },
  code: {
    schema: text(
      'The `externalId` of the code that the payer paid by. Null for a charge that you asked for.',
    ).nullable(),
    example: null,
    valueOf: ({ charge }) => charge.code,
    sql: CODE_OF_CHARGE,
  },
  payerMatch: {
    schema: z.enum(['matched', 'unknown']).nullable().meta({
      description:
        'Whether the person that the deposit names paid it, as far as it was known then: `DEPOSIT_PAYER_CHECKED` tells the rest. Null if the deposit names nobody.',
    }),
    example: null,
    valueOf: ({ charge, isPayerConfirmed }) => charge.payer && (isPayerConfirmed ? 'matched' : 'unknown'),
    sql: `case when c.payer is not null then case when c.payer::json ->> 'policy' = 'require' and exists (
      select from payer_answers a where a.end_to_end_id = p.end_to_end_id and a.answer = 'matched'
    ) then 'matched' else 'unknown' end end`,
  },
  ...METADATA,
}

type Ended = { charge: EventCharge & WithMetadata & { valueCents: Cents; expiresAt: Date } }

const ENDED: EventFields<Ended> = {
  ...CHARGE,
  value: { valueOf: ({ charge }) => charge.valueCents },
  expiresAt: { valueOf: ({ charge }) => charge.expiresAt.toISOString() },
  ...METADATA,
}

export const DEPOSIT_EXPIRED = { ...ENDED, status: statusField('EXPIRED') }
export const DEPOSIT_CANCELED = { ...ENDED, status: statusField('CANCELED') }

const HELD_REASONS = [
  'wrong_amount',
  'second_payment',
  'wrong_provider',
  'refunded_payment',
  'payer_unconfirmed',
  'code_closed',
  'code_limits',
] as const
export type HeldReason = (typeof HELD_REASONS)[number]

/** A payment names a charge, or a code by its `externalId`, or neither. */
type Named = { charge: (EventCharge & WithMetadata) | null; code: string | null }

const UNNAMED = 'Null for a payment of a code, and for one that named nothing.'

// In SQL those of a payment of code k.
const NAMED: FieldsInSql<Named> = {
  transactionId: {
    schema: z
      .string()
      .nullable()
      .meta({ description: `The \`id\` of the charge. ${UNNAMED}` }),
    example: CHARGE_ID,
    valueOf: ({ charge }) => charge?.id ?? null,
    sql: 'null::text',
  },
  paymentLinkId: {
    schema: z.string().nullable().meta({ description: UNNAMED }),
    valueOf: ({ charge }) => charge?.paymentLinkId ?? null,
    sql: 'null::text',
  },
  externalId: { valueOf: ({ charge }) => charge?.externalId ?? null, sql: 'null::text' },
}

const CODE_OR_METADATA: FieldsInSql<Named> = {
  code: {
    schema: text('The `externalId` of the code that the payer paid by. Null for a payment of a charge.').nullable(),
    example: null,
    valueOf: ({ code }) => code,
    sql: 'k.external_id',
  },
  metadata: { valueOf: ({ charge }) => readMetadata(charge?.metadata ?? null), sql: 'null::text' },
}

type HeldPayment = { amountCents: Cents; endToEndId: string; occurredAt: Date }
type Held = Named & { valueCents: Cents | null; payment: HeldPayment; reason: HeldReason }

const RECEIVED_EXAMPLE = 4900

export const DEPOSIT_HELD: FieldsInSql<Held> = {
  ...NAMED,
  value: {
    schema: cents('The value of the charge').nullable(),
    valueOf: ({ valueCents }) => valueCents,
    sql: 'null::bigint',
  },
  receivedValue: {
    schema: cents('What arrived, and is held'),
    example: RECEIVED_EXAMPLE,
    valueOf: ({ payment }) => payment.amountCents,
    sql: 'p.amount_cents',
  },
  reason: {
    schema: z.enum(HELD_REASONS).meta({
      description:
        'Why it does not complete the charge. `second_payment`: the charge, or its order by another charge, was paid before. `refunded_payment`: the bank had refunded it, or part of it. `wrong_provider`: it arrived at another provider than that of the charge. `payer_unconfirmed`: the provider is asked whether the person that the deposit requires paid; nobody has to decide. `code_closed`: its code was closed. `code_limits`: it was outside of the limits of its code or yours, or not above its fee.',
    }),
    example: 'wrong_amount',
    valueOf: ({ reason }) => reason,
    sql: 'x.kind',
  },
  endToEndId: { schema: endToEndId, valueOf: ({ payment }) => payment.endToEndId, sql: 'p.end_to_end_id' },
  paidAt: {
    schema: time('When the payer paid.'),
    valueOf: ({ payment }) => payment.occurredAt.toISOString(),
    sql: isoTime('p.occurred_at'),
  },
  ...CODE_OR_METADATA,
}

const OUTCOMES = ['completed', 'credited', 'credited_elsewhere', 'refunded', 'written_off'] as const

export type Released = Named & {
  outcome: (typeof OUTCOMES)[number]
  payment: { amountCents: Cents; endToEndId: string }
  creditedCents: Cents
  returnedCents: Cents
  isPayable: boolean
}

// In SQL, f is what the provider had refunded by itself.
export const DEPOSIT_RELEASED: FieldsInSql<Released> = {
  ...NAMED,
  outcome: {
    schema: z.enum(OUTCOMES).meta({
      description:
        '`completed`: it paid the charge after all. `credited`: your balance got what was left of it, without a fee. `credited_elsewhere`: it was meant for another account. `refunded`: the payer has it again. `written_off`: the operator keeps it.',
    }),
    example: 'refunded',
    valueOf: ({ outcome }) => outcome,
    sql: `case x.resolution when 'refund' then 'refunded' when 'write_off' then 'written_off'
      else case when x.account_id = k.account_id then 'credited' else 'credited_elsewhere' end end`,
  },
  receivedValue: {
    schema: cents('What had arrived'),
    example: RECEIVED_EXAMPLE,
    valueOf: ({ payment }) => payment.amountCents,
    sql: 'p.amount_cents',
  },
  creditedValue: {
    schema: cents('What was credited to your balance'),
    example: 0,
    valueOf: ({ creditedCents }) => creditedCents,
    sql: `case when x.resolution = 'credit' and x.account_id = k.account_id then p.amount_cents - f.cents else 0 end`,
  },
  returnedValue: {
    schema: cents('What the payer got back'),
    example: RECEIVED_EXAMPLE,
    valueOf: ({ returnedCents }) => returnedCents,
    sql: `case when x.resolution = 'refund' then p.amount_cents else f.cents end`,
  },
  stillPayable: {
    schema: z.boolean().meta({ description: 'Whether the charge could still be paid then.' }),
    example: true,
    valueOf: ({ isPayable }) => isPayable,
    sql: 'false',
  },
  endToEndId: { schema: endToEndId, valueOf: ({ payment }) => payment.endToEndId, sql: 'p.end_to_end_id' },
  ...CODE_OR_METADATA,
}

export type PayerAnswered = {
  charge: EventCharge & WithMetadata
  endToEndId: string
  answer: 'matched' | 'mismatched'
}

export const DEPOSIT_PAYER_CHECKED: EventFields<PayerAnswered> = {
  ...CHARGE,
  payerMatch: {
    schema: z.enum(['matched', 'mismatched']).meta({
      description:
        'Whether the person that the deposit names made this payment. `mismatched` with the policy `require`: the payer gets the money back.',
    }),
    example: 'mismatched',
    valueOf: ({ answer }) => answer,
  },
  endToEndId: { schema: endToEndId, valueOf: ({ endToEndId }) => endToEndId },
  ...METADATA,
}

const HELD_SUBJECT = 'c41d8a1f6b0e4fd29a7355e2b9c6d810'

export const DEPOSIT_KINDS = {
  DEPOSIT_ASSET_SUCCESS: {
    name: { en: 'Deposit paid', 'pt-BR': 'Depósito pago' },
    summary: { en: 'A deposit was paid and credited', 'pt-BR': 'Um depósito foi pago e creditado' },
    description: 'Sent once for each charge, in the transaction that credits your balance.',
    subject: CHARGE_ID,
    fields: DEPOSIT_PAID,
  },
  DEPOSIT_EXPIRED: {
    name: { en: 'Deposit expired', 'pt-BR': 'Depósito expirado' },
    summary: { en: 'A deposit expired without being paid', 'pt-BR': 'Um depósito expirou sem ser pago' },
    description:
      'Sent once for each charge, when the provider has said that it is unpaid. A payment that arrives after all still completes it: `DEPOSIT_ASSET_SUCCESS` then has `paidLate`.',
    subject: CHARGE_ID,
    fields: DEPOSIT_EXPIRED,
  },
  DEPOSIT_CANCELED: {
    name: { en: 'Deposit canceled', 'pt-BR': 'Depósito cancelado' },
    summary: {
      en: 'A deposit was canceled before it was paid',
      'pt-BR': 'Um depósito foi cancelado antes de ser pago',
    },
    description:
      'Sent once for each charge, whoever canceled it. A payment that was under way still completes it: `DEPOSIT_ASSET_SUCCESS` then has `paidLate`.',
    subject: CHARGE_ID,
    fields: DEPOSIT_CANCELED,
  },
  DEPOSIT_HELD: {
    name: { en: 'Payment under review', 'pt-BR': 'Pagamento em análise' },
    summary: {
      en: 'Money arrived that completes no deposit, such as a wrong amount or a second payment',
      'pt-BR': 'Chegou dinheiro que não conclui um depósito, como um valor errado ou um segundo pagamento',
    },
    description:
      'The money is held. Sent once for each payment that names a charge or a code of yours. The operator decides about it; do not ask the payer to pay again meanwhile.',
    subject: HELD_SUBJECT,
    fields: DEPOSIT_HELD,
  },
  DEPOSIT_RELEASED: {
    name: { en: 'Payment review ended', 'pt-BR': 'Análise de pagamento concluída' },
    summary: {
      en: 'It was decided what becomes of a payment under review',
      'pt-BR': 'Foi decidido o que acontece com um pagamento em análise',
    },
    description:
      'Sent once for each payment, when the decision has its effect: a refund, when the provider has made it. Its id ends as that of `DEPOSIT_HELD`. A payment that completes its charge after all has this event first, and `DEPOSIT_ASSET_SUCCESS` after it. A payment that named neither a charge nor a code has only this one, when it is credited or completes a charge.',
    subject: HELD_SUBJECT,
    fields: DEPOSIT_RELEASED,
  },
  DEPOSIT_PAYER_CHECKED: {
    name: { en: 'Payer checked', 'pt-BR': 'Pagador verificado' },
    summary: {
      en: 'The provider said whether the person that a deposit names paid it',
      'pt-BR': 'O provedor informou se quem pagou é a pessoa indicada no depósito',
    },
    description:
      'Sent once for each payment of a deposit with `payer`, as soon as the provider has said who paid. A payment of another person is credited with the policy `verify`, and goes back to the payer with `require`.',
    subject: HELD_SUBJECT,
    fields: DEPOSIT_PAYER_CHECKED,
  },
} as const
