import { z } from 'zod'
import { EXCEPTION_KINDS } from '../../domain/refunds/exceptions.ts'
import { TIMINGS, type Moment } from '../../domain/reports/timeline.ts'
import { natureSchema, presentRefund } from '../api/refunds.ts'
import { attemptOutcome } from '../api/webhooks.ts'
import { cents, time, toApi } from '../server/schemas.ts'
import { WAYS } from './exceptions.ts'

// What happened to a deposit, for the pages of account holders and operators.

const text = z.string()
const { excerpt: _, ...outcome } = attemptOutcome
const attempt = { eventId: text, webhookId: text, webhookName: text, number: z.int(), ...outcome }
const payment = { endToEndId: text, value: cents }
const why = z
  .enum(EXCEPTION_KINDS)
  .exclude(['unnamed_payment', 'foreign_refund', 'undone_refund', 'code_closed', 'code_limits'])
const how = z.enum(WAYS).exclude(['charge_account'])

export const momentSchema = z.discriminatedUnion('kind', [
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
  moment(['reversed'], { refundId: text, value: cents, nature: natureSchema }),
  moment(['event'], { eventId: text, event: text }),
  moment(['webhook_attempt'], attempt),
  moment(['next_check'], { attempts: z.int() }),
])

function moment<const Kind extends string, Fields extends z.ZodRawShape>(kinds: Kind[], fields: Fields) {
  return z.object({ at: time, kind: z.enum(kinds), ...fields })
}

export function presentMoment(moment: Moment) {
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
    const { id, value, reason, nature } = presentRefund(moment.refund)
    if (moment.kind === 'reversed') return { at, kind: moment.kind, refundId: id, value, nature }
    return { at, kind: moment.kind, refundId: id, value, reason }
  }
  return toApi(moment)
}
