import { z } from 'zod'

// What requests and answers look like. Each text a caller may read stands beside the rule it explains, and the document at
// /openapi.json is made from these same schemas.

export const VALUE_ERROR = 'value must be a positive integer (cents)'
const SEARCH_ERROR = 'search must be 1 to 100 characters, without control characters'
const EXTERNAL_ID_ERROR = 'externalId must be 1 to 64 characters, without control characters'
const DESCRIPTION_ERROR = 'description must be at most 140 characters, without control characters'
const EXPIRES_IN_ERROR = 'expiresIn must be an integer from 300 to 86400 (seconds)'
const IDEMPOTENCY_KEY_ERROR = 'Idempotency-Key must be 1 to 255 visible ASCII characters'

// The bounds of a charge's life: shorter and a payer cannot make it, longer and no provider promises it.
const EXPIRES_IN = { min: 300, max: 86_400 }

/** Counted as PostgreSQL and people count, by characters, while a string's length counts an emoji as two. */
export function text(bounds: { min: number; max: number }, error: string) {
  return z
    .string({ error })
    .refine((value) => isPlainText(value) && isWithin(Array.from(value).length, bounds), { error })
    .meta({ ...(bounds.min > 0 ? { minLength: bounds.min } : {}), maxLength: bounds.max })
}

// Control characters (PostgreSQL refuses NUL, and a bank's system much else) and halves of characters, which no encoding has.
function isPlainText(value: string): boolean {
  return !/[\p{Cc}\p{Cs}]/u.test(value)
}

/**
 * For what payers read. Characters that turn the direction of writing, or that nobody sees, could make it look like something else. The two
 * joiners stay: emoji and several scripts are written with them.
 */
function payerText(bounds: { min: number; max: number }, error: string) {
  return text(bounds, error).refine((value) => !/(?![\u200c\u200d])\p{Cf}/u.test(value), { error })
}

function isWithin(number: number, { min, max }: { min: number; max: number }): boolean {
  return number >= min && number <= max
}

const externalId = text({ min: 1, max: 64 }, EXTERNAL_ID_ERROR)

/** `value` comes first, because zod reports in this order and the first report is what the caller reads. */
export const depositBody = z
  .object(
    {
      value: z
        .int({ error: VALUE_ERROR })
        .min(1, { error: VALUE_ERROR })
        .meta({ description: 'The amount in cents: 5000 is R$ 50.00.', examples: [5000], maximum: 999_999_999_999 }),
      externalId: payerText({ min: 1, max: 64 }, EXTERNAL_ID_ERROR)
        .nullish()
        .meta({
          description:
            'Your own reference. Unique among your charges that are PENDING or COMPLETED, so a second deposit for the same order is refused with 409.',
          examples: ['order-1042'],
        }),
      description: payerText({ min: 0, max: 140 }, DESCRIPTION_ERROR)
        .nullish()
        .meta({
          description: 'Shown to the payer on the payment page and in the banking app.',
          examples: ['Order 1042'],
        }),
      expiresIn: z
        .int({ error: EXPIRES_IN_ERROR })
        .min(EXPIRES_IN.min, { error: EXPIRES_IN_ERROR })
        .max(EXPIRES_IN.max, { error: EXPIRES_IN_ERROR })
        .nullish()
        .meta({
          description:
            'Seconds until the charge can no longer be paid. One hour unless the operator set another default.',
          examples: [3600],
        }),
    },
    { error: VALUE_ERROR },
  )
  .meta({ examples: [{ value: 5000 }] })

export const depositHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, { error: IDEMPOTENCY_KEY_ERROR })
    .exactOptional()
    .meta({
      description:
        'Makes the request safe to repeat for 24 hours: the same key with the same body answers with the first charge again, and never makes a second one. A fresh UUID for each deposit is a good key.',
    }),
})

export const paymentLinkParams = z.object({
  paymentLinkId: z
    .string()
    .meta({ description: 'The `paymentLinkId` of the charge.', examples: ['7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'] }),
})

// ---- Lists ----

const STATUSES = ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED'] as const

