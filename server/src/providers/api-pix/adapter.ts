import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { decimalFromCents } from '../../base/money.ts'
import {
  ProviderError,
  type Provider,
  type ProviderChargeRequest,
  type ProviderRefund,
  type ProviderRefundRequest,
} from '../../domain/ports/provider.ts'
import { makeApiPixCalls, readError, type ApiPixCalls, type CallBounds } from './calls.ts'
import {
  chargeBody,
  isEndToEndId,
  isRefundId,
  isTxid,
  readCharge,
  readHints,
  readRefund,
  readWithdrawn,
  REGISTER_HEADERS,
  type Charge,
  type Merchant,
} from './messages.ts'
import { findPayment, listReceived } from './payments.ts'
import { startDeadline, type Deadline } from '../http/deadline.ts'
import type { Reply } from '../http/guard.ts'
import type { ClientCertificate } from '../http/client.ts'
import { saysAbsent } from '../http/retry.ts'
import { makeTellUnread, type TellUnread } from '../http/unread.ts'

export type ApiPixTimings = CallBounds & {
  createDeadlineMs: number
  writeTimeoutMs: number
  checkDeadlineMs: number
  cancelDeadlineMs: number
  listDeadlineMs: number
  refundDeadlineMs: number
  registerDeadlineMs: number
  pageSize: number
  maxPages: number
}

/** Every bound of this adapter, with the reason for its number. Tests hand in smaller ones. */
export const API_PIX_TIMINGS: ApiPixTimings = {
  // Someone waits for the QR code: longer than this and he asks again.
  createDeadlineMs: 8_000,
  // For one call of the above, so that after a hang there is as much left to ask what became of it.
  writeTimeoutMs: 4_000,
  // Someone waits for a query's answer; after this it is given from the database.
  checkDeadlineMs: 3_000,
  cancelDeadlineMs: 8_000,
  // Nobody waits for a page of a sweep, and a thousand Pix take a bank a while.
  listDeadlineMs: 20_000,
  refundDeadlineMs: 15_000,
  // Some PSPs call the new address before they answer.
  registerDeadlineMs: 20_000,
  // The most that API Pix allows.
  pageSize: 1_000,
  // Half a million Pix in one window: a sweep that meets more must ask for shorter windows.
  maxPages: 500,
  // One failure in three, say, still leaves 96 % of reads and writes to succeed.
  readAttempts: 3,
  writeAttempts: 3,
  backoffBaseMs: 100,
  backoffCapMs: 1_000,
  // Ten in a row is no bad luck any more; five seconds is about a restart on the far side.
  breakerFaults: 10,
  breakerCoolDownMs: 5_000,
  // A call that ran out of less time than this says nothing about the provider.
  fairMs: 1_000,
  // At 10 calls a second, which is what the strictest allow, these wait longer than any deadline anyway.
  budgetMaxWaiting: 200,
  // What a 429 without Retry-After asks for.
  defaultRetryAfterMs: 1_000,
  // Below the deadline of a check, so that a token that hangs is told as that.
  tokenTimeoutMs: 2_500,
  // More than the longest deadline, so that a token does not end on its way.
  tokenMarginMs: 60_000,
  // At 200 ms a call these carry 300 calls a second, more than any PSP allows.
  connections: 64,
  maxPending: 1_000,
  // A page of a thousand Pix is about half a megabyte.
  maxAnswerBytes: 4 * 1024 * 1024,
  connectTimeoutMs: 5_000,
}

export type ApiPixOptions = {
  name: string
  url: string
  tokenUrl: string
  clientId: string
  clientSecret: string
  /** The key that charges are to be paid to. */
  pixKey: string
  tls?: ClientCertificate
  /** An authority to trust besides the well-known ones. */
  caPem?: string
  /** 0: no limit. */
  callsPerSecond: number
  /** For the codes of a PSP that gives only locations. */
  merchant?: Merchant
  now: () => Date
  log: Log
  metrics?: Metrics | undefined
  random?: () => number
  timings?: Partial<ApiPixTimings>
}

type Adapter = Pick<ApiPixOptions, 'name' | 'pixKey' | 'merchant'> & {
  calls: ApiPixCalls
  timings: ApiPixTimings
  tellUnread: TellUnread
}

