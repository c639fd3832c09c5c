import { z } from 'zod'
import type { Cents } from '../../base/money.ts'
import { hexId, isoTime } from '../../db/sql-values.ts'
import { cents, statusField, text, time, type FieldsInSql } from './event-fields.ts'

// The kinds about payouts. Asking for one has none: the caller has the answer.

type Asked = { id: string; valueCents: Cents; note: string | null; requestedAt: Date }

const ASKED: FieldsInSql<Asked> = {
  payoutId: {
    schema: text('The `id` of the payout.'),
    example: '0199a3d84b1f7c2e9a6d0f3b5c8e7a14',
    valueOf: ({ id }) => id,
    sql: hexId('o.id'),
  },
  value: {
    schema: cents('What you asked for'),
    example: 250_000,
    valueOf: ({ valueCents }) => valueCents,
    sql: 'o.value_cents',
  },
  note: {
    schema: text('Your note. Null: none.').nullable(),
    example: 'March, first half',
    valueOf: ({ note }) => note,
    sql: 'o.note',
  },
  requestedAt: {
    schema: time('When you asked for it.'),
    example: '2026-01-30T12:00:00.000Z',
    valueOf: ({ requestedAt }) => requestedAt.toISOString(),
    sql: isoTime('o.requested_at'),
  },
}

export const PAYOUT_PAID: FieldsInSql<Asked & { reference: string | null; paidAt: string | null }> = {
  ...ASKED,
  status: statusField('PAID', 'payout'),
  reference: {
    schema: text('By which the bank knows the transfer, as the operator wrote it down.'),
    example: 'E18236120202601311500s0a1b2c3d4e',
    valueOf: ({ reference }) => reference,
    sql: 'o.reference',
  },
  paidAt: {
    schema: z.iso.date().meta({ description: 'The business day on which it was paid.' }),
    example: '2026-01-31',
    valueOf: ({ paidAt }) => paidAt,
    sql: 'o.paid_at',
  },
}

export const PAYOUT_REJECTED: FieldsInSql<Asked & { reason: string | null }> = {
  ...ASKED,
  status: statusField('REJECTED', 'payout'),
  reason: {
    schema: text('Why, in the words of the operator.'),
    example: 'the bank account is closed',
    valueOf: ({ reason }) => reason,
    sql: 'o.reason',
  },
}

const SUBJECT = '0199a3d84b1f7c2e9a6d0f3b5c8e7a14'

export const PAYOUT_KINDS = {
  PAYOUT_PAID: {
    name: { en: 'Payout paid', 'pt-BR': 'Repasse pago' },
    summary: { en: 'The guiche team paid a payout', 'pt-BR': 'A equipe do guiche pagou um repasse' },
    description: 'Sent once for each payout that the operator paid.',
    subject: SUBJECT,
    fields: PAYOUT_PAID,
  },
  PAYOUT_REJECTED: {
    name: { en: 'Payout rejected', 'pt-BR': 'Repasse recusado' },
    summary: {
      en: 'The guiche team rejected a payout, and its money is available again',
      'pt-BR': 'A equipe do guiche recusou um repasse, e o valor voltou a ficar disponível',
    },
    description: 'Sent once for each payout that the operator rejected. Its money is available again.',
    subject: SUBJECT,
    fields: PAYOUT_REJECTED,
  },
} as const