/** A parameter of a query is text, so a whole number is read from its digits: "5.0", "1e2" and " 5" are not meant as one. */
export function integerParameter(
  name: string,
  bounds: { min: number; max: number; usual: number; description: string },
) {
  const error = `${name} must be an integer from ${bounds.min} to ${bounds.max}`
  return z
    .string({ error })
    .refine((digits) => /^\d{1,9}$/.test(digits) && isWithin(Number(digits), bounds), { error })
    .transform(Number)
    .default(bounds.usual)
    .meta({ type: 'integer', minimum: bounds.min, maximum: bounds.max, description: bounds.description })
}

function timeParameter(name: string, description: string) {
  const error = `${name} must be an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z`
  return z.iso
    .datetime({ offset: true, error })
    .transform((value) => new Date(value))
    .exactOptional()
    .meta({ description, examples: ['2026-01-31T00:00:00Z'] })
}

const CURSOR_ERROR = 'cursor must be a nextCursor of an earlier answer'

export const page = {
  from: timeParameter('from', 'Only what happened at this time or later.'),
  to: timeParameter('to', 'Only what happened before this time.'),
  cursor: z
    .string({ error: CURSOR_ERROR })
    .regex(/^[0-9a-z]{1,64}$/, { error: CURSOR_ERROR })
    .exactOptional()
    .meta({ description: '`nextCursor` of the page before this one.' }),
  limit: integerParameter('limit', { min: 1, max: 100, usual: 50, description: 'How many to answer at the most.' }),
}

export const depositsQuery = z.object({
  status: z
    .enum(STATUSES, { error: `status must be one of ${STATUSES.join(', ')}` })
    .exactOptional()
    .meta({ description: 'Only charges that are in this state.' }),
  externalId: externalId.exactOptional().meta({ description: 'Only charges with this reference of yours.' }),
  search: text({ min: 1, max: 100 }, SEARCH_ERROR).exactOptional().meta({
    description:
      'Only charges that have this in their `externalId` or `description` (3 characters or more, whatever their case), whose `id` or `paymentLinkId` begins with it, whose `value` it is as an amount (`199,90` or `199.90`), or whose `endToEndId` it is.',
  }),
  ...page,
})

export const statementQuery = z.object(page)

// ---- Answers ----

const cents = z.int()
const time = z.iso.datetime()

