import { z } from 'zod'
import { encodeBrCode } from '../../base/brcode.ts'
import { Fault } from '../../base/fault.ts'
import { centsFromDecimal, decimalFromCents, isCents } from '../../base/money.ts'
import type {
  Hint,
  Nature,
  ProviderCharge,
  ProviderChargeRequest,
  ProviderRefund,
  ReceivedPayment,
  UnreadEntry,
  UnreadRefund,
} from '../../domain/ports/provider.ts'
import { MalformedResponse } from '../http/call.ts'
import {
  MAX_HINTS,
  claimedTime,
  matching,
  objectOf,
  parseNotification,
  readEntries,
  sentence,
} from '../http/messages.ts'
import { END_TO_END_ID, instant, isSameTxid, parseMessage, readEmv, type Entries, type Page } from '../http/provider.ts'

// Unknown fields are ignored, as the standard asks. Fields that money depends on are checked strictly.

/** Where PSPs deviate from the standard, or it contradicts itself. */
const QUIRKS = {
  /** The first form of an error body that yields a text is used. */
  problemForms: [
    // The standard: problem+json.
    (body: Json) => sentence([body.title, body.detail, ...violations(body.violacoes)]),
    // Efí.
    (body: Json) => sentence([body.nome, body.mensagem]),
    // Gateways before the PSP.
    (body: Json) => sentence([body.error, body.error_description, body.message]),
  ],
  /** Some give the location with a scheme, others only inside `loc`. */
  locationScheme: /^https?:\/\//i,
  /** The enumeration says REMOVIDA, its description REMOVIDO. */
  withdrawnStatus: /^REMOVID[AO]_/,
  /** The Pix counts without a charge. */
  txid: /^[a-zA-Z0-9]{1,35}$/,
  /** Some leave it out, and the standard adds words: neither makes a refund unreadable. */
  natures: { MED_FRAUDE: 'fraud', MED_OPERACIONAL: 'operational', MED_PIX_AUTOMATICO: 'automatic' } as Record<
    string,
    Nature
  >,
  devolucoes: (given: unknown): unknown[] => (Array.isArray(given) ? given : [given]),
}

type Json = Record<string, unknown>

export type Merchant = { name: string; city: string }

/** `emv` is empty when it was not needed and not given. */
export type Charge = { charge: ProviderCharge; pixKey: string; unread: UnreadEntry[] }

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

// Otherwise any object would pass for an empty list.
const pixList = z
  .object({ parametros: z.looseObject({ paginacao: paging.nullish() }).nullish(), pix: z.array(z.unknown()).nullish() })
  .refine((body) => body.pix || body.parametros?.paginacao?.quantidadeTotalDeItens === 0)

