import { z } from 'zod'
import { hexId } from '../../db/sql-values.ts'
import { readMetadata } from '../core/charge-facts.ts'

// Types and fields that several kinds of events share.

export type EventField<Facts> = {
  /** Without one, it is the field of a deposit with the same name. */
  schema?: z.ZodType
  example?: unknown
  valueOf: (facts: Facts) => unknown
}
export type EventFields<Facts> = Record<string, EventField<Facts>>

/**
 * With the same value from rows of charges c, payments p, refunds r and payouts o, and s, the refunds of the charge so
 * far.
 */
export type FieldsInSql<Facts> = Record<string, EventField<Facts> & { sql: string }>

export type EventCharge = { id: string; paymentLinkId: string; externalId: string | null }
/** As its JSON text. */
export type WithMetadata = { metadata: string | null }

export const CHARGE_ID = '0199a3c2f4b87d6e9b1a5c0d3e2f4a68'

export const text = (description: string) => z.string().meta({ description })
export const cents = (description: string) => z.int().meta({ description: `${description}, in cents.` })
export const time = (description: string) => z.iso.datetime().meta({ description })
export const endToEndId = text('The number of the payment in the Pix system.')

export const CHARGE: FieldsInSql<{ charge: EventCharge }> = {
  transactionId: {
    schema: text('The `id` of the charge.'),
    example: CHARGE_ID,
    valueOf: ({ charge }) => charge.id,
    sql: hexId('c.id'),
  },
  paymentLinkId: { valueOf: ({ charge }) => charge.paymentLinkId, sql: 'c.payment_link_id' },
  externalId: { valueOf: ({ charge }) => charge.externalId, sql: 'c.external_id' },
}

/** In SQL, the external id of the code that made charge c. */
export const CODE_OF_CHARGE = '(select k.external_id from codes k where k.id = c.code_id)'

export const METADATA: FieldsInSql<{ charge: WithMetadata }> = {
  metadata: { valueOf: ({ charge }) => readMetadata(charge.metadata), sql: 'c.metadata::json' },
}

export function statusField<Status extends string>(status: Status, of = 'charge') {
  return {
    schema: z.literal(status).meta({ description: `The status of the ${of}.` }),
    example: status,
    valueOf: () => status,
    sql: `'${status}'::text`,
  }
}

export function dataOf<Facts>(fields: EventFields<Facts>, facts: Facts): object {
  const data: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) data[name] = field.valueOf(facts)
  return data
}
