import { z } from 'zod'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { Counts, DayCounts } from '../../domain/reports/daily-totals.ts'
import { OPEN_KINDS, readOpenDeposits, readOpenWork } from '../../domain/reports/open-work.ts'
import { ATTENTION_KINDS, readOperatorOverview, readOverview } from '../../domain/reports/overview.ts'
import { depositSchema, presentDeposit } from '../api/deposit-records.ts'
import { presentProvider, providerSchema } from '../operator/providers.ts'
import { closingSchema, presentClosing } from '../operator/reconciliation.ts'
import { sayAge } from '../server/exports.ts'
import { cents, toApi, response, time, type Api } from '../server/schemas.ts'

export function overviewRoutes(api: Api, ctx: Context, home: string | undefined): void {
  const { publicUrl } = ctx.settings

  api.get('/api/overview', { schema: getOverviewRoute, config: { scope: 'balance:read' } }, async (request, reply) => {
    const overview = await readOverview(ctx, request.caller.accountId)
    sayAge(reply, overview.ageSeconds)
    return {
      success: true as const,
      balance: overview.balanceCents,
      available: overview.availableCents,
      reserved: overview.reservedCents,
      held: overview.heldCents,
      owed: overview.owedCents,
      today: presentPeriod(overview.today),
      yesterdaySoFar: overview.yesterdaySoFarCents,
      last30: presentPeriod(overview.last30),
      previous30: presentPeriod(overview.previous30),
      days: overview.days.map(presentDay),
      latest: overview.latest.map((deposit) => presentDeposit(publicUrl, deposit, overview.held.get(deposit.id))),
      attention: overview.attention.map(toApi),
    }
  })

  api.get('/api/open', { schema: getOpenRoute, config: { scope: 'deposits:read' } }, async (request) => ({
    success: true as const,
    counts: { deposits: await readOpenDeposits(ctx, request.caller.accountId) },
  }))

  const config = { scope: OPERATOR_SCOPE } as const
  api.get('/api/operator/open', { schema: getOperatorOpenRoute, config }, async () => {
    const { counts, items } = await readOpenWork(ctx, home)
    return { success: true as const, counts, items: items.map(toApi) }
  })

  api.get('/api/operator/overview', { schema: getOperatorOverviewRoute, config }, async (_request, reply) => {
    const { today, days, lastClosing, ageSeconds, ...counts } = await readOperatorOverview(ctx)
    sayAge(reply, ageSeconds)
    return {
      success: true as const,
      ...counts,
      today: presentPeriod(today),
      days: days.map(presentDay),
      providers: ctx.providers.map(presentProvider),
      lastClosing: lastClosing && presentClosing(lastClosing),
    }
  })
}

const counted = { created: z.int(), paid: z.int(), paidValue: cents, creditedValue: cents }
const periodSchema = z.object({ ...counted, fees: cents })
const daySchema = z.object({ day: z.string(), ...counted })

function presentPeriod({ created, paid, paidCents, feeCents }: Counts) {
  return { created, paid, paidValue: paidCents, creditedValue: paidCents - feeCents, fees: feeCents }
}

function presentDay(counts: DayCounts) {
  return { day: counts.day, ...presentPeriod(counts) }
}

const attentionSchema = z.object({
  kind: z.enum(ATTENTION_KINDS),
  subjectId: z.string().nullable(),
  name: z.string().nullable(),
  at: time.nullable(),
  value: cents.nullable(),
})

const getOverviewRoute = {
  response: {
    200: response('', {
      balance: cents,
      available: cents,
      reserved: cents,
      held: cents,
      owed: cents,
      today: periodSchema,
      yesterdaySoFar: cents,
      last30: periodSchema,
      previous30: periodSchema,
      days: daySchema.array(),
      latest: depositSchema.array(),
      attention: attentionSchema.array(),
    }),
  },
}

const getOpenRoute = { response: { 200: response('', { counts: z.object({ deposits: z.int() }) }) } }

const getOperatorOpenRoute = {
  response: {
    200: response('', {
      counts: z.object({
        exceptions: z.int(),
        payouts: z.int(),
        disputes: z.int(),
        webhooks: z.int(),
        health: z.int(),
      }),
      items: z
        .object({
          kind: z.enum(OPEN_KINDS),
          id: z.string(),
          what: z.string().nullable(),
          email: z.string().nullable(),
          value: cents.nullable(),
          since: time.nullable(),
        })
        .array(),
    }),
  },
}

const getOperatorOverviewRoute = {
  response: {
    200: response('', {
      accounts: z.int(),
      suspenseCents: cents,
      missingCents: cents,
      today: periodSchema,
      days: daySchema.array(),
      providers: providerSchema.array(),
      lastClosing: closingSchema.nullable(),
    }),
  },
}
