import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { Actor } from '../../domain/core/audit-log.ts'
import { listClosings } from '../../domain/reconciliation/closings.ts'
import type { Context } from '../../domain/context.ts'
import { findException, listExceptions } from '../../domain/refunds/exceptions.ts'
import { resolveException } from '../../domain/refunds/resolve-exception.ts'
import { OPERATOR_SCOPE, actorOf } from '../../domain/accounts/callers.ts'
import { ProviderError } from '../../domain/ports/provider.ts'
import { reconcileWindow, type ReconcileReport } from '../../domain/reconciliation/reconcile.ts'
import { endUndecided, listRefunds, requestRefund } from '../../domain/refunds/request-refund.ts'
import type { Api } from '../server/typed-app.ts'
import {
  checkWindow,
  closingShape,
  closingsQuery,
  endRefundBody,
  exceptionParams,
  exceptionShape,
  exceptionsQuery,
  presentClosing,
  presentException,
  presentRefund,
  presentStatement,
  reconcileBody,
  refundBody,
  refundHeaders,
  refundParams,
  refundShape,
  refundsQuery,
  resolutionFrom,
  resolveBody,
  statementShape,
} from './operator-money-schemas.ts'
import { answer, bodyErrors, commonErrors, errorAnswer, nextCursor, paymentLinkParams } from '../server/schemas.ts'

/** Exceptions, refunds, and the comparison with providers. */
export function operatorMoneyRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  const fresh = { ...config, fresh: true } as const

  app.get('/api/operator/exceptions', { schema: exceptionsSchema, config }, async (request) => {
    const { exceptions, nextCursor } = await listExceptions(ctx, request.query)
    return { success: true as const, exceptions: exceptions.map(presentException), nextCursor }
  })

  app.get('/api/operator/exceptions/:exceptionId', { schema: exceptionSchema, config }, async (request) => {
    const exception = await findException(ctx, request.params.exceptionId)
    return { success: true as const, exception: presentException(exception) }
  })

  app.post(
    '/api/operator/exceptions/:exceptionId/resolve',
    { schema: resolveSchema, config: fresh },
    async (request) => {
      const { exceptionId } = request.params
      const { reason } = request.body
      const actor = actorOf(request.operator)
      const exception = await resolveException(ctx, actor, exceptionId, resolutionFrom(request.body), reason)
      return { success: true as const, exception: presentException(exception) }
    },
  )

  app.get('/api/operator/refunds', { schema: refundsSchema, config }, async (request) => {
    const { refunds, nextCursor } = await listRefunds(ctx, request.query)
    return { success: true as const, refunds: refunds.map(presentRefund), nextCursor }
  })

  app.post(
    '/api/operator/deposits/:paymentLinkId/refund',
    { schema: refundSchema, config: fresh },
    async (request, reply) => {
      const { refund, replayed } = await requestRefund(ctx, actorOf(request.operator), {
        accountId: null,
        paymentLinkId: request.params.paymentLinkId,
        amountCents: request.body.value ?? null,
        reason: request.body.reason,
        idempotencyKey: request.headers['idempotency-key'] ?? null,
      })
      reply.code(201)
      if (replayed) reply.header('idempotency-replayed', 'true')
      return { success: true as const, refund: presentRefund(refund) }
    },
  )

  app.post('/api/operator/refunds/:refundId/end', { schema: endRefundSchema, config: fresh }, async (request) => {
    const refund = await endUndecided(ctx, actorOf(request.operator), request.params.refundId, request.body)
    return { success: true as const, refund: presentRefund(refund) }
  })

  app.get('/api/operator/closings', { schema: closingsSchema, config }, async (request) => {
    const closings = await listClosings(ctx, request.query)
    return { success: true as const, closings: closings.map(presentClosing) }
  })

  app.post('/api/operator/reconcile', { schema: reconcileSchema, config: fresh }, async (request, reply) => {
    checkWindow(request.body)
    const hungUp = new AbortController()
    reply.raw.once('close', () => hungUp.abort())
    const { statements, differenceCount } = await reconcileInTime(
      ctx,
      actorOf(request.operator),
      request.body,
      hungUp.signal,
    )
    return { success: true as const, statements: statements.map(presentStatement), differenceCount }
  })
}

// Proxies give up on an answer after a minute; what is booked by then stays booked.
const RECONCILE_WITHIN_MS = 50_000

async function reconcileInTime(
  ctx: Context,
  actor: Actor,
  window: z.infer<typeof reconcileBody>,
  hungUp: AbortSignal,
): Promise<ReconcileReport> {
  const tooLong = AbortSignal.timeout(RECONCILE_WITHIN_MS)
  try {
    return await reconcileWindow(ctx, actor, window, () => {}, AbortSignal.any([tooLong, hungUp]))
  } catch (error) {
    if (tooLong.aborted || hungUp.aborted)
      throw new Fault(
        'unavailable',
        'This took too long: ask for a shorter window, or use the command guiche reconcile',
      )
    // What the provider said is for the operator's eyes, who has to deal with it.
    if (error instanceof ProviderError)
      throw new Fault('provider_unavailable', `The payment provider could not be asked: ${error.message}`, {
        cause: error,
      })
    throw error
  }
}

