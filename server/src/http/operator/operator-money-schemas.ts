import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { MAX_REASON_LENGTH, REASON_RULE, type Actor } from '../../domain/core/audit-log.ts'
import type { Closing } from '../../domain/reconciliation/closings.ts'
import { isDay } from '../../domain/core/business-days.ts'
import type { ChargeFate, Resolution } from '../../domain/deposits/exception-states.ts'
import { EXCEPTION_KINDS, type Exception } from '../../domain/refunds/exceptions.ts'
import type { DayStatement } from '../../domain/reconciliation/reconcile.ts'
import { isInDoubt, type Refund } from '../../domain/refunds/refund-states.ts'
import { depositHeaders, integerParameter, page, text, VALUE_ERROR } from '../server/schemas.ts'

// Requests and answers of the operators' API about money: exceptions, refunds, closings, reconciliation.

const BODY_ERROR = 'Request body must be a JSON object'
const PROVIDER_ERROR = 'provider must be the name of a provider'
const STATES = ['open', 'resolving', 'resolved'] as const
const WAYS = ['credit', 'refund', 'write_off', 'charge_account', 'match'] as const satisfies Resolution['how'][]
const WAYS_ERROR = `how must be one of ${WAYS.join(', ')}`
const FATES = ['keep', 'close'] as const satisfies ChargeFate[]
const ACCOUNT_ERROR = 'accountId must be the id of the account to credit'
const STATUSES = ['PROCESSING', 'DONE', 'FAILED'] as const

const time = z.iso.datetime()
const cents = z.int()
const provider = text({ min: 1, max: 64 }, PROVIDER_ERROR)
const reason = text({ min: 1, max: MAX_REASON_LENGTH }, REASON_RULE).meta({
  description: 'Why, for the audit log.',
  examples: ['the payer called'],
})

function inWords(actor: Actor): string {
  return `${actor.kind} ${actor.name}`
}

// ---- Exceptions ----

export const exceptionParams = z.object({ exceptionId: z.string().meta({ description: 'The id of the exception.' }) })

export const exceptionsQuery = z.object({
  state: z
    .enum(STATES, { error: `state must be one of ${STATES.join(', ')}` })
    .exactOptional()
    .meta({ description: 'resolving: its refund is under way.' }),
  kind: z
    .enum(EXCEPTION_KINDS, { error: `kind must be one of ${EXCEPTION_KINDS.join(', ')}` })
    .exactOptional()
    .meta({ description: 'Only exceptions of this kind.' }),
  provider: provider.exactOptional().meta({ description: 'Only of this provider.' }),
  ...page,
})

export const resolveBody = z
  .object(
    {
      how: z.enum(WAYS, { error: WAYS_ERROR }).meta({
        description:
          'credit: the whole amount to an account, without a fee. refund: back to the payer. write_off: the house keeps it, or bears the loss. charge_account: the account that was credited bears a refund that was made without us. match: the payment completes the charge that it names, although its amount differs; the account is credited with the amount less the fee.',
        examples: ['refund'],
      }),
      accountId: z
        .uuid({ error: ACCOUNT_ERROR })
        .exactOptional()
        .meta({ description: 'Which account to credit; for `credit` only.' }),
      charge: z
        .enum(FATES, { error: `charge must be one of ${FATES.join(', ')}` })
        .exactOptional()
        .meta({
          description:
            'What becomes of the PENDING charge that the payment names; for `credit`, `refund` and `write_off` only. keep, unless given: it can still be paid. close: it is first withdrawn at the provider and CANCELED; if it was paid meanwhile, the answer is 409 and nothing is resolved.',
        }),
      reason,
    },
    { error: BODY_ERROR },
  )
  .refine((body) => (body.how === 'credit') === (body.accountId !== undefined), {
    error: 'accountId belongs to how: credit, and to no other',
  })
  .refine(({ how, charge }) => charge === undefined || (how !== 'match' && how !== 'charge_account'), {
    error: 'charge belongs to how: credit, refund or write_off, and to no other',
  })

export function resolutionFrom({ how, accountId, charge = 'keep' }: z.infer<typeof resolveBody>): Resolution {
  if (how === 'credit') return { how, accountId: accountId!, charge }
  return how === 'match' || how === 'charge_account' ? { how } : { how, charge }
}

export const exceptionShape = z
  .object({
    id: z.string().meta({ description: '32 hexadecimal digits.' }),
    kind: z.enum(EXCEPTION_KINDS),
    state: z.enum(STATES),
    provider: z.string(),
    endToEndId: z.string(),
    txid: z.string().nullable(),
    value: cents.meta({
      description: 'What arrived, in cents; of a foreign_refund, what went; of an undone_refund, what came back.',
    }),
    occurredAt: time.meta({ description: 'When the payer paid.' }),
    openedAt: time,
    charge: z
      .object({
        id: z.string(),
        paymentLinkId: z.string(),
        accountId: z.string(),
        email: z.string(),
        status: z.string(),
        value: cents,
        fee: cents,
      })
      .nullable()
      .meta({ description: 'The charge that the payer meant, if it is one of ours.' }),
    resolution: z
      .object({
        how: z.enum(WAYS),
        accountId: z.string().nullable().meta({ description: 'Which was credited or charged.' }),
        by: z.string(),
        reason: z.string(),
      })
      .nullable()
      .meta({ description: 'What was decided; while a refund is on its way, not yet done.' }),
    resolvedAt: time.nullable(),
    refund: z
      .object({
        id: z.string(),
        status: z.enum(STATUSES),
        failure: z.string().nullable(),
        providerRefundId: z.string(),
      })
      .nullable(),
  })
  .meta({ id: 'Exception' })

