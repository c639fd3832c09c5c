import { z } from 'zod'
import { decodeBrCode, encodeBrCode } from '../../base/brcode.ts'
import { Fault } from '../../base/fault.ts'
import { centsFromDecimal, decimalFromCents, isCents } from '../../base/money.ts'
import type {
  Hint,
  ProviderCharge,
  ProviderChargeRequest,
  ProviderRefund,
  ReceivedPayment,
} from '../../domain/ports/provider.ts'
import { MalformedResponse, instant, parseMessage } from '../http/malformed.ts'
import { END_TO_END_ID, MAX_HINTS, parseNotification, shaped } from '../http/notification.ts'
import { showOdd, type Unread } from '../http/unread.ts'

// What API Pix says and how it reads here. Unknown fields are ignored, as the standard asks of clients. A field that money depends on is
// checked strictly, and an answer that fails is garbage as a whole: half an answer of a bank is none. Entries of a list are read one by one, because
// an entry that cannot be read must not hide the others.

/** Where PSPs differ from the standard, or it from itself: one row each. */
const QUIRKS = {
  /** The forms in which a refusal explains itself; the first that yields a text is told. */
  problemForms: [
    // The standard: problem+json.
    (body: Json) => sentence([body.title, body.detail, ...violations(body.violacoes)]),
    // Efí.
    (body: Json) => sentence([body.nome, body.mensagem]),
    // Gateways that stand before the PSP's own code.
    (body: Json) => sentence([body.error, body.error_description, body.message]),
  ],
  /** The code to copy and the location are both optional, and the location is given with a scheme by some, only inside `loc` by others. */
  locationScheme: /^https?:\/\//i,
  /** The statuses' enumeration says REMOVIDA, their description REMOVIDO. */
  withdrawnStatus: /^REMOVID[AO]_/,
  /** Empty where the standard leaves it out, too long, or with characters that no txid has: money all the same, and of no charge that it names. */
  txid: /^[a-zA-Z0-9]{1,35}$/,
  /** A list in the schema, an object in one of its examples. */
  devolucoes: (given: unknown): unknown[] => (Array.isArray(given) ? given : [given]),
  /** Efí sends notifications only to a server that asks it for a certificate, unless told so. Ours takes them as hints and trusts nobody. */
  registerHeaders: { 'x-skip-mtls-checking': 'true' },
}

type Json = Record<string, unknown>

export const REGISTER_HEADERS: Record<string, string> = QUIRKS.registerHeaders

export type Merchant = { name: string; city: string }

/** With the key that is to be paid, by which a charge is known as ours; `emv` is empty when it was not needed and not given. */
export type Charge = ProviderCharge & { pixKey: string; unread: Unread[] }

export type ReceivedPage = { payments: ReceivedPayment[]; unread: Unread[]; pages: number | undefined }

/** Ids go into paths, and some of them come from notifications, which anybody may have written. */
export const isTxid = (text: string): boolean => /^[a-zA-Z0-9]{26,35}$/.test(text)
export const isEndToEndId = (text: string): boolean => END_TO_END_ID.test(text)
export const isRefundId = (text: string): boolean => /^[a-zA-Z0-9]{1,35}$/.test(text)

const amount = z
  .string()
  .regex(/^\d{1,10}\.\d{2}$/)
  .transform(centsFromDecimal)
  .refine(isCents)

const pix = z.object({
  endToEndId: z.string().refine(isEndToEndId),
  txid: z.unknown().optional(),
  valor: amount,
  horario: instant,
  devolucoes: z.unknown().optional(),
})

const cob = z.object({
  txid: z.string(),
  status: z.string(),
  calendario: z.object({ criacao: instant, expiracao: z.coerce.number().int().positive() }),
  valor: z.object({ original: amount }),
  chave: z.string(),
  pixCopiaECola: z.string().nullish(),
  location: z.string().nullish(),
  loc: z.object({ location: z.string().nullish() }).nullish(),
  pix: z.array(z.unknown()).nullish(),
})

const paging = z.object({
  paginaAtual: z.number().int(),
  quantidadeDePaginas: z.number().int(),
  quantidadeTotalDeItens: z.number().int(),
})

