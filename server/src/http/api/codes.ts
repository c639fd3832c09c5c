import { z } from 'zod'
import { MAX_CENTS } from '../../base/money.ts'
import { actorOf } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { closeCode, ensureCode, listCodes, readCode, type Code } from '../../domain/deposits/codes.ts'
import { NOTHING_HELD, readHeldOfCodes, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  listQuery,
  NEEDLESS_BODY_ERRORS,
  nextCursor,
  oneOf,
  response,
  time,
  type Api,
} from '../server/schemas.ts'
import { ownText } from './deposits.ts'

export function codeRoutes(app: Api, ctx: Context): void {
  const { publicUrl } = ctx.settings
  const presentAll = async (codes: Code[]) => {
    const held = await readHeldOfCodes(
      ctx,
      codes.map(({ txid }) => txid),
    )
    return codes.map((code) => presentCode(publicUrl, code, held.get(code.txid)))
  }
  const present = async (code: Code) => (await presentAll([code]))[0]!
  const writing = { scope: 'deposits:write', fresh: false } as const
  app.put('/api/codes/:externalId', { schema: routes.ensureCode, config: writing }, async (request, reply) => {
    const { externalId } = request.params
    const { description, minValue = null, maxValue = null } = request.body
    const { code, isNew } = await ensureCode(ctx, actorOf(request.caller), {
      accountId: request.caller.accountId,
      externalId,
      description: description || null,
      minValueCents: minValue,
      maxValueCents: maxValue,
    })
    if (isNew) reply.code(201).header('location', `/api/codes/${encodeURIComponent(externalId)}`)
    return { success: true as const, code: await present(code) }
  })

  app.delete('/api/codes/:externalId', { schema: routes.closeCode, config: writing }, async (request) => {
    const { accountId } = request.caller
    const code = await closeCode(ctx, actorOf(request.caller), accountId, request.params.externalId)
    return { success: true as const, code: await present(code) }
  })

  const reading = { scope: 'deposits:read' } as const
  app.get('/api/codes/:externalId', { schema: routes.getCode, config: reading }, async (request) => {
    const code = await readCode(ctx, request.caller.accountId, request.params.externalId)
    return { success: true as const, code: await present(code) }
  })

  app.get('/api/codes', { schema: routes.listCodes, config: reading }, async (request) => {
    const { codes, nextCursor } = await listCodes(ctx, request.caller.accountId, request.query)
    return { success: true as const, codes: await presentAll(codes), nextCursor }
  })
}

const STATUSES = ['OPEN', 'CLOSED'] as const

const codeSchema = z
  .object({
    id: z.string().meta({ description: '32 hexadecimal digits.' }),
    externalId: z.string().meta({ description: 'Your own reference. Deposits and events call it `code`.' }),
    status: z.enum(STATUSES).meta({ description: 'OPEN: payments become deposits. CLOSED: payments are held.' }),
    description: z.string().nullable().meta({ description: 'Shown to payers, and the description of each deposit.' }),
    minValue: cents.nullable().meta({ description: 'The least that a payer may pay, in cents.' }),
    maxValue: cents.nullable().meta({ description: 'The most that a payer may pay, in cents.' }),
    txid: z.string().meta({ description: 'Each payment of the code carries it, also in the bank’s own list.' }),
    emv: z.string().meta({ description: 'The copy-and-paste code. The QR code contains the same text.' }),
    qrCodeLink: z.string().meta({ description: 'URL of the QR code as PNG; with `.svg` in place of `.png`, as SVG.' }),
    codeUrl: z.string().meta({ description: 'Page to send payers to.' }),
    heldValue: cents.meta({
      description:
        'Money that arrived by this code and was not taken, in cents. It is held until the operator decides.',
    }),
    keptValue: cents.meta({
      description: 'Held money that the operator did not refund, in cents: credited to a balance or written off.',
    }),
    createdAt: time,
    closedAt: time.nullable().meta({ description: 'When it was closed. Null while it is OPEN.' }),
  })
  .meta({
    id: 'Code',
    examples: [
      {
        id: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
        externalId: 'customer-17',
        status: 'OPEN',
        description: 'Monthly fee of customer 17',
        minValue: 10_00,
        maxValue: null,
        txid: '0386u1rvk4m0y1p9d3x2w7q5a',
        emv: '00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D',
        qrCodeLink: 'https://pay.example.com/code/0386u1rvk4m0y1p9d3x2w7q5a.png',
        codeUrl: 'https://pay.example.com/code/0386u1rvk4m0y1p9d3x2w7q5a',
        heldValue: 0,
        keptValue: 0,
        createdAt: '2026-01-31T12:00:00.000Z',
        closedAt: null,
      },
    ],
  })