const BAD_PARAMETER = errorAnswer('A parameter is wrong; the text says which and what is allowed.')
const EXCEPTION_NOT_FOUND = errorAnswer('`Exception not found`: unknown or malformed.')
const CHARGE_NOT_FOUND = errorAnswer('`Charge not found`: unknown or malformed.')
const tags = ['Operator']

const exceptionsSchema = {
  tags,
  operationId: 'listExceptions',
  summary: 'List exceptions',
  description:
    'Payments that completed no charge, refunds made without us, and refunds that the provider took back, newest first. `state=open` are those that wait for a decision. Needs an operator’s key.',
  querystring: exceptionsQuery,
  response: {
    200: answer('A page of exceptions.', { exceptions: exceptionShape.array(), nextCursor }),
    400: BAD_PARAMETER,
    ...commonErrors,
  },
}

const exceptionSchema = {
  tags,
  operationId: 'getException',
  summary: 'Read an exception',
  description: 'With the charge that the payer meant, and what was decided. Needs an operator’s key.',
  params: exceptionParams,
  response: {
    200: answer('The exception.', { exception: exceptionShape }),
    404: EXCEPTION_NOT_FOUND,
    ...commonErrors,
  },
}

const resolveSchema = {
  tags,
  operationId: 'resolveException',
  summary: 'Resolve an exception',
  description:
    'Says what becomes of the money; each way is a transfer in the ledger, with who, when and why. What is decided cannot be decided again, but a refund that fails opens the exception again. Needs an operator’s key.',
  params: exceptionParams,
  body: resolveBody,
  response: {
    200: answer('The exception as it stands now.', { exception: exceptionShape }),
    ...bodyErrors,
    404: errorAnswer('`Exception not found`, or `Account not found`.'),
    409: errorAnswer(
      'It is resolved or being resolved already, the balance is too small, or the charge was completed by another payment.',
    ),
    ...commonErrors,
  },
}

const refundsSchema = {
  tags,
  operationId: 'listAllRefunds',
  summary: 'List refunds',
  description: 'Of all accounts and of exceptions, newest first, with what the provider said. Needs an operator’s key.',
  querystring: refundsQuery,
  response: {
    200: answer('A page of refunds.', { refunds: refundShape.array(), nextCursor }),
    400: BAD_PARAMETER,
    404: CHARGE_NOT_FOUND,
    ...commonErrors,
  },
}

const refundSchema = {
  tags,
  operationId: 'refundAnyDeposit',
  summary: 'Refund a deposit of any account',
  description:
    'Gives a COMPLETED deposit back to its payer, whole or in part, out of the account’s balance. Send an `Idempotency-Key`, so that repeating the request cannot refund twice. Needs an operator’s key.',
  params: paymentLinkParams,
  headers: refundHeaders,
  body: refundBody,
  response: {
    201: answer('The refund; look at its `status`.', { refund: refundShape }),
    ...bodyErrors,
    404: CHARGE_NOT_FOUND,
    409: errorAnswer('The charge is not COMPLETED, or less is left than `value`, or the balance is too small for it.'),
    422: errorAnswer('The `Idempotency-Key` was used with another refund.'),
    ...commonErrors,
  },
}

const endRefundSchema = {
  tags,
  operationId: 'endRefund',
  summary: 'End a refund that stays undecided',
  description:
    'Says what became of a refund in doubt, when you have learned it at the provider: `done` books that the payer has the money, `failed` gives it back to where it came from. One that is not in doubt is left to the provider for six hours. What the provider says later is booked too. Needs an operator’s key.',
  params: refundParams,
  body: endRefundBody,
  response: {
    200: answer('The refund as it stands now.', { refund: refundShape }),
    ...bodyErrors,
    404: errorAnswer('`Refund not found`: unknown or malformed.'),
    409: errorAnswer('It has ended already, or is under way at the provider and not in doubt, or was never sent.'),
    ...commonErrors,
  },
}

const closingsSchema = {
  tags,
  operationId: 'listClosings',
  summary: 'List closings',
  description:
    'What each day came to at each provider, beside what the books say, newest first. A day is closed two hours after its end. Needs an operator’s key.',
  querystring: closingsQuery,
  response: {
    200: answer('Closings.', { closings: closingShape.array() }),
    400: BAD_PARAMETER,
    ...commonErrors,
  },
}

const reconcileSchema = {
  tags,
  operationId: 'reconcile',
  summary: 'Compare with the providers now',
  description:
    'Reads what the providers received in a window of at most 25 hours, books what is missing, and names each difference. For longer windows there is the command `guiche reconcile`. Needs an operator’s key.',
  body: reconcileBody,
  response: {
    200: answer('A statement for each provider and day.', {
      statements: statementShape.array(),
      differenceCount: z.int(),
    }),
    ...bodyErrors,
    ...commonErrors,
    503: errorAnswer('The provider could not be asked, or it took too long; or as for any other request.'),
  },
}