const newCharge = {
  id: z.string().meta({ description: 'The charge’s id, 32 hexadecimal digits. Events call it `transactionId`.' }),
  emv: z.string().meta({
    description: 'The copy-and-paste code. A payer pastes it into a banking app; it is also what the QR code holds.',
  }),
  qrCodeLink: z.string().meta({ description: 'Address of the QR code as PNG. `?size=` takes 128 to 1024 pixels.' }),
  paymentLinkId: z.string().meta({ description: 'The UUID by which you ask for the charge.' }),
  paymentLinkUrl: z.string().meta({ description: 'A page that you can send the payer to.' }),
  value: cents.meta({ description: 'What the payer pays, in cents.' }),
  originalValue: cents.meta({
    description: 'What you asked for, in cents. Differs from `value` only where the payer bears the fee.',
  }),
  fee: cents.meta({ description: 'The fee, in cents. `value` minus `fee` is credited to your balance.' }),
  status: z.enum(STATUSES).meta({
    description:
      'PENDING until paid; COMPLETED once the payment is confirmed; EXPIRED when its time ran out; CANCELED when you withdrew it.',
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

export const newChargeShape = z.object(newCharge).meta({ id: 'NewCharge', examples: [EXAMPLE] })

export const queriedChargeShape = z
  .object({ ...newCharge, createdAt: time.meta({ description: 'When the charge was made.' }) })
  .meta({ id: 'Charge', examples: [{ ...EXAMPLE, createdAt: CREATED_AT }] })

export const recordShape = z
  .object({
    ...newCharge,
    createdAt: time.meta({ description: 'When the charge was made.' }),
    expiresAt: time.meta({ description: 'When the charge stops being payable.' }),
    paidAt: time.nullable().meta({ description: 'When the payer paid, by the provider’s word.' }),
    receivedValue: cents
      .nullable()
      .meta({ description: 'What the payer paid, in cents, if the operator accepted another amount than `value`.' }),
    creditedValue: cents
      .nullable()
      .meta({ description: 'What was credited to your balance, in cents, once COMPLETED.' }),
    refundedValue: cents.meta({ description: 'What was given back to the payer, in cents, by refunds that are done.' }),
    heldValue: cents.meta({
      description:
        'What was received for it and did not complete it, in cents: another amount, or a second payment. It is held until the operator decides on it. Ask nobody to pay meanwhile.',
    }),
    keptValue: cents.meta({
      description:
        'What was held and the operator did not give back, in cents: it was credited to a balance or written off.',
    }),
    endToEndId: z
      .string()
      .nullable()
      .meta({ description: 'The payment’s number in the Pix system, which the payer’s receipt shows too.' }),
    paidLate: z.boolean().meta({ description: 'True if it was paid although it had expired or been canceled.' }),
    externalId: z.string().nullable().meta({ description: 'Your own reference.' }),
    description: z.string().nullable().meta({ description: 'What the payer was shown.' }),
  })
  .meta({
    id: 'Deposit',
    examples: [
      {
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
        externalId: 'order-1042',
        description: 'Order 1042',
      },
    ],
  })

export const lineShape = z
  .object({
    id: z.string().meta({ description: 'Lines with a larger number were booked later.' }),
    kind: z.string().meta({
      description:
        '`deposit`: what a payer paid, less the fee. `refund_reserved`: taken for a refund. `refund_released`: given back to you, since the refund failed. `fee_returned`, `fee_kept`: the fee’s share that came back with a refund, and went again when it failed. `matched_deposit`: a deposit whose payment was first held, because it came without its code or with another amount. `exception_credited`: a payment that the operator found to be yours, or a refund of yours that came back. `refund_charged`: a refund that was made at the payment provider, and is yours to bear.',
      examples: ['deposit'],
    }),
    amount: cents.meta({ description: 'In cents: positive was credited, negative was charged.', examples: [4950] }),
    balance: cents.meta({ description: 'Your balance after this line, in cents.', examples: [4950] }),
    chargeId: z.string().nullable(),
    paymentLinkId: z.string().nullable(),
    refundId: z.string().nullable().meta({ description: 'Of the refund that it belongs to.' }),
    occurredAt: time.meta({ description: 'When it happened: of a deposit, when the payer paid.' }),
    recordedAt: time.meta({ description: 'When it was booked.' }),
  })
  .meta({ id: 'StatementLine' })

export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Send it as `cursor` for the next page; null on the last one.' })

const errorShape = z
  .object({
    success: z.literal(false),
    error: z.string().meta({
      description:
        'What was wrong, for people. Decide by the status and by the header `Guiche-Error`, and not by this text.',
    }),
  })
  .meta({ id: 'Error' })

export function errorAnswer(description: string) {
  return { description, content: { 'application/json': { schema: errorShape } } }
}

export function answer<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  return { description, content: { 'application/json': { schema: z.object({ success: z.literal(true), ...shape }) } } }
}

/** What any route that reads a body may answer to it. */
export const bodyErrors = {
  400: errorAnswer('A field is wrong; the text says which and what is allowed.'),
  413: errorAnswer('The body is larger than 16 KiB.'),
  415: errorAnswer('The body is not sent as `application/json`.'),
}

/** What any route behind a key may answer. */
export const commonErrors = {
  401: errorAnswer('`Missing API key`, or `Invalid API key` for one that is unknown, revoked or expired.'),
  403: errorAnswer(
    'The key lacks the scope that this request needs, or its account is suspended; the text says which.',
  ),
  429: errorAnswer('`Too many requests`: wait as long as `Retry-After` says.'),
  500: errorAnswer('Our own fault. Safe to repeat; a deposit or a refund only with an `Idempotency-Key`.'),
  503: errorAnswer('Overloaded, restarting, or the database is out of reach: wait as long as `Retry-After` says.'),
}