const devolucao = z.object({
  id: z.string(),
  valor: amount,
  status: z.enum(['EM_PROCESSAMENTO', 'DEVOLVIDO', 'NAO_REALIZADO']),
  motivo: z.string().nullish(),
  natureza: z.unknown().optional(),
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

const NONE: Entries = { payments: [], unread: [] }

export function readCharge(
  json: unknown,
  expected: { txid: string; provider: string; merchant: Merchant | undefined; emvNeeded: boolean },
): Charge {
  const body = parse(cob, json)
  const { txid } = expected
  if (!isSameTxid(body.txid, txid)) throw new MalformedResponse('another txid than the one asked for')
  // A Pix that a charge lists pays that charge.
  const { payments, unread } = body.pix ? readPixList(body.pix, expected.provider, txid) : NONE
  const charge: ProviderCharge = {
    txid,
    status: chargeStatus(body.status),
    emv: readEmv(() => body.pixCopiaECola || makeEmv(body, expected.merchant), expected.emvNeeded),
    valueCents: body.valor.original,
    expiresAt: new Date(body.calendario.criacao.getTime() + body.calendario.expiracao * 1000),
    payments,
  }
  return { charge, pixKey: body.chave, unread }
}

export function readWithdrawn(json: unknown): 'withdrawn' {
  const { status } = parse(z.object({ status: z.string() }), json)
  if (chargeStatus(status) !== 'withdrawn') throw new MalformedResponse('the charge is not withdrawn')
  return 'withdrawn'
}

/** An unreadable Pix is no failure of the provider, so it is returned. */
export function readPayment(json: unknown, expected: { endToEndId: string; provider: string }): Entries {
  const { endToEndId } = parse(z.object({ endToEndId: z.string() }), json)
  if (endToEndId !== expected.endToEndId) throw new MalformedResponse('another Pix than the one asked for')
  return readPixList([json], expected.provider, null)
}

export function readReceivedPage(json: unknown, expected: { page: number; provider: string }): Page {
  const body = parse(pixList, json)
  const paging = body.parametros?.paginacao
  // A PSP that repeats the first page would hide the others.
  if (paging && paging.paginaAtual !== expected.page) throw new MalformedResponse('another page than the one asked for')
  const entries = body.pix ?? []
  return {
    ...readPixList(entries, expected.provider, null),
    count: entries.length,
    isLast: paging ? expected.page + 1 >= paging.quantidadeDePaginas : undefined,
  }
}

/** `isWhole`: nothing follows or is unread. `isFiltered`: the answer repeats the filter, so the provider knows it. */
export type Listed = { isListed: boolean; isWhole: boolean; isFiltered: boolean }

/** Whether a list holds this Pix. */
export function readListed(
  json: unknown,
  { endToEndId, provider, filter }: { endToEndId: string; provider: string; filter: Record<string, string> },
): Listed {
  const page = readReceivedPage(json, { page: 0, provider })
  const { parametros } = parse(pixList, json)
  return {
    isListed: page.payments.some((payment) => payment.endToEndId === endToEndId),
    isWhole: page.isLast !== false && page.unread.length === 0,
    isFiltered: Object.entries(filter).every(([name, value]) => parametros?.[name] === value),
  }
}

function readPixList(entries: unknown[], provider: string, chargeTxid: string | null): Entries {
  const read = (entry: unknown) => payment(parse(pix, entry), provider, chargeTxid)
  const identify = (entry: unknown) => ({
    id: objectOf(entry).endToEndId,
    time: objectOf(entry).horario,
    isMoney: true,
  })
  return readEntries(entries, read, identify)
}

export function readRefund(json: unknown, refundId: string): ProviderRefund {
  const body = parse(devolucao, json)
  if (body.id !== refundId) throw new MalformedResponse('another refund than the one asked for')
  return refund(body)
}

/** A body without `pix` is a test. */
export function readHints(body: Buffer): Hint[] {
  const { pix } = parseNotification(body)
  if (pix === undefined) return []
  if (!Array.isArray(pix)) throw new Fault('bad_request', 'pix must be a list')
  if (pix.length > MAX_HINTS) throw new Fault('bad_request', `pix must hold at most ${MAX_HINTS} items`)
  return pix.map(readHint).filter((hint) => hint.txid !== null || hint.endToEndId !== null)
}

function readHint(item: unknown): Hint {
  const { txid, endToEndId, horario, devolucoes } = objectOf(item)
  return {
    txid: matching(txid, QUIRKS.txid),
    endToEndId: matching(endToEndId, END_TO_END_ID),
    occurredAt: claimedTime(horario),
    ...(devolucoes ? { mentionsRefunds: true } : {}),
  }
}

/** Undefined when the PSP did not write it. */
export function readProblem(json: unknown): string | undefined {
  const body = z.record(z.string(), z.unknown()).safeParse(json)
  if (!body.success) return undefined
  return QUIRKS.problemForms.map((read) => read(body.data)).find((text) => text !== '') ?? 'no reason given'
}

function parse<Body>(schema: z.ZodType<Body>, json: unknown): Body {
  return parseMessage(schema, json, 'API Pix')
}

function chargeStatus(status: string): ProviderCharge['status'] {
  if (status === 'ATIVA') return 'active'
  if (status === 'CONCLUIDA') return 'paid'
  if (QUIRKS.withdrawnStatus.test(status)) return 'withdrawn'
  throw new MalformedResponse('an unknown status of a charge')
}

function payment(body: z.infer<typeof pix>, provider: string, chargeTxid: string | null): ReceivedPayment {
  return {
    provider,
    endToEndId: body.endToEndId,
    txid: matching(body.txid, QUIRKS.txid) ?? chargeTxid,
    amountCents: body.valor,
    occurredAt: body.horario,
    ...readRefunds(body.devolucoes),
  }
}

// A refund that cannot be read must hide neither the payment nor the others.
function readRefunds(given: unknown): Pick<ReceivedPayment, 'refunds' | 'unreadRefunds'> {
  const refunds: ProviderRefund[] = []
  const unreadRefunds: UnreadRefund[] = []
  for (const entry of given === undefined || given === null ? [] : QUIRKS.devolucoes(given)) {
    try {
      refunds.push(refund(parse(devolucao, entry)))
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      unreadRefunds.push({ refundId: matching(objectOf(entry).id, /^.{1,60}$/), text: error.message })
    }
  }
  return { refunds, ...(unreadRefunds.length > 0 && { unreadRefunds }) }
}

function refund(body: z.infer<typeof devolucao>): ProviderRefund {
  const status = ({ EM_PROCESSAMENTO: 'processing', DEVOLVIDO: 'done', NAO_REALIZADO: 'failed' } as const)[body.status]
  const word = matching(body.natureza, /^\w{1,40}$/)
  const nature = word === null ? {} : { nature: QUIRKS.natures[word] ?? ('other' as const) }
  return { refundId: body.id, amountCents: body.valor, status, reason: body.motivo ?? null, ...nature }
}

function makeEmv(body: z.infer<typeof cob>, merchant: Merchant | undefined): string {
  const location = (body.location ?? body.loc?.location)?.replace(QUIRKS.locationScheme, '')
  if (!location || !merchant) throw new MalformedResponse('neither a BR Code nor a location')
  const amountCents = body.valor.original
  return encodeBrCode({ location, merchantName: merchant.name, merchantCity: merchant.city, amountCents })
}

export function staticCode(
  label: string,
  { name, pixKey, merchant }: { name: string; pixKey: string; merchant?: Merchant },
): string {
  const { name: merchantName, city: merchantCity } = merchant ?? { name, city: 'SAO PAULO' }
  return encodeBrCode({ pixKey, label, merchantName, merchantCity })
}

function violations(value: unknown): unknown[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, 3).flatMap((entry: Json | null) => [entry?.propriedade, entry?.razao])
}
