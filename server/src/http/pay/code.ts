import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { html, htmlText } from '../../base/html.ts'
import { readBrand, type Brand } from '../../domain/accounts/brands.ts'
import type { Context } from '../../domain/context.ts'
import { findPublicCode, type Code } from '../../domain/deposits/codes.ts'
import { readerOf, type Reader } from '../server/language.ts'
import { sendPage } from '../server/page-layout.ts'
import { errorResponse, type Api } from '../server/schemas.ts'
import { brandStyle, logoImage } from './brand.ts'
import { moneyText } from './format.ts'
import { footer, ICONS, langQuery, pageAnswer, payee, payment, sendMissing } from './page.ts'
import { imageOf, sendImage, sizeQuery } from './qr.ts'
import { keptPng, keptSvg } from './qr-image.ts'
import { PAYMENT_SCRIPT } from './script.ts'
import { TEXTS, type Texts } from './texts.ts'

/** The page behind `codeUrl`, and its images. The page changes only with the code, and tells of no payment. */
export function codePageRoutes(app: Api, ctx: Context): void {
  app.get('/code/:txid', { schema: pageSchema }, async (request, reply) => {
    const reader = readerOf(request)
    reply.header('x-robots-tag', 'noindex, nofollow')
    const code = await findPublicCode(ctx, request.params.txid)
    if (!code) return sendMissing(reply.code(404), reader.language)
    const view = { code, brand: await readBrand(ctx, code.accountId), reader, texts: TEXTS[reader.language] }
    return sendPage(reply, {
      language: reader.language,
      title: titleOf(view),
      style: brandStyle(view.brand),
      ...(code.closedAt === null && { script: PAYMENT_SCRIPT }),
      main: codeMain(view, ctx.settings.mode === 'test'),
    })
  })

  app.get('/code/:txid.png', { schema: pngSchema }, async (request, reply) =>
    sendImage(reply, 'image/png', keptPng(await emvOf(ctx, request.params.txid), request.query.size)),
  )
  app.get('/code/:txid.svg', { schema: svgSchema }, async (request, reply) => {
    const svg = keptSvg(await emvOf(ctx, request.params.txid), 'Pix QR code')
    return sendImage(reply, 'image/svg+xml; charset=utf-8', htmlText(svg))
  })
}

type View = { code: Code; brand: Brand; reader: Reader; texts: Texts }

function codeMain(view: View, isSandbox: boolean) {
  const { code, brand, reader, texts } = view
  const isOpen = code.closedAt === null
  const limits = limitsText(view)
  return html`${isSandbox && html`<header class="sandbox">${texts.sandbox}</header>`}
    <p id="news" class="unseen" role="status"></p>
    <main${isOpen && html` class="pay"`}>
      ${logoImage(brand)}
      <article class="card ${isOpen ? 'PENDING' : 'CANCELED'}" data-state="${isOpen ? 'OPEN' : 'CLOSED'}">
        <div class="state">${!isOpen && ICONS.CANCELED}<h1>${titleOf(view)}</h1></div>
        <div class="sum">
          ${payee({ charge: code, brand, texts, showsReceiver: isOpen })}
          ${code.description && html`<p class="about"><bdi>${code.description}</bdi></p>`}
          <p class="note">${isOpen ? limits : texts.code.closedAdvice}</p>
        </div>
        ${isOpen && payment({ charge: code, texts }, [...texts.steps.slice(0, 2), texts.code.lastStep])}
      </article>
      ${footer(brand, texts, reader.language)}
    </main>`
}

function titleOf({ code, texts }: Pick<View, 'code' | 'texts'>): string {
  return code.closedAt === null ? texts.code.title : texts.code.closedTitle
}

function limitsText({ code: { minValueCents, maxValueCents }, reader, texts }: View): string {
  const [min, max] = [minValueCents, maxValueCents].map((cents) => cents && moneyText(reader.locale, cents))
  return texts.code.limits(min || null, max || null)
}

async function emvOf(ctx: Context, txid: string): Promise<string> {
  const code = await findPublicCode(ctx, txid)
  if (!code || code.closedAt !== null) throw new Fault('not_found', 'Code not found')
  return code.emv
}

const params = z.object({
  txid: z.string().meta({ description: 'The `txid` of the code.', examples: ['0386u1rvk4m0y1p9d3x2w7q5a'] }),
})

const pageSchema = {
  tags: ['Payers'],
  operationId: 'getCodePage',
  security: [],
  summary: 'Page of a lasting code',
  description: 'The page behind `codeUrl`, with QR code and copy-and-paste code. Needs no key.',
  params,
  querystring: langQuery,
  response: {
    200: pageAnswer('The page'),
    404: pageAnswer('A page that says that the code was not found'),
    429: pageAnswer('A page that says that this address sent too many requests'),
  },
}

const image = { tags: ['Payers'], security: [], params }
const gone = { 404: errorResponse('The code was not found, or is closed') }

const pngSchema = {
  ...image,
  operationId: 'getCodePng',
  summary: 'QR code of a lasting code as PNG',
  description: 'The image behind its `qrCodeLink`. Needs no key, and any site can embed it.',
  querystring: sizeQuery,
  response: { ...imageOf('image/png'), ...gone, 400: errorResponse('`size` is out of bounds') },
}

const svgSchema = {
  ...image,
  operationId: 'getCodeSvg',
  summary: 'QR code of a lasting code as SVG',
  description: 'The same code, sharp at any size, for print. Needs no key.',
  response: { ...imageOf('image/svg+xml'), ...gone },
}
