import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { readHeld } from '../../domain/deposits/held-payments.ts'
import { ensureDeposit } from '../../domain/deposits/orders.ts'
import { depositOf, listDeposits } from '../../domain/reports/list-deposits.ts'
import { describeOperations, nextCursor, paging, response, type Api } from '../server/schemas.ts'
import { depositSchema, presentDeposit } from './deposit-records.ts'
import { orderBody, ownText, wantedBy } from './deposits.ts'

export function orderRoutes(app: Api, ctx: Context): void {
  const { publicUrl } = ctx.settings
  const writing = { scope: 'deposits:write', fresh: false } as const
  app.put(
    '/api/orders/:externalId/deposit',
    { schema: routes.ensureDeposit, config: writing },
    async (request, reply) => {
      const { externalId } = request.params
      const wanted = { ...wantedBy(request.body), externalId }
      const { charge, check, isNew } = await ensureDeposit(ctx, request.caller, wanted)
      const held = await readHeld(ctx, [charge.id])
      if (check !== 'none') reply.header('guiche-provider-check', check)
      if (isNew) reply.code(201).header('location', `/api/deposits/${charge.paymentLinkId}`)
      return { success: true as const, deposit: presentDeposit(publicUrl, depositOf(charge), held.get(charge.id)) }
    },
  )

  const reading = { scope: 'deposits:read' } as const
  app.get('/api/orders/:externalId', { schema: routes.getOrder, config: reading }, async (request) => {
    const filter = { ...request.params, ...request.query }
    const { deposits, held, nextCursor } = await listDeposits(ctx, request.caller.accountId, filter)
    const presented = deposits.map((deposit) => presentDeposit(publicUrl, deposit, held.get(deposit.id)))
    return { success: true as const, deposits: presented, nextCursor }
  })
}

const orderParams = z.object({
  externalId: ownText('externalId').meta({
    description: 'Your own reference of the order, percent-encoded.',
    examples: ['order-1042'],
  }),
})

const routes = describeOperations('Orders', {
  ensureDeposit: {
    summary: 'Ensure the deposit of an order',
    description:
      'Answers with the one deposit of your order, and makes it if there is none. Repeat it as often as you like, from any number of processes; it needs no key. A PENDING deposit is first checked with the payment provider. One that expired or was canceled is followed by a new one. If `value` or `payer` differs, the deposit is canceled at the payment provider and replaced, so that the payer cannot pay both; other fields that differ change nothing. Needs the scope `deposits:write`.',
    params: orderParams,
    body: orderBody,
    response: {
      200: response('The deposit that the order has: PENDING, or COMPLETED with this `value`.', {
        deposit: depositSchema,
      }),
      201: response(
        'A new PENDING deposit: the first, or in place of one that ended or had another `value` or `payer`.',
        {
          deposit: depositSchema,
        },
      ),
    },
    errors: {
      400: 'A field is invalid, or `value` is outside the operator’s limits. The text says what is allowed.',
      409: 'The order was paid with another `value` or `payer`, and `Location` names the deposit; no provider can confirm who paid; a payment is held, so the deposit cannot be replaced; or another request for the order is in progress.',
      502: 'The payment provider refused.',
    },
  },
  getOrder: {
    summary: 'List the deposits of an order',
    description:
      'All deposits with this `externalId`, newest first, in pages, as stored: the provider is not asked. Empty if there is none. Needs the scope `deposits:read`.',
    params: orderParams,
    querystring: z.object(paging),
    response: { 200: response('A page of deposits.', { deposits: depositSchema.array(), nextCursor }) },
  },
})
