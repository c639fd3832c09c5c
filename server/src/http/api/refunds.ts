import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { actorOf } from '../../domain/accounts/callers.ts'
import type { Refund } from '../../domain/refunds/refund-states.ts'
import { listRefunds, requestRefund } from '../../domain/refunds/request-refund.ts'
import type { Api } from '../server/typed-app.ts'
import {
  answer,
  bodyErrors,
  commonErrors,
  depositHeaders,
  errorAnswer,
  nextCursor,
  page,
  paymentLinkParams,
  text,
  VALUE_ERROR,
} from '../server/schemas.ts'

export function refundRoutes(app: Api, ctx: Context): void {
  app.post(
    '/api/deposit/:paymentLinkId/refund',
    { schema: refundSchema, config: { scope: 'deposits:write', fresh: true } },
    async (request, reply) => {
      const { paymentLinkId } = request.params
      const { refund, replayed } = await requestRefund(ctx, actorOf(request.caller), {
        accountId: request.caller.accountId,
        paymentLinkId,
        amountCents: request.body?.value ?? null,
        reason: request.body?.reason || null,
        idempotencyKey: request.headers['idempotency-key'] ?? null,
      })
      reply.code(201).header('location', `/api/deposit/${refund.paymentLinkId}/refunds`)
      if (replayed) reply.header('idempotency-replayed', 'true')
      return { success: true as const, refund: presentRefund(refund) }
    },
  )

  app.get(
    '/api/deposit/:paymentLinkId/refunds',
    { schema: listSchema, config: { scope: 'deposits:read' } },
    async (request) => {
      const { refunds, nextCursor } = await listRefunds(ctx, {
        ...request.query,
        accountId: request.caller.accountId,
        paymentLinkId: request.params.paymentLinkId,
      })
      return { success: true as const, refunds: refunds.map(presentRefund), nextCursor }
    },
  )
}

/** As the account holder sees it. What an operator noted, and what the provider said to him, are his. */
export function presentRefund(refund: Refund) {
  const madeBy = madeByOf(refund)
  return {
    id: refund.id,
    value: refund.amountCents,
    returnedFee: refund.feeReturnedCents,
    status: refund.status,
    reason: madeBy === 'account' ? refund.reason : null,
    madeBy,
    createdAt: refund.createdAt.toISOString(),
    endedAt: refund.endedAt?.toISOString() ?? null,
    undoneAt: refund.undoneAt?.toISOString() ?? null,
  }
}

function madeByOf({ source, requestedBy }: Refund): 'account' | 'operator' | 'provider' {
  if (source === 'provider') return 'provider'
  return requestedBy.kind === 'account' ? 'account' : 'operator'
}

const REASON_ERROR = 'reason must be at most 140 characters, without control characters'
const BODY_ERROR = 'Request body must be a JSON object'

const refundHeaders = z.looseObject({
  'idempotency-key': depositHeaders.shape['idempotency-key'].meta({
    description:
      'Makes the request safe to repeat for as long as the refund exists: the same key with the same body answers with that refund, as it stands by then, and never makes a second one.',
  }),
})

const refundBody = z
  .object(
    {
      value: z
        .int({ error: VALUE_ERROR })
        .min(1, { error: VALUE_ERROR })
        .nullish()
        .meta({ description: 'How much to give back, in cents; all that is left unless given.', examples: [2500] }),
      reason: text({ min: 0, max: 140 }, REASON_ERROR)
        .nullish()
        .meta({ description: 'A note for yourself. The payer does not see it.', examples: ['Order 1042 returned'] }),
    },
    { error: BODY_ERROR },
  )
  .nullish()

export const refundShape = z
  .object({
    id: z.string().meta({ description: '32 hexadecimal digits. Events and the statement call it `refundId`.' }),
    value: z.int().meta({ description: 'What goes back to the payer, in cents.' }),
    returnedFee: z
      .int()
      .meta({ description: 'What you get back of the fee, in cents; 0 where the operator keeps it.' }),
    status: z.enum(['PROCESSING', 'DONE', 'FAILED']).meta({
      description:
        'PROCESSING while the money is on its way; DONE once the payment provider confirms it; FAILED if it did not come to be, and then your balance has it again.',
    }),
    reason: z.string().nullable(),
    madeBy: z.enum(['account', 'operator', 'provider']).meta({
      description:
        '`account`: you. `operator`: the operator of this service. `provider`: made at the payment provider; your balance pays for it only if the operator charges it.',
    }),
    createdAt: z.iso.datetime(),
    endedAt: z.iso.datetime().nullable().meta({ description: 'When it became DONE or FAILED.' }),
    undoneAt: z.iso.datetime().nullable().meta({
      description:
        'When the payment provider took back that it was DONE: your payer does not have the money, and the operator decides what becomes of it.',
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
        madeBy: 'account',
        createdAt: '2026-01-31T12:30:00.000Z',
        endedAt: null,
        undoneAt: null,
      },
    ],
  })

const NOT_FOUND = errorAnswer('`Charge not found`: unknown, malformed, or another account’s.')

const refundSchema = {
  tags: ['Refunds'],
  operationId: 'refundDeposit',
  summary: 'Refund a deposit',
  description:
    'Gives a COMPLETED deposit back to its payer, whole or in part, any number of times until nothing is left. The money is taken from your balance at once and comes back if the refund fails; the event `DEPOSIT_REFUNDED` tells when it is done. Send an `Idempotency-Key` so that repeating the request after a time-out cannot refund twice. Needs the scope `deposits:write`, and an operator who allows it.',
  params: paymentLinkParams,
  headers: refundHeaders,
  body: refundBody,
  response: {
    201: answer('The refund; look at its `status`, which can be FAILED at once if the payment provider declines.', {
      refund: refundShape,
    }),
    ...bodyErrors,
    ...commonErrors,
    403: errorAnswer(
      '`Refunds by API key are not enabled here: ask the operator of this service for one`; or the key lacks the scope, or its account is suspended.',
    ),
    404: NOT_FOUND,
    409: errorAnswer('The charge is not COMPLETED, or less is left than `value`, or the balance is too small for it.'),
    422: errorAnswer('The `Idempotency-Key` was used with another refund.'),
  },
}

const listSchema = {
  tags: ['Refunds'],
  operationId: 'listRefunds',
  summary: 'List the refunds of a deposit',
  description:
    'Every refund of this deposit, newest first, a page at a time: yours, the operator’s, and those made at the payment provider. Needs the scope `deposits:read`.',
  params: paymentLinkParams,
  querystring: z.object(page),
  response: {
    200: answer('A page of refunds.', { refunds: refundShape.array(), nextCursor }),
    400: errorAnswer('A parameter is wrong; the text says which and what is allowed.'),
    404: NOT_FOUND,
    ...commonErrors,
  },
}
