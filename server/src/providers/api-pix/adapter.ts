import { decimalFromCents } from '../../base/money.ts'
import type { Provider } from '../../domain/ports/provider.ts'
import { get, makeCalls, type CallsOptions } from '../http/calls.ts'
import { startDeadline } from '../http/deadline.ts'
import type { Call } from '../http/json-request.ts'
import { makeProvider, type Adapter, type ProviderApi } from '../http/provider.ts'
import { makeReportUnread, unreadError } from '../http/received.ts'
import { isLost, isRefusedWith } from '../http/retry.ts'
import { DEFAULT_TIMINGS, type Timings } from '../http/timings.ts'
import {
  chargeBody,
  isEndToEndId,
  isRefundId,
  isTxid,
  readCharge,
  readHints,
  readPayment,
  readProblem,
  readReceivedPage,
  readRefund,
  readWithdrawn,
  REGISTER_HEADERS,
  type Charge,
  type Merchant,
} from './messages.ts'
import { makeTokenSource } from './oauth.ts'

export type ApiPixTimings = Timings & { tokenTimeoutMs: number; tokenMarginMs: number }

export const API_PIX_TIMINGS: ApiPixTimings = {
  ...DEFAULT_TIMINGS,
  // Below the deadline of a check, so that the error names the token request.
  tokenTimeoutMs: 2_500,
  // More than the longest deadline, so that a token does not expire during a call.
  tokenMarginMs: 60_000,
}

export type ApiPixOptions = CallsOptions & {
  tokenUrl: string
  clientId: string
  clientSecret: string
  /** The Pix key that charges are paid to. */
  pixKey: string
  /** For the codes of a PSP that gives only locations. */
  merchant?: Merchant
  timings?: Partial<ApiPixTimings>
}

/** Any Brazilian PSP that implements the central bank's API Pix. */
export function makeApiPix(options: ApiPixOptions): Provider {
  const timings = { ...API_PIX_TIMINGS, ...options.timings }
  const calls = makeCalls({
    ...options,
    timings,
    readProblem,
    absentStatuses: new Set([404]),
    makeCredentials: (http) => makeTokenSource({ ...options, http, timings }),
  })
  const adapter = { ...options, calls, timings, reportUnread: makeReportUnread(options) }
  return makeProvider(adapter, makeApi(adapter))
}

// With these statuses a PSP says that a charge is no longer active.
const NOT_ACTIVE = new Set([400, 409, 422])

function makeApi(adapter: Adapter & Pick<ApiPixOptions, 'pixKey' | 'merchant'>): ProviderApi<Charge> {
  const { name: provider, calls, timings, pixKey, merchant } = adapter
  const refundPath = ({ endToEndId, refundId }: { endToEndId: string; refundId: string }) =>
    `/pix/${endToEndId}/devolucao/${refundId}`

  return {
    isTxid,
    isRefund: ({ endToEndId, refundId }) => isEndToEndId(endToEndId) && isRefundId(refundId),
    create: (request) => ({
      method: 'PUT',
      path: `/cob/${request.txid}`,
      body: chargeBody(request, pixKey),
      read: (json) => readCharge(json, { txid: request.txid, emvNeeded: true, provider, merchant }),
    }),
    getCharge: (txid, emvNeeded) =>
      get(`/cob/${txid}`, (json) => readCharge(json, { txid, emvNeeded, provider, merchant })),
    mismatch(made) {
      // Keys that are e-mail addresses or UUIDs come back in either case.
      if (made.pixKey.toLowerCase() !== pixKey.toLowerCase()) return { text: 'a charge of another key has this txid' }
      const isWithdrawn = made.charge.status === 'withdrawn'
      return isWithdrawn ? { text: 'the charge with this txid was withdrawn', isOver: true } : undefined
    },
    async withPayments({ charge, unread }) {
      unread.forEach(adapter.reportUnread)
      // An unread Pix may have paid the charge. A Pix that can be read must not wait for it.
      if (unread.length > 0 && charge.payments.length === 0) throw unreadError(provider, 'check', unread)
      return charge
    },
    checkAbsent: async () => 'absent',
    cancel: (txid) => ({
      method: 'PATCH',
      path: `/cob/${txid}`,
      body: { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' },
      read: readWithdrawn,
    }),
    async settleCancel(reply, inDoubt, lookUp) {
      if (calls.isAbsent(reply)) return 'absent'
      const isNotActive = isRefusedWith(reply, NOT_ACTIVE)
      if (isNotActive && !inDoubt) return 'not_active'
      if (!isNotActive && !isLost(reply)) return undefined
      const found = await lookUp()
      if (calls.isAbsent(found)) return 'absent'
      if (found.kind !== 'ok' || found.body.charge.status === 'active') return undefined
      return found.body.charge.status === 'withdrawn' ? 'withdrawn' : 'not_active'
    },
    refund: (request) => ({
      method: 'PUT',
      path: refundPath(request),
      body: { valor: decimalFromCents(request.amountCents) },
      read: (json) => readRefund(json, request.refundId),
    }),
    getRefund: (ids) => get(refundPath(ids), (json) => readRefund(json, ids.refundId)),
    getPayment: (endToEndId) => get(`/pix/${endToEndId}`, (json) => readPayment(json, { endToEndId, provider })),
    getPage(window, { page }) {
      const query = new URLSearchParams({
        inicio: wholeSeconds(window.from, Math.floor),
        fim: wholeSeconds(window.to, Math.ceil),
        'paginacao.paginaAtual': String(page),
        'paginacao.itensPorPagina': String(timings.pageSize),
      })
      return get(`/pix?${query.toString()}`, (json) => readReceivedPage(json, { page, provider }))
    },
    async registerNotifications(url) {
      const operation = 'registerNotifications'
      const call: Call<void> = {
        method: 'PUT',
        path: `/webhook/${encodeURIComponent(pixKey)}`,
        body: { webhookUrl: url },
        headers: REGISTER_HEADERS,
        read: () => undefined,
        // Notifications are not signed: the URL is the only secret.
        secrets: [url],
      }
      // Registering is idempotent, so it is retried like a read.
      const reply = await calls.read(call, { operation, deadline: startDeadline(timings.registerDeadlineMs) })
      if (reply.kind !== 'ok') throw calls.errorOf(operation, reply)
    },
    // API Pix signs nothing: the secret in the URL is the only authentication.
    readNotification: async ({ body }) => readHints(body),
  }
}

// A PSP that drops the fraction would leave out part of a second at either end. So the query uses whole seconds,
// rounded outwards.
function wholeSeconds(at: Date, round: (seconds: number) => number): string {
  return new Date(round(at.getTime() / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
