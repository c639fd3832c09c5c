import { z } from 'zod'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { PAYER_MATCHES } from '../../domain/core/payers.ts'
import type { ChargeAction, Resolution } from '../../domain/exceptions/exception-states.ts'
import {
  listNotes,
  MAX_NOTE_LENGTH,
  NOTE_RULE,
  noteException,
  type ExceptionNote,
} from '../../domain/refunds/exception-notes.ts'
import {
  EXCEPTION_KINDS,
  findException,
  findInQueue,
  listExceptions,
  type Exception,
} from '../../domain/refunds/exceptions.ts'
import { MAX_RESOLVED, resolveExceptions, type SharedDecision } from '../../domain/refunds/resolve-many.ts'
import { resolveException } from '../../domain/refunds/resolve-exception.ts'
import { STATUSES } from '../api/deposit-records.ts'
import { REFUND_STATUSES } from '../api/refunds.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  idField,
  listQuery,
  nextCursor,
  oneOf,
  reasonField,
  response,
  text,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'
import { providerName } from './providers.ts'
import { actorText } from './refunds.ts'

export function exceptionRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  const fresh = { ...config, fresh: true } as const

  app.get('/api/operator/exceptions', { schema: routes.listExceptions, config }, async (request) => {
    const { exceptions, nextCursor } = await listExceptions(ctx, request.query)
    return { success: true as const, exceptions: exceptions.map(presentException), nextCursor }
  })

  app.get('/api/operator/exceptions/:exceptionId', { schema: routes.getException, config }, async (request) => {
    const exception = await findException(ctx, request.params.exceptionId)
    const notes = await listNotes(ctx, exception.id)
    const queue = await findInQueue(ctx, exception)
    return { success: true as const, exception: presentException(exception), notes: notes.map(presentNote), queue }
  })

  const noting = { schema: routes.noteException, config: { ...config, fresh: false } }
  app.post('/api/operator/exceptions/:exceptionId/notes', noting, async (request, reply) => {
    const { exceptionId } = request.params
    const note = await noteException(ctx, actorOf(request.operator), exceptionId, request.body.text)
    reply.code(201)
    return { success: true as const, note: presentNote(note) }
  })

  const url = '/api/operator/exceptions/:exceptionId/resolve'
  app.post(url, { schema: routes.resolveException, config: fresh }, async (request) => {
    const { reason, ...body } = request.body
    const resolution = resolutionFrom(body)
    const actor = actorOf(request.operator)
    const exception = await resolveException(ctx, actor, request.params.exceptionId, resolution, reason)
    return { success: true as const, exception: presentException(exception) }
  })

  const resolving = { schema: routes.resolveExceptions, config: fresh }
  app.post('/api/operator/exceptions/resolve', resolving, async (request) => {
    const { ids, how, charge = 'keep', reason } = request.body
    const decided = await resolveExceptions(ctx, actorOf(request.operator), ids, { how, charge }, reason)
    const results = decided.map((one) => ({ ...one, exception: one.exception && presentException(one.exception) }))
    return { success: true as const, results }
  })
}

export const STATES = ['open', 'resolving', 'resolved'] as const
export const WAYS = ['credit', 'refund', 'write_off', 'charge_account', 'match'] as const satisfies Resolution['how'][]
const SHARED_WAYS = ['credit', 'refund', 'write_off', 'match'] as const satisfies SharedDecision['how'][]
const CHARGE_ACTIONS = ['keep', 'close'] as const satisfies ChargeAction[]

const exceptionParams = z.object({ exceptionId: z.string().meta({ description: 'The id of the exception.' }) })

const exceptionsQuery = z.object({
  state: oneOf('state', STATES).exactOptional().meta({ description: 'resolving: its refund is in progress.' }),
  kind: oneOf('kind', EXCEPTION_KINDS).exactOptional().meta({ description: 'Only exceptions of this kind.' }),
  provider: providerName.exactOptional().meta({ description: 'Only exceptions of this provider.' }),
  ...listQuery,
})