/** Any Brazilian PSP that speaks the central bank's API Pix. */
export function makeApiPix(options: ApiPixOptions): Provider {
  const timings = { ...API_PIX_TIMINGS, ...options.timings }
  const calls = makeApiPixCalls({ ...options, random: options.random ?? Math.random, bounds: timings })
  const adapter: Adapter = { ...options, calls, timings, tellUnread: makeTellUnread(options) }
  return {
    name: options.name,
    create: (request) => create(adapter, request),
    check: (txid, { deadlineMs = timings.checkDeadlineMs, onBehalfOf } = {}) =>
      check(adapter, txid, startDeadline(deadlineMs, onBehalfOf)),
    cancel: (txid, { onBehalfOf } = {}) => cancel(adapter, txid, startDeadline(timings.cancelDeadlineMs, onBehalfOf)),
    findPayment: (endToEndId) => findPayment(adapter, endToEndId),
    listReceived: (window, onUnread) => listReceived(adapter, window, onUnread),
    refund: (request) => refund(adapter, request),
    checkRefund: (request) => checkRefund(adapter, request),
    registerNotifications: (url) => registerNotifications(adapter, url),
    // API Pix signs nothing: the secret in the address is all that tells who knocks.
    readNotification: async ({ body }) => readHints(body),
    hasRoomFor: (account) => calls.hasRoom('create', startDeadline(timings.createDeadlineMs, account)),
    health: () => calls.health(),
    close: () => calls.close(),
  }
}

async function create(adapter: Adapter, request: ProviderChargeRequest) {
  const { calls, timings, pixKey } = adapter
  const { txid } = request
  if (!isTxid(txid)) throw new Error('a txid is 26 to 35 letters and digits')
  const deadline = startDeadline(timings.createDeadlineMs, request.onBehalfOf)
  const charge = await calls.repeat.write('create', deadline, {
    put: () =>
      calls.call({
        operation: 'create',
        method: 'PUT',
        path: `/cob/${txid}`,
        body: chargeBody(request, pixKey),
        deadline,
        timeoutMs: timings.writeTimeoutMs,
        read: chargeReader(adapter, { txid, emvNeeded: true }),
      }),
    look: () => askCharge(adapter, { txid, deadline, timeoutMs: timings.writeTimeoutMs, emvNeeded: true }),
  })
  return acceptCharge(adapter, charge, request)
}

// The txid is ours alone, so a charge that differs was not made by this request: someone shares the PSP account with us, or an id was used twice.
function acceptCharge(adapter: Adapter, charge: Charge, request: ProviderChargeRequest) {
  const { pixKey, unread: _, ...accepted } = charge
  const refuse = (text: string) => new ProviderError('refused', `${adapter.name}: create: ${text}`)
  if (charge.valueCents !== request.valueCents) throw refuse('a charge of another value has this txid')
  // Keys that are e-mail addresses or UUIDs come back in either case.
  if (pixKey.toLowerCase() !== adapter.pixKey.toLowerCase()) throw refuse('a charge of another key has this txid')
  if (charge.status === 'withdrawn') throw refuse('the charge with this txid was withdrawn')
  return accepted
}

async function check(adapter: Adapter, txid: string, deadline: Deadline) {
  if (!isTxid(txid)) return 'absent'
  const reply = await askCharge(adapter, { txid, deadline, emvNeeded: false })
  if (reply.kind === 'ok') {
    const { pixKey: _, unread, ...charge } = reply.body
    unread.forEach(adapter.tellUnread)
    // A Pix that cannot be read may have paid it. Where another one can be read, that one must not wait for it.
    if (unread.length === 0 || charge.payments.length > 0) return charge
    throw new ProviderError(
      'unknown',
      `${adapter.name}: check: a Pix of the charge cannot be read (${unread[0]!.text})`,
    )
  }
  if (saysAbsent(reply)) return 'absent'
  throw readError(adapter.calls, 'check', reply)
}

// With these a PSP says that a charge is no longer active.
const NOT_ACTIVE = new Set([400, 409, 422])

async function cancel(
  adapter: Adapter,
  txid: string,
  deadline: Deadline,
): Promise<'withdrawn' | 'not_active' | 'absent'> {
  if (!isTxid(txid)) return 'absent'
  const { calls, timings } = adapter
  // Set when an attempt of ours may have withdrawn it without our being told.
  let inDoubt = false
  let error: ProviderError | undefined
  for (let attempt = 1; attempt <= timings.writeAttempts; attempt++) {
    const patch = await withdraw(adapter, txid, deadline)
    if (patch.kind === 'ok') return 'withdrawn'
    if (saysAbsent(patch)) return 'absent'
    error = calls.repeat.errorOf('cancel', patch)
    const notActive = patch.kind === 'refused' && patch.isFromProvider && NOT_ACTIVE.has(patch.status)
    if (notActive && !inDoubt) return 'not_active'
    if (notActive || (patch.kind === 'failed' && patch.sent)) {
      inDoubt = true
      const found = await askCharge(adapter, { txid, deadline, timeoutMs: timings.writeTimeoutMs, emvNeeded: false })
      if (saysAbsent(found)) return 'absent'
      if (found.kind === 'ok' && found.body.status === 'withdrawn') return 'withdrawn'
      if (found.kind === 'ok' && found.body.status === 'paid') return 'not_active'
    }
    if (attempt === timings.writeAttempts || !(await calls.repeat.again(patch, attempt, deadline))) break
  }
  throw inDoubt ? new ProviderError('unknown', error!.message) : error!
}

