import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { termsFor } from '../../domain/core/terms.ts'
import type { HeldMoney } from '../../domain/deposits/held-payments.ts'
import type { Deposit } from '../../domain/reports/list-deposits.ts'
import { readTakings, TILL, type Totals } from '../../domain/reports/takings.ts'
import { presentDeposit, STATUSES } from '../api/deposit-records.ts'
import { cents, response, time, type Api } from '../server/schemas.ts'

/** What the counter shows besides deposits: what it took, and what it may ask for. */
export function counterRoutes(api: Api, ctx: Context): void {
  const config = { scope: 'deposits:read', orScope: 'deposits:today' } as const
  api.get('/api/counter/takings', { schema: takingsRoute, config }, async ({ caller, query }) => {
    const { day, today, shift, deposits, held, isComplete } = await readTakings(
      ctx,
      caller.accountId,
      query.shift ?? null,
    )
    const { valueMinCents, valueMaxCents } = termsFor(ctx.settings.terms, caller.overrides)
    return {
      success: true as const,
      day,
      valueMin: valueMinCents,
      valueMax: valueMaxCents,
      today: presentTotals(today),
      shift: shift && presentTotals(shift),
      deposits: deposits.map((deposit) => presentTaken(ctx, deposit, held.get(deposit.id))),
      isComplete,
    }
  })
}

/** Short, because phones on weak networks read a hundred of them. */
function presentTaken(ctx: Context, deposit: Deposit, heldMoney: HeldMoney | undefined) {
  const {
    paymentLinkId,
    paymentLinkUrl,
    value,
    status,
    createdAt,
    paidAt,
    refundedValue,
    heldValue,
    description,
    metadata,
  } = presentDeposit(ctx.settings.publicUrl, deposit, heldMoney)
  const till = metadata?.[TILL] ?? ''
  return {
    paymentLinkId,
    paymentLinkUrl,
    value,
    status,
    createdAt,
    paidAt,
    refundedValue,
    heldValue,
    description,
    till,
  }
}

function presentTotals({ paidCents, refundedCents, pendingCents, ...counts }: Totals) {
  return { ...counts, paidValue: paidCents, refundedValue: refundedCents, pendingValue: pendingCents }
}

const totals = z.object({
  paid: z.int(),
  paidValue: cents,
  refunded: z.int(),
  refundedValue: cents,
  pending: z.int(),
  pendingValue: cents,
  expired: z.int(),
  canceled: z.int(),
})

const SHIFT_ERROR = 'shift must be the id of a shift'

const takingsRoute = {
  querystring: z.object({
    shift: z
      .string({ error: SHIFT_ERROR })
      .regex(/^[0-9a-f]{32}$/, { error: SHIFT_ERROR })
      .exactOptional(),
  }),
  response: {
    200: response('', {
      day: z.string(),
      valueMin: cents,
      valueMax: cents,
      today: totals,
      shift: totals.nullable(),
      deposits: z
        .object({
          paymentLinkId: z.string(),
          paymentLinkUrl: z.string(),
          value: cents,
          status: z.enum(STATUSES),
          createdAt: time,
          paidAt: time.nullable(),
          refundedValue: cents,
          heldValue: cents,
          description: z.string().nullable(),
          till: z.string(),
        })
        .array(),
      isComplete: z.boolean(),
    }),
  },
}
