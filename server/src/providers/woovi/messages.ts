import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { decodeBrCode } from '../../base/brcode.ts'
import { isCents } from '../../base/money.ts'
import type {
  Hint,
  ProviderCharge,
  ProviderChargeRequest,
  ProviderRefund,
  ReceivedPayment,
} from '../../domain/ports/provider.ts'
import { MalformedResponse, instant, parseMessage } from '../http/malformed.ts'
import { END_TO_END_ID, parseNotification, shaped } from '../http/notification.ts'
import { showOdd, type Unread } from '../http/unread.ts'

// What Woovi says and how it reads here. Amounts are cents already. Its description requires no field of any answer, so what money depends
// on is required here, and everything else may be missing or odd.

/** Where Woovi differs from its own description: one row each. */
const QUIRKS = {
  /** The enumerations of a transaction's `type` and `status` are exchanged in the description, so both are looked at for either. */
  kindFields: ['type', 'status'],
  /** The first is what the list says, and the others what notifications say of the same. */
  receivedKinds: new Set(['PAYMENT', 'DYNAMIC', 'STATIC']),
  otherKinds: new Set([
    'WITHDRAW',
    'REFUND',
    'FEE',
    'INTERNAL_TRANSFER',
    'BALANCE_BLOCK',
    'BALANCE_UNBLOCK',
    'REVERSAL',
  ]),
  /** Money that is not there yet, or never came. */
  unsettled: new Set(['CREATED', 'IN_PROCESSING', 'REJECTED']),
  /** A received Pix says with its state how much of it was given back, and not by which refunds. Some entries leave the state out. */
  givenBack: { CONFIRMED: 'nothing', PARTIAL_REFUND: 'part', REFUNDED: 'all' } as Record<
    string,
    ReceivedPayment['givenBack']
  >,
  /** Refunds of a transaction and refunds of a charge have different words. A refund that is asked for later may come without any. */
  refundStatus: {
    IN_PROCESSING: 'processing',
    REFUNDED: 'done',
    CONFIRMED: 'done',
    NOT_ACCOMPLISHED: 'failed',
    REJECTED: 'failed',
  } as Record<string, ProviderRefund['status']>,
}

/** What Woovi calls the shortest life of a charge. */
const MIN_EXPIRES_SECONDS = 300
const MAX_COMMENT_LENGTH = 140
// Enough to recognise a word that nobody knew.
const MAX_KIND_LENGTH = 60
// Two are listed while they are exchanged; more would only cost time for each notification.
const MAX_KEYS = 8

type Json = Record<string, unknown>

/** `stage` is Woovi's own word; `transactionIds` are those by which it ties a Pix to the charge. `emv` is empty when it was not needed and not given. */
export type Charge = ProviderCharge & { stage: 'ACTIVE' | 'COMPLETED' | 'EXPIRED'; transactionIds: string[] }

export type ReceivedPage = {
  payments: LinkedPayment[]
  /** What could not be told to be a Pix received, or not one. */
  unread: Unread[]
  /** Of all kinds, to know where the next page begins. */
  entries: number
  /** Undefined where it is not told. */
  hasNext: boolean | undefined
}

export type LinkedPayment = ReceivedPayment & { transactionId: string | null }

export type Webhook = { url: string; event: string; isActive: boolean }

const PLAIN_ID = /^[A-Za-z0-9]{1,35}$/

/** Ids of ours go into paths, and need no encoding there. */
export const isPlainId = (id: string): boolean => PLAIN_ID.test(id)

const cents = z.number().refine(isCents)
// Nothing depends on these alone, so an odd one counts as a missing one.
const text = z.string().min(1).nullish().catch(null)
const moment = instant.nullish().catch(null)

const charge = z.object({
  correlationID: z.string(),
  status: z.enum(['ACTIVE', 'COMPLETED', 'EXPIRED']),
  value: cents,
  brCode: text,
  transactionID: text,
  createdAt: moment,
  expiresDate: moment,
  expiresIn: z.coerce.number().positive().nullish().catch(null),
  paymentMethods: z
    .object({ pix: z.object({ brCode: text, transactionID: text, txId: text }).nullish() })
    .nullish()
    .catch(null),
})

const transaction = z.object({
  value: cents,
  time: instant,
  endToEndId: text,
  endToEndID: text,
  transactionID: text,
  charge: z.unknown().optional(),
})

const paging = z.object({
  skip: z.number().int(),
  hasNextPage: z.boolean(),
  errors: z.array(z.unknown()).nullish(),
})
const transactionList = z.object({ transactions: z.array(z.unknown()), pageInfo: paging.nullish() })

const webhook = z.object({ url: z.string(), event: z.string(), isActive: z.boolean().nullish() })
const webhookList = z.object({
  webhooks: z.array(webhook),
  pageInfo: z.object({ hasNextPage: z.boolean().nullish() }).nullish(),
})