const resolveBody = z
  .object(
    {
      how: oneOf('how', WAYS).meta({
        examples: ['refund'],
        description:
          'credit: the whole amount to an account, without a fee. refund: back to the payer. write_off: the operator keeps it, or bears the loss. charge_account: the credited account bears a refund that was made outside guiche. match: the payment completes the charge that it names although its amount differs; the account is credited with the amount less the fee.',
      }),
      accountId: idField('accountId', 'the account to credit')
        .exactOptional()
        .meta({ description: 'The account to credit. For `credit` only.' }),
      charge: oneOf('charge', CHARGE_ACTIONS).exactOptional().meta({
        description:
          'What happens to the PENDING charge that the payment names. For `credit`, `refund` and `write_off` only. keep (default): it can still be paid. close: it is canceled at the provider first; if it was paid meanwhile, the response is 409 and nothing is resolved.',
      }),
      reason: reasonField,
    },
    { error: BODY_ERROR },
  )
  .refine((body) => (body.how === 'credit') === (body.accountId !== undefined), {
    error: 'accountId is required with how: credit, and not allowed otherwise',
  })
  .refine(({ how, charge }) => charge === undefined || (how !== 'match' && how !== 'charge_account'), {
    error: 'charge is allowed only with how: credit, refund or write_off',
  })

const IDS_RULE = `ids must be 1 to ${MAX_RESOLVED} ids of exceptions, each once`
const resolveManyBody = z
  .object(
    {
      ids: z
        .array(z.string({ error: IDS_RULE }).max(64, { error: IDS_RULE }), { error: IDS_RULE })
        .min(1, { error: IDS_RULE })
        .max(MAX_RESOLVED, { error: IDS_RULE })
        .refine((ids) => new Set(ids).size === ids.length, { error: IDS_RULE }),
      how: oneOf('how', SHARED_WAYS).meta({
        examples: ['refund'],
        description:
          'As for one exception. credit: each to the account of the charge that its payment names; without one it is refused.',
      }),
      charge: oneOf('charge', CHARGE_ACTIONS).exactOptional().meta({
        description:
          'Not with `match`. close: the charges that are still PENDING are canceled at the provider first. keep (default): they can still be paid.',
      }),
      reason: reasonField,
    },
    { error: BODY_ERROR },
  )
  .refine(({ how, charge }) => charge === undefined || how !== 'match', {
    error: 'charge is allowed only with how: credit, refund or write_off',
  })

const noteBody = z.object(
  {
    text: text({ min: 1, max: MAX_NOTE_LENGTH }, NOTE_RULE).meta({
      description: 'For operators. No account holder and no payer reads it.',
      examples: ['The payer called: it was meant for order 1042.'],
    }),
  },
  { error: BODY_ERROR },
)

type ResolveBody = Omit<z.infer<typeof resolveBody>, 'reason'>

function resolutionFrom({ how, accountId, charge = 'keep' }: ResolveBody): Resolution {
  // The schema requires the account with `credit`.
  if (how === 'credit') return { how, accountId: accountId!, charge }
  return how === 'match' || how === 'charge_account' ? { how } : { how, charge }
}

const exceptionSchema = z
  .object({
    id: z.string().meta({ description: '32 hexadecimal digits.' }),
    kind: z.enum(EXCEPTION_KINDS),
    state: z.enum(STATES),
    provider: z.string(),
    endToEndId: z.string().nullable().meta({ description: 'Null for an unnamed_payment.' }),
    txid: z.string().nullable(),
    value: cents.meta({
      description:
        'The amount received, in cents. Of a foreign_refund, the amount refunded; of an undone_refund, the amount that came back; of an unnamed_payment, the value of the charge.',
    }),
    occurredAt: time.nullable().meta({ description: 'When the payer paid. Null for an unnamed_payment.' }),
    openedAt: time,
    ways: z.enum(WAYS).array().meta({ description: 'How it can be resolved. Empty unless it is open.' }),
    charge: z
      .object({
        id: z.string(),
        paymentLinkId: z.string(),
        accountId: z.string(),
        email: z.string(),
        externalId: z.string().nullable(),
        description: z.string().nullable(),
        status: z.enum([...STATUSES, 'OPENING', 'FAILED']),
        value: cents,
        fee: cents,
      })
      .nullable()
      .meta({
        description:
          'The charge that the payment names, if it is one of ours. Of an unnamed_payment, the charge that the provider calls paid.',
      }),
    code: z
      .object({ externalId: z.string(), accountId: z.string(), email: z.string(), txid: z.string() })
      .nullable()
      .meta({ description: 'The lasting code that the payment names, if no charge was made by it.' }),
    resolution: z
      .object({
        how: z.enum(WAYS),
        accountId: z.string().nullable().meta({ description: 'The account that was credited or charged.' }),
        by: z.string(),
        reason: z.string(),
      })
      .nullable()
      .meta({ description: 'The decision. While its refund is in progress, it is not carried out yet.' }),
    resolvedAt: time.nullable(),
    payerMatch: z.enum(PAYER_MATCHES).nullable().meta({
      description:
        'Of a payment of a deposit with `payer`: whether that person paid. A payer_unconfirmed is resolved by itself as soon as it is known.',
    }),
    refund: z
      .object({
        id: z.string(),
        status: z.enum(REFUND_STATUSES),
        failure: z.string().nullable(),
        providerRefundId: z.string(),
      })
      .nullable(),
  })
  .meta({ id: 'Exception' })

