import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import {
  ProviderError,
  type Provider,
  type ProviderCharge,
  type ProviderChargeRequest,
  type ProviderRefund,
  type ProviderRefundRequest,
  type ReceivedPayment,
} from '../../domain/ports/provider.ts'
import { startDeadline, type Deadline } from '../http/deadline.ts'
import type { Reply } from '../http/guard.ts'
import { saysAbsent } from '../http/retry.ts'
import { makeTellUnread } from '../http/unread.ts'
import { askedById, makeWooviCalls, readError, type WooviAdapter } from './calls.ts'
import { chargeBody, isPlainId, readCharge, readDeleted, readRefund, type Charge } from './messages.ts'
import { fetchPublicKeys, readNotification, registerNotifications } from './notifications.ts'
import { makeSignatures } from './signature.ts'
import { WOOVI_TIMINGS, type WooviTimings } from './timings.ts'
import { findPayment, findPaymentsOf, listReceived } from './transactions.ts'

export type WooviOptions = {
  name: string
  url: string
  appId: string
  /** 0: no limit. */
  callsPerSecond: number
  now: () => Date
  log: Log
  metrics?: Metrics | undefined
  random?: () => number
  timings?: Partial<WooviTimings>
}

/** Woovi, formerly OpenPix. It knows a charge by a correlationID of ours, which is the txid. */
export function makeWoovi(options: WooviOptions): Provider {
  const timings = { ...WOOVI_TIMINGS, ...options.timings }
  const calls = makeWooviCalls({ ...options, random: options.random ?? Math.random, bounds: timings })
  const { name } = options
  const adapter: WooviAdapter = { name, calls, timings, tellUnread: makeTellUnread(options) }
  const signatures = makeSignatures({
    fetchKeys: () => fetchPublicKeys(adapter),
    bounds: timings,
    now: options.now,
  })
  return {
    name,
    create: (request) => create(adapter, request),
    check: (txid, { deadlineMs = timings.checkDeadlineMs, onBehalfOf } = {}) =>
      check(adapter, txid, startDeadline(deadlineMs, onBehalfOf)),
    cancel: (txid, { onBehalfOf } = {}) => cancel(adapter, txid, startDeadline(timings.cancelDeadlineMs, onBehalfOf)),
    findPayment: (endToEndId) => findPayment(adapter, endToEndId),
    listReceived: (window, onUnread) => listReceived(adapter, window, onUnread),
    refund: (request) => refund(adapter, request),
    checkRefund: (request) => checkRefund(adapter, request),
    registerNotifications: (url) => registerNotifications(adapter, url),
    readNotification: (request) => readNotification(signatures, request),
    hasRoomFor: (account) => calls.hasRoom('create', startDeadline(timings.createDeadlineMs, account)),
    health: () => calls.health(),
    close: () => calls.close(),
  }
}

async function create(adapter: WooviAdapter, request: ProviderChargeRequest): Promise<ProviderCharge> {
  const { calls, timings } = adapter
  const { txid } = request
  if (!isPlainId(txid)) throw new Error('a txid is letters and digits')
  const deadline = startDeadline(timings.createDeadlineMs, request.onBehalfOf)
  const made = await calls.repeat.write('create', deadline, {
    put: () =>
      calls.call({
        operation: 'create',
        method: 'POST',
        path: '/api/v1/charge?return_existing=true',
        body: chargeBody(request),
        deadline,
        timeoutMs: timings.writeTimeoutMs,
        read: (json) => readCharge(json, { txid, emvNeeded: true }),
      }),
    look: () => askCharge(adapter, { txid, deadline, timeoutMs: timings.writeTimeoutMs, emvNeeded: true }),
  })
  // The txid is ours alone, so a charge that differs was not made by this request: someone shares the account with us, or an id was used twice.
  const refuse = (text: string) => new ProviderError('refused', `${adapter.name}: create: ${text}`)
  if (made.valueCents !== request.valueCents) throw refuse('a charge of another value has this txid')
  if (made.stage === 'EXPIRED') throw refuse('the charge with this txid has expired')
  return withPayments(made, [])
}

async function check(adapter: WooviAdapter, txid: string, deadline: Deadline): Promise<ProviderCharge | 'absent'> {
  if (!isPlainId(txid)) return 'absent'
  const reply = await askCharge(adapter, { txid, deadline, emvNeeded: false })
  if (reply.kind === 'ok') {
    const charge = reply.body
    // Nobody paid it. An expired one is asked about all the same, since a Pix may have been under way when it ended.
    if (charge.stage === 'ACTIVE') return withPayments(charge, [])
    return withPayments(charge, await findPaymentsOf(adapter, { ...charge, deadline }))
  }
  if (!saysAbsent(reply)) throw readError(adapter, 'check', reply)
  return checkDeleted(adapter, txid, deadline)
}

/** Woovi forgets a charge that is deleted. A payer may have been quicker all the same, and money that arrived is told. */
async function checkDeleted(
  adapter: WooviAdapter,
  txid: string,
  deadline: Deadline,
): Promise<ProviderCharge | 'absent'> {
  const payments = await findPaymentsOf(adapter, { txid, transactionIds: [], deadline }).catch((error: unknown) => {
    // It may refuse to list what belongs to a charge that it does not know.
    if (error instanceof ProviderError && error.outcome === 'refused') return []
    throw error
  })
  const [first] = payments
  if (!first) return 'absent'
  const { amountCents: valueCents, occurredAt: expiresAt } = first
  return { txid, status: 'withdrawn', emv: '', valueCents, expiresAt, payments }
}

