import { z } from 'zod'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { ChargeAction, Resolution } from '../../domain/exceptions/exception-states.ts'
import { EXCEPTION_KINDS, findException, listExceptions, type Exception } from '../../domain/refunds/exceptions.ts'
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
    return { success: true as const, exception: presentException(exception) }
  })

  const url = '/api/operator/exceptions/:exceptionId/resolve'
  app.post(url, { schema: routes.resolveException, config: fresh }, async (request) => {
    const { reason, ...body } = request.body
    const resolution = resolutionFrom(body)
    const actor = actorOf(request.operator)
    const exception = await resolveException(ctx, actor, request.params.exceptionId, resolution, reason)
    return { success: true as const, exception: presentException(exception) }
  })
}

export const STATES = ['open', 'resolving', 'resolved'] as const
export const WAYS = ['credit', 'refund', 'write_off', 'charge_account', 'match'] as const satisfies Resolution['how'][]
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
    charge: z
      .object({
        id: z.string(),
        paymentLinkId: z.string(),
        accountId: z.string(),
        email: z.string(),
        status: z.enum([...STATUSES, 'OPENING', 'FAILED']),
        value: cents,
        fee: cents,
      })
      .nullable()
      .meta({
        description:
          'The charge that the payment names, if it is one of ours. Of an unnamed_payment, the charge that the provider calls paid.',
      }),
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
    description: 'With the charge that the payment names, and the decision. Needs an operator’s key.',
    params: exceptionParams,
    response: { 200: response('The exception.', { exception: exceptionSchema }) },
    errors: { 404: '`Exception not found`: the id is unknown or malformed.' },
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
})
