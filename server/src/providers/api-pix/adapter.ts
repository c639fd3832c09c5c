import { decimalFromCents } from '../../base/money.ts'
import type { Provider } from '../../domain/ports/provider.ts'
import { get, makeCalls, startDeadline, type Call, type CallOptions, type Http } from '../http/call.ts'
import { DEFAULT_TIMINGS, type Timings } from '../http/limits.ts'
import {
  isLost,
  isRefusedWith,
  makeProvider,
  makeReportUnread,
  readOrThrow,
  unreadError,
  type Adapter,
  type ProviderApi,
} from '../http/provider.ts'
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
  staticCode,
  type Charge,
  type Merchant,
} from './messages.ts'
import { STANDARD_ACCESS, type Access } from './banks/bank-profile.ts'
import { makeCheckPayer } from './payers.ts'
import { makeTokenSource, scopeText, type TokenSource, type TokenTimings } from './token.ts'

export type ApiPixTimings = Timings & TokenTimings

export const API_PIX_TIMINGS: ApiPixTimings = {
  ...DEFAULT_TIMINGS,
  tokenTimeoutMs: 2_500,
  // Renewed this long before its end, which is more than the longest deadline.
  tokenMarginMs: 60_000,
}

export type ApiPixOptions = CallOptions & {
  tokenUrl: string
  clientId: string
  clientSecret: string
  pixKey: string
  merchant?: Merchant
  access?: Access
  timings?: Partial<ApiPixTimings>
}

/** Any Brazilian PSP that implements the central bank's API Pix. */
export function makeApiPix(options: ApiPixOptions): Provider {
  const access = filledAccess(options)
  const timings = { ...API_PIX_TIMINGS, pageSize: access.pageSize, ...options.timings }
  let source: TokenSource | undefined
  const makeCredentials = (http: Http) => (source = makeTokenSource(http, { ...options, access, timings }))
  const { headers, query } = access
  const calls = makeCalls({ ...options, headers, query, timings, readProblem, makeCredentials })
  const adapter = { ...options, access, calls, timings, reportUnread: makeReportUnread(options) }
  return {
    ...makeProvider(adapter, makeApi(adapter)),
    // A static code needs nothing of the bank: it lists any Pix with the txid that the payer's bank read from the code.
    createCode: async ({ txid }) => ({ emv: staticCode(txid, options) }),
    checkPayer: makeCheckPayer(adapter),
    accessProblem() {
      const missing = source?.missingScopes() ?? []
      return missing.length > 0 ? scopeText(missing) : undefined
    },
  }
}

function filledAccess({ access = STANDARD_ACCESS, clientId }: ApiPixOptions): Access {
  const fill = (values: Access['headers']) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.replaceAll('{clientId}', clientId)]))
  return { ...access, headers: fill(access.headers), query: fill(access.query) }
}

const ABSENT = new Set([404])
const NOT_ACTIVE = new Set([400, 409, 422])

type ApiPixAdapter = Adapter & Pick<ApiPixOptions, 'pixKey' | 'merchant'> & { access: Access }

function makeApi(adapter: ApiPixAdapter): ProviderApi<Charge> {
  const { name: provider, timings, pixKey, merchant, access } = adapter
  const refundPath = ({ endToEndId, refundId }: { endToEndId: string; refundId: string }) =>
    `/pix/${endToEndId}/devolucao/${refundId}`

  return {
    absentStatuses: ABSENT,
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
      // E-mail addresses and UUIDs come back in either case.
      if (made.pixKey.toLowerCase() !== pixKey.toLowerCase()) return { text: 'a charge of another key has this txid' }
      const isWithdrawn = made.charge.status === 'withdrawn'
      return isWithdrawn ? { text: 'the charge with this txid was withdrawn', isOver: true } : undefined
    },
    async withPayments({ charge, unread }) {
      unread.forEach(adapter.reportUnread)
      // An unread Pix may have paid the charge.
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
      if (isRefusedWith(reply, ABSENT)) return 'absent'
      const isNotActive = isRefusedWith(reply, NOT_ACTIVE)
      if (isNotActive && !inDoubt) return 'not_active'
      if (!isNotActive && !isLost(reply)) return undefined
      const found = await lookUp()
      if (isRefusedWith(found, ABSENT)) return 'absent'
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
    registerNotifications(url) {
      const call: Call<void> = {
        method: 'PUT',
        path: `/webhook/${encodeURIComponent(pixKey)}`,
        body: { webhookUrl: url },
        headers: access.webhookHeaders,
        read: () => undefined,
        // The URL is the only secret.
        secrets: [url],
      }
      const deadline = startDeadline(timings.registerDeadlineMs)
      return readOrThrow(adapter, call, { operation: 'registerNotifications', deadline })
    },
    readNotification: async ({ body }) => readHints(body),
  }
}

// Rounded outwards: a PSP that drops the fraction would leave out part of a second.
function wholeSeconds(at: Date, round: (seconds: number) => number): string {
  return new Date(round(at.getTime() / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
