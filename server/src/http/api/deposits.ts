import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { READABLE_RULE } from '../../base/readable-text.ts'
import { readTaxId } from '../../base/tax-id.ts'
import { depositsSince } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import {
  byOwnText,
  EXPIRES_SECONDS,
  METADATA,
  OWN_FIELDS,
  type Metadata,
  type OwnTextName,
} from '../../domain/core/charge-facts.ts'
import { PAYER_POLICIES, type Payer, type PayerPolicy } from '../../domain/core/payers.ts'
import { requireCharge, type Charge } from '../../domain/deposits/charge-reads.ts'
import { cancelDeposit, queryDeposit } from '../../domain/deposits/query-deposit.ts'
import { openDeposit, type DepositRequest } from '../../domain/deposits/open-deposit.ts'
import { readHeld } from '../../domain/deposits/held-payments.ts'
import { retrieveDeposit } from '../../domain/reports/full-deposit.ts'
import { depositOf, listDeposits } from '../../domain/reports/list-deposits.ts'
import type { CompletedAnswers } from './completed-answers.ts'
import {
  depositSchema,
  fullDepositSchema,
  METADATA_EXAMPLE,
  PAYER_EXAMPLE,
  newChargeSchema,
  presentCharge,
  presentDeposit,
  presentFull,
  presentQueried,
  queriedChargeSchema,
  STATUSES,
} from './deposit-records.ts'
import {
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
  VALUE_ERROR,
  type Api,
  sendText,
  textOf,
} from '../server/schemas.ts'

