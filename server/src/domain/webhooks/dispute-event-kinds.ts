import { z } from 'zod'
import type { Cents } from '../../base/money.ts'
import { hexId, isoTime } from '../../db/sql-values.ts'
import {
  cents,
  CHARGE,
  endToEndId,
  statusField,
  text,
  time,
  type EventCharge,
  type FieldsInSql,
} from './event-fields.ts'

// The kinds about disputes, of rows d.

export type DisputeFacts = {
  id: string
  charge: EventCharge
  endToEndId: string
  amountCents: Cents
  heldCents: Cents
  reason: string | null
  status: string
  openedAt: Date
  deadlineAt: Date
  endedAt: Date | null
}

const DISPUTE: FieldsInSql<DisputeFacts> = {
  disputeId: {
    schema: text('The `id` of the dispute.'),
    example: '0199a3d84b1f7c2e9a6d0f3b5c8e7a14',
    valueOf: ({ id }) => id,
    sql: hexId('d.id'),
  },
  ...CHARGE,
  disputedValue: {
    schema: cents('What the payer wants back'),
    example: 5000,
    valueOf: ({ amountCents }) => amountCents,
    sql: 'd.amount_cents',
  },
  heldValue: {
    schema: cents('What was set aside of your balance for it'),
    example: 4950,
    valueOf: ({ heldCents }) => heldCents,
    sql: 'd.held_cents',
  },
  disputeReason: {
    schema: text('Why, in the words of the payer or the bank. Null: they do not say.').nullable(),
    example: 'Golpe',
    valueOf: ({ reason }) => reason,
    sql: 'd.reason',
  },
  openedAt: {
    schema: time('When the payer contested the payment.'),
    example: '2026-01-31T12:00:00.000Z',
    valueOf: ({ openedAt }) => openedAt.toISOString(),
    sql: isoTime('d.opened_at'),
  },
  deadlineAt: {
    schema: time('Until when your evidence counts.'),
    example: '2026-02-07T12:00:00.000Z',
    valueOf: ({ deadlineAt }) => deadlineAt.toISOString(),
    sql: isoTime('d.deadline_at'),
  },
  endToEndId: { schema: endToEndId, valueOf: (dispute) => dispute.endToEndId, sql: 'p.end_to_end_id' },
}

export const DISPUTE_OPENED: FieldsInSql<DisputeFacts> = { ...DISPUTE, status: statusField('OPEN', 'dispute') }

export const DISPUTE_ENDED: FieldsInSql<DisputeFacts> = {
  ...DISPUTE,
  status: {
    schema: z.enum(['ACCEPTED', 'REJECTED', 'CANCELED']).meta({
      description:
        '`ACCEPTED`: the payer got the money. `REJECTED`: you keep it. `CANCELED`: the payer gave up, and you keep it.',
    }),
    example: 'REJECTED',
    valueOf: ({ status }) => status,
    sql: 'd.status',
  },
  endedAt: {
    schema: time('When we learned that it ended.'),
    example: '2026-02-05T12:00:00.000Z',
    valueOf: ({ endedAt }) => endedAt!.toISOString(),
    sql: isoTime('d.ended_at'),
  },
}

const SUBJECT = '3c1f9e7ab25d48069b7e4d2fa8c05163'

export const DISPUTE_KINDS = {
  DISPUTE_OPENED: {
    name: { en: 'Dispute opened', 'pt-BR': 'Contestação aberta' },
    summary: {
      en: 'A payer contests a payment, and its value is set aside',
      'pt-BR': 'Um pagador contesta um pagamento, e o valor foi bloqueado',
    },
    description: 'Sent once for each dispute. Give evidence before `deadlineAt`.',
    subject: SUBJECT,
    fields: DISPUTE_OPENED,
  },
  DISPUTE_ENDED: {
    name: { en: 'Dispute ended', 'pt-BR': 'Contestação encerrada' },
    summary: { en: 'A dispute was decided, or given up', 'pt-BR': 'Uma contestação foi decidida ou retirada' },
    description: 'Sent once for each dispute. What was set aside is in your balance again, or went back to the payer.',
    subject: SUBJECT,
    fields: DISPUTE_ENDED,
  },
} as const
