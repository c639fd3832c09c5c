import { z } from 'zod'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Core } from '../../domain/core/core.ts'
import { NATURES } from '../../domain/ports/provider.ts'
import { listReversals, MAX_RATE_DAYS, readReversalRates } from '../../domain/reports/reversals.ts'
import { natureSchema } from '../api/refunds.ts'
import {
  cents,
  describeOperations,
  idField,
  listQuery,
  nextCursor,
  oneOf,
  response,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'

export function reversalRoutes(app: Api, core: Core): void {
  const config = { scope: OPERATOR_SCOPE } as const

  app.get('/api/operator/reversals', { schema: routes.listReversals, config }, async (request) => {
    const { reversals, nextCursor } = await listReversals(core, request.query)
    return { success: true as const, reversals: reversals.map(toApi), nextCursor }
  })

  app.get('/api/operator/reversals/rates', { schema: routes.getReversalRates, config }, async (request) => {
    const rates = await readReversalRates(core, request.query)
    return { success: true as const, rates: rates.map(toApi) }
  })
}

const reversalSchema = z
  .object({
    id: z.string().meta({ description: 'The id of the refund, 32 hexadecimal digits.' }),
    at: time.meta({ description: 'When guiche learned of it.' }),
    nature: natureSchema.unwrap(),
    accountId: z.string(),
    email: z.string().meta({ description: 'Of the account.' }),
    paymentLinkId: z.string(),
    externalId: z.string().nullable(),
    provider: z.string(),
    providerRefundId: z.string(),
    endToEndId: z.string(),
    value: cents.meta({ description: 'What went back to the payer, in cents.' }),
    charged: cents
      .nullable()
      .meta({ description: 'What was taken from the balance. Null: nothing was charged, or not yet.' }),
    owed: cents.nullable().meta({ description: 'What the balance lacked then, and the account owes or owed.' }),
    exceptionId: z.string().nullable().meta({ description: 'The exception of kind foreign_refund about it.' }),
    state: z.enum(['open', 'resolving', 'resolved']).nullable().meta({ description: 'The state of that exception.' }),
  })
  .meta({ id: 'Reversal' })

const count = z.int()
const rateSchema = z
  .object({
    accountId: z.string(),
    email: z.string(),
    day: z.iso.date().meta({ description: 'It begins in the time zone of the account.' }),
    paid: count.meta({ description: 'Deposits that were paid on that day.' }),
    paidValue: cents,
    reversed: count.meta({ description: 'Reversals that guiche learned of on that day.' }),
    reversedValue: cents,
    fraud: count.meta({ description: 'Those of nature fraud.' }),
    fraudValue: cents,
  })
  .meta({ id: 'ReversalRate' })

const accountId = idField('accountId', 'an account').exactOptional().meta({ description: 'Only this account.' })
const DAYS_ERROR = `days must be an integer from 1 to ${MAX_RATE_DAYS}`

const routes = describeOperations('Operator', {
  listReversals: {
    summary: 'List reversals',
    description:
      'Returns of credited payments that nobody here asked for, newest first, in pages, with who bears each. Needs an operator’s key.',
    querystring: z.object({
      nature: oneOf('nature', NATURES).exactOptional().meta({ description: 'Only of this nature.' }),
      accountId,
      ...listQuery,
    }),
    response: { 200: response('A page of reversals.', { reversals: reversalSchema.array(), nextCursor }) },
  },
  getReversalRates: {
    summary: 'Get the rates of reversals',
    description:
      'For each account and day with reversals, newest first: how many there were, and how many deposits were paid. Needs an operator’s key.',
    querystring: z.object({
      accountId,
      days: z
        .string({ error: DAYS_ERROR })
        .regex(/^\d{1,3}$/, { error: DAYS_ERROR })
        .transform(Number)
        .refine((days) => days >= 1 && days <= MAX_RATE_DAYS, { error: DAYS_ERROR })
        .default(30)
        .meta({
          type: 'integer',
          minimum: 1,
          maximum: MAX_RATE_DAYS,
          description: 'Of the last days, today included.',
        }),
    }),
    response: { 200: response('At most 1,000 rows.', { rates: rateSchema.array() }) },
  },
})
