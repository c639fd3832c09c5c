import { z } from 'zod'
import { depositsSince } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { depositOf } from '../../domain/reports/list-deposits.ts'
import { EXCEPTION_KINDS } from '../../domain/refunds/exceptions.ts'
import { readTimeline, TIMINGS, type Moment } from '../../domain/reports/timeline.ts'
import { depositSchema, presentDeposit } from '../api/deposit-records.ts'
import { requireToday } from '../api/deposits.ts'
import { presentRefund, refundSchema } from '../api/refunds.ts'
import { attemptOutcome } from '../api/webhooks.ts'
import { WAYS } from '../operator/exceptions.ts'
import { cents, paymentLinkParams, response, time, toApi, type Api } from '../server/schemas.ts'

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

const text = z.string()
const { excerpt: _, ...outcome } = attemptOutcome
const attempt = { eventId: text, webhookId: text, webhookName: text, number: z.int(), ...outcome }
const payment = { endToEndId: text, value: cents }
const why = z.enum(EXCEPTION_KINDS).exclude(['unnamed_payment', 'foreign_refund', 'undone_refund'])
const how = z.enum(WAYS).exclude(['charge_account'])

const momentSchema = z.discriminatedUnion('kind', [
  moment(['created'], { provider: text, value: cents, fee: cents }),
  moment(['paid'], { ...payment, timing: z.enum(TIMINGS) }),
  moment(['confirmed'], { provider: text }),
  moment(['credited'], { value: cents, fee: cents, balanceAfter: cents }),
  moment(['payment_held'], { ...payment, why }),
  moment(['payment_released'], { ...payment, how, isOwn: z.boolean() }),
  moment(['expired', 'canceled'], {}),
  moment(['refund_requested', 'refund_done', 'refund_failed'], {
    refundId: text,
    value: cents,
    reason: text.nullable(),
  }),
  moment(['event'], { eventId: text, event: text }),
  moment(['webhook_attempt'], attempt),
  moment(['next_check'], { attempts: z.int() }),
])

function moment<const Kind extends string, Fields extends z.ZodRawShape>(kinds: Kind[], fields: Fields) {
  return z.object({ at: time, kind: z.enum(kinds), ...fields })
}

function presentMoment(moment: Moment) {
  const at = moment.at.toISOString()
  if (moment.kind === 'payment_held') {
    const { endToEndId, amountCents, kind } = moment.payment
    return { at, kind: moment.kind, endToEndId, value: amountCents, why: kind }
  }
  if (moment.kind === 'payment_released') {
    const { endToEndId, amountCents, resolution, isOwn } = moment.payment
    return { at, kind: moment.kind, endToEndId, value: amountCents, how: resolution, isOwn }
  }
  if ('refund' in moment) {
    const { id, value, reason } = presentRefund(moment.refund)
    return { at, kind: moment.kind, refundId: id, value, reason }
  }
  return toApi(moment)
}

const getTimelineRoute = {
  params: paymentLinkParams,
  response: {
    200: response('', { deposit: depositSchema, refunds: refundSchema.array(), timeline: momentSchema.array() }),
  },
}
