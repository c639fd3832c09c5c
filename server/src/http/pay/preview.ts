import { z } from 'zod'
import { encodeBrCode } from '../../base/brcode.ts'
import { Fault } from '../../base/fault.ts'
import { html } from '../../base/html.ts'
import { NO_BRAND, readBrand, type Brand } from '../../domain/accounts/brands.ts'
import type { Caller } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { Charge } from '../../domain/deposits/charge-reads.ts'
import { NOTHING_HELD } from '../../domain/deposits/held-payments.ts'
import { SHOP_FIELDS } from '../dashboard/shop.ts'
import { readerOf } from '../server/language.ts'
import { sendPage } from '../server/page-layout.ts'
import type { Api } from '../server/schemas.ts'
import { brandStyle } from './brand.ts'
import { chargeMain, langQuery } from './page.ts'
import { TEXTS } from './texts.ts'

/**
 * The payment page of a charge that does not exist, with what an owner has typed and not saved. It has no script, and
 * nothing in it can be paid or sent.
 */
export function previewRoutes(api: Api, ctx: Context): void {
  api.get('/api/shop/preview', { schema, config: { scope: 'shop:write' } }, async (request, reply) => {
    const { caller, query, headers } = request
    // A link of somebody else would show their words as a page of ours. Not every browser says where it shows a page.
    if ((headers['sec-fetch-dest'] ?? 'iframe') !== 'iframe')
      throw new Fault('not_found', 'Only My shop shows this page')
    const { logo, returnOrigins } = await readBrand(ctx, caller.accountId)
    const brand: Brand = { ...NO_BRAND, ...typedBrand(query), logo, returnOrigins: [...returnOrigins, SAMPLE.origin] }
    const state = query.view === 'paid' ? 'COMPLETED' : 'PENDING'
    const charge = sampleCharge(ctx, caller, { state, description: query.defaultDescription })
    const reader = readerOf(request)
    const view = {
      charge,
      held: NOTHING_HELD,
      brand,
      state,
      now: ctx.now(),
      reader,
      texts: TEXTS[reader.language],
    } as const
    return sendPage(reply, {
      language: reader.language,
      title: 'guiche',
      style: brandStyle(brand),
      isFramed: true,
      // As with a script, which would show the button.
      main: html`<div class="scripted">
        ${chargeMain({ ...view, isSandbox: false, isPayableHere: false, chosen: undefined })}
      </div>`,
    })
  })
}

const SHOWN = ['displayName', 'color', 'cnpj', 'supportEmail', 'supportPhone', 'supportUrl'] as const
const typed = z.string().optional()
const schema = {
  querystring: langQuery.extend({
    ...Object.fromEntries(SHOWN.map((name) => [name, typed])),
    defaultDescription: typed,
    view: typed,
  }),
}

/** What is half typed is left out, so that the page never complains while somebody types. */
function typedBrand(query: Record<string, unknown>): Partial<Brand> {
  const fields = SHOWN.flatMap((name) => {
    const { data } = SHOP_FIELDS[name].safeParse(query[name])
    return data ? [[name, data]] : []
  })
  return Object.fromEntries(fields) as Partial<Brand>
}

const SAMPLE = {
  origin: 'https://shop.example.com',
  valueCents: 149_90,
  leftMs: 3_600_000,
  emv: encodeBrCode({
    location: 'pix.example.com/preview',
    merchantName: 'SEU NOME NO BANCO',
    merchantCity: 'SAO PAULO',
  }),
}

function sampleCharge(
  { now }: Pick<Context, 'now'>,
  { accountId, accountName }: Caller,
  { state, description }: { state: Charge['status']; description: string | undefined },
): Charge {
  const paymentLinkId = '00000000-0000-0000-0000-000000000000'
  const { valueCents } = SAMPLE
  return {
    id: '0'.repeat(32),
    paymentLinkId,
    accountId,
    accountName,
    provider: 'sample',
    status: state,
    emv: SAMPLE.emv,
    codeSeal: null,
    originalValueCents: valueCents,
    valueCents,
    feeCents: 0,
    externalId: null,
    description: SHOP_FIELDS.defaultDescription.safeParse(description).data ?? null,
    returnUrl: `${SAMPLE.origin}/`,
    metadata: null,
    createdAt: now(),
    expiresAt: new Date(now().getTime() + SAMPLE.leftMs),
    endToEndId: null,
    paidAt: state === 'COMPLETED' ? now() : null,
    paidLate: false,
    receivedCents: null,
    refundedCents: 0,
    code: null,
    payer: null,
    payerMatch: null,
  }
}