// An empty list may be left out, but only by an answer that says how many there are: any other object would pass for "nothing received".
const pixList = z
  .object({ parametros: z.object({ paginacao: paging.nullish() }).nullish(), pix: z.array(z.unknown()).nullish() })
  .refine((body) => body.pix || body.parametros?.paginacao?.quantidadeTotalDeItens === 0)

const devolucao = z.object({
  id: z.string(),
  valor: amount,
  status: z.enum(['EM_PROCESSAMENTO', 'DEVOLVIDO', 'NAO_REALIZADO']),
  motivo: z.string().nullish(),
})

export function chargeBody(request: ProviderChargeRequest, pixKey: string): object {
  const description = request.description === null ? '' : request.description.slice(0, 140)
  return {
    calendario: { expiracao: request.expiresInSeconds },
    valor: { original: decimalFromCents(request.valueCents) },
    chave: pixKey,
    ...(description === '' ? {} : { solicitacaoPagador: description }),
  }
}

export type ChargeReading = {
  txid: string
  provider: string
  merchant: Merchant | undefined
  /** The code is wanted, and not only the charge's state. */
  emvNeeded: boolean
}

export function readCharge(json: unknown, expected: ChargeReading): Charge {
  const body = parse(cob, json)
  if (body.txid !== expected.txid) throw new MalformedResponse('another txid than the one asked for')
  return {
    // A Pix that is listed in a charge pays that charge, also where it does not repeat the txid.
    ...readEntries(body.pix ?? [], expected.provider, body.txid),
    txid: body.txid,
    status: chargeStatus(body.status),
    emv: readEmv(body, expected),
    valueCents: body.valor.original,
    expiresAt: new Date(body.calendario.criacao.getTime() + body.calendario.expiracao * 1000),
    pixKey: body.chave,
  }
}

export function readWithdrawn(json: unknown): void {
  const { status } = parse(z.object({ status: z.string() }), json)
  if (chargeStatus(status) !== 'withdrawn') throw new MalformedResponse('not withdrawn after all')
}

/** That one Pix cannot be read is no failure of the provider, so it is returned and not thrown. */
export function readPayment(json: unknown, expected: { endToEndId: string; provider: string }): Entries {
  const { endToEndId } = parse(z.object({ endToEndId: z.string() }), json)
  if (endToEndId !== expected.endToEndId) throw new MalformedResponse('another Pix than the one asked for')
  return readEntries([json], expected.provider, null)
}

export function readReceivedPage(json: unknown, expected: { page: number; provider: string }): ReceivedPage {
  const body = parse(pixList, json)
  const told = body.parametros?.paginacao
  // A PSP that gives the first page again and again would hide the others.
  if (told && told.paginaAtual !== expected.page) throw new MalformedResponse('another page than the one asked for')
  return { ...readEntries(body.pix ?? [], expected.provider, null), pages: told?.quantidadeDePaginas }
}

type Entries = { payments: ReceivedPayment[]; unread: Unread[] }

function readEntries(entries: unknown[], provider: string, chargeTxid: string | null): Entries {
  const read: Entries = { payments: [], unread: [] }
  for (const entry of entries) {
    try {
      read.payments.push(payment(parse(pix, entry), provider, chargeTxid))
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      read.unread.push(unreadEntry(entry, error.message))
    }
  }
  return read
}

// Everything in a list of Pix received says by its place that it is money.
function unreadEntry(entry: unknown, text: string): Unread {
  const { endToEndId, horario } = typeof entry === 'object' && entry !== null ? (entry as Json) : {}
  const id = shaped(endToEndId, END_TO_END_ID)
  return {
    endToEndId: id,
    isMoney: true,
    occurredAt: instant.safeParse(horario).data ?? null,
    text: id === null ? `${text}${showOdd(endToEndId)}` : text,
  }
}

export function readRefund(json: unknown, refundId: string): ProviderRefund {
  const body = parse(devolucao, json)
  if (body.id !== refundId) throw new MalformedResponse('another refund than the one asked for')
  return refund(body)
}

