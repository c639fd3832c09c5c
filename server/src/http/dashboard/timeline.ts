import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { readTimeline, type Moment } from '../../domain/reports/timeline.ts'
import { depositSchema, presentDeposit } from '../api/deposits.ts'
import { presentRefund, refundSchema } from '../api/refunds.ts'
import { paymentLinkParams, response, time, type Api } from '../server/schemas.ts'

export function timelineRoutes(api: Api, ctx: Context): void {
  const config = { scope: 'deposits:read' } as const
  api.get('/api/deposit/:paymentLinkId/timeline', { schema: getTimelineRoute, config }, async (request) => {
    const { accountId } = request.caller
    const { charge, held, refunds, moments } = await readTimeline(ctx, accountId, request.params.paymentLinkId)
    return {
      success: true as const,
      deposit: presentDeposit(ctx.settings.publicUrl, charge, held),
      refunds: refunds.map(presentRefund),
      timeline: moments.map(presentMoment),
    }
  })
}

/** Each kind of moment has fields of its own. */
const momentSchema = z.looseObject({ at: time, kind: z.string() })

function presentMoment(moment: Moment) {
  const at = moment.at.toISOString()
  switch (moment.kind) {
    case 'created':
      return { at, kind: moment.kind, provider: moment.provider, value: moment.valueCents, fee: moment.feeCents }
    case 'paid':
      return { at, kind: moment.kind, endToEndId: moment.endToEndId, value: moment.valueCents }
    case 'credited': {
      const { kind, valueCents, feeCents, balanceAfterCents } = moment
      return { at, kind, value: valueCents, fee: feeCents, balanceAfter: balanceAfterCents }
    }
    case 'payment_held': {
      const { endToEndId, amountCents, kind } = moment.payment
      return { at, kind: moment.kind, endToEndId, value: amountCents, why: kind }
    }
    case 'payment_released': {
      const { endToEndId, amountCents, resolution, isOwn } = moment.payment
      return { at, kind: moment.kind, endToEndId, value: amountCents, how: resolution, isOwn }
    }
    case 'refund_requested':
    case 'refund_done':
    case 'refund_failed': {
      const { id, value, reason } = presentRefund(moment.refund)
      return { at, kind: moment.kind, refundId: id, value, reason }
    }
    case 'confirmed':
    case 'expired':
    case 'canceled':
    case 'event':
    case 'webhook_attempt':
    case 'next_check':
      return { ...moment, at }
  }
}

const getTimelineRoute = {
  params: paymentLinkParams,
  response: {
    200: response('', { deposit: depositSchema, refunds: refundSchema.array(), timeline: momentSchema.array() }),
  },
}
