import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { decimalFromCents } from '../../base/money.ts'
import type { Provider } from '../../domain/ports/provider.ts'
import {
  get,
  makeCalls,
  parseJson,
  startDeadline,
  type Call,
  type CallOptions,
  type Credentials,
  type Http,
  type Reply,
} from '../http/call.ts'
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
  REGISTER_HEADERS,
  type Charge,
  type Merchant,
} from './messages.ts'

export type ApiPixTimings = Timings & { tokenTimeoutMs: number; tokenMarginMs: number }

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
  timings?: Partial<ApiPixTimings>
}

/** Any Brazilian PSP that implements the central bank's API Pix. */
export function makeApiPix(options: ApiPixOptions): Provider {
  const timings = { ...API_PIX_TIMINGS, ...options.timings }
  const makeCredentials = (http: Http) => makeTokenSource(http, { ...options, timings })
  const calls = makeCalls({ ...options, timings, readProblem, makeCredentials })
  const adapter = { ...options, calls, timings, reportUnread: makeReportUnread(options) }
  return makeProvider(adapter, makeApi(adapter))
}

const ABSENT = new Set([404])
const NOT_ACTIVE = new Set([400, 409, 422])

function makeApi(adapter: Adapter & Pick<ApiPixOptions, 'pixKey' | 'merchant'>): ProviderApi<Charge> {
  const { name: provider, timings, pixKey, merchant } = adapter
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
        headers: REGISTER_HEADERS,
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

const SCOPE = 'cob.write cob.read pix.read pix.write webhook.read webhook.write'

const tokenResponse = z.object({
  access_token: z.string().min(1).max(16_384),
  expires_in: z.coerce.number().positive().default(300),
})

type TokenOptions = Pick<ApiPixOptions, 'tokenUrl' | 'clientId' | 'clientSecret' | 'now'> & { timings: ApiPixTimings }

/** A token is kept until shortly before its end; callers share one request. */
function makeTokenSource(http: Http, options: TokenOptions): Credentials {
  const { now, clientId, clientSecret, timings } = options
  const url = new URL(options.tokenUrl)
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  let held: { token: string; usableUntilMs: number } | undefined
  let refreshing: Promise<Reply<string>> | undefined

  async function refresh(): Promise<Reply<string>> {
    const askedAtMs = now().getTime()
    const reply = await requestToken(http, { url, basic, timeoutMs: timings.tokenTimeoutMs })
    if (reply.kind !== 'ok') return reply
    const lifeMs = reply.body.expires_in * 1000
    const token = reply.body.access_token
    held = { token, usableUntilMs: askedAtMs + lifeMs - Math.min(timings.tokenMarginMs, lifeMs / 10) }
    return { kind: 'ok', body: token }
  }

  return {
    scheme: 'Bearer ',
    secrets: [clientSecret, basic],
    async token(deadline) {
      if (held && now().getTime() < held.usableUntilMs) return { kind: 'ok', body: held.token }
      const isShared = refreshing !== undefined
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      // Ends the wait of this caller. The shared request continues for the others.
      const late = sleep(deadline.remainingMs(), failed('the deadline passed', false), { ref: false })
      const reply = await Promise.race([refreshing, late])
      // Counts once for the breaker, and not once per caller.
      return reply.kind === 'failed' && isShared ? { ...reply, isProviderFault: false } : reply
    },
    drop(token) {
      if (held?.token === token) held = undefined
    },
  }
}

// The operation itself was not sent.
async function requestToken(
  http: Http,
  { url, basic, timeoutMs }: { url: URL; basic: string; timeoutMs: number },
): Promise<Reply<z.infer<typeof tokenResponse>>> {
  const result = await http.send({
    method: 'POST',
    origin: url.origin,
    path: url.pathname + url.search,
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: SCOPE }).toString(),
    timeoutMs,
  })
  if (result.kind === 'failed') return failed(result.text, result.isProviderFault)
  if (result.status === 429) return failed('too many requests', false)
  if (result.status >= 400 && result.status < 500) {
    const text = `the provider refused our credentials (HTTP ${result.status} at the token URL)`
    return { kind: 'refused', status: 401, isFromProvider: true, text }
  }
  const parsed = result.status < 300 ? tokenResponse.safeParse(parseJson(result.text)) : undefined
  if (!parsed?.success) return failed(`HTTP ${result.status} without a token at the token URL`, true)
  return { kind: 'ok', body: parsed.data }
}

function failed(text: string, isProviderFault: boolean): Reply<never> {
  return { kind: 'failed', wasSent: false, isProviderFault, isRetryable: true, text: `no access token: ${text}` }
}