function withdraw(adapter: Adapter, txid: string, deadline: Deadline): Promise<Reply<void>> {
  return adapter.calls.call({
    operation: 'cancel',
    method: 'PATCH',
    path: `/cob/${txid}`,
    body: { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' },
    deadline,
    timeoutMs: adapter.timings.writeTimeoutMs,
    read: readWithdrawn,
  })
}

async function refund(adapter: Adapter, request: ProviderRefundRequest) {
  const { calls, timings, name } = adapter
  const { endToEndId, refundId, amountCents } = request
  if (!isEndToEndId(endToEndId) || !isRefundId(refundId)) throw new Error('not ids of a Pix and of a refund')
  const deadline = startDeadline(timings.refundDeadlineMs, request.onBehalfOf)
  const made = await calls.repeat.write('refund', deadline, {
    put: () =>
      calls.call({
        operation: 'refund',
        method: 'PUT',
        path: refundPath(request),
        body: { valor: decimalFromCents(amountCents) },
        deadline,
        timeoutMs: timings.writeTimeoutMs,
        read: (json) => readRefund(json, refundId),
      }),
    look: () => askRefund(adapter, { ...request, deadline, timeoutMs: timings.writeTimeoutMs }),
  })
  if (made.amountCents !== amountCents) {
    throw new ProviderError('refused', `${name}: refund: a refund of another amount has this id`)
  }
  return made
}

async function checkRefund(adapter: Adapter, request: { endToEndId: string; refundId: string }) {
  if (!isEndToEndId(request.endToEndId) || !isRefundId(request.refundId)) return 'absent'
  const reply = await askRefund(adapter, { ...request, deadline: startDeadline(adapter.timings.checkDeadlineMs) })
  if (reply.kind === 'ok') return reply.body
  if (saysAbsent(reply)) return 'absent'
  throw readError(adapter.calls, 'checkRefund', reply)
}

function askRefund(
  { calls }: Adapter,
  question: { endToEndId: string; refundId: string; deadline: Deadline; timeoutMs?: number },
): Promise<Reply<ProviderRefund>> {
  const { refundId, deadline, timeoutMs = Number.POSITIVE_INFINITY } = question
  const read = (json: unknown) => readRefund(json, refundId)
  const path = refundPath(question)
  return calls.repeat.read(deadline, () =>
    calls.call({ operation: 'checkRefund', method: 'GET', path, deadline, timeoutMs, read }),
  )
}

function refundPath(refund: { endToEndId: string; refundId: string }): string {
  return `/pix/${refund.endToEndId}/devolucao/${refund.refundId}`
}

async function registerNotifications(adapter: Adapter, url: string): Promise<void> {
  const { calls, timings, pixKey } = adapter
  const deadline = startDeadline(timings.registerDeadlineMs)
  // Registering twice is registering once, so it is repeated like a read.
  const reply = await calls.repeat.read(deadline, () =>
    calls.call({
      operation: 'registerNotifications',
      method: 'PUT',
      path: `/webhook/${encodeURIComponent(pixKey)}`,
      body: { webhookUrl: url },
      headers: REGISTER_HEADERS,
      deadline,
      read: () => undefined,
      // Whoever knows the address can knock at it.
      secrets: [url],
    }),
  )
  if (reply.kind !== 'ok') throw calls.repeat.errorOf('registerNotifications', reply)
}

function askCharge(
  adapter: Adapter,
  question: { txid: string; deadline: Deadline; timeoutMs?: number; emvNeeded: boolean },
): Promise<Reply<Charge>> {
  const { calls } = adapter
  const { txid, deadline, timeoutMs = Number.POSITIVE_INFINITY } = question
  const read = chargeReader(adapter, question)
  return calls.repeat.read(deadline, () =>
    calls.call({ operation: 'check', method: 'GET', path: `/cob/${txid}`, deadline, timeoutMs, read }),
  )
}

function chargeReader(adapter: Adapter, question: { txid: string; emvNeeded: boolean }) {
  const { name: provider, merchant } = adapter
  return (json: unknown) => readCharge(json, { txid: question.txid, emvNeeded: question.emvNeeded, provider, merchant })
}