const refund = z.object({ correlationID: z.string(), value: cents, status: z.string().nullish() })

export function chargeBody(request: ProviderChargeRequest): object {
  const comment = (request.description ?? '').slice(0, MAX_COMMENT_LENGTH)
  return {
    correlationID: request.txid,
    value: request.valueCents,
    expiresIn: Math.max(MIN_EXPIRES_SECONDS, request.expiresInSeconds),
    ...(comment === '' ? {} : { comment }),
  }
}

/** `emvNeeded`: the code is wanted, and not only the charge's state. */
export function readCharge(json: unknown, expected: { txid: string; emvNeeded: boolean }): Charge {
  const answer = parse(z.object({ charge, brCode: text }), json)
  const body = answer.charge
  if (body.correlationID !== expected.txid) throw new MalformedResponse('another correlationID than the one asked for')
  const pix = body.paymentMethods?.pix
  return {
    txid: body.correlationID,
    stage: body.status,
    // An expired charge is one that nobody paid in time. Our own clock ends it, and a payment that came late is still looked for.
    status: body.status === 'COMPLETED' ? 'paid' : 'active',
    emv: readEmv(body.brCode ?? answer.brCode ?? pix?.brCode, expected.emvNeeded),
    valueCents: body.value,
    expiresAt: readExpiry(body, expected.emvNeeded),
    payments: [],
    transactionIds: [body.transactionID, pix?.transactionID, pix?.txId].filter((id) => id !== null && id !== undefined),
  }
}

export function readDeleted(json: unknown): void {
  const { status } = parse(z.object({ status: z.string() }), json)
  if (status !== 'OK') throw new MalformedResponse('not deleted after all')
}

/** That one Pix cannot be read is no failure of the provider, so it is returned and not thrown. Neither is there when it is no Pix received. */
export function readTransaction(
  json: unknown,
  expected: { endToEndId: string; provider: string },
): Pick<ReceivedPage, 'payments' | 'unread'> {
  const { transaction: entry } = parse(z.object({ transaction: z.record(z.string(), z.unknown()) }), json)
  const read = readEntries([entry], expected.provider)
  const ids = [...read.payments, ...read.unread].map(({ endToEndId }) => endToEndId)
  if (ids.some((id) => id !== expected.endToEndId)) throw new MalformedResponse('another Pix than the one asked for')
  return read
}

export function readTransactionPage(json: unknown, expected: { skip: number; provider: string }): ReceivedPage {
  const { transactions, pageInfo } = parse(transactionList, json)
  if (pageInfo?.errors?.length) throw new MalformedResponse('a page with errors')
  // One that is given again and again would hide the others.
  if (pageInfo && pageInfo.skip !== expected.skip) throw new MalformedResponse('another page than the one asked for')
  if (pageInfo?.hasNextPage && transactions.length === 0) throw new MalformedResponse('an empty page before the last')
  const { payments, unread } = readEntries(transactions, expected.provider)
  return { payments, unread, entries: transactions.length, hasNext: pageInfo?.hasNextPage }
}

function readEntries(entries: unknown[], provider: string): Pick<ReceivedPage, 'payments' | 'unread'> {
  const read: ReturnType<typeof readEntries> = { payments: [], unread: [] }
  for (const entry of entries) {
    try {
      if (isReceived(entry)) read.payments.push(readPayment(entry, provider))
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      read.unread.push(unreadEntry(entry, error.message))
    }
  }
  return read
}

export function readRefund(json: unknown, refundId: string): ProviderRefund {
  const answer = parse(z.object({ refund: refund.nullish(), pixTransactionRefund: refund.nullish() }), json)
  const body = answer.refund ?? answer.pixTransactionRefund
  if (!body) throw new MalformedResponse('no refund')
  if (body.correlationID !== refundId) throw new MalformedResponse('another refund than the one asked for')
  const status = QUIRKS.refundStatus[body.status ?? 'IN_PROCESSING']
  if (!status) throw new MalformedResponse('a status of a refund that Woovi does not have')
  return { refundId, amountCents: body.value, status, reason: null }
}

export function readWebhooks(json: unknown): { webhooks: Webhook[]; hasNext: boolean } {
  const { webhooks, pageInfo } = parse(webhookList, json)
  return {
    webhooks: webhooks.map(({ url, event, isActive }) => ({ url, event, isActive: isActive ?? true })),
    hasNext: pageInfo?.hasNextPage ?? false,
  }
}

export function readPublicKeys(json: unknown): KeyObject[] {
  const body = parse(z.object({ public_keys: z.array(z.object({ key: z.string() })).max(MAX_KEYS) }), json)
  const keys = body.public_keys.flatMap(({ key }) => readPublicKey(key))
  if (keys.length === 0) throw new MalformedResponse('no public key that can be read')
  return keys
}