export function presentException({ amountCents, charge, resolution, ...exception }: Exception) {
  return {
    ...exception,
    value: amountCents,
    occurredAt: exception.occurredAt.toISOString(),
    openedAt: exception.openedAt.toISOString(),
    charge: charge && presentNamedCharge(charge),
    resolution: resolution && { ...resolution, by: inWords(resolution.by) },
    resolvedAt: exception.resolvedAt?.toISOString() ?? null,
  }
}

function presentNamedCharge({ valueCents, feeCents, ...charge }: NonNullable<Exception['charge']>) {
  return { ...charge, value: valueCents, fee: feeCents }
}

// ---- Refunds ----

export const refundHeaders = z.looseObject({
  'idempotency-key': depositHeaders.shape['idempotency-key'].meta({
    description: 'Makes the request safe to repeat: the same key with the same body answers with the same refund.',
  }),
})

export const refundBody = z.object(
  {
    value: z
      .int({ error: VALUE_ERROR })
      .min(1, { error: VALUE_ERROR })
      .nullish()
      .meta({ description: 'How much to give back, in cents; all that is left unless given.', examples: [2500] }),
    reason,
  },
  { error: BODY_ERROR },
)

export const refundsQuery = z.object({
  status: z
    .enum(STATUSES, { error: `status must be one of ${STATUSES.join(', ')}` })
    .exactOptional()
    .meta({ description: 'Only refunds in this state.' }),
  accountId: z
    .uuid({ error: 'accountId must be the id of an account' })
    .exactOptional()
    .meta({ description: 'Only of deposits of this account.' }),
  paymentLinkId: z.string().exactOptional().meta({ description: 'Only of this deposit.' }),
  inDoubt: z
    .enum(['true', 'false'], { error: 'inDoubt must be true or false' })
    .transform((value) => value === 'true')
    .exactOptional()
    .meta({ description: 'true: only refunds in doubt, whose outcome at the provider is not known.' }),
  ...page,
})

export const refundShape = z
  .object({
    id: z.string().meta({ description: '32 hexadecimal digits.' }),
    source: z.enum(['balance', 'suspense', 'provider']).meta({
      description:
        'Who bears it: the account’s balance, an exception’s money, or, made at the provider without us, nobody yet.',
    }),
    value: cents.meta({ description: 'What goes back to the payer, in cents.' }),
    returnedFee: cents.meta({ description: 'What the account gets back of the fee, in cents.' }),
    status: z.enum(STATUSES),
    failure: z.string().nullable().meta({ description: 'Why it failed, in the provider’s words.' }),
    reason: z.string().nullable(),
    by: z.string().meta({ description: 'Who asked for it.' }),
    provider: z.string(),
    providerRefundId: z.string(),
    endToEndId: z.string(),
    chargeId: z.string().nullable(),
    paymentLinkId: z.string().nullable(),
    accountId: z.string().nullable(),
    exceptionId: z.string().nullable(),
    createdAt: time,
    sentAt: time.nullable().meta({ description: 'When it was first sent to the provider; null: never.' }),
    inDoubt: z.boolean().meta({
      description:
        'True while the outcome of a request for it is not known. It ends by the provider’s word, by hours in which the provider neither shows nor takes it, or by `end`.',
    }),
    doubtedAt: time.nullable().meta({ description: 'Since when it is in doubt.' }),
    absentSince: time.nullable().meta({ description: 'Since when the provider has said that it has no such refund.' }),
    attention: z
      .string()
      .nullable()
      .meta({ description: 'Why the last attempt could not decide it, while it is PROCESSING.' }),
    endedAt: time.nullable(),
    endedBy: z.string().nullable().meta({ description: 'The operator who ended it, if one did.' }),
    endedReason: z.string().nullable().meta({ description: 'Why that operator did.' }),
    undoneAt: time
      .nullable()
      .meta({ description: 'When the provider took back that it was DONE: see the exception of kind undone_refund.' }),
  })
  .meta({ id: 'OperatorRefund' })

