import { z } from 'zod'
import { createAccount, readAccount } from '../../domain/accounts/accounts.ts'
import type { Context } from '../../domain/context.ts'
import { listTroubledWebhooks } from '../../domain/webhooks/delivery-log.ts'
import { OPERATOR_SCOPE, actorOf } from '../../domain/accounts/callers.ts'
import { readOperatorOverview } from '../../domain/reports/overview.ts'
import type { Api } from '../server/typed-app.ts'
import {
  daysShape,
  newAccountBody,
  periodShape,
  presentDay,
  presentPeriod,
  presentTroubled,
  troubledQuery,
  troubledShape,
} from './dashboard-schemas.ts'
import { closingShape, presentClosing } from '../operator/operator-money-schemas.ts'
import { accountShape, presentAccount, presentProvider, providerShape } from '../operator/operator-schemas.ts'
import { answer, nextCursor } from '../server/schemas.ts'

/** What operators have in the dashboard alone. */
export function dashboardOperatorRoutes(api: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const

  api.get('/api/operator/overview', { schema: overviewSchema, config }, async () => {
    const { today, days, lastClosing, suspenseCents, missingCents, ...counts } = await readOperatorOverview(ctx)
    return {
      success: true as const,
      ...counts,
      suspenseCents,
      missingCents,
      today: presentPeriod(today),
      days: days.map(presentDay),
      providers: ctx.providers.map(presentProvider),
      lastClosing: lastClosing && presentClosing(lastClosing),
    }
  })

  // A password that is shown once opens an account, so whoever makes one must have given their own just now.
  const fresh = { ...config, fresh: true }
  api.post('/api/operator/accounts', { schema: newAccountSchema, config: fresh }, async (request, reply) => {
    const wanted = { ...request.body, password: null }
    const { accountId, password } = await createAccount(ctx, ctx.now(), wanted, actorOf(request.operator))
    reply.code(201)
    return { success: true as const, account: presentAccount((await readAccount(ctx, accountId)).account), password }
  })

  api.get('/api/operator/webhook-failures', { schema: troubledSchema, config }, async (request) => {
    const { webhooks, nextCursor } = await listTroubledWebhooks(ctx, request.query)
    return { success: true as const, webhooks: webhooks.map(presentTroubled), nextCursor }
  })
}

const overviewSchema = {
  response: {
    200: answer('', {
      accounts: z.int(),
      openExceptions: z.int(),
      failingWebhooks: z.int(),
      suspenseCents: z.int(),
      missingCents: z.int(),
      today: periodShape,
      days: daysShape,
      providers: providerShape.array(),
      lastClosing: closingShape.nullable(),
    }),
  },
}
const newAccountSchema = {
  body: newAccountBody,
  response: { 201: answer('', { account: accountShape, password: z.string() }) },
}
const troubledSchema = {
  querystring: troubledQuery,
  response: { 200: answer('', { webhooks: troubledShape.array(), nextCursor }) },
}