/** A body that names neither a charge nor a Pix is a test, or news of something else: fine, and nothing to do. */
export function readHints(body: Buffer): Hint[] {
  const notification = parseNotification(body)
  const pix = objectOf(notification.pix)
  const named = objectOf(notification.charge).correlationID ?? objectOf(pix.charge).correlationID
  const txid = shaped(named, PLAIN_ID)
  const endToEndId = shaped(pix.endToEndId, END_TO_END_ID) ?? shaped(objectOf(pix.raw).endToEndId, END_TO_END_ID)
  return txid === null && endToEndId === null ? [] : [{ txid, endToEndId }]
}

/** What a refusal says of itself, or undefined when it is in nobody's words, or in those of a proxy. */
export function readProblem(json: unknown): string | undefined {
  const { error, errors } = objectOf(json)
  const told = Array.isArray(errors) ? errors.slice(0, 3).map((entry) => objectOf(entry).message) : [error]
  return told.filter((part) => typeof part === 'string' && part !== '').join(' ') || undefined
}

function parse<Body>(schema: z.ZodType<Body>, json: unknown): Body {
  return parseMessage(schema, json, 'Woovi')
}

function unreadEntry(entry: unknown, text: string): Unread {
  const { endToEndId, endToEndID, time } = objectOf(entry)
  const id = shaped(endToEndId, END_TO_END_ID) ?? shaped(endToEndID, END_TO_END_ID)
  return {
    endToEndId: id,
    isMoney: kindWords(entry).some((word) => QUIRKS.receivedKinds.has(word)),
    occurredAt: instant.safeParse(time).data ?? null,
    text: id === null ? `${text}${showOdd(endToEndId ?? endToEndID)}` : text,
  }
}

function kindWords(entry: unknown): string[] {
  return QUIRKS.kindFields.map((field) => objectOf(entry)[field]).filter((word) => typeof word === 'string')
}

// What is surely something else is passed over. A kind that nobody knows may be money, and is told.
function isReceived(entry: unknown): boolean {
  const words = kindWords(entry)
  const isOneOf = (kinds: Set<string>) => words.some((word) => kinds.has(word))
  if (isOneOf(QUIRKS.otherKinds) || isOneOf(QUIRKS.unsettled)) return false
  if (isOneOf(QUIRKS.receivedKinds)) return true
  throw new MalformedResponse(
    `a transaction of a kind that Woovi does not have: ${words.join(' ').slice(0, MAX_KIND_LENGTH)}`,
  )
}

function readPayment(entry: unknown, provider: string): LinkedPayment {
  const body = parse(transaction, entry)
  const endToEndId = shaped(body.endToEndId ?? body.endToEndID, END_TO_END_ID)
  if (endToEndId === null) throw new MalformedResponse('a Pix without an endToEndId')
  const [givenBack] = kindWords(entry).flatMap((word) => QUIRKS.givenBack[word] ?? [])
  return {
    provider,
    endToEndId,
    txid: readLink(body.charge),
    amountCents: body.value,
    occurredAt: body.time,
    ...(givenBack ? { givenBack } : {}),
    transactionId: body.transactionID ?? null,
  }
}

// Null for a Pix that came without a charge, or with one whose id cannot be ours. One that has a charge and does not say which must not pass for one
// without: it would be booked as nobody's, for good.
function readLink(given: unknown): string | null {
  if (given === undefined || given === null) return null
  const link = parse(z.object({ correlationID: z.string().min(1) }), given)
  return shaped(link.correlationID, PLAIN_ID)
}

// Where the code is wanted it must be one that banking apps read. Elsewhere a charge without a good one is still Woovi's word on whether it was paid.
function readEmv(emv: string | null | undefined, isNeeded: boolean): string {
  try {
    decodeBrCode(emv ?? '')
    return emv!
  } catch {
    if (isNeeded) throw new MalformedResponse('no BR Code that can be read')
    return ''
  }
}

function readExpiry(body: z.infer<typeof charge>, isNeeded: boolean): Date {
  if (body.expiresDate) return body.expiresDate
  if (body.createdAt && body.expiresIn) return new Date(body.createdAt.getTime() + body.expiresIn * 1000)
  if (isNeeded) throw new MalformedResponse('no date of expiry')
  // Long ago, rather than no word on whether it was paid: whoever asks for a charge's state goes by our own date.
  return new Date(0)
}

function readPublicKey(pem: string): KeyObject[] {
  try {
    const key = createPublicKey(pem)
    return key.asymmetricKeyType === 'rsa' ? [key] : []
  } catch {
    return []
  }
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}
