import {
  LIST_MARGIN_MS,
  ProviderError,
  type PayerRequest,
  type Provider,
  type ProviderCodeRequest,
  type ProviderCharge,
  type ReceivedPayment,
} from '../../domain/ports/provider.ts'
import type { PayerMatch } from '../../domain/core/payers.ts'
import { get, makeCalls, startDeadline, type CallOptions, type Credentials, type Deadline } from '../http/call.ts'
import { DEFAULT_TIMINGS, type Timings } from '../http/limits.ts'
import {
  bodyOf,
  isLost,
  isRefusedWith,
  isSameTxid,
  makeProvider,
  makeReportUnread,
  readOrThrow,
  unreadError,
  type Adapter,
  type ProviderApi,
} from '../http/provider.ts'
import { makeDisputes } from './disputes.ts'
import {
  chargeBody,
  codeBody,
  isPlainId,
  readCharge,
  readCode,
  readDeleted,
  readPayer,
  readProblem,
  readRefund,
  readTransaction,
  readTransactionPage,
  type Charge,
  type ChargeLink,
} from './messages.ts'
import {
  fetchPublicKeys,
  makeSignatures,
  readNotification,
  registerNotifications,
  type SignatureBounds,
} from './notifications.ts'

export type WooviTimings = Timings & SignatureBounds & { keysDeadlineMs: number }

const WOOVI_TIMINGS: WooviTimings = {
  ...DEFAULT_TIMINGS,
  keysDeadlineMs: 3_000,
  pageSize: 100,
  maxPages: 5_000,
  // Woovi announces a new key longer than this before the old one ends.
  keysFreshMs: 3_600_000,
  // Forged notifications cause one request for keys per pause.
  keysPauseMs: 60_000,
  connections: 16,
}

export type WooviOptions = Omit<CallOptions, 'tls' | 'caPem'> & {
  appId: string
  timings?: Partial<WooviTimings>
}

/** Woovi, formerly OpenPix. Its correlationID is the txid. */
export function makeWoovi(options: WooviOptions): Provider {
  const { appId, now } = options
  const timings = { ...WOOVI_TIMINGS, ...options.timings }
  const credentials: Credentials = { scheme: '', token: async () => ({ kind: 'ok', body: appId }), secrets: [] }
  const calls = makeCalls({ ...options, timings, readProblem, makeCredentials: () => credentials })
  const adapter = { ...options, calls, timings, reportUnread: makeReportUnread(options) }
  const signatures = makeSignatures({ fetchKeys: () => fetchPublicKeys(adapter), bounds: timings, now })
  const provider = makeProvider(adapter, {
    ...makeApi(adapter),
    registerNotifications: (url) => registerNotifications(adapter, url),
    readNotification: (request) => readNotification(signatures, request),
  })
  return {
    ...provider,
    createCode: (request) => createCode(adapter, request),
    disputes: makeDisputes(adapter, ABSENT),
    checkPayer: (request) => checkPayer(adapter, request),
  }
}

// Woovi answers 400 for an unknown id.
const ABSENT = new Set([400, 404])
// No such charge, or one that cannot be deleted.
const NOT_DELETED = new Set([400, 404, 409, 422])

// It is refused, perhaps because an earlier request made it.
const NOT_MADE = new Set([400, 409, 422])

type Api = Omit<ProviderApi<Charge>, 'registerNotifications' | 'readNotification'>

function makeApi(adapter: Adapter): Api {
  const { name: provider } = adapter
  return {
    absentStatuses: ABSENT,
    isTxid: isPlainId,
    isRefund: ({ endToEndId, refundId }) => isPlainId(endToEndId) && isPlainId(refundId),
    create: (request) => ({
      method: 'POST',
      path: '/api/v1/charge?return_existing=true',
      body: chargeBody(request),
      // Woovi may quote the number in an error.
      secrets: request.onlyPayer ? [request.onlyPayer.number] : [],
      read: (json) => readCharge(json, { txid: request.txid, emvNeeded: true }),
    }),
    getCharge: (txid, emvNeeded) => get(`/api/v1/charge/${txid}`, (json) => readCharge(json, { txid, emvNeeded })),
    mismatch: ({ stage }) =>
      stage === 'EXPIRED' ? { text: 'the charge with this txid has expired', isOver: true } : undefined,
    async withPayments({ charge, stage, transactionIds }, deadline) {
      // An expired charge may have been paid while it ended.
      if (stage === 'ACTIVE') return charge
      return { ...charge, payments: await findPaymentsOf(adapter, { txid: charge.txid, transactionIds }, deadline) }
    },
    checkAbsent: (txid, deadline) => checkDeleted(adapter, txid, deadline),
    cancel: (txid) => ({ method: 'DELETE', path: `/api/v1/charge/${txid}`, read: readDeleted }),
    async settleCancel(reply, inDoubt, lookUp) {
      const isRefused = isRefusedWith(reply, NOT_DELETED)
      if (!isRefused && !isLost(reply)) return undefined
      const found = await lookUp()
      if (isRefusedWith(found, ABSENT)) return inDoubt ? 'withdrawn' : 'absent'
      return found.kind === 'ok' && (isRefused || found.body.stage !== 'ACTIVE') ? 'not_active' : undefined
    },
    refund: ({ endToEndId, refundId, amountCents }) => ({
      method: 'POST',
      path: '/api/v1/refund',
      body: { transactionEndToEndId: endToEndId, correlationID: refundId, value: amountCents },
      read: (json) => readRefund(json, refundId),
    }),
    getRefund: ({ refundId }) => get(`/api/v1/refund/${refundId}`, (json) => readRefund(json, refundId)),
    getPayment: (endToEndId) =>
      get(`/api/v1/transaction/${endToEndId}`, (json) => readTransaction(json, { endToEndId, provider })),
    getPage(window, { skip }) {
      // Woovi does not say which of its times a window is about.
      const start = new Date(window.from.getTime() - LIST_MARGIN_MS).toISOString()
      const end = new Date(window.to.getTime() + LIST_MARGIN_MS).toISOString()
      return transactionPage(adapter, { start, end }, { skip })
    },
  }
}

