import { z } from 'zod'
import { Fault, invalidField } from '../../base/fault.ts'
import { MAX_CENTS, type Cents } from '../../base/money.ts'
import { readHolder } from '../../domain/accounts/time-zone.ts'
import type { Context } from '../../domain/context.ts'
import { dayAfter, dayStart, isDay } from '../../domain/core/business-days.ts'
import {
  findPeriod,
  MAX_TOTALED_LINES,
  readBalance,
  readStatement,
  readTotals,
  type StatementLine,
  type Values,
} from '../../domain/ledger/account-statement.ts'
import { NATURES } from '../../domain/ports/provider.ts'
import { LINE_KIND_NAMES, LINE_KINDS } from '../../domain/ledger/line-kinds.ts'
import { PAYOUT_STATUSES } from '../../domain/payouts/payout-states.ts'
import {
  cents,
  describeOperations,
  nextCursor,
  oneOf,
  paging,
  response,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'
import { sendStatement, STATEMENT_FORMATS, type StatementFormat } from './statement-export.ts'

export function statementRoutes(app: Api, ctx: Context): void {
  const config = { scope: 'balance:read' } as const

  app.get('/api/balance', { schema: routes.getBalance, config }, async (request) => {
    const held = await readBalance(ctx, request.caller.accountId)
    return {
      success: true as const,
      balance: held.balanceCents,
      available: held.availableCents,
      reserved: held.reservedCents,
      held: held.heldCents,
      owed: held.owedCents,
      currency: 'BRL' as const,
    }
  })

  app.get('/api/statement', { schema: routes.getStatement, config }, async (request) => {
    const { accountId } = request.caller
    const { cursor, limit, from, to } = request.query
    const values = valuesOf(request.query)
    const filter = { limit, values, ...(cursor !== undefined && { cursor }) }
    if (from === undefined && to === undefined) {
      if (values) throw invalidField('from', 'minValue and maxValue need from or to')
      return presentLines(await readStatement(ctx, accountId, filter))
    }
    const { timeZone } = await readHolder(ctx, accountId)
    const period = await findPeriod(ctx, accountId, momentsOf({ from, to }, timeZone))
    const lines = presentLines(await readStatement(ctx, accountId, { ...filter, period }))
    // All pages have the same totals, and whoever turns a page has them.
    if (cursor !== undefined) return lines
    const totals = await readTotals(ctx, accountId, period, { values })
    if (values && !totals)
      throw new Fault('window_invalid', TOO_MANY_LINES, { details: { maxLines: MAX_TOTALED_LINES } })
    const { openingCents: openingBalance, closingCents: closingBalance } = period
    return { ...lines, timeZone, openingBalance, closingBalance, ...(totals && { totals: totals.map(toApi) }) }
  })

  // No HEAD, which would read the whole period.
  const exporting = { schema: routes.exportStatement, exposeHeadRoute: false, config }
  app.get('/api/statement/export', exporting, async (request, reply) => {
    const { accountId } = request.caller
    const { format, ...days } = request.query
    const { timeZone } = await readHolder(ctx, accountId)
    return sendStatement(ctx, reply, { accountId, format, ...momentsOf(days, timeZone) }, presentLine)
  })
}

function presentLines({ lines, nextCursor }: { lines: StatementLine[]; nextCursor: string | null }) {
  return { success: true as const, lines: lines.map(presentLine), nextCursor }
}

function presentLine(line: StatementLine) {
  return { ...toApi(line), amount: line.netCents }
}

// ---- Periods and amounts ----

const TOO_MANY_LINES = `The period has more than ${MAX_TOTALED_LINES} lines. With minValue or maxValue, choose a shorter one.`

type Bounds = { minValue?: Cents; maxValue?: Cents }

function valuesOf({ minValue, maxValue }: Bounds): Values | undefined {
  if (minValue === undefined && maxValue === undefined) return undefined
  const values = { minCents: minValue ?? 0, maxCents: maxValue ?? MAX_CENTS }
  if (values.minCents > values.maxCents) throw invalidField('maxValue', 'maxValue must not be below minValue')
  return values
}

function valueField(name: 'minValue' | 'maxValue', description: string) {
  const error = `${name} must be an integer from 0 to ${MAX_CENTS} (cents)`
  return z
    .string({ error })
    .regex(/^\d{1,12}$/, { error })
    .transform(Number)
    .exactOptional()
    .meta({ type: 'integer', minimum: 0, maximum: MAX_CENTS, description })
}

/** A day of the account's zone, or a moment. */
type Edge = { day: string } | { at: Date }

function momentsOf({ from, to }: { from?: Edge | undefined; to?: Edge | undefined }, timeZone: string) {
  const moments = {
    from: from && ('day' in from ? dayStart(from.day, timeZone) : from.at),
    to: to && ('day' in to ? dayStart(dayAfter(to.day), timeZone) : to.at),
  }
  if (moments.from && moments.to && moments.from >= moments.to) throw invalidField('to', 'to must not be before from')
  return moments
}

function edgeField(name: string, description: string) {
  const error = `${name} must be a day, such as 2026-01-31, or an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z`
  const moment = z.iso.datetime({ offset: true })
  return z
    .string({ error })
    .refine((value) => isDay(value) || moment.safeParse(value).success, { error })
    .transform((value): Edge => (isDay(value) ? { day: value } : { at: new Date(value) }))
    .meta({ description, examples: ['2026-01-31'] })
    .exactOptional()
}

const period = {
  from: edgeField('from', 'Only lines from this day on, in the time zone of the account; or from this time on.'),
  to: edgeField('to', 'Only lines up to this day, inclusive; or before this time.'),
}

// ---- Schemas ----

const MEANINGS = LINE_KIND_NAMES.map((kind) => `\`${kind}\`: ${LINE_KINDS[kind].means}.`)

const sums = {
  gross: cents.meta({
    description: 'Before the fee, in cents: positive is a credit, negative a debit.',
    examples: [5000],
  }),
  fee: cents.meta({ description: 'What was taken, in cents; negative if it came back.', examples: [50] }),
  net: cents.meta({ description: '`gross` less `fee`: what the balance gained or lost, in cents.', examples: [4950] }),
}
const kind = z.string().meta({ description: MEANINGS.join(' '), examples: ['deposit'] })

const lineSchema = z
  .object({
    id: z.string().meta({ description: 'Lines booked later have a larger number.' }),
    kind,
    amount: cents.meta({ description: 'The same as `net`.', examples: [4950] }),
    balance: cents.meta({ description: 'Your available balance after this line, in cents.', examples: [4950] }),
    chargeId: z.string().nullable(),
    paymentLinkId: z.string().nullable(),
    refundId: z.string().nullable().meta({ description: 'The refund that the line belongs to.' }),
    nature: z
      .enum(NATURES)
      .nullable()
      .meta({ description: 'Of a refund that you did not ask for: why the bank made it.' }),
    payoutId: z.string().nullable().meta({ description: 'The payout that the line belongs to.' }),
    disputeId: z.string().nullable().meta({ description: 'The dispute that the line belongs to.' }),
    payout: z
      .object({ status: z.enum(PAYOUT_STATUSES), reference: z.string().nullable(), paidAt: z.iso.date().nullable() })
      .nullable()
      .meta({ description: 'The payout as it is now. A payout that is PAID has no line of its own for that.' }),
    occurredAt: time.meta({ description: 'When it happened. For a deposit, when the payer paid.' }),
    recordedAt: time.meta({ description: 'When it was booked. Periods are cut by this time.' }),
    ...sums,
    externalId: z
      .string()
      .nullable()
      .meta({ description: 'Your reference of the deposit, or of the lasting code that it was paid by.' }),
    description: z.string().nullable().meta({ description: 'The description of the deposit.' }),
    endToEndId: z.string().nullable().meta({ description: 'The id of the payment in Pix. Null for a payout.' }),
  })
  .meta({ id: 'StatementLine' })

const totalsSchema = z.object({ kind, count: z.int(), ...sums }).meta({ id: 'StatementTotals' })

const FORMAT_NAMES = Object.keys(STATEMENT_FORMATS) as StatementFormat[]
const FORMAT_MEANINGS = FORMAT_NAMES.map((name) => `\`${name}\`: ${STATEMENT_FORMATS[name].means}.`)
const file = z.string().meta({ description: 'The file. `Content-Disposition` has its name.' })
const fileTypes = [...new Set(FORMAT_NAMES.map((name) => STATEMENT_FORMATS[name].type.split(';')[0]!))]

const ofPeriod = (description: string, schema: z.ZodType = cents) =>
  schema.optional().meta({ description: `${description} On the first page, with \`from\` or \`to\`.` })

const routes = describeOperations('Balance', {
  getBalance: {
    summary: 'Get the balance',
    description:
      'The current balance of the account. Without payouts and disputes, `balance` and `available` are the same. Needs the scope `balance:read`.',
    response: {
      200: response('The balance.', {
        balance: cents.meta({
          description: 'What you are owed, in cents: `available`, `reserved` and `held`.',
          examples: [4950],
        }),
        available: cents.meta({
          description: 'What you can refund or ask to be paid out, in cents.',
          examples: [4950],
        }),
        reserved: cents.meta({
          description: 'What is set aside for payouts that are REQUESTED, in cents.',
          examples: [0],
        }),
        held: cents.meta({
          description: 'What is set aside while payers contest payments, in cents.',
          examples: [0],
        }),
        owed: cents.meta({
          description:
            'What you owe, in cents, because the bank returned deposits and the balance was too small. The next money that comes in pays it first.',
          examples: [0],
        }),
        currency: z.literal('BRL'),
      }),
    },
  },
  getStatement: {
    summary: 'Get the statement',
    description:
      'Every line that changed the available balance, newest first, in pages. Needs the scope `balance:read`.',
    querystring: z.object({
      ...period,
      minValue: valueField(
        'minValue',
        'Only lines whose `gross`, without its sign, is at least this, in cents. Needs `from` or `to`.',
      ),
      maxValue: valueField(
        'maxValue',
        'Only lines whose `gross`, without its sign, is at most this, in cents. Needs `from` or `to`.',
      ),
      ...paging,
    }),
    response: {
      200: response('A page of lines.', {
        lines: lineSchema.array(),
        nextCursor,
        timeZone: ofPeriod('The time zone in which days begin, of the account.', z.string()),
        openingBalance: ofPeriod('The balance before the first line of the period, in cents.'),
        closingBalance: ofPeriod('The balance after its last line, in cents.'),
        totals: ofPeriod(
          `The sums of the period, by kind: of the lines between \`minValue\` and \`maxValue\`, if given. Left out of a period with more than ${MAX_TOTALED_LINES} lines.`,
          totalsSchema.array(),
        ),
      }),
    },
  },
  exportStatement: {
    summary: 'Export the statement',
    description: 'All lines of a period as a file, oldest first. Needs the scope `balance:read`.',
    querystring: z.object({
      format: oneOf('format', FORMAT_NAMES)
        .default('csv')
        .meta({ description: FORMAT_MEANINGS.join(' ') }),
      ...period,
    }),
    response: {
      200: {
        description: 'The file.',
        content: Object.fromEntries(fileTypes.map((type) => [type, { schema: file }])),
      },
    },
  },
})
