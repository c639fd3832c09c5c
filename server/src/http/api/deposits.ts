import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { READABLE_RULE } from '../../base/readable-text.ts'
import type { Context } from '../../domain/context.ts'
import { byOwnField, OWN_FIELDS, type OwnName } from '../../domain/core/charge-facts.ts'
import { creditedCents, type Charge } from '../../domain/deposits/charge-reads.ts'
import { cancelDeposit, queryDeposit } from '../../domain/deposits/query-deposit.ts'
import { openDeposit } from '../../domain/deposits/open-deposit.ts'
import { NOTHING_HELD, readHeld, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import { depositOf, listDeposits, type Deposit } from '../../domain/reports/list-deposits.ts'
import type { CompletedAnswers } from './completed-answers.ts'
import {
  cents,
  describeOperations,
  idempotencyHeaders,
  idempotencyKeyOf,
  listQuery,
  NEEDLESS_BODY_ERRORS,
  nextCursor,
  oneOf,
  paymentLinkParams,
  response,
  searchField,
  text,
  time,
  VALUE_ERROR,
  type Api,
  sendText,
  textOf,
} from '../server/schemas.ts'

export function depositRoutes(app: Api, ctx: Context, completed: CompletedAnswers): void {
  const { publicUrl } = ctx.settings
  const reading = { scope: 'deposits:read' } as const
  const writing = { scope: 'deposits:write', fresh: false } as const
  // Queries that share a charge share its answer.
  const answers = new WeakMap<Charge, string>()

  app.post('/api/deposit', { schema: routes.createDeposit, config: writing }, async (request, reply) => {
    const { value, expiresIn, ...own } = request.body
    const wanted = {
      valueCents: value,
      expiresInSeconds: expiresIn ?? null,
      ...byOwnField((name) => own[name] ?? null),
    }
    const idempotencyKey = idempotencyKeyOf(request.headers)
    const { charge, replayed } = await openDeposit(ctx, request.caller, wanted, idempotencyKey)
    reply.code(201).header('location', `/api/deposit/${charge.paymentLinkId}`)
    if (replayed) reply.header('idempotency-replayed', 'true')
    return { success: true as const, charge: presentCharge(publicUrl, charge) }
  })

  app.get('/api/deposit/:paymentLinkId', { schema: routes.getDeposit, config: reading }, (request, reply) => {
    const { accountId } = request.caller
    const { paymentLinkId } = request.params
    const known = completed.find(accountId, paymentLinkId)
    // Not an async function: creating its promise costs more than the lookup.
    return known ? void sendText(reply, known) : answerQuery(reply, accountId, paymentLinkId)
  })

  async function answerQuery(reply: FastifyReply, accountId: string, paymentLinkId: string): Promise<void> {
    const { charge, check } = await queryDeposit(ctx, accountId, paymentLinkId)
    if (check !== 'none') reply.header('guiche-provider-check', check)
    const answer = answers.get(charge) ?? textOf(reply, { success: true, charge: presentQueried(publicUrl, charge) })
    answers.set(charge, answer)
    if (charge.status === 'COMPLETED') completed.keep(accountId, charge.paymentLinkId, answer)
    await sendText(reply, answer)
  }

  app.post('/api/deposit/:paymentLinkId/cancel', { schema: routes.cancelDeposit, config: writing }, async (request) => {
    const charge = await cancelDeposit(ctx, request.caller.accountId, request.params.paymentLinkId)
    const held = await readHeld(ctx, [charge.id])
    return { success: true as const, charge: presentDeposit(publicUrl, depositOf(charge), held.get(charge.id)) }
  })

  app.get(
    '/api/deposits/:paymentLinkId',
    { schema: routes.retrieveDeposit, config: reading },
    async (request, reply) => {
      const { charge, check } = await queryDeposit(ctx, request.caller.accountId, request.params.paymentLinkId)
      if (check !== 'none') reply.header('guiche-provider-check', check)
      // After the check, which may have found a payment that is held.
      const held = await readHeld(ctx, [charge.id])
      return { success: true as const, deposit: presentDeposit(publicUrl, depositOf(charge), held.get(charge.id)) }
    },
  )

  app.get('/api/deposits', { schema: routes.listDeposits, config: reading }, async (request) => {
    const { deposits, held, nextCursor } = await listDeposits(ctx, request.caller.accountId, request.query)
    const presented = deposits.map((deposit) => presentDeposit(publicUrl, deposit, held.get(deposit.id)))
    return { success: true as const, deposits: presented, nextCursor }
  })
}

// ---- Requests ----

const EXPIRES_IN_ERROR = 'expiresIn must be an integer from 300 to 86400 (seconds)'
// In less time a payer cannot pay, and no provider promises more.
const EXPIRES_IN = { min: 300, max: 86_400 }
export const STATUSES = ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED'] as const

function ownText(name: OwnName) {
  const { minLength: min, maxLength: max } = OWN_FIELDS[name]
  const length = min > 0 ? `${min} to ${max}` : `at most ${max}`
  return text({ min, max }, `${name} must be ${length} characters, ${READABLE_RULE}`)
}

/** `value` comes first: zod reports errors in this order, and the caller reads the first one. */
const depositBody = z
  .object(
    {
      value: z
        .int({ error: VALUE_ERROR })
        .min(1, { error: VALUE_ERROR })
        .meta({ description: 'The amount in cents: 5000 is R$ 50.00.', examples: [5000], maximum: 999_999_999_999 }),
      ...byOwnField((name) => {
        const { asked: description, example } = OWN_FIELDS[name]
        return ownText(name)
          .nullish()
          .meta({ description, examples: [example] })
      }),
      expiresIn: z
        .int({ error: EXPIRES_IN_ERROR })
        .min(EXPIRES_IN.min, { error: EXPIRES_IN_ERROR })
        .max(EXPIRES_IN.max, { error: EXPIRES_IN_ERROR })
        .nullish()
        .meta({
          description: 'Seconds until the charge expires. The default is one hour, unless the operator changed it.',
          examples: [3600],
        }),
    },
    { error: VALUE_ERROR },
  )
  .meta({ examples: [{ value: 5000 }] })

export const depositsQuery = z.object({
  status: oneOf('status', STATUSES).exactOptional().meta({ description: 'Only charges with this status.' }),
  externalId: ownText('externalId').exactOptional().meta({ description: 'Only charges with this reference of yours.' }),
  search: searchField.exactOptional().meta({
    description:
      'Only charges that match this text: part of `externalId` or `description` (3 characters or more, in any case, with or without accents), the beginning of `id` or `paymentLinkId`, an amount (`199,90` or `199.90`), or the `endToEndId`. Part of an `endToEndId` (5 characters or more) finds newer charges; narrow the period for older ones.',
  }),
  ...listQuery,
})

// ---- Responses. Presenters translate our names into those of the API. ----

const EMV = 'The copy-and-paste code for banking apps. The QR code contains the same text.'

const newCharge = {
  id: z.string().meta({ description: 'The id of the charge, 32 hexadecimal digits. Events call it `transactionId`.' }),
  emv: z.string().meta({ description: EMV }),
  qrCodeLink: z.string().meta({ description: 'URL of the QR code as PNG. `?size=` takes 128 to 1024 pixels.' }),
  paymentLinkId: z.string().meta({ description: 'UUID to query the charge with.' }),
  paymentLinkUrl: z.string().meta({ description: 'Payment page to send the payer to.' }),
  value: cents.meta({ description: 'What the payer pays, in cents.' }),
  originalValue: cents.meta({
    description: 'What you asked for, in cents. Differs from `value` only if the payer bears the fee.',
  }),
  fee: cents.meta({ description: 'The fee, in cents. `value` minus `fee` is credited to your balance.' }),
  status: z.enum(STATUSES).meta({
    description:
      'PENDING: not paid yet. COMPLETED: the payment is confirmed. EXPIRED: not paid in time. CANCELED: you canceled it.',
  }),
}

const EXAMPLE = {
  id: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
  emv: '00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630464E4',
  qrCodeLink: 'https://pay.example.com/qr/7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57.png',
  paymentLinkId: '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
  paymentLinkUrl: 'https://pay.example.com/payment-link/7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
  value: 5000,
  originalValue: 5000,
  fee: 50,
  status: 'PENDING',
}
const CREATED_AT = '2026-01-31T12:00:00.000Z'

const newChargeSchema = z.object(newCharge).meta({ id: 'NewCharge', examples: [EXAMPLE] })

const queriedCharge = {
  ...newCharge,
  // Nobody can pay it any more, so the provider is not asked for a code that is of no use.
  emv: z.string().meta({ description: `${EMV} Empty only if a COMPLETED charge was paid before its code was known.` }),
  createdAt: time.meta({ description: 'When the charge was created.' }),
}
const queriedChargeSchema = z
  .object(queriedCharge)
  .meta({ id: 'Charge', examples: [{ ...EXAMPLE, createdAt: CREATED_AT }] })

function presentQueried(publicUrl: string, charge: Charge): z.output<typeof queriedChargeSchema> {
  return { ...presentCharge(publicUrl, charge), createdAt: charge.createdAt.toISOString() }
}

function presentCharge(publicUrl: string, charge: Charge) {
  return {
    id: charge.id,
    emv: charge.emv,
    qrCodeLink: qrCodeLink(publicUrl, charge),
    paymentLinkId: charge.paymentLinkId,
    paymentLinkUrl: paymentLinkUrl(publicUrl, charge),
    value: charge.valueCents,
    originalValue: charge.originalValueCents,
    fee: charge.feeCents,
    status: charge.status,
  }
}

function qrCodeLink(publicUrl: string, { paymentLinkId }: { paymentLinkId: string }): string {
  return `${publicUrl}/qr/${paymentLinkId}.png`
}

function paymentLinkUrl(publicUrl: string, { paymentLinkId }: { paymentLinkId: string }): string {
  return `${publicUrl}/payment-link/${paymentLinkId}`
}

export const DEPOSIT_EXAMPLE = {
  ...EXAMPLE,
  status: 'COMPLETED',
  createdAt: CREATED_AT,
  expiresAt: '2026-01-31T13:00:00.000Z',
  paidAt: '2026-01-31T12:01:07.000Z',
  receivedValue: null,
  creditedValue: 4950,
  refundedValue: 0,
  heldValue: 0,
  keptValue: 0,
  endToEndId: 'E12345678202601311201s0123456789',
  paidLate: false,
  ...byOwnField((name) => OWN_FIELDS[name].example),
}

export const depositSchema = z
  .object({
    ...queriedCharge,
    expiresAt: time.meta({
      description:
        'When the charge expires. It stays PENDING for about a minute longer, because a payment of the last moment may still be on its way.',
    }),
    paidAt: time.nullable().meta({ description: 'When the payer paid, according to the provider.' }),
    receivedValue: cents
      .nullable()
      .meta({ description: 'What the payer paid, in cents, if the operator accepted an amount other than `value`.' }),
    creditedValue: cents
      .nullable()
      .meta({ description: 'What was credited to your balance, in cents. Null unless COMPLETED.' }),
    refundedValue: cents.meta({ description: 'Total of the refunds that are DONE, in cents.' }),
    heldValue: cents.meta({
      description:
        'Money received for this charge that did not complete it, in cents: a wrong amount or a second payment. It is held until the operator decides. Do not ask the payer to pay again meanwhile.',
    }),
    keptValue: cents.meta({
      description:
        'Held money that the operator did not refund, in cents: it was credited to a balance or written off.',
    }),
    endToEndId: z
      .string()
      .nullable()
      .meta({ description: 'Id of the payment in the Pix system, also on the payer’s receipt.' }),
    paidLate: z.boolean().meta({ description: 'True if it was paid after it had expired or been canceled.' }),
    ...byOwnField((name) => z.string().nullable().meta({ description: OWN_FIELDS[name].answered })),
  })
  .meta({
    id: 'Deposit',
    examples: [DEPOSIT_EXAMPLE],
  })

/** Each field by itself: copying those of presentCharge would take most of the time of a list. */
export function presentDeposit(
  publicUrl: string,
  deposit: Deposit,
  { heldCents, keptCents }: HeldMoney = NOTHING_HELD,
): z.output<typeof depositSchema> {
  return {
    id: deposit.id,
    emv: deposit.emv,
    qrCodeLink: qrCodeLink(publicUrl, deposit),
    paymentLinkId: deposit.paymentLinkId,
    paymentLinkUrl: paymentLinkUrl(publicUrl, deposit),
    value: deposit.valueCents,
    originalValue: deposit.originalValueCents,
    fee: deposit.feeCents,
    status: deposit.status,
    createdAt: deposit.createdAt,
    expiresAt: deposit.expiresAt,
    paidAt: deposit.paidAt,
    receivedValue: deposit.receivedCents,
    creditedValue: creditedCents(deposit),
    refundedValue: deposit.refundedCents,
    heldValue: heldCents,
    keptValue: keptCents,
    endToEndId: deposit.endToEndId,
    paidLate: deposit.paidLate,
    ...byOwnField((name) => deposit[name]),
  }
}

// ---- Routes ----

const NOT_FOUND = '`Charge not found`: the id is unknown, malformed, or belongs to another account.'

const routes = describeOperations('Deposits', {
  createDeposit: {
    summary: 'Create a deposit',
    description:
      'Creates a charge that a payer can pay by Pix. The response has its copy-and-paste code, QR code and payment page. Send an `Idempotency-Key`, so that a retry after a time-out cannot create a second charge. Needs the scope `deposits:write`.',
    headers: idempotencyHeaders(
      'Makes the request safe to retry for 24 hours. The same key with the same body returns the same charge, as it is by then, and never creates a second one. Use a new UUID for each deposit.',
    ),
    body: depositBody,
    response: {
      201: response('The PENDING charge. If the `Idempotency-Key` was used before: its charge as it is now.', {
        charge: newChargeSchema,
      }),
    },
    errors: {
      400: 'A field is invalid, or `value` is outside the operator’s limits. The text says what is allowed.',
      409: '`externalId` is taken, or a request with it or with this `Idempotency-Key` is still in progress.',
      422: 'The `Idempotency-Key` was used with a different body.',
      502: 'The payment provider refused. No charge was created.',
    },
  },
  getDeposit: {
    summary: 'Get the status of a deposit',
    description:
      'A PENDING charge is first checked with the payment provider. If the provider cannot be reached, the response has the stored status and the header `Guiche-Provider-Check: failed`. Needs the scope `deposits:read`.',
    params: paymentLinkParams,
    response: { 200: response('The charge.', { charge: queriedChargeSchema }) },
    errors: { 404: NOT_FOUND },
  },
  retrieveDeposit: {
    summary: 'Get a deposit in full',
    description:
      'Everything that is known of one deposit: when it expires, when it was paid, what was credited and refunded, and money that is held. A PENDING charge is first checked with the payment provider, as by `GET /api/deposit/{paymentLinkId}`. Needs the scope `deposits:read`.',
    params: paymentLinkParams,
    response: { 200: response('The full record.', { deposit: depositSchema }) },
    errors: { 404: NOT_FOUND },
  },
  cancelDeposit: {
    summary: 'Cancel a deposit',
    description:
      'Cancels a PENDING charge at the payment provider, so that it can no longer be paid. Canceling twice is fine. Needs the scope `deposits:write`; takes no body.',
    params: paymentLinkParams,
    response: { 200: response('The CANCELED charge.', { charge: depositSchema }) },
    errors: {
      ...NEEDLESS_BODY_ERRORS,
      404: NOT_FOUND,
      409: 'The charge was paid meanwhile, or has expired. The text says which.',
      502: 'The payment provider refused.',
    },
  },
  listDeposits: {
    summary: 'List deposits',
    description: 'Newest first, in pages, as stored: the provider is not asked. Needs the scope `deposits:read`.',
    querystring: depositsQuery,
    response: { 200: response('A page of deposits.', { deposits: depositSchema.array(), nextCursor }) },
  },
})