export function depositRoutes(app: Api, ctx: Context, completed: CompletedAnswers): void {
  const { publicUrl } = ctx.settings
  const reading = { scope: 'deposits:read', orScope: 'deposits:today' } as const
  const writing = { scope: 'deposits:write', orScope: 'deposits:today', fresh: false } as const
  // Queries that share a charge share its answer.
  const answers = new WeakMap<Charge, string>()

  app.post('/api/deposit', { schema: routes.createDeposit, config: writing }, async (request, reply) => {
    const idempotencyKey = idempotencyKeyOf(request.headers)
    const { charge, replayed } = await openDeposit(ctx, request.caller, wantedBy(request.body), idempotencyKey)
    reply.code(201).header('location', `/api/deposit/${charge.paymentLinkId}`)
    if (replayed) reply.header('idempotency-replayed', 'true')
    return { success: true as const, charge: presentCharge(publicUrl, charge) }
  })

  const ofDay = { preHandler: requireToday(ctx) }

  app.get('/api/deposit/:paymentLinkId', { schema: routes.getDeposit, config: reading, ...ofDay }, (request, reply) => {
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

  app.post(
    '/api/deposit/:paymentLinkId/cancel',
    { schema: routes.cancelDeposit, config: writing, ...ofDay },
    async (request) => {
      const charge = await cancelDeposit(ctx, request.caller.accountId, request.params.paymentLinkId)
      const held = await readHeld(ctx, [charge.id])
      return { success: true as const, charge: presentDeposit(publicUrl, depositOf(charge), held.get(charge.id)) }
    },
  )

  app.get(
    '/api/deposits/:paymentLinkId',
    { schema: routes.retrieveDeposit, config: reading, ...ofDay },
    async (request, reply) => {
      const { check, ...full } = await retrieveDeposit(ctx, request.caller.accountId, request.params.paymentLinkId)
      if (check !== 'none') reply.header('guiche-provider-check', check)
      return { success: true as const, deposit: presentFull(publicUrl, full) }
    },
  )

  app.get('/api/deposits', { schema: routes.listDeposits, config: reading }, async (request) => {
    const { from } = request.query
    const since = depositsSince(request.caller, ctx.now())
    const filter = since && !(from && from > since) ? { ...request.query, from: since } : request.query
    const { deposits, held, nextCursor } = await listDeposits(ctx, request.caller.accountId, filter)
    const presented = deposits.map((deposit) => presentDeposit(publicUrl, deposit, held.get(deposit.id)))
    return { success: true as const, deposits: presented, nextCursor }
  })
}

/** Who sees only the deposits of today finds no other. */
export function requireToday(ctx: Context) {
  return ({ caller, params }: FastifyRequest, _: FastifyReply, done: (error?: Error) => void): void => {
    const since = depositsSince(caller, ctx.now())
    if (!since) return done()
    const { paymentLinkId } = params as { paymentLinkId: string }
    requireCharge(ctx, caller.accountId, paymentLinkId).then(
      ({ createdAt }) => done(createdAt < since ? new Fault('not_found', 'Charge not found') : undefined),
      done,
    )
  }
}

// ---- Requests ----

const EXPIRES_IN_ERROR = `expiresIn must be an integer from ${EXPIRES_SECONDS.min} to ${EXPIRES_SECONDS.max} (seconds)`

export function ownText(name: OwnTextName) {
  const { minLength: min, maxLength: max } = OWN_FIELDS[name]
  const length = min > 0 ? `${min} to ${max}` : `at most ${max}`
  return text({ min, max }, `${name} must be ${length} characters, ${READABLE_RULE}`)
}

function ownTextField(name: OwnTextName) {
  const { asked: description, example } = OWN_FIELDS[name]
  return ownText(name)
    .nullish()
    .meta({ description, examples: [example] })
}

const { maxKeys, maxKeyLength, maxValueLength, maxBytes } = METADATA
const METADATA_KEY = `^[A-Za-z0-9_.-]{1,${maxKeyLength}}$`
const METADATA_ERROR = `metadata must be an object of at most ${maxKeys} keys (1 to ${maxKeyLength} letters, digits, _ . -), with texts of at most ${maxValueLength} characters, and at most ${maxBytes} bytes as JSON`

function isMetadata(value: unknown): value is Metadata {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  const isKey = new RegExp(METADATA_KEY)
  return (
    entries.length <= maxKeys &&
    entries.every(
      ([key, text]) =>
        // Assigning to this key would lose its value, here or in a program that reads it.
        key !== '__proto__' && isKey.test(key) && typeof text === 'string' && Array.from(text).length <= maxValueLength,
    ) &&
    Buffer.byteLength(JSON.stringify(value)) <= maxBytes
  )
}

// Checked by hand: a schema of records would drop the key `__proto__` in silence.
const metadataField = z
  .unknown()
  .refine((value) => value === undefined || value === null || isMetadata(value), { error: METADATA_ERROR })
  .meta({
    description: `Your own data about the deposit: at most ${maxKeys} texts, and ${maxBytes} bytes as JSON. The payer does not see it.`,
    examples: [METADATA_EXAMPLE],
    type: ['object', 'null'],
    maxProperties: maxKeys,
    propertyNames: { pattern: METADATA_KEY },
    additionalProperties: { type: 'string', maxLength: maxValueLength },
  })
  .optional() as z.ZodOptional<z.ZodType<Metadata | null>>

const PAYER_ERROR = `payer must be { taxId, policy }, with a valid CPF or CNPJ, and policy ${PAYER_POLICIES.join(' or ')}`

// Checked by hand: no error may quote what was given.
function readPayer(given: unknown): Payer | null | undefined {
  if (given === undefined || given === null) return null
  if (typeof given !== 'object' || Array.isArray(given)) return undefined
  const { taxId, policy = 'verify', ...rest } = given as Record<string, unknown>
  const known = typeof taxId === 'string' ? readTaxId(taxId) : undefined
  const isPolicy = PAYER_POLICIES.some((one) => one === policy)
  return known && isPolicy && Object.keys(rest).length === 0 ? { ...known, policy: policy as PayerPolicy } : undefined
}

const payerField = z
  .unknown()
  .refine((value) => readPayer(value) !== undefined, { error: PAYER_ERROR })
  .meta({
    description:
      'The person who is to pay. `taxId` is a CPF or CNPJ, with or without punctuation. `policy` `verify`: the deposit is credited, and `payerMatch` says whether that person paid. `require`: nothing is credited before the provider has confirmed it, and money of anybody else goes back to its payer. Only a keyed hash and the last two digits are kept.',
    examples: [PAYER_EXAMPLE],
    type: ['object', 'null'],
    properties: {
      taxId: { type: 'string', maxLength: 20 },
      policy: { type: 'string', enum: [...PAYER_POLICIES], default: 'verify' },
    },
    required: ['taxId'],
    additionalProperties: false,
  })
  .optional() as z.ZodOptional<z.ZodType<{ taxId: string; policy?: PayerPolicy } | null>>

/** `value` comes first: zod reports errors in this order, and the caller reads the first one. */
const depositFields = {
  value: z
    .int({ error: VALUE_ERROR })
    .min(1, { error: VALUE_ERROR })
    .meta({ description: 'The amount in cents: 5000 is R$ 50.00.', examples: [5000], maximum: 999_999_999_999 }),
  ...byOwnText(ownTextField),
  metadata: metadataField,
  payer: payerField,
  expiresIn: z
    .int({ error: EXPIRES_IN_ERROR })
    .min(EXPIRES_SECONDS.min, { error: EXPIRES_IN_ERROR })
    .max(EXPIRES_SECONDS.max, { error: EXPIRES_IN_ERROR })
    .nullish()
    .meta({
      description:
        'Seconds until the charge expires, up to 30 days. The default is one hour, unless the operator changed it.',
      examples: [3600],
    }),
}

const depositBody = z.object(depositFields, { error: VALUE_ERROR }).meta({ examples: [{ value: 5000 }] })

/** Of a deposit whose reference is in the path. */
export const orderBody = z
  .object(depositFields, { error: VALUE_ERROR })
  .omit({ externalId: true })
  .meta({ examples: [{ value: 5000 }] })

export function wantedBy({
  value,
  expiresIn,
  metadata,
  payer,
  ...texts
}: z.output<typeof orderBody> & { externalId?: string | null | undefined }): DepositRequest {
  return {
    valueCents: value,
    expiresInSeconds: expiresIn ?? null,
    ...byOwnText((name) => texts[name] ?? null),
    metadata: metadata ? JSON.stringify(metadata) : null,
    payer: readPayer(payer) ?? null,
  }
}

export const depositsQuery = z.object({
  status: oneOf('status', STATUSES).exactOptional().meta({ description: 'Only charges with this status.' }),
  externalId: ownText('externalId').exactOptional().meta({ description: 'Only charges with this reference of yours.' }),
  code: ownText('externalId')
    .exactOptional()
    .meta({ description: 'Only charges that payments of this code made, by its `externalId`.' }),
  search: searchField.exactOptional().meta({
    description:
      'Only charges that match this text: part of `externalId` or `description` (3 characters or more, in any case, with or without accents), the beginning of `id` or `paymentLinkId`, an amount (`199,90` or `199.90`), the `endToEndId`, or a part of `id` or `endToEndId` with 7 or more of its last 11 characters. A shorter part of an `endToEndId` (5 characters or more) finds newer charges; narrow the period for older ones.',
  }),
  ...listQuery,
})

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
      409: '`externalId` is taken, a request with it or with this `Idempotency-Key` is still in progress, or no provider can confirm who paid.',
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
      'Everything that is known of one deposit: when it expires, when it was paid, what was credited, each refund, and each payment that was held, with what became of it. A PENDING charge is first checked with the payment provider, as by `GET /api/deposit/{paymentLinkId}`. Needs the scope `deposits:read`.',
    params: paymentLinkParams,
    response: { 200: response('The full record.', { deposit: fullDepositSchema }) },
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
