import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { isCents } from '../../base/money.ts'
import { maskedTaxId, readTaxId, type TaxId } from '../../base/tax-id.ts'
import type {
  Hint,
  ProviderCharge,
  ProviderChargeRequest,
  ProviderDispute,
  ProviderRefund,
  ReceivedPayment,
} from '../../domain/ports/provider.ts'
import { MalformedResponse } from '../http/call.ts'
import { claimedTime, matching, objectOf, parseNotification, readEntries, sentence } from '../http/messages.ts'
import { END_TO_END_ID, instant, isSameTxid, parseMessage, readEmv, type Entries, type Page } from '../http/provider.ts'

// Amounts are in cents. Woovi's description requires no field, so this file requires those that money depends on.

/** Where Woovi deviates from its own description. */
const QUIRKS = {
  /** The description swaps the values of `type` and `status`, so both are read for either. */
  kindFields: ['type', 'status'],
  /** Lists say the first, notifications the others. */
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
  /** Money that has not arrived. */
  unsettled: new Set(['CREATED', 'IN_PROCESSING', 'REJECTED']),
  /** How much was given back, and not by which refunds. */
  givenBack: { CONFIRMED: 'nothing', PARTIAL_REFUND: 'part', REFUNDED: 'all' } as Record<
    string,
    ReceivedPayment['givenBack']
  >,
  /** Refunds of transactions and of charges use different words. */
  /** Its pages, its description and its notifications name the state of a new dispute differently. */
  disputeStatus: {
    CREATED: 'open',
    OPENED: 'open',
    IN_REVIEW: 'open',
    ACCEPTED: 'accepted',
    REJECTED: 'rejected',
    CANCELED: 'canceled',
  } as Record<string, ProviderDispute['status']>,
  refundStatus: {
    IN_PROCESSING: 'processing',
    REFUNDED: 'done',
    CONFIRMED: 'done',
    NOT_ACCOMPLISHED: 'failed',
    REJECTED: 'failed',
  } as Record<string, ProviderRefund['status']>,
}

const MIN_EXPIRES_SECONDS = 300
const MAX_COMMENT_LENGTH = 140
const MAX_KIND_LENGTH = 60
// Woovi lists two while it rotates its public key.
const MAX_KEYS = 8

/** `emv` is empty when it was not needed and not given. */
export type Charge = {
  charge: ProviderCharge
  stage: 'ACTIVE' | 'COMPLETED' | 'EXPIRED'
  /** A Pix may name one of these instead of the charge. */
  transactionIds: string[]
}

export type ChargeLink = { txid: string; transactionIds: string[] }

export type Webhook = { url: string; event: string; isActive: boolean }

const PLAIN_ID = /^[A-Za-z0-9]{1,35}$/

export const isPlainId = (id: string): boolean => PLAIN_ID.test(id)

const cents = z.number().refine(isCents)
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
  pixQrCode: z.unknown().optional(),
})

const payerOfTransaction = z.object({
  endToEndId: text,
  endToEndID: text,
  payer: z
    .object({ taxID: z.object({ taxID: text }).nullish() })
    .nullish()
    .catch(null),
})

const pixQrCode = z.object({ correlationID: z.string(), brCode: text })

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

const dispute = z.object({
  status: z.string(),
  endToEndId: z.string().regex(END_TO_END_ID),
  id: z.string().regex(PLAIN_ID).nullish(),
  // Described as text and shown as a number. A MED has none.
  value: z
    .union([
      cents,
      z
        .string()
        .regex(/^[1-9]\d*$/)
        .transform(Number)
        .pipe(cents),
    ])
    .nullish(),
  disputeReason: text,
  createdAt: moment,
})
const disputeList = z.object({ disputes: z.array(z.unknown()), pageInfo: paging.nullish() })
const evidence = z.object({ documents: z.array(z.unknown()) })

const refund = z.object({ correlationID: z.string(), value: cents, status: z.string().nullish() })

export function chargeBody(request: ProviderChargeRequest): object {
  const comment = (request.description ?? '').slice(0, MAX_COMMENT_LENGTH)
  return {
    correlationID: request.txid,
    value: request.valueCents,
    expiresIn: Math.max(MIN_EXPIRES_SECONDS, request.expiresInSeconds),
    ...(comment === '' ? {} : { comment }),
    ...(request.onlyPayer && { customer: customerOf(request.onlyPayer), ensureSameTaxID: true }),
  }
}

/** A customer needs a name, and guiche knows none. */
function customerOf({ kind, number }: TaxId): object {
  return { name: `${kind} ${maskedTaxId(kind, number.slice(-2))}`, taxID: number }
}

