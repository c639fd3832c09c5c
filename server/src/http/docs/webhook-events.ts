import { z } from 'zod'
import type { EventField } from '../../domain/webhooks/event-fields.ts'
import { EVENTS } from '../../domain/webhooks/event-kinds.ts'
import { eventName } from '../../domain/webhooks/events.ts'
import { DEPOSIT_EXAMPLE, depositSchema } from '../api/deposit-records.ts'

// The `webhooks` of the document: what we send, where everything else in it is what we are sent.

const time = z.iso.datetime()

/** A field without schema or example of its own has that of a deposit. */
function byField<Value>(kind: keyof typeof EVENTS, valueOf: (field: EventField<never>, name: string) => Value) {
  const fields = Object.entries<EventField<never>>(EVENTS[kind].fields)
  return Object.fromEntries(fields.map(([name, field]) => [name, valueOf(field, name)]))
}

const OF_DEPOSIT: Record<string, z.ZodType> = depositSchema.shape
const EXAMPLE: Record<string, unknown> = DEPOSIT_EXAMPLE
const KINDS = Object.keys(EVENTS) as (keyof typeof EVENTS)[]

/** By kind, an event as it is sent. */
export const EVENT_EXAMPLES = Object.fromEntries(
  KINDS.map((kind) => {
    const id = eventName({ kind, subjectId: EVENTS[kind].subject })
    const data = byField(kind, ({ example }, name) => example ?? EXAMPLE[name])
    return [kind, { id, event: kind, createdAt: '2026-01-31T12:01:08.000Z', data }]
  }),
)

/** `DEPOSIT_REFUNDED` is `DepositRefundedEvent`: the name of its schema, and so of its type in generated clients. */
function schemaName(kind: string): string {
  const words = kind.toLowerCase().split('_')
  return `${words.map((word) => word.replace(/^./, (letter) => letter.toUpperCase())).join('')}Event`
}

export const EVENT_SCHEMAS = Object.fromEntries(
  KINDS.map((kind) => {
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
  KINDS.map((kind) => {
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
