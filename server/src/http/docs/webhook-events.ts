import { z } from 'zod'
import { uuidFromHex } from '../../base/ids.ts'
import { eventName, type NewEvent } from '../../domain/webhooks/events.ts'
import { depositSchema } from '../api/deposits.ts'

// The `webhooks` of the document: what we send, where everything else in it is what we are sent.

type Event = { summary: string; description: string; data: z.ZodObject; subject: string; example: object }

const record = depositSchema.shape
const time = z.iso.datetime()
const charge = {
  transactionId: z.string().meta({ description: 'The `id` of the charge.' }),
  paymentLinkId: record.paymentLinkId,
  externalId: record.externalId,
}
const payment = {
  status: z.literal('COMPLETED').meta({ description: 'The status of the charge.' }),
  endToEndId: record.endToEndId.unwrap().meta({ description: 'The number of the payment in the Pix system.' }),
}
const CHARGE = {
  transactionId: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
  paymentLinkId: '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
  externalId: 'order-1042',
}
const END_TO_END_ID = 'E12345678202601311201s0123456789'

export const DEPOSIT_EXAMPLE = {
  ...CHARGE,
  value: 5000,
  originalValue: 5000,
  fee: 50,
  creditedValue: 4950,
  status: 'COMPLETED',
  paidLate: false,
  endToEndId: END_TO_END_ID,
  paidAt: '2026-01-31T12:01:07.000Z',
}

const EVENTS: Record<NewEvent['kind'], Event> = {
  DEPOSIT_ASSET_SUCCESS: {
    summary: 'A deposit was paid and credited',
    description: 'Sent once for each charge, in the transaction that credits your balance.',
    data: z.object({
      ...charge,
      value: record.value,
      originalValue: record.originalValue,
      fee: record.fee,
      creditedValue: z.int().meta({ description: 'What was credited to your balance, in cents.' }),
      status: payment.status,
      paidLate: record.paidLate,
      endToEndId: payment.endToEndId,
      paidAt: time.meta({ description: 'When the payer paid.' }),
    }),
    subject: CHARGE.transactionId,
    example: DEPOSIT_EXAMPLE,
  },
  DEPOSIT_REFUNDED: {
    summary: 'A refund reached the payer',
    description: 'Sent once for each refund, whole or partial.',
    data: z.object({
      ...charge,
      refundId: z.string().meta({ description: 'The `id` of the refund.' }),
      refundedValue: z.int().meta({ description: 'What this refund gave back, in cents.' }),
      totalRefundedValue: z.int().meta({ description: 'What all refunds of the charge gave back, in cents.' }),
      value: z.int().meta({ description: 'The value of the charge, in cents.' }),
      returnedFee: z.int().meta({ description: 'What you got back of the fee, in cents.' }),
      status: payment.status,
      endToEndId: payment.endToEndId,
      refundedAt: time.meta({ description: 'When the provider confirmed the refund.' }),
    }),
    subject: '5f2d0c8be1a94376a3c1d0e7b2984f6c',
    example: {
      ...CHARGE,
      refundId: '0199a3d07c5e7b1f8a2d4c6e9f0b1a35',
      refundedValue: 2500,
      totalRefundedValue: 2500,
      value: 5000,
      returnedFee: 0,
      status: 'COMPLETED',
      endToEndId: END_TO_END_ID,
      refundedAt: '2026-01-31T12:30:04.000Z',
    },
  },
  WEBHOOK_TEST: {
    summary: 'A test',
    description: 'Sent when a webhook is added, when its URL changes, and on request. Answer 2xx; nothing was paid.',
    data: z.object({ message: z.string() }),
    subject: '0199a3c31d4e7f20b6a85c9e1d3f7a42',
    example: { message: 'guiche can reach this address. Nothing was paid.' },
  },
}

/** `DEPOSIT_REFUNDED` is `DepositRefundedEvent`: the name of its schema, and so of its type in generated clients. */
function schemaName(kind: string): string {
  const words = kind.toLowerCase().split('_')
  return `${words.map((word) => word.replace(/^./, (letter) => letter.toUpperCase())).join('')}Event`
}

export const EVENT_SCHEMAS = Object.fromEntries(
  Object.entries(EVENTS).map(([kind, { data }]) => {
    const schema = z.toJSONSchema(
      z.object({
        id: z.string().meta({
          description:
            'The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100 characters.',
        }),
        event: z.literal(kind),
        createdAt: time.meta({ description: 'When the event happened.' }),
        data,
      }),
    )
    delete schema.$schema
    return [schemaName(kind), schema]
  }),
)

const SIGNATURE_HEADERS = [
  { name: 'webhook-id', description: 'The id of the event. The same in every delivery of it.', type: 'string' },
  { name: 'webhook-timestamp', description: 'When this delivery was signed, in seconds since 1970.', type: 'integer' },
  {
    name: 'webhook-signature',
    description:
      'One or more of `v1,<base64>`, separated by spaces: the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` with a secret of the webhook, as Standard Webhooks specifies.',
    type: 'string',
  },
].map(({ type, ...header }) => ({ in: 'header', required: true, ...header, schema: { type } }))

export const WEBHOOKS = Object.fromEntries(
  Object.entries(EVENTS).map(([kind, { summary, description, subject, example }]) => {
    const id = eventName({ kind, subjectId: uuidFromHex(subject) })
    const envelope = { id, event: kind, createdAt: '2026-01-31T12:01:08.000Z' }
    const post = {
      operationId: `on${schemaName(kind)}`,
      summary,
      description,
      security: [],
      parameters: SIGNATURE_HEADERS,
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${schemaName(kind)}` },
            example: { ...envelope, data: example },
          },
        },
      },
      responses: { '2XX': { description: 'Received. Any other answer is a failure, and the event is sent again.' } },
    }
    return [kind, { post }]
  }),
)
