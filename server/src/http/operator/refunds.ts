import { z } from 'zod'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { Actor } from '../../domain/core/audit-log.ts'
import { isInDoubt, type Refund } from '../../domain/refunds/refund-states.ts'
import { endUndecided, listRefunds, requestRefund } from '../../domain/refunds/request-refund.ts'
import { natureSchema, REFUND_STATUSES, refundValue } from '../api/refunds.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  idempotencyHeaders,
  idempotencyKeyOf,
  idField,
  listQuery,
  nextCursor,
  oneOf,
  paymentLinkParams,
  reasonField,
  response,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'

export function operatorRefundRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  const fresh = { ...config, fresh: true } as const

  app.get('/api/operator/refunds', { schema: routes.listAllRefunds, config }, async (request) => {
    const { refunds, nextCursor } = await listRefunds(ctx, request.query)
    return { success: true as const, refunds: refunds.map(presentRefund), nextCursor }
  })

  const url = '/api/operator/deposits/:paymentLinkId/refund'
  app.post(url, { schema: routes.refundAnyDeposit, config: fresh }, async (request, reply) => {
    const { refund, replayed } = await requestRefund(ctx, actorOf(request.operator), {
      accountId: null,
      paymentLinkId: request.params.paymentLinkId,
      amountCents: request.body.value ?? null,
      reason: request.body.reason,
      idempotencyKey: idempotencyKeyOf(request.headers),
    })
    reply.code(201)
    if (replayed) reply.header('idempotency-replayed', 'true')
    return { success: true as const, refund: presentRefund(refund) }
  })

  app.post('/api/operator/refunds/:refundId/end', { schema: routes.endRefund, config: fresh }, async (request) => {
    const refund = await endUndecided(ctx, actorOf(request.operator), request.params.refundId, request.body)
    return { success: true as const, refund: presentRefund(refund) }
  })
}

const refundBody = z.object({ value: refundValue, reason: reasonField }, { error: BODY_ERROR })

const refundsQuery = z.object({
  status: oneOf('status', REFUND_STATUSES).exactOptional().meta({ description: 'Only refunds with this status.' }),
  accountId: idField('accountId', 'an account')
    .exactOptional()
    .meta({ description: 'Only refunds of deposits of this account.' }),
  paymentLinkId: z.string().exactOptional().meta({ description: 'Only refunds of this deposit.' }),
  inDoubt: z
    .enum(['true', 'false'], { error: 'inDoubt must be true or false' })
    .transform((value) => value === 'true')
    .exactOptional()
    .meta({ description: 'true: only refunds whose outcome at the provider is unknown.' }),
  ...listQuery,
})

const refundParams = z.object({ refundId: z.string().meta({ description: 'The id of the refund.' }) })

const endRefundBody = z.object(
  {
    outcome: z.enum(['done', 'failed'], { error: 'outcome must be done or failed' }).meta({
      description:
        'done: the provider made it, and the payer has the money. failed: it did not, and the money returns to where it came from.',
    }),
    reason: reasonField,
  },
  { error: BODY_ERROR },
)

const operatorRefundSchema = z
  .object({
    id: z.string().meta({ description: '32 hexadecimal digits.' }),
    source: z.enum(['balance', 'suspense', 'provider']).meta({
      description:
        'Who pays for it. balance: the account. suspense: the money of an exception. provider: made at the provider outside guiche, and not charged to anyone yet.',
    }),
    value: cents.meta({ description: 'What goes back to the payer, in cents.' }),
    returnedFee: cents.meta({ description: 'The part of the fee that the account gets back, in cents.' }),
    status: z.enum(REFUND_STATUSES),
    nature: natureSchema,
    failure: z.string().nullable().meta({ description: 'Why it failed, as the provider says.' }),
    reason: z.string().nullable(),
    by: z.string().meta({ description: 'Who requested it.' }),
    provider: z.string(),
    providerRefundId: z.string(),
    endToEndId: z.string(),
    chargeId: z.string().nullable(),
    paymentLinkId: z.string().nullable(),
    accountId: z.string().nullable(),
    exceptionId: z.string().nullable(),
    createdAt: time,
    sentAt: time.nullable().meta({ description: 'When it was first sent to the provider. Null: not yet.' }),
    inDoubt: z.boolean().meta({
      description:
        'True while the outcome of a request to the provider is unknown. It ends when the provider reports an outcome, when the provider has not known the refund for hours, or by `end`.',
    }),
    doubtedAt: time.nullable().meta({ description: 'Since when it is in doubt.' }),
    absentSince: time
      .nullable()
      .meta({ description: 'Since when the provider says that it does not know the refund.' }),
    attention: z
      .string()
      .nullable()
      .meta({ description: 'Why the last attempt was inconclusive, while it is PROCESSING.' }),
    endedAt: time.nullable(),
    endedBy: z.string().nullable().meta({ description: 'The operator who ended it, if one did.' }),
    endedReason: z.string().nullable().meta({ description: 'The reason that the operator gave.' }),
    undoneAt: time.nullable().meta({
      description: 'When the provider reversed it after it was DONE: see the exception of kind undone_refund.',
    }),
  })
  .meta({ id: 'OperatorRefund' })

function presentRefund({ amountCents, feeReturnedCents, requestedBy, endedBy, ...refund }: Refund) {
  return {
    ...toApi(refund),
    value: amountCents,
    returnedFee: feeReturnedCents,
    by: actorText(requestedBy),
    inDoubt: isInDoubt(refund),
    endedBy: endedBy && actorText(endedBy.actor),
    endedReason: endedBy?.reason ?? null,
  }
}

export function actorText(actor: Actor): string {
  return `${actor.kind} ${actor.name}`
}

const CHARGE_NOT_FOUND = '`Charge not found`: the id is unknown or malformed.'

const routes = describeOperations('Operator', {
  listAllRefunds: {
    summary: 'List refunds',
    description:
      'Refunds of all accounts and of exceptions, newest first, with what the provider said. Needs an operator’s key.',
    querystring: refundsQuery,
    response: { 200: response('A page of refunds.', { refunds: operatorRefundSchema.array(), nextCursor }) },
    errors: { 404: CHARGE_NOT_FOUND },
  },
  refundAnyDeposit: {
    summary: 'Refund a deposit of any account',
    description:
      'Refunds a COMPLETED deposit to its payer, in whole or in part, from the account’s balance. Send an `Idempotency-Key`, so that a retry cannot refund twice. Needs an operator’s key.',
    params: paymentLinkParams,
    headers: idempotencyHeaders(
      'Makes the request safe to retry: the same key with the same body returns the same refund.',
    ),
    body: refundBody,
    response: { 201: response('The refund. Check its `status`.', { refund: operatorRefundSchema }) },
    errors: {
      404: CHARGE_NOT_FOUND,
      409: 'The charge is not COMPLETED, less than `value` is left, or the balance is too small.',
      422: 'The `Idempotency-Key` was used with a different refund.',
    },
  },
  endRefund: {
    summary: 'End a refund in doubt',
    description:
      'Records the outcome that you learned from the provider: `done` books that the payer has the money, `failed` returns it to where it came from. A refund that is not in doubt is left to the provider for six hours. What the provider reports later is booked too. Needs an operator’s key.',
    params: refundParams,
    body: endRefundBody,
    response: { 200: response('The refund in its current state.', { refund: operatorRefundSchema }) },
    errors: {
      404: '`Refund not found`: the id is unknown or malformed.',
      409: 'It has already ended, is in progress at the provider and not in doubt, or was never sent.',
    },
  },
})