function presentException({ amountCents, charge, resolution, ...exception }: Exception) {
  return {
    ...toApi(exception),
    value: amountCents,
    charge: charge && toApi(charge),
    resolution: resolution && { ...resolution, by: actorText(resolution.by) },
  }
}

const noteSchema = z
  .object({
    number: z.int().meta({ description: 'From 1 on, in the order in which they were written.' }),
    text: z.string(),
    notedAt: time,
    by: z.string(),
  })
  .meta({ id: 'ExceptionNote' })

function presentNote({ by, ...note }: ExceptionNote) {
  return { ...toApi(note), by: actorText(by) }
}

const queueSchema = z.object({
  position: z
    .int()
    .nullable()
    .meta({ description: 'Its place among the open ones, newest first; null if it is not open.' }),
  count: z.int().meta({ description: 'Open ones, counted up to 1000.' }),
  nextId: z.string().nullable().meta({ description: 'The open one that follows it, or after the last one the first.' }),
})

const routes = describeOperations('Operator', {
  listExceptions: {
    summary: 'List exceptions',
    description:
      'Payments that completed no charge, charges that the provider calls paid without naming a Pix, refunds made outside guiche, and refunds that the provider reversed, newest first. `state=open` lists those that need a decision. Needs an operator’s key.',
    querystring: exceptionsQuery,
    response: { 200: response('A page of exceptions.', { exceptions: exceptionSchema.array(), nextCursor }) },
  },
  getException: {
    summary: 'Get an exception',
    description:
      'With the charge that the payment names, the decision, the notes of operators, and its place among those that are open. Needs an operator’s key.',
    params: exceptionParams,
    response: {
      200: response('The exception.', { exception: exceptionSchema, notes: noteSchema.array(), queue: queueSchema }),
    },
    errors: { 404: '`Exception not found`: the id is unknown or malformed.' },
  },
  noteException: {
    summary: 'Write a note on an exception',
    description:
      'For other operators. A note is never changed or deleted, and an exception has at most 100. Needs an operator’s key.',
    params: exceptionParams,
    body: noteBody,
    response: { 201: response('The note.', { note: noteSchema }) },
    errors: { 404: '`Exception not found`: the id is unknown or malformed.', 409: 'It has 100 notes.' },
  },
  resolveException: {
    summary: 'Resolve an exception',
    description:
      'Decides what happens to the money. Each way is a ledger transfer that records who, when and why. A decision is final, but a refund that fails reopens the exception. Needs an operator’s key.',
    params: exceptionParams,
    body: resolveBody,
    response: { 200: response('The exception in its current state.', { exception: exceptionSchema }) },
    errors: {
      404: '`Exception not found`, or `Account not found`.',
      409: 'It is already resolved or being resolved, the balance is too small, or another payment completed the charge.',
    },
  },
  resolveExceptions: {
    summary: 'Resolve several exceptions alike',
    description:
      'Each by itself, as if it were the only one: a refusal of one keeps none from being resolved. A repeated request resolves nothing twice, and tells what became of each. Needs an operator’s key.',
    body: resolveManyBody,
    response: {
      200: response('What became of each, in the order of `ids`.', {
        results: z
          .object({
            id: z.string(),
            result: z
              .enum(['resolved', 'resolving', 'refused'])
              .meta({ description: 'resolving: its refund is in progress.' }),
            code: z.string().nullable().meta({ description: 'Of a refusal, its error code.' }),
            error: z.string().nullable().meta({ description: 'Of a refusal, why, for humans.' }),
            exception: exceptionSchema.nullable().meta({ description: 'As it is now; null if the id is unknown.' }),
          })
          .array(),
      }),
    },
  },
})