export function readCharge(json: unknown, expected: { txid: string; emvNeeded: boolean }): Charge {
  const response = parse(z.object({ charge, brCode: text }), json)
  const body = response.charge
  if (!isSameTxid(body.correlationID, expected.txid))
    throw new MalformedResponse('another correlationID than the one asked for')
  const pix = body.paymentMethods?.pix
  return {
    charge: {
      txid: expected.txid,
      // Our own clock expires it, and a late payment is still looked for.
      status: body.status === 'COMPLETED' ? 'paid' : 'active',
      emv: readEmv(() => body.brCode ?? response.brCode ?? pix?.brCode ?? '', expected.emvNeeded),
      valueCents: body.value,
      expiresAt: readExpiry(body, expected.emvNeeded),
      payments: [],
    },
    stage: body.status,
    transactionIds: [body.transactionID, pix?.transactionID, pix?.txId].filter((id) => id !== null && id !== undefined),
  }
}

export function codeBody(txid: string, name: string): object {
  return { correlationID: txid, name }
}

export function readCode(json: unknown, txid: string): { emv: string } {
  const response = parse(z.object({ pixQrCode, brCode: text }), json)
  if (!isSameTxid(response.pixQrCode.correlationID, txid))
    throw new MalformedResponse('another correlationID than the one asked for')
  return { emv: readEmv(() => response.pixQrCode.brCode ?? response.brCode ?? '', true) }
}

export function readDeleted(json: unknown): 'withdrawn' {
  const { status } = parse(z.object({ status: z.string() }), json)
  if (status !== 'OK') throw new MalformedResponse('the charge is not deleted')
  return 'withdrawn'
}

/** Who paid, if Woovi says it: `customer` is only who was to pay. */
export function readPayer(json: unknown, endToEndId: string): TaxId | undefined {
  const { transaction: body } = parse(z.object({ transaction: payerOfTransaction }), json)
  if ((body.endToEndId ?? body.endToEndID) !== endToEndId)
    throw new MalformedResponse('another Pix than the one asked for')
  return readTaxId(body.payer?.taxID?.taxID ?? '')
}

/** An unreadable Pix is no failure of the provider, so it is returned. */
export function readTransaction(json: unknown, expected: { endToEndId: string; provider: string }): Entries {
  const { transaction: entry } = parse(z.object({ transaction: z.record(z.string(), z.unknown()) }), json)
  const read = readTransactions([entry], expected)
  const ids = [...read.payments, ...read.unread].map(({ endToEndId }) => endToEndId)
  if (ids.some((id) => id !== expected.endToEndId)) throw new MalformedResponse('another Pix than the one asked for')
  return read
}

export function readTransactionPage(
  json: unknown,
  expected: { skip: number; provider: string; link?: ChargeLink },
): Page {
  const { transactions, pageInfo } = parse(transactionList, json)
  if (pageInfo?.errors?.length) throw new MalformedResponse('a page with errors')
  // A repeated page would hide the others.
  if (pageInfo && pageInfo.skip !== expected.skip) throw new MalformedResponse('another page than the one asked for')
  if (pageInfo?.hasNextPage && transactions.length === 0) throw new MalformedResponse('an empty page before the last')
  const count = transactions.length
  return { ...readTransactions(transactions, expected), count, isLast: pageInfo ? !pageInfo.hasNextPage : count === 0 }
}

function readTransactions(entries: unknown[], expected: { provider: string; link?: ChargeLink }): Entries {
  const read = (entry: unknown) => (isReceived(entry) ? readPayment(entry, expected) : undefined)
  return readEntries(entries, read, (entry) => {
    const { endToEndId, endToEndID, time } = objectOf(entry)
    const id = matching(endToEndId, END_TO_END_ID) ?? matching(endToEndID, END_TO_END_ID) ?? endToEndId ?? endToEndID
    return { id, time, isMoney: kindWords(entry).some((word) => QUIRKS.receivedKinds.has(word)) }
  })
}

export function readRefund(json: unknown, refundId: string): ProviderRefund {
  const response = parse(z.object({ refund: refund.nullish(), pixTransactionRefund: refund.nullish() }), json)
  const body = response.refund ?? response.pixTransactionRefund
  if (!body) throw new MalformedResponse('no refund')
  if (body.correlationID !== refundId) throw new MalformedResponse('another refund than the one asked for')
  const status = QUIRKS.refundStatus[body.status ?? 'IN_PROCESSING']
  if (!status) throw new MalformedResponse('an unknown status of a refund')
  return { refundId, amountCents: body.value, status, reason: null }
}