/** Without an answer nobody knows whether it was made. A repetition has the same correlationID, and finds it. */
async function createCode(adapter: Adapter, { txid, name, onBehalfOf }: ProviderCodeRequest): Promise<{ emv: string }> {
  const { calls, timings } = adapter
  const bounds = { operation: 'create' as const, deadline: startDeadline(timings.createDeadlineMs, onBehalfOf) }
  const read = (json: unknown) => readCode(json, txid)
  const call = { method: 'POST' as const, path: '/api/v1/qrcode-static', body: codeBody(txid, name), read }
  const reply = await calls.once(call, { ...bounds, timeoutMs: timings.writeTimeoutMs })
  if (reply.kind === 'ok') return reply.body
  const mayExist = isLost(reply) || isRefusedWith(reply, NOT_MADE)
  const found = mayExist ? await calls.read(get(`/api/v1/qrcode-static/${txid}`, read), bounds) : reply
  return bodyOf(adapter, bounds, found.kind === 'ok' ? found : reply)
}

/** A transaction says who paid it. */
async function checkPayer(adapter: Adapter, { payer, endToEndId }: PayerRequest): Promise<PayerMatch> {
  const { calls, timings } = adapter
  const bounds = { operation: 'checkPayer', deadline: startDeadline(timings.checkDeadlineMs) }
  const call = get(`/api/v1/transaction/${endToEndId}`, (json) => readPayer(json, endToEndId))
  const reply = await calls.read(call, bounds)
  const paidBy = isRefusedWith(reply, ABSENT) ? undefined : bodyOf(adapter, bounds, reply)
  if (!paidBy) return 'unknown'
  return paidBy.number === payer.number ? 'matched' : 'mismatched'
}

function transactionPage(
  { name: provider, timings }: Adapter,
  filter: Record<string, string>,
  expected: { skip: number; link?: ChargeLink },
) {
  const query = new URLSearchParams({ ...filter, skip: String(expected.skip), limit: String(timings.pageSize) })
  return get(`/api/v1/transaction?${query.toString()}`, (json) => readTransactionPage(json, { ...expected, provider }))
}

/** The Pix of a charge is a transaction. One page is enough: few charges are paid twice. */
async function findPaymentsOf(adapter: Adapter, link: ChargeLink, deadline: Deadline): Promise<ReceivedPayment[]> {
  const operation = 'check'
  const call = transactionPage(adapter, { charge: link.txid }, { skip: 0, link })
  const page = await readOrThrow(adapter, call, { operation, deadline })
  page.unread.forEach(adapter.reportUnread)
  // Woovi's filter may let a Pix of another charge through.
  const payments = page.payments.filter(({ txid }) => txid !== null && isSameTxid(txid, link.txid))
  // An unread Pix may have paid the charge.
  if (payments.length === 0 && page.unread.length > 0) throw unreadError(adapter.name, operation, page.unread)
  return payments
}

/** Woovi forgets a deleted charge, but still lists its payments. */
async function checkDeleted(adapter: Adapter, txid: string, deadline: Deadline): Promise<ProviderCharge | 'absent'> {
  const link = { txid, transactionIds: [] }
  const payments = await findPaymentsOf(adapter, link, deadline).catch((error: unknown) => {
    if (error instanceof ProviderError && error.outcome === 'refused') return []
    throw error
  })
  const [first] = payments
  if (!first) return 'absent'
  const { amountCents: valueCents, occurredAt: expiresAt } = first
  return { txid, status: 'withdrawn', emv: '', valueCents, expiresAt, payments }
}
