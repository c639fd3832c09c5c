import { depositsSince } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { depositOf } from '../../domain/reports/list-deposits.ts'
import { readTimeline, type Moment } from '../../domain/reports/timeline.ts'
import { depositSchema, presentDeposit } from '../api/deposit-records.ts'
import { requireToday } from '../api/deposits.ts'
import { presentRefund, refundSchema } from '../api/refunds.ts'
import { momentSchema, presentMoment } from '../operator/moments.ts'
import { paymentLinkParams, response, type Api } from '../server/schemas.ts'

export function timelineRoutes(api: Api, ctx: Context): void {
  const config = { scope: 'deposits:read', orScope: 'deposits:today' } as const
  const guarded = { schema: getTimelineRoute, config, preHandler: requireToday(ctx) }
  api.get('/api/deposit/:paymentLinkId/timeline', guarded, async (request) => {
    const { accountId } = request.caller
    const isWhole = depositsSince(request.caller, ctx.now()) === null
    const { charge, held, refunds, moments } = await readTimeline(ctx, accountId, request.params.paymentLinkId)
    return {
      success: true as const,
      deposit: presentDeposit(ctx.settings.publicUrl, depositOf(charge), held),
      refunds: refunds.map(presentRefund),
      timeline: moments.filter(({ kind }) => isWhole || !OF_ACCOUNT.has(kind)).map(presentMoment),
    }
  })
}

/** They tell of the balance and the webhooks, and not of the deposit alone. */
const OF_ACCOUNT = new Set<Moment['kind']>(['credited', 'event', 'webhook_attempt'])

const getTimelineRoute = {
  params: paymentLinkParams,
  response: {
    200: response('', { deposit: depositSchema, refunds: refundSchema.array(), timeline: momentSchema.array() }),
  },
}