export function presentRefund({ amountCents, feeReturnedCents, requestedBy, endedBy, ...refund }: Refund) {
  return {
    ...refund,
    value: amountCents,
    returnedFee: feeReturnedCents,
    by: inWords(requestedBy),
    createdAt: refund.createdAt.toISOString(),
    sentAt: refund.sentAt?.toISOString() ?? null,
    inDoubt: isInDoubt(refund),
    doubtedAt: refund.doubtedAt?.toISOString() ?? null,
    absentSince: refund.absentSince?.toISOString() ?? null,
    endedAt: refund.endedAt?.toISOString() ?? null,
    endedBy: endedBy && inWords(endedBy.actor),
    endedReason: endedBy?.reason ?? null,
    undoneAt: refund.undoneAt?.toISOString() ?? null,
  }
}

export const refundParams = z.object({ refundId: z.string().meta({ description: 'The id of the refund.' }) })

export const endRefundBody = z.object(
  {
    outcome: z.enum(['done', 'failed'], { error: 'outcome must be done or failed' }).meta({
      description:
        'done: the provider made it, and the payer has the money. failed: it did not, and the money goes back to where it came from.',
    }),
    reason,
  },
  { error: BODY_ERROR },
)

// ---- Closings and reconciliation ----

function dayParameter(name: string, description: string) {
  const error = `${name} must be a day such as 2026-01-31`
  return z
    .string({ error })
    .refine(isDay, { error })
    .exactOptional()
    .meta({ description, examples: ['2026-01-31'] })
}

export const closingsQuery = z.object({
  provider: provider.exactOptional().meta({ description: 'Only of this provider.' }),
  from: dayParameter('from', 'The first day, as days are counted in Brazil.'),
  to: dayParameter('to', 'The last day; for older ones than an answer holds, name an earlier day here.'),
  limit: integerParameter('limit', { min: 1, max: 100, usual: 31, description: 'How many to answer at the most.' }),
})

// Providers' lists are read while the operator waits. A day fits, also one of 25 hours; for a month there is the command.
const MAX_WINDOW_HOURS = 25
const WINDOW_ERROR = `to must be after from, by at most ${MAX_WINDOW_HOURS} hours: for more, use the command guiche reconcile`

function timeField(name: string, description: string) {
  const error = `${name} must be an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z`
  return z.iso
    .datetime({ offset: true, error })
    .transform((value) => new Date(value))
    .meta({ description, examples: ['2026-01-31T00:00:00-03:00'] })
}

export const reconcileBody = z.object(
  {
    from: timeField('from', 'The beginning of the window.'),
    to: timeField('to', `Its end, at most ${MAX_WINDOW_HOURS} hours later.`),
    provider: provider.exactOptional().meta({ description: 'Only with this provider; with all unless given.' }),
  },
  { error: BODY_ERROR },
)

/** Apart from the schema, whose refinements also run on times that it has found to be none. */
export function checkWindow({ from, to }: { from: Date; to: Date }): void {
  const lengthMs = to.getTime() - from.getTime()
  if (lengthMs <= 0 || lengthMs > MAX_WINDOW_HOURS * 3_600_000) throw new Fault('bad_request', WINDOW_ERROR)
}

const compared = {
  provider: z.string(),
  day: z.string().meta({ description: 'A day in Brazil, such as 2026-01-31.' }),
  from: time,
  to: time,
  providerCount: z.int().meta({ description: 'Pix that the provider says it received.' }),
  providerTotal: cents,
  ledgerCount: z.int().meta({ description: 'Pix in our books, credited or in suspense.' }),
  ledgerTotal: cents,
  differenceCount: z.int(),
  differences: z
    .object({ kind: z.string(), endToEndId: z.string(), text: z.string() })
    .array()
    .meta({ description: 'The first hundred.' }),
}

export const closingShape = z
  .object({
    ...compared,
    revision: z.int().meta({ description: 'How often the day was closed; the newest is shown.' }),
    closedAt: time,
  })
  .meta({ id: 'Closing' })

export function presentClosing({ startsAt, endsAt, providerTotalCents, ledgerTotalCents, ...closing }: Closing) {
  return {
    ...closing,
    from: startsAt.toISOString(),
    to: endsAt.toISOString(),
    providerTotal: providerTotalCents,
    ledgerTotal: ledgerTotalCents,
    closedAt: closing.closedAt.toISOString(),
  }
}

export const statementShape = z
  .object({
    ...compared,
    settledCount: z.int().meta({ description: 'Of these, the ones that were missing and are booked now.' }),
    settledTotal: cents,
    refundsNotCompared: z.int().meta({
      description:
        'Payments of which the provider does not tell what was given back, so that only our refunds were asked about.',
    }),
    revision: z
      .int()
      .nullable()
      .meta({ description: 'Of the closing, if the window held the whole day and it is over.' }),
  })
  .meta({ id: 'DayStatement' })

export function presentStatement(statement: DayStatement) {
  const { providerTotalCents, ledgerTotalCents, settledTotalCents, ...rest } = statement
  return {
    ...rest,
    from: statement.from.toISOString(),
    to: statement.to.toISOString(),
    providerTotal: providerTotalCents,
    ledgerTotal: ledgerTotalCents,
    settledTotal: settledTotalCents,
  }
}
