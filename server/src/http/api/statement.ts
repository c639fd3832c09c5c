import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { PAYOUT_STATUSES } from '../../domain/payouts/payout-states.ts'
import { readBalance, readStatement } from '../../domain/ledger/account-statement.ts'
import { cents, describeOperations, listQuery, nextCursor, response, time, toApi, type Api } from '../server/schemas.ts'

export function statementRoutes(app: Api, ctx: Context): void {
  const config = { scope: 'balance:read' } as const

  app.get('/api/balance', { schema: routes.getBalance, config }, async (request) => {
    const { balanceCents, availableCents, reservedCents } = await readBalance(ctx, request.caller.accountId)
    return {
      success: true as const,
      balance: balanceCents,
      available: availableCents,
      reserved: reservedCents,
      currency: 'BRL' as const,
    }
  })

  app.get('/api/statement', { schema: routes.getStatement, config }, async (request) => {
    const { lines, nextCursor } = await readStatement(ctx, request.caller.accountId, request.query)
    return { success: true as const, lines: lines.map(toApi), nextCursor }
  })
}

export const statementQuery = z.object(listQuery)

const lineSchema = z
  .object({
    id: z.string().meta({ description: 'Lines booked later have a larger number.' }),
    kind: z.string().meta({
      description: [
        '`deposit`: a payment, less the fee.',
        '`matched_deposit`: a deposit whose payment was held first, because it had no code or a different amount.',
        '`refund_reserved`: taken for a refund.',
        '`refund_released`: returned to you because the refund failed.',
        '`fee_returned`, `fee_kept`: the part of the fee that came back with a refund, and was charged again when it failed.',
        '`exception_credited`: a payment that the operator assigned to you, or a refund of yours that came back.',
        '`refund_charged`: a refund made at the payment provider and charged to you.',
        '`payout_reserved`: set aside for a payout. `payout_returned`: available again, because the payout was rejected.',
      ].join(' '),
      examples: ['deposit'],
    }),
    amount: cents.meta({ description: 'In cents: positive is a credit, negative a debit.', examples: [4950] }),
    balance: cents.meta({ description: 'Your available balance after this line, in cents.', examples: [4950] }),
    chargeId: z.string().nullable(),
    paymentLinkId: z.string().nullable(),
    refundId: z.string().nullable().meta({ description: 'The refund that the line belongs to.' }),
    payoutId: z.string().nullable().meta({ description: 'The payout that the line belongs to.' }),
    payout: z
      .object({ status: z.enum(PAYOUT_STATUSES), reference: z.string().nullable(), paidAt: z.iso.date().nullable() })
      .nullable()
      .meta({ description: 'The payout as it is now. A payout that is PAID has no line of its own for that.' }),
    occurredAt: time.meta({ description: 'When it happened. For a deposit, when the payer paid.' }),
    recordedAt: time.meta({ description: 'When it was booked.' }),
  })
  .meta({ id: 'StatementLine' })

const routes = describeOperations('Balance', {
  getBalance: {
    summary: 'Get the balance',
    description:
      'The current balance of the account. Without payouts, `balance` and `available` are the same. Needs the scope `balance:read`.',
    response: {
      200: response('The balance.', {
        balance: cents.meta({
          description: 'What you are owed, in cents: `available` and `reserved`.',
          examples: [4950],
        }),
        available: cents.meta({
          description: 'What you can refund or ask to be paid out, in cents.',
          examples: [4950],
        }),
        reserved: cents.meta({
          description: 'What is set aside for payouts that are REQUESTED, in cents.',
          examples: [0],
        }),
        currency: z.literal('BRL'),
      }),
    },
  },
  getStatement: {
    summary: 'Get the statement',
    description:
      'Every ledger line that changed the available balance, newest first, in pages. Needs the scope `balance:read`.',
    querystring: statementQuery,
    response: { 200: response('A page of lines.', { lines: lineSchema.array(), nextCursor }) },
  },
})
