import { z } from 'zod'
import { READABLE_RULE } from '../../base/readable-text.ts'
import { actorOf } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { PAYOUT_STATUSES, type Payout } from '../../domain/payouts/payout-states.ts'
import { listPayouts, readPayout, requestPayout } from '../../domain/payouts/payouts.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  idempotencyHeaders,
  idempotencyKeyOf,
  listQuery,
  nextCursor,
  oneOf,
  response,
  text,
  time,
  VALUE_ERROR,
  type Api,
} from '../server/schemas.ts'

export function payoutRoutes(app: Api, ctx: Context): void {
  const asking = { scope: 'payouts:write', fresh: true } as const
  app.post('/api/payouts', { schema: routes.requestPayout, config: asking }, async (request, reply) => {
    const { payout, replayed } = await requestPayout(ctx, actorOf(request.caller), {
      accountId: request.caller.accountId,
      valueCents: request.body.value,
      note: request.body.note || null,
      idempotencyKey: idempotencyKeyOf(request.headers),
    })
    reply.code(201).header('location', `/api/payouts/${payout.id}`)
    if (replayed) reply.header('idempotency-replayed', 'true')
    return { success: true as const, payout: presentPayout(payout) }
  })

  const reading = { scope: 'payouts:read' } as const
  app.get('/api/payouts', { schema: routes.listPayouts, config: reading }, async (request) => {
    const filter = { ...request.query, accountId: request.caller.accountId }
    const { payouts, nextCursor } = await listPayouts(ctx, filter)
    return { success: true as const, payouts: payouts.map(presentPayout), nextCursor }
  })

  app.get('/api/payouts/:payoutId', { schema: routes.getPayout, config: reading }, async (request) => {
    const payout = await readPayout(ctx, request.caller.accountId, request.params.payoutId)
    return { success: true as const, payout: presentPayout(payout) }
  })
}

const NOTE_ERROR = `note must be at most 140 characters, ${READABLE_RULE}`
export const payoutFields = {
  value: z
    .int({ error: VALUE_ERROR })
    .min(1, { error: VALUE_ERROR })
    .meta({ description: 'How much to pay out, in cents.', examples: [250_000] }),
  note: text({ min: 0, max: 140 }, NOTE_ERROR)
    .nullish()
    .meta({ description: 'A note, which account holder and operator both see.', examples: ['March, first half'] }),
}

export const payoutsQuery = {
  status: oneOf('status', PAYOUT_STATUSES).exactOptional().meta({ description: 'Only payouts with this status.' }),
  ...listQuery,
}

export const payoutParams = z.object({ payoutId: z.string().meta({ description: 'The `id` of the payout.' }) })

export const payoutShape = {
  id: z.string().meta({ description: '32 hexadecimal digits. Events and the statement call it `payoutId`.' }),
  value: cents.meta({ description: 'In cents.' }),
  note: z.string().nullable(),
  status: z.enum(PAYOUT_STATUSES).meta({
    description:
      'REQUESTED: set aside until the operator pays it. PAID: the operator paid it. REJECTED: the money is available again.',
  }),
  requestedAt: time,
  endedAt: time.nullable().meta({ description: 'When it was marked PAID or REJECTED.' }),
  reference: z.string().nullable().meta({ description: 'By which the bank knows the transfer. Only if it is PAID.' }),
  paidAt: z.iso.date().nullable().meta({ description: 'The business day on which it was paid. Only if it is PAID.' }),
  reason: z.string().nullable().meta({ description: 'Why it was rejected. Only if it is REJECTED.' }),
}

const payoutSchema = z.object({ ...payoutShape, requestedBy: z.enum(['account', 'operator']) }).meta({
  id: 'Payout',
  examples: [
    {
      id: '0199a3d84b1f7c2e9a6d0f3b5c8e7a14',
      value: 250_000,
      note: 'March, first half',
      status: 'REQUESTED',
      requestedAt: '2026-01-30T12:00:00.000Z',
      endedAt: null,
      reference: null,
      paidAt: null,
      reason: null,
      requestedBy: 'account',
    },
  ],
})

export function presentFields({ valueCents, note, status, requestedAt, endedAt, ...payout }: Payout) {
  return {
    id: payout.id,
    value: valueCents,
    note,
    status,
    requestedAt: requestedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    reference: payout.reference,
    paidAt: payout.paidAt,
    reason: payout.reason,
  }
}

/** As the account holder sees it: without the names of operators. */
function presentPayout(payout: Payout) {
  const requestedBy = payout.requestedBy.kind === 'account' ? ('account' as const) : ('operator' as const)
  return { ...presentFields(payout), requestedBy }
}

export const PAYOUT_KEY =
  'Makes the request safe to retry for as long as the payout exists. The same key with the same body returns that payout in its current state and never makes a second one.'

const routes = describeOperations('Payouts', {
  requestPayout: {
    summary: 'Ask for a payout',
    description:
      'Asks the operator to pay a part of the available balance to you. guiche moves no money out: it sets the amount aside, and the operator pays it outside of guiche and records that. The events `PAYOUT_PAID` and `PAYOUT_REJECTED` tell how it ended. Needs the scope `payouts:write`.',
    headers: idempotencyHeaders(PAYOUT_KEY),
    body: z.object(payoutFields, { error: BODY_ERROR }),
    response: { 201: response('The payout, which is REQUESTED.', { payout: payoutSchema }) },
    errors: {
      409: 'The available balance is too small, or 100 payouts are REQUESTED.',
      422: 'The `Idempotency-Key` was used with a different payout.',
    },
  },
  listPayouts: {
    summary: 'List payouts',
    description: 'Newest first, in pages. Needs the scope `payouts:read`.',
    querystring: z.object(payoutsQuery),
    response: { 200: response('A page of payouts.', { payouts: payoutSchema.array(), nextCursor }) },
  },
  getPayout: {
    summary: 'Get a payout',
    description: 'In its current state. Needs the scope `payouts:read`.',
    params: payoutParams,
    response: { 200: response('The payout.', { payout: payoutSchema }) },
    errors: { 404: '`Payout not found`: the id is unknown, malformed, or belongs to another account.' },
  },
})
