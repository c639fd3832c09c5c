import { z } from 'zod'
import { EVENTS, SENT_KINDS, type SentKind } from '../../domain/webhooks/event-kinds.ts'
import { depositSchema } from '../api/deposit-records.ts'
import { byField, EVENT_EXAMPLES } from '../api/event-examples.ts'

// The `webhooks` of the document: what we send, where everything else in it is what we are sent.

const time = z.iso.datetime()

const OF_DEPOSIT: Record<string, z.ZodType> = depositSchema.shape

/** `DEPOSIT_REFUNDED` is `DepositRefundedEvent`: the name of its schema, and so of its type in generated clients. */
function schemaName(kind: string): string {
  const words = kind.toLowerCase().split('_')
  return `${words.map((word) => word.replace(/^./, (letter) => letter.toUpperCase())).join('')}Event`
}

export const EVENT_SCHEMAS = Object.fromEntries(SENT_KINDS.map((kind) => [schemaName(kind), eventSchema(kind)]))

export function eventSchema(kind: SentKind) {
  const schema = z.toJSONSchema(
    z.object({
      id: z.string().meta({
        description:
          'The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100 characters.',
      }),
      event: z.literal(kind),
      createdAt: time.meta({ description: 'When the event happened.' }),
      data: z.object(byField(kind, ({ schema }, name) => schema ?? OF_DEPOSIT[name]!)),
    }),
  )
  delete schema.$schema
  return schema
}

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
  SENT_KINDS.map((kind) => {
    const { summary, description } = EVENTS[kind]
    const post = {
      operationId: `on${schemaName(kind)}`,
      summary: summary.en,
      description,
      security: [],
      parameters: SIGNATURE_HEADERS,
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${schemaName(kind)}` },
            example: EVENT_EXAMPLES[kind],
          },
        },
      },
      responses: { '2XX': { description: 'Received. Any other answer is a failure, and the event is sent again.' } },
    }
    return [kind, { post }]
  }),
)