/** One without an id of its own is named by its Pix, as Woovi looks it up. */
export function readDispute(json: unknown): ProviderDispute {
  const { endToEndId, id, value, disputeReason, createdAt, ...body } = parse(dispute, json)
  const status = QUIRKS.disputeStatus[body.status]
  if (!status) throw new MalformedResponse('an unknown status of a dispute')
  return {
    id: id ?? endToEndId,
    endToEndId,
    status,
    amountCents: value ?? null,
    reason: disputeReason ?? null,
    openedAt: createdAt ?? null,
  }
}

export function readOneDispute(json: unknown, endToEndId: string): ProviderDispute {
  const found = readDispute(parse(z.object({ dispute: z.unknown() }), json).dispute)
  if (found.endToEndId !== endToEndId) throw new MalformedResponse('the dispute of another Pix than the one asked for')
  return found
}

export function readDisputePage(json: unknown, skip: number): { disputes: unknown[]; isLast: boolean } {
  const { disputes, pageInfo } = parse(disputeList, json)
  if (pageInfo?.errors?.length) throw new MalformedResponse('a page with errors')
  if (pageInfo && pageInfo.skip !== skip) throw new MalformedResponse('another page than the one asked for')
  return { disputes, isLast: disputes.length === 0 || !pageInfo?.hasNextPage }
}

export function readEvidence(json: unknown): void {
  parse(evidence, json)
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
  if (keys.length === 0) throw new MalformedResponse('no readable public key')
  return keys
}

/** A body that names neither is a test. */
export function readHints(body: Buffer): Hint[] {
  const notification = parseNotification(body)
  const contested = matching(objectOf(notification.dispute).endToEndId, END_TO_END_ID)
  if (contested !== null) return [{ txid: null, endToEndId: contested, isDispute: true }]
  const pix = objectOf(notification.pix)
  const named = objectOf(notification.charge).correlationID ?? objectOf(pix.charge).correlationID
  const txid = matching(named, PLAIN_ID)
  const endToEndId = matching(pix.endToEndId, END_TO_END_ID) ?? matching(objectOf(pix.raw).endToEndId, END_TO_END_ID)
  if (txid === null && endToEndId === null) return []
  return [{ txid, endToEndId, occurredAt: claimedTime(pix.time) }]
}

export function readProblem(json: unknown): string | undefined {
  const { error, errors } = objectOf(json)
  const parts = Array.isArray(errors) ? errors.slice(0, 3).map((entry) => objectOf(entry).message) : [error]
  return sentence(parts) || undefined
}

function parse<Body>(schema: z.ZodType<Body>, json: unknown): Body {
  return parseMessage(schema, json, 'Woovi')
}

function kindWords(entry: unknown): string[] {
  return QUIRKS.kindFields.map((field) => objectOf(entry)[field]).filter((word) => typeof word === 'string')
}

// An unknown kind may be money, so it is reported.
function isReceived(entry: unknown): boolean {
  const words = kindWords(entry)
  const isOneOf = (kinds: Set<string>) => words.some((word) => kinds.has(word))
  if (isOneOf(QUIRKS.otherKinds) || isOneOf(QUIRKS.unsettled)) return false
  if (isOneOf(QUIRKS.receivedKinds)) return true
  throw new MalformedResponse(`an unknown kind of transaction: ${words.join(' ').slice(0, MAX_KIND_LENGTH)}`)
}

/** `link`: a Pix that names one of its transaction ids belongs to it. */
function readPayment(entry: unknown, { provider, link }: { provider: string; link?: ChargeLink }): ReceivedPayment {
  const body = parse(transaction, entry)
  const endToEndId = matching(body.endToEndId ?? body.endToEndID, END_TO_END_ID)
  if (endToEndId === null) throw new MalformedResponse('a Pix without an endToEndId')
  const [givenBack] = kindWords(entry).flatMap((word) => QUIRKS.givenBack[word] ?? [])
  const isLinked = body.transactionID && link?.transactionIds.includes(body.transactionID)
  return {
    provider,
    endToEndId,
    txid:
      readTxid(body.charge) ??
      matching(objectOf(body.pixQrCode).correlationID, PLAIN_ID) ??
      (isLinked ? link!.txid : null),
    amountCents: body.value,
    occurredAt: body.time,
    ...(givenBack ? { givenBack } : {}),
  }
}

// Null if the charge cannot be ours. A Pix whose charge has no id must not pass for one without a charge.
function readTxid(charge: unknown): string | null {
  if (charge === undefined || charge === null) return null
  return matching(parse(z.object({ correlationID: z.string().min(1) }), charge).correlationID, PLAIN_ID)
}

function readExpiry(body: z.infer<typeof charge>, isNeeded: boolean): Date {
  if (body.expiresDate) return body.expiresDate
  if (body.createdAt && body.expiresIn) return new Date(body.createdAt.getTime() + body.expiresIn * 1000)
  if (isNeeded) throw new MalformedResponse('no date of expiry')
  // A query for the state needs no date.
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
