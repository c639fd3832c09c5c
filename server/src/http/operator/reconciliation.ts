import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { Actor } from '../../domain/core/audit-log.ts'
import { isDay } from '../../domain/core/business-days.ts'
import { ProviderError } from '../../domain/ports/provider.ts'
import { listClosings, type Closing } from '../../domain/reconciliation/closings.ts'
import { reconcileWindow, type ReconcileReport } from '../../domain/reconciliation/reconcile.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  integerParameter,
  response,
  time,
  timeField,
  toApi,
  type Api,
} from '../server/schemas.ts'
import { providerName } from './providers.ts'

export function reconciliationRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const

  app.get('/api/operator/closings', { schema: routes.listClosings, config }, async (request) => {
    const closings = await listClosings(ctx, request.query)
    return { success: true as const, closings: closings.map(presentClosing) }
  })

  const fresh = { ...config, fresh: true } as const
  app.post('/api/operator/reconcile', { schema: routes.reconcile, config: fresh }, async (request, reply) => {
    checkWindow(request.body)
    const hungUp = new AbortController()
    reply.raw.once('close', () => hungUp.abort())
    const actor = actorOf(request.operator)
    const { comparisons, differenceCount } = await reconcileInTime(ctx, actor, request.body, hungUp.signal)
    return { success: true as const, comparisons: comparisons.map(toApi), differenceCount }
  })
}

// Proxies give up after a minute. What was booked by then stays booked.
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
      throw new Fault('unavailable', 'Reconciling took too long: use a shorter window, or the command guiche reconcile')
    // Operators have to deal with the provider's message, so they may read it.
    if (error instanceof ProviderError)
      throw new Fault('provider_unavailable', `The payment provider could not be reached: ${error.message}`, {
        cause: error,
      })
    throw error
  }
}

function dayParameter(name: string, description: string) {
  const error = `${name} must be a day such as 2026-01-31`
  return z
    .string({ error })
    .refine(isDay, { error })
    .exactOptional()
    .meta({ description, examples: ['2026-01-31'] })
}

const closingsQuery = z.object({
  provider: providerName.exactOptional().meta({ description: 'Only closings of this provider.' }),
  from: dayParameter('from', 'The first day, in Brasília time.'),
  to: dayParameter('to', 'The last day. To page back, give the day before the oldest one returned.'),
  limit: integerParameter('limit', { min: 1, max: 100, default: 31, description: 'Maximum number of items.' }),
})

// The providers' lists are read while the operator waits, so this is enough for one day, even one of 25 hours.
const MAX_WINDOW_HOURS = 25
const WINDOW_ERROR = `to must be after from, by at most ${MAX_WINDOW_HOURS} hours: for more, use the command guiche reconcile`

const reconcileBody = z.object(
  {
    from: timeField('from', 'Start of the window.').meta({ examples: ['2026-01-31T00:00:00-03:00'] }),
    to: timeField('to', `End of the window, at most ${MAX_WINDOW_HOURS} hours later.`).meta({
      examples: ['2026-02-01T00:00:00-03:00'],
    }),
    provider: providerName.exactOptional().meta({ description: 'Only this provider. The default is all of them.' }),
  },
  { error: BODY_ERROR },
)

/** Not a refinement of the schema: zod would run it on invalid times too. */
function checkWindow({ from, to }: { from: Date; to: Date }): void {
  const lengthMs = to.getTime() - from.getTime()
  if (lengthMs <= 0 || lengthMs > MAX_WINDOW_HOURS * 3_600_000)
    throw new Fault('window_invalid', WINDOW_ERROR, { details: { maxHours: MAX_WINDOW_HOURS } })
}

const compared = {
  provider: z.string(),
  day: z.string().meta({ description: 'A day in Brasília time, such as 2026-01-31.' }),
  from: time,
  to: time,
  providerCount: z.int().meta({ description: 'Pix received according to the provider.' }),
  providerTotal: cents,
  ledgerCount: z.int().meta({ description: 'Pix in the ledger, credited or in suspense.' }),
  ledgerTotal: cents,
  differenceCount: z.int(),
  differences: z
    .object({ kind: z.string(), endToEndId: z.string(), text: z.string() })
    .array()
    .meta({ description: 'The first hundred.' }),
}

export const closingSchema = z
  .object({
    ...compared,
    revision: z.int().meta({ description: 'How many times the day was closed. Only the latest is shown.' }),
    closedAt: time,
  })
  .meta({ id: 'Closing' })

export function presentClosing({ startsAt, endsAt, ...closing }: Closing) {
  return toApi({ ...closing, from: startsAt, to: endsAt })
}

const comparisonSchema = z
  .object({
    ...compared,
    settledCount: z.int().meta({ description: 'How many of these were missing in the ledger and are booked now.' }),
    settledTotal: cents,
    refundsNotCompared: z.int().meta({
      description:
        'Payments for which the provider reports no refunds, so that only the refunds known to guiche were checked.',
    }),
    revision: z
      .int()
      .nullable()
      .meta({ description: 'Revision of the closing, if the window covered the whole day and the day is over.' }),
  })
  .meta({ id: 'DayComparison' })

const routes = describeOperations('Operator', {
  listClosings: {
    summary: 'List closings',
    description:
      'The totals of each day at each provider and in the ledger, newest first. A day is closed two hours after it ends. Needs an operator’s key.',
    querystring: closingsQuery,
    response: { 200: response('Closings.', { closings: closingSchema.array() }) },
  },
  reconcile: {
    summary: 'Reconcile with the providers',
    description:
      'Reads what the providers received in a window of at most 25 hours, books what is missing, and reports each difference. For longer windows use the command `guiche reconcile`. Needs an operator’s key.',
    body: reconcileBody,
    response: {
      200: response('One comparison per provider and day.', {
        comparisons: comparisonSchema.array(),
        differenceCount: z.int(),
      }),
    },
    errors: { 503: 'The provider could not be reached, it took too long, or the service is unavailable.' },
  },
})