function withPayments(charge: Charge, payments: ReceivedPayment[]): ProviderCharge {
  const { stage: _, transactionIds: __, ...common } = charge
  return { ...common, payments }
}

// With these Woovi says that there is no such charge, and also that there is one which cannot be deleted.
const NOT_DELETED = new Set([400, 404, 409, 422])

async function cancel(
  adapter: WooviAdapter,
  txid: string,
  deadline: Deadline,
): Promise<'withdrawn' | 'not_active' | 'absent'> {
  if (!isPlainId(txid)) return 'absent'
  const { calls, timings } = adapter
  // Set when an attempt of ours may have deleted it without our being told.
  let inDoubt = false
  let error: ProviderError | undefined
  for (let attempt = 1; attempt <= timings.writeAttempts; attempt++) {
    const deleted = await deleteCharge(adapter, txid, deadline)
    if (deleted.kind === 'ok') return 'withdrawn'
    error = calls.repeat.errorOf('cancel', deleted)
    const isRefused = deleted.kind === 'refused' && deleted.isFromProvider && NOT_DELETED.has(deleted.status)
    const isLost = deleted.kind === 'failed' && deleted.sent
    if (isLost) inDoubt = true
    if (isLost || isRefused) {
      const found = await askCharge(adapter, { txid, deadline, timeoutMs: timings.writeTimeoutMs, emvNeeded: false })
      if (saysAbsent(found)) return inDoubt ? 'withdrawn' : 'absent'
      if (found.kind === 'ok' && (isRefused || found.body.stage !== 'ACTIVE')) return 'not_active'
    }
    if (attempt === timings.writeAttempts || !(await calls.repeat.again(deleted, attempt, deadline))) break
  }
  throw inDoubt ? new ProviderError('unknown', error!.message) : error!
}

function deleteCharge({ calls, timings }: WooviAdapter, txid: string, deadline: Deadline): Promise<Reply<void>> {
  return calls.call({
    operation: 'cancel',
    method: 'DELETE',
    path: chargePath(txid),
    deadline,
    timeoutMs: timings.writeTimeoutMs,
    read: readDeleted,
  })
}

async function askCharge(
  { calls }: WooviAdapter,
  question: { txid: string; deadline: Deadline; timeoutMs?: number; emvNeeded: boolean },
): Promise<Reply<Charge>> {
  const { txid, deadline, timeoutMs = Number.POSITIVE_INFINITY } = question
  const read = (json: unknown) => readCharge(json, question)
  return askedById(
    await calls.repeat.read(deadline, () =>
      calls.call({ operation: 'check', method: 'GET', path: chargePath(txid), deadline, timeoutMs, read }),
    ),
  )
}

function chargePath(txid: string): string {
  return `/api/v1/charge/${txid}`
}

async function refund(adapter: WooviAdapter, request: ProviderRefundRequest): Promise<ProviderRefund> {
  const { calls, timings, name } = adapter
  const { endToEndId, refundId, amountCents } = request
  if (!isPlainId(endToEndId) || !isPlainId(refundId)) throw new Error('not ids of a Pix and of a refund')
  const deadline = startDeadline(timings.refundDeadlineMs, request.onBehalfOf)
  const made = await calls.repeat.write('refund', deadline, {
    put: () =>
      calls.call({
        operation: 'refund',
        method: 'POST',
        path: '/api/v1/refund',
        body: { transactionEndToEndId: endToEndId, correlationID: refundId, value: amountCents },
        deadline,
        timeoutMs: timings.writeTimeoutMs,
        read: (json) => readRefund(json, refundId),
      }),
    look: () => askRefund(adapter, { refundId, deadline, timeoutMs: timings.writeTimeoutMs }),
  })
  if (made.amountCents !== amountCents) {
    throw new ProviderError('refused', `${name}: refund: a refund of another amount has this id`)
  }
  return made
}

async function checkRefund(
  adapter: WooviAdapter,
  { refundId }: { endToEndId: string; refundId: string },
): Promise<ProviderRefund | 'absent'> {
  if (!isPlainId(refundId)) return 'absent'
  const reply = await askRefund(adapter, { refundId, deadline: startDeadline(adapter.timings.checkDeadlineMs) })
  if (reply.kind === 'ok') return reply.body
  if (saysAbsent(reply)) return 'absent'
  throw readError(adapter, 'checkRefund', reply)
}

async function askRefund(
  { calls }: WooviAdapter,
  question: { refundId: string; deadline: Deadline; timeoutMs?: number },
): Promise<Reply<ProviderRefund>> {
  const { refundId, deadline, timeoutMs = Number.POSITIVE_INFINITY } = question
  const read = (json: unknown) => readRefund(json, refundId)
  const path = `/api/v1/refund/${refundId}`
  return askedById(
    await calls.repeat.read(deadline, () =>
      calls.call({ operation: 'checkRefund', method: 'GET', path, deadline, timeoutMs, read }),
    ),
  )
}
