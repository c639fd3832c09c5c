import type { Context } from '../../domain/context.ts'
import { cancelDeposit, listDeposits, openDeposit, queryDeposit } from '../../domain/deposits/deposits.ts'
import { readHeld } from '../../domain/deposits/held-payments.ts'
import type { Api } from '../server/typed-app.ts'
import { presentNew, presentQueried, presentRecord } from './present.ts'
import {
  answer,
  commonErrors,
  depositBody,
  depositHeaders,
  depositsQuery,
  errorAnswer,
  newChargeShape,
  nextCursor,
  paymentLinkParams,
  queriedChargeShape,
  recordShape,
} from '../server/schemas.ts'

export function depositRoutes(app: Api, ctx: Context): void {
  const { publicUrl } = ctx.settings

  app.post(
    '/api/deposit',
    { schema: createSchema, config: { scope: 'deposits:write', fresh: false } },
    async (request, reply) => {
      const { value, externalId, description, expiresIn } = request.body
      const wanted = {
        valueCents: value,
        externalId: externalId ?? null,
        description: description ?? null,
        expiresInSeconds: expiresIn ?? null,
      }
      const { charge, replayed } = await openDeposit(
        ctx,
        request.caller,
        wanted,
        request.headers['idempotency-key'] ?? null,
      )
      reply.code(201).header('location', `/api/deposit/${charge.paymentLinkId}`)
      if (replayed) reply.header('idempotency-replayed', 'true')
      return { success: true as const, charge: presentNew(publicUrl, charge) }
    },
  )

  app.get(
    '/api/deposit/:paymentLinkId',
    { schema: querySchema, config: { scope: 'deposits:read' } },
    async (request, reply) => {
      const { charge, check } = await queryDeposit(ctx, request.caller.accountId, request.params.paymentLinkId)
      if (check !== 'none') reply.header('guiche-provider-check', check)
      return { success: true as const, charge: presentQueried(publicUrl, charge) }
    },
  )

  app.post(
    '/api/deposit/:paymentLinkId/cancel',
    { schema: cancelSchema, config: { scope: 'deposits:write', fresh: false } },
    async (request) => {
      const charge = await cancelDeposit(ctx, request.caller.accountId, request.params.paymentLinkId)
      const held = await readHeld(ctx, [charge.id])
      return { success: true as const, charge: presentRecord(publicUrl, charge, held.get(charge.id)) }
    },
  )

  app.get('/api/deposits', { schema: listSchema, config: { scope: 'deposits:read' } }, async (request) => {
    const { charges, nextCursor } = await listDeposits(ctx, request.caller.accountId, request.query)
    const held = await readHeld(
      ctx,
      charges.map((charge) => charge.id),
    )
    const deposits = charges.map((charge) => presentRecord(publicUrl, charge, held.get(charge.id)))
    return { success: true as const, deposits, nextCursor }
  })
}

const createSchema = {
  tags: ['Deposits'],
  operationId: 'createDeposit',
  summary: 'Ask for a deposit',
  description:
    'Makes a charge that a payer can pay by Pix, and answers with its copy-and-paste code, its QR code and a payment page. Send an `Idempotency-Key` so that repeating the request after a time-out cannot make a second charge. Needs the scope `deposits:write`.',
  headers: depositHeaders,
  body: depositBody,
  response: {
    201: answer('The charge, PENDING; or the first answer again, for an `Idempotency-Key` that was used before.', {
      charge: newChargeShape,
    }),
    400: errorAnswer(
      'A field is wrong, or `value` is outside the operator’s limits; the text says which and what is allowed.',
    ),
    409: errorAnswer('`externalId` is taken, or a request with this `Idempotency-Key` is still in progress.'),
    413: errorAnswer('The body is larger than 16 KiB.'),
    415: errorAnswer('The body is not sent as `application/json`.'),
    422: errorAnswer('The `Idempotency-Key` was used with another body.'),
    502: errorAnswer('The payment provider refused. No charge was made.'),
    ...commonErrors,
  },
}

const querySchema = {
  tags: ['Deposits'],
  operationId: 'getDeposit',
  summary: 'Ask for the state of a deposit',
  description:
    'A PENDING charge is first checked with the payment provider, and the answer reflects that check. If the provider cannot be asked, the answer is what is stored, and the header `Guiche-Provider-Check` says `failed`. Needs the scope `deposits:read`.',
  params: paymentLinkParams,
  response: {
    200: answer('The charge.', { charge: queriedChargeShape }),
    404: errorAnswer('`Charge not found`: unknown, malformed, or another account’s.'),
    ...commonErrors,
  },
}

const cancelSchema = {
  tags: ['Deposits'],
  operationId: 'cancelDeposit',
  summary: 'Cancel a deposit',
  description:
    'Withdraws a PENDING charge at the payment provider, so that it can no longer be paid. Canceling twice is fine. Needs the scope `deposits:write`; takes no body.',
  params: paymentLinkParams,
  response: {
    200: answer('The charge, CANCELED.', { charge: recordShape }),
    404: errorAnswer('`Charge not found`: unknown, malformed, or another account’s.'),
    409: errorAnswer('It was paid meanwhile, or has expired; the text says which.'),
    502: errorAnswer('The payment provider refused.'),
    ...commonErrors,
  },
}

const listSchema = {
  tags: ['Deposits'],
  operationId: 'listDeposits',
  summary: 'List deposits',
  description: 'Newest first, a page at a time, as stored: the provider is not asked. Needs the scope `deposits:read`.',
  querystring: depositsQuery,
  response: {
    200: answer('A page of deposits.', { deposits: recordShape.array(), nextCursor }),
    400: errorAnswer('A parameter is wrong; the text says which and what is allowed.'),
    ...commonErrors,
  },
}