function presentCode(
  publicUrl: string,
  code: Code,
  { heldCents, keptCents }: HeldMoney = NOTHING_HELD,
): z.output<typeof codeSchema> {
  const codeUrl = `${publicUrl}/code/${code.txid}`
  return {
    id: code.id,
    externalId: code.externalId,
    status: code.closedAt === null ? 'OPEN' : 'CLOSED',
    description: code.description,
    minValue: code.minValueCents,
    maxValue: code.maxValueCents,
    txid: code.txid,
    emv: code.emv,
    qrCodeLink: `${codeUrl}.png`,
    codeUrl,
    heldValue: heldCents,
    keptValue: keptCents,
    createdAt: code.createdAt.toISOString(),
    closedAt: code.closedAt?.toISOString() ?? null,
  }
}

const codeParams = z.object({
  externalId: ownText('externalId').meta({
    description: 'Your own reference of the code, such as that of a customer, percent-encoded.',
    examples: ['customer-17'],
  }),
})

function limitField(name: 'minValue' | 'maxValue', description: string) {
  const error = `${name} must be an integer from 1 to ${MAX_CENTS} (cents), or null`
  return z
    .int({ error })
    .min(1, { error })
    .max(MAX_CENTS, { error })
    .nullish()
    .meta({ description, examples: [10_00] })
}

const codeBody = z
  .object(
    {
      description: ownText('description')
        .nullish()
        .meta({ description: 'Shown to payers.', examples: ['Monthly fee of customer 17'] }),
      minValue: limitField('minValue', 'The least that a payer may pay, in cents. Without it, any amount.'),
      maxValue: limitField('maxValue', 'The most that a payer may pay, in cents. Without it, any amount.'),
    },
    { error: BODY_ERROR },
  )
  .meta({ examples: [{ description: 'Monthly fee of customer 17' }] })

const NOT_FOUND = '`Code not found`: your account has no code with this reference.'

const routes = describeOperations('Codes', {
  ensureCode: {
    summary: 'Ensure a lasting code',
    description:
      'Answers with the code of your reference, and makes it if there is none. It can be paid any number of times, with amounts that payers choose, and each payment is a COMPLETED deposit of its own, of which the event `DEPOSIT_ASSET_SUCCESS` tells with `code`. A payment outside of its limits or yours, or not above its fee, is held, as `DEPOSIT_HELD` tells. What the body says replaces what was there: a field without a value has none. A closed code is open again, with the same QR code. Repeat it as often as you like; it needs no key. Needs the scope `deposits:write`.',
    params: codeParams,
    body: codeBody,
    response: {
      200: response('The code that is there, as it is now.', { code: codeSchema }),
      201: response('A new code.', { code: codeSchema }),
    },
    errors: {
      409: 'No payment provider of this service has lasting codes, or your account has as many open ones as it can have.',
      502: 'The payment provider refused.',
    },
  },
  getCode: {
    summary: 'Get a code',
    description: 'As it is now. `GET /api/deposits?code=` lists its deposits. Needs the scope `deposits:read`.',
    params: codeParams,
    response: { 200: response('The code.', { code: codeSchema }) },
    errors: { 404: NOT_FOUND },
  },
  listCodes: {
    summary: 'List codes',
    description: 'Newest first, in pages. Needs the scope `deposits:read`.',
    querystring: z.object({
      status: oneOf('status', STATUSES).exactOptional().meta({ description: 'Only codes with this status.' }),
      ...listQuery,
    }),
    response: { 200: response('A page of codes.', { codes: codeSchema.array(), nextCursor }) },
  },
  closeCode: {
    summary: 'Close a code',
    description:
      'Payments of it are held from now on: a printed code cannot be called back. The code is kept, and `PUT` opens it again. Closing twice is fine. Needs the scope `deposits:write`; takes no body.',
    params: codeParams,
    response: { 200: response('The CLOSED code.', { code: codeSchema }) },
    errors: { ...NEEDLESS_BODY_ERRORS, 404: NOT_FOUND },
  },
})