/** A body without `pix` is a PSP's test, or news of something else: fine, and nothing to do. */
export function readHints(body: Buffer): Hint[] {
  const { pix } = parseNotification(body)
  if (pix === undefined) return []
  if (!Array.isArray(pix)) throw new Fault('bad_request', 'pix must be a list')
  if (pix.length > MAX_HINTS) throw new Fault('bad_request', `pix must hold at most ${MAX_HINTS} items`)
  return pix.map(readHint).filter((hint) => hint.txid !== null || hint.endToEndId !== null)
}

function readHint(item: unknown): Hint {
  const { txid, endToEndId } = typeof item === 'object' && item !== null ? (item as Json) : {}
  // Static codes have shorter txids than charges; whether it is one of ours is for the domain to know.
  return { txid: shaped(txid, QUIRKS.txid), endToEndId: shaped(endToEndId, END_TO_END_ID) }
}

/** What a refusal says of itself, or undefined when it is not a JSON object, and so not the PSP speaking. */
export function readProblem(json: unknown): string | undefined {
  const body = z.record(z.string(), z.unknown()).safeParse(json)
  if (!body.success) return undefined
  for (const tell of QUIRKS.problemForms) {
    const text = tell(body.data)
    if (text !== '') return text
  }
  return 'no reason given'
}

function parse<Body>(schema: z.ZodType<Body>, json: unknown): Body {
  return parseMessage(schema, json, 'API Pix')
}

function chargeStatus(status: string): Charge['status'] {
  if (status === 'ATIVA') return 'active'
  if (status === 'CONCLUIDA') return 'paid'
  if (QUIRKS.withdrawnStatus.test(status)) return 'withdrawn'
  throw new MalformedResponse('a status that API Pix does not have')
}

function payment(body: z.infer<typeof pix>, provider: string, chargeTxid: string | null): ReceivedPayment {
  return {
    provider,
    endToEndId: body.endToEndId,
    txid: shaped(body.txid, QUIRKS.txid) ?? chargeTxid,
    amountCents: body.valor,
    occurredAt: body.horario,
    ...readRefunds(body.devolucoes),
  }
}

// A Pix of which nothing was given back has no `devolucoes`. Refunds that cannot be read must not hide the payment that they belong to, and some of them
// would be worse than none: they count as not told.
function readRefunds(given: unknown): { refunds?: ProviderRefund[] } {
  if (given === undefined || given === null) return { refunds: [] }
  const parsed = z.array(devolucao).safeParse(QUIRKS.devolucoes(given))
  return parsed.success ? { refunds: parsed.data.map(refund) } : {}
}

function refund(body: z.infer<typeof devolucao>): ProviderRefund {
  const status = ({ EM_PROCESSAMENTO: 'processing', DEVOLVIDO: 'done', NAO_REALIZADO: 'failed' } as const)[body.status]
  return { refundId: body.id, amountCents: body.valor, status, reason: body.motivo ?? null }
}

// Where the code is wanted it must be one that banking apps read. Elsewhere a charge without a good one is still the PSP's word on whether it
// was paid, and some give the code only once; calling that garbage would hide a payment.
function readEmv(body: z.infer<typeof cob>, reading: ChargeReading): string {
  try {
    const emv = body.pixCopiaECola || makeEmv(body, reading.merchant)
    decodeBrCode(emv)
    return emv
  } catch {
    if (reading.emvNeeded) throw new MalformedResponse('no BR Code that can be read')
    return ''
  }
}

function makeEmv(body: z.infer<typeof cob>, merchant: Merchant | undefined): string {
  const location = (body.location ?? body.loc?.location)?.replace(QUIRKS.locationScheme, '')
  if (!location || !merchant) throw new MalformedResponse('neither a BR Code nor what it can be made of')
  const amountCents = body.valor.original
  return encodeBrCode({ location, merchantName: merchant.name, merchantCity: merchant.city, amountCents })
}

function violations(value: unknown): unknown[] {
  if (!Array.isArray(value)) return []
  // Without the offending values, which repeat what was sent.
  return value.slice(0, 3).flatMap((entry: Json | null) => [entry?.propriedade, entry?.razao])
}

function sentence(parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' ')
}
