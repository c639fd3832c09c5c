import { z } from 'zod'
import { READABLE_RULE } from '../../base/readable-text.ts'
import { actorOf } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { NATURES } from '../../domain/ports/provider.ts'
import type { Refund } from '../../domain/refunds/refund-states.ts'
import { listRefunds, requestRefund } from '../../domain/refunds/request-refund.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  idempotencyHeaders,
  idempotencyKeyOf,
  listQuery,
  nextCursor,
  paymentLinkParams,
  response,
  text,
  time,
  VALUE_ERROR,
  type Api,
} from '../server/schemas.ts'

export function refundRoutes(app: Api, ctx: Context): void {
  const refunding = { scope: 'refunds:write', fresh: true } as const
  const url = '/api/deposit/:paymentLinkId/refund'
  app.post(url, { schema: routes.refundDeposit, config: refunding }, async (request, reply) => {
    const { refund, replayed } = await requestRefund(ctx, actorOf(request.caller), {
      accountId: request.caller.accountId,
      paymentLinkId: request.params.paymentLinkId,
      amountCents: request.body?.value ?? null,
      reason: request.body?.reason || null,
      idempotencyKey: idempotencyKeyOf(request.headers),
    })
    reply.code(201).header('location', `/api/deposit/${refund.paymentLinkId}/refunds`)
    if (replayed) reply.header('idempotency-replayed', 'true')
    return { success: true as const, refund: presentRefund(refund) }
  })

  const reading = { scope: 'deposits:read' } as const
  app.get('/api/deposit/:paymentLinkId/refunds', { schema: routes.listRefunds, config: reading }, async (request) => {
    const filter = { ...request.query, ...request.params, accountId: request.caller.accountId }
    const { refunds, nextCursor } = await listRefunds(ctx, filter)
    return { success: true as const, refunds: refunds.map(presentRefund), nextCursor }
  })
}

export const refundValue = z
  .int({ error: VALUE_ERROR })
  .min(1, { error: VALUE_ERROR })
  .nullish()
  .meta({ description: 'How much to refund, in cents. The default is all that is left.', examples: [2500] })

const REASON_ERROR = `reason must be at most 140 characters, ${READABLE_RULE}`
const refundBody = z
  .object(
    {
      value: refundValue,
      reason: text({ min: 0, max: 140 }, REASON_ERROR)
        .nullish()
        .meta({ description: 'A note for yourself. The payer does not see it.', examples: ['Order 1042 returned'] }),
    },
    { error: BODY_ERROR },
  )
  .nullish()

export const REFUND_STATUSES = ['PROCESSING', 'DONE', 'FAILED'] as const

export const natureSchema = z.enum(NATURES).nullable().meta({
  description:
    'Why the bank made it, of a refund that nobody here asked for. fraud: the payer reported a fraud. operational: a mistake of the payer’s bank. automatic: a recurring payment that should not have been made. other: any other reason, or the bank gives none.',
})

export const refundSchema = z
  .object({
    id: z.string().meta({ description: '32 hexadecimal digits. Events and the statement call it `refundId`.' }),
    value: cents.meta({ description: 'What goes back to the payer, in cents.' }),
    returnedFee: cents.meta({
      description: 'The part of the fee that you get back, in cents. 0 if the operator keeps it.',
    }),
    status: z.enum(REFUND_STATUSES).meta({
      description:
        'PROCESSING: on its way. DONE: confirmed by the payment provider. FAILED: not made, and your balance has the money again.',
    }),
    reason: z.string().nullable(),
    nature: natureSchema,
    madeBy: z.enum(['account', 'operator', 'provider']).meta({
      description:
        '`account`: you. `operator`: the operator of this service. `provider`: made at the payment provider, without your request. Your balance pays for it, unless it was agreed that the operator decides.',
    }),
    createdAt: time,
    endedAt: time.nullable().meta({ description: 'When it became DONE or FAILED.' }),
    undoneAt: time.nullable().meta({
      description:
        'When the payment provider reversed a DONE refund: the payer does not have the money, and the operator decides what happens to it.',
    }),
  })
  .meta({
    id: 'Refund',
    examples: [
      {
        id: '0199a3c2f4b87d6e9b1a5c0d3e2f4a69',
        value: 2500,
        returnedFee: 0,
        status: 'PROCESSING',
        reason: 'Order 1042 returned',
        nature: null,
        madeBy: 'account',
        createdAt: '2026-01-31T12:30:00.000Z',
        endedAt: null,
        undoneAt: null,
      },
    ],
  })

/** As the account holder sees it: without the operator's notes and the provider's messages. */
export function presentRefund(refund: Refund) {
  const madeBy = makerOf(refund)
  return {
    id: refund.id,
    value: refund.amountCents,
    returnedFee: refund.feeReturnedCents,
    status: refund.status,
    reason: madeBy === 'account' ? refund.reason : null,
    nature: refund.nature,
    madeBy,
    createdAt: refund.createdAt.toISOString(),
    endedAt: refund.endedAt?.toISOString() ?? null,
    undoneAt: refund.undoneAt?.toISOString() ?? null,
  }
}

function makerOf({ source, requestedBy }: Refund): 'account' | 'operator' | 'provider' {
  if (source === 'provider') return 'provider'
  return requestedBy.kind === 'account' ? 'account' : 'operator'
}

const NOT_FOUND = '`Charge not found`: the id is unknown, malformed, or belongs to another account.'

const routes = describeOperations('Refunds', {
  refundDeposit: {
    summary: 'Refund a deposit',
    description:
      'Refunds a COMPLETED deposit to its payer, in whole or in part, as often as something is left. The money leaves your balance at once and returns if the refund fails. The event `DEPOSIT_REFUNDED` tells when it is done. Send an `Idempotency-Key`, so that a retry after a time-out cannot refund twice. Needs the scope `refunds:write`, and the operator must allow refunds.',
    params: paymentLinkParams,
    headers: idempotencyHeaders(
      'Makes the request safe to retry for as long as the refund exists. The same key with the same body returns that refund in its current state and never makes a second one.',
    ),
    body: refundBody,
    response: {
      201: response('The refund. Check its `status`: it is FAILED at once if the payment provider declines.', {
        refund: refundSchema,
      }),
    },
    errors: {
      403: '`Refunds by API key are not enabled here: ask the operator of this service for one`; or the key lacks the scope, or its account is suspended.',
      404: NOT_FOUND,
      409: 'The charge is not COMPLETED, less than `value` is left, or the balance is too small.',
      422: 'The `Idempotency-Key` was used with a different refund.',
    },
  },
  listRefunds: {
    summary: 'List the refunds of a deposit',
    description:
      'All refunds of this deposit, newest first, in pages: yours, the operator’s, and those made at the payment provider. Needs the scope `deposits:read`.',
    params: paymentLinkParams,
    querystring: z.object(listQuery),
    response: { 200: response('A page of refunds.', { refunds: refundSchema.array(), nextCursor }) },
    errors: { 404: NOT_FOUND },
  },
})
