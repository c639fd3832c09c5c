import { z } from 'zod'
import type { Cents } from '../../base/money.ts'
import { hexId, isoTime } from '../../db/sql-values.ts'
import { NATURES, type Nature } from '../ports/provider.ts'
import {
  cents,
  CHARGE,
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

// The kinds about refunds of deposits. Refunds of held payments are told as DEPOSIT_RELEASED.

type Refunded = {
  charge: EventCharge & WithMetadata & { valueCents: Cents; refundedCents: Cents }
  refund: { id: string; amountCents: Cents; feeReturnedCents: Cents; endToEndId: string }
  at: Date
}

const REFUND_ID = {
  schema: text('The `id` of the refund.'),
  example: '0199a3d07c5e7b1f8a2d4c6e9f0b1a35',
  valueOf: ({ refund }: Pick<Refunded, 'refund'>) => refund.id,
  sql: hexId('r.id'),
}

export const DEPOSIT_REFUNDED: FieldsInSql<Refunded> = {
  ...CHARGE,
  refundId: REFUND_ID,
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
  status: statusField('COMPLETED'),
  endToEndId: { schema: endToEndId, valueOf: ({ refund }) => refund.endToEndId, sql: 'p.end_to_end_id' },
  refundedAt: {
    schema: time('When the provider confirmed the refund.'),
    example: '2026-01-31T12:30:04.000Z',
    valueOf: ({ at }) => at.toISOString(),
    sql: isoTime('r.ended_at'),
  },
  ...METADATA,
}

type Reversed = Refunded & {
  refund: { nature: Nature }
  borne: { chargedCents: Cents; owedCents: Cents } | undefined
}

// x is the exception of refund r, if the account was charged in the transaction that recorded it.
const CHARGED_AT_ONCE = `x.resolved_by_kind = 'system' and x.resolution = 'charge_account'`
// The bank took back an earlier return, whose money was still held.
const FROM_SUSPENSE = 'r.exception_id is not null'
const EXAMPLE_CHARGED = 1500

export const DEPOSIT_REVERSED: FieldsInSql<Reversed> = {
  ...CHARGE,
  refundId: REFUND_ID,
  nature: {
    schema: z.enum(NATURES).meta({
      description:
        '`fraud`: the payer reported a fraud to the bank. `operational`: a mistake of the payer’s bank. `automatic`: a recurring payment that should not have been made. `other`: any other reason, or the bank gives none.',
    }),
    example: 'fraud',
    valueOf: ({ refund }) => refund.nature,
    sql: 'r.nature',
  },
  reversedValue: {
    schema: cents('What went back to the payer'),
    example: 2500,
    valueOf: ({ refund }) => refund.amountCents,
    sql: 'r.amount_cents',
  },
  chargedValue: {
    schema: cents('What was taken from your balance. Null: the operator decides').nullable(),
    example: EXAMPLE_CHARGED,
    valueOf: ({ borne }) => borne?.chargedCents ?? null,
    sql: `case when ${CHARGED_AT_ONCE} then r.amount_cents - coalesce(x.owed_cents, 0) when ${FROM_SUSPENSE} then 0 end`,
  },
  owedValue: {
    schema: cents(
      'What your balance lacked. You owe it, and the next money that comes in pays it. Null: the operator decides',
    ).nullable(),
    example: 2500 - EXAMPLE_CHARGED,
    valueOf: ({ borne }) => borne?.owedCents ?? null,
    sql: `case when ${CHARGED_AT_ONCE} then coalesce(x.owed_cents, 0) when ${FROM_SUSPENSE} then 0 end`,
  },
  totalRefundedValue: DEPOSIT_REFUNDED.totalRefundedValue!,
  value: DEPOSIT_REFUNDED.value!,
  status: DEPOSIT_REFUNDED.status!,
  endToEndId: DEPOSIT_REFUNDED.endToEndId!,
  reversedAt: {
    schema: time('When guiche learned of it.'),
    example: '2026-01-31T12:30:04.000Z',
    valueOf: ({ at }) => at.toISOString(),
    sql: isoTime('r.ended_at'),
  },
  ...METADATA,
}

const FAILURES = ['not_made', 'undone'] as const
export type RefundFailure = (typeof FAILURES)[number]

export const REFUND_FAILED: EventFields<Omit<Refunded, 'at'> & { reason: RefundFailure }> = {
  ...CHARGE,
  refundId: REFUND_ID,
  reason: {
    schema: z.enum(FAILURES).meta({
      description:
        '`not_made`: the bank did not make it, and your balance has its money again. `undone`: the bank made it and took it back. Your balance stays as it is; the operator has the money, and decides.',
    }),
    example: 'not_made',
    valueOf: ({ reason }) => reason,
  },
  refundValue: {
    schema: cents('What the payer did not get'),
    example: 2500,
    valueOf: ({ refund }) => refund.amountCents,
  },
  totalRefundedValue: {
    schema: cents('What the other refunds of the charge gave back'),
    example: 0,
    valueOf: ({ charge }) => charge.refundedCents,
  },
  value: { schema: cents('The value of the charge'), valueOf: ({ charge }) => charge.valueCents },
  status: statusField('COMPLETED'),
  endToEndId: { schema: endToEndId, valueOf: ({ refund }) => refund.endToEndId },
  ...METADATA,
}

const REFUND_SUBJECT = '5f2d0c8be1a94376a3c1d0e7b2984f6c'

export const REFUND_KINDS = {
  DEPOSIT_REFUNDED: {
    name: { en: 'Deposit refunded', 'pt-BR': 'Depósito devolvido' },
    summary: { en: 'A refund reached the payer', 'pt-BR': 'Uma devolução chegou ao pagador' },
    description: 'Sent once for each refund that was asked for here, whole or partial.',
    subject: REFUND_SUBJECT,
    fields: DEPOSIT_REFUNDED,
  },
  DEPOSIT_REVERSED: {
    name: { en: 'Deposit reversed', 'pt-BR': 'Depósito devolvido pelo banco' },
    summary: {
      en: 'The bank returned a deposit to the payer, and you did not ask for it',
      'pt-BR': 'O banco devolveu um depósito ao pagador sem você pedir',
    },
    description:
      'Sent once for each return that you did not ask for, such as after a report of fraud, in place of `DEPOSIT_REFUNDED`. The deposit stays COMPLETED.',
    subject: REFUND_SUBJECT,
    fields: DEPOSIT_REVERSED,
  },
  REFUND_FAILED: {
    name: { en: 'Refund failed', 'pt-BR': 'Devolução não concluída' },
    summary: { en: 'A refund did not reach the payer', 'pt-BR': 'Uma devolução não chegou ao pagador' },
    description:
      'Sent once for each refund that was not made, and each time that the bank takes back a refund that it had made: that one follows a `DEPOSIT_REFUNDED`.',
    subject: '8e0b7d3a52c64f19b6d8417fa0c93e25',
    fields: REFUND_FAILED,
  },
} as const
