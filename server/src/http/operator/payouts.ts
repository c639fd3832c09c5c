import { z } from 'zod'
import { READABLE_RULE } from '../../base/readable-text.ts'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { Payout } from '../../domain/payouts/payout-states.ts'
import { listPayouts, payPayout, rejectPayout, requestPayout } from '../../domain/payouts/payouts.ts'
import { PAYOUT_KEY, payoutFields, payoutParams, payoutShape, payoutsQuery, presentFields } from '../api/payouts.ts'
import {
  BODY_ERROR,
  describeOperations,
  idempotencyHeaders,
  idempotencyKeyOf,
  idField,
  nextCursor,
  reasonField,
  response,
  text,
  type Api,
} from '../server/schemas.ts'
import { actorText } from './refunds.ts'

export function operatorPayoutRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  const fresh = { ...config, fresh: true } as const

  app.get('/api/operator/payouts', { schema: routes.listAllPayouts, config }, async (request) => {
    const { payouts, nextCursor } = await listPayouts(ctx, request.query)
    return { success: true as const, payouts: payouts.map(presentPayout), nextCursor }
  })

  app.post('/api/operator/payouts', { schema: routes.requestPayoutFor, config: fresh }, async (request, reply) => {
    const { payout, replayed } = await requestPayout(ctx, actorOf(request.operator), {
      accountId: request.body.accountId,
      valueCents: request.body.value,
      note: request.body.note || null,
      idempotencyKey: idempotencyKeyOf(request.headers),
    })
    reply.code(201)
    if (replayed) reply.header('idempotency-replayed', 'true')
    return { success: true as const, payout: presentPayout(payout) }
  })

  app.post('/api/operator/payouts/:payoutId/pay', { schema: routes.payPayout, config: fresh }, async (request) => {
    const payout = await payPayout(ctx, actorOf(request.operator), request.params.payoutId, request.body)
    return { success: true as const, payout: presentPayout(payout) }
  })

  const rejecting = { schema: routes.rejectPayout, config: fresh }
  app.post('/api/operator/payouts/:payoutId/reject', rejecting, async (request) => {
    const { payoutId } = request.params
    const payout = await rejectPayout(ctx, actorOf(request.operator), payoutId, request.body.reason)
    return { success: true as const, payout: presentPayout(payout) }
  })
}

const operatorPayoutSchema = z
  .object({
    ...payoutShape,
    accountId: z.string(),
    email: z.string().meta({ description: 'Of the account.' }),
    requestedBy: z.string().meta({ description: 'Who asked for it.' }),
    endedBy: z.string().nullable().meta({ description: 'The operator who paid or rejected it.' }),
  })
  .meta({ id: 'OperatorPayout' })

function presentPayout(payout: Payout) {
  const { accountId, email, requestedBy, endedBy } = payout
  const by = { requestedBy: actorText(requestedBy), endedBy: endedBy && actorText(endedBy) }
  return { ...presentFields(payout), accountId, email, ...by }
}

const accountId = idField('accountId', 'an account')

const referenceField = text({ min: 1, max: 100 }, `reference must be 1 to 100 characters, ${READABLE_RULE}`).meta({
  description: 'By which the bank knows the transfer, such as the endToEndId of a Pix.',
  examples: ['E18236120202601311500s0a1b2c3d4e'],
})

const payBody = z.object(
  {
    reference: referenceField,
    paidAt: z.iso.date({ error: 'paidAt must be a date such as 2026-01-31' }).exactOptional().meta({
      description: 'The business day on which you paid it: not before the request, not in the future. Today.',
    }),
  },
  { error: BODY_ERROR },
)

const NOT_FOUND = '`Payout not found`: the id is unknown or malformed.'
const ENDED = 'The payout has already ended. The text says how.'

const routes = describeOperations('Operator', {
  listAllPayouts: {
    summary: 'List payouts of all accounts',
    description: 'Newest first, in pages, with who asked for each and who ended it. Needs an operator’s key.',
    querystring: z.object({
      ...payoutsQuery,
      accountId: accountId.exactOptional().meta({ description: 'Only payouts of this account.' }),
    }),
    response: { 200: response('A page of payouts.', { payouts: operatorPayoutSchema.array(), nextCursor }) },
  },
  requestPayoutFor: {
    summary: 'Ask for a payout of an account',
    description: 'In the name of the account holder, also while the account is suspended. Needs an operator’s key.',
    headers: idempotencyHeaders(PAYOUT_KEY),
    body: z.object({ accountId, ...payoutFields }, { error: BODY_ERROR }),
    response: { 201: response('The payout, which is REQUESTED.', { payout: operatorPayoutSchema }) },
    errors: {
      404: '`Account not found`: the id is unknown.',
      409: 'The available balance is too small, or 100 payouts of the account are REQUESTED.',
      422: 'The `Idempotency-Key` was used with a different payout.',
    },
  },
  payPayout: {
    summary: 'Mark a payout as PAID',
    description:
      'Records that you paid it outside of guiche. This cannot be undone. A repetition with the same `reference` and `paidAt` answers as the first request did. Needs an operator’s key.',
    params: payoutParams,
    body: payBody,
    response: { 200: response('The payout, which is PAID.', { payout: operatorPayoutSchema }) },
    errors: { 404: NOT_FOUND, 409: ENDED },
  },
  rejectPayout: {
    summary: 'Reject a payout',
    description:
      'Its money becomes available to the account again. The account holder reads the reason. This cannot be undone. A repetition with the same `reason` answers as the first request did. Needs an operator’s key.',
    params: payoutParams,
    body: z.object({ reason: reasonField }, { error: BODY_ERROR }),
    response: { 200: response('The payout, which is REJECTED.', { payout: operatorPayoutSchema }) },
    errors: { 404: NOT_FOUND, 409: ENDED },
  },
})
