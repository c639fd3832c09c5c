import Fastify, { type FastifyInstance } from 'fastify'
import type { Context } from '../domain/context.ts'
import { requireKeys } from './auth/api-key-auth.ts'
import { statementRoutes } from './api/statement.ts'
import { readJsonOnly, tellIgnoredFields } from './server/body.ts'
import { callbackRoutes } from './callbacks.ts'
import { dashboardPageRoutes } from './dashboard/static.ts'
import { makeCompletedAnswers, type CompletedAnswers } from './api/completed-answers.ts'
import { depositRoutes } from './api/deposits.ts'
import {
  answerClientError,
  answerRefusals,
  makeRefusal,
  NOT_FOUND,
  rawAnswer,
  sendRefusal,
  type RefusalLog,
} from './server/envelope.ts'
import { eventRoutes } from './api/events.ts'
import {
  everywhereHeaders,
  noticeForwarded,
  receiveRequests,
  requestId,
  routable,
  stamp,
} from './server/every-request.ts'
import { healthRoutes } from './health.ts'
import { docsRoutes } from './docs/docs-routes.ts'
import { describeRoutes } from './docs/openapi.ts'
import { memberRoutes } from './auth/members.ts'
import { invitationRoutes } from './auth/invitations.ts'
import { limitConnections, limitInFlight, MAX_IN_FLIGHT, maxConnections, type Load } from './server/backpressure.ts'
import { metricsRoutes, type Measured } from './metrics.ts'
import { historyRoutes, logRoutes, type Followers } from './api/history.ts'
import { makeStreams, type Streams } from './server/streams.ts'
import { paymentDataRoutes } from './pay/data.ts'
import { elementRoutes } from './pay/element.ts'
import { evidenceRoutes } from './pay/evidence.ts'
import { logoRoutes } from './pay/logo.ts'
import { paymentEventRoutes } from './pay/events.ts'
import { paymentPageRoutes } from './pay/page.ts'
import { previewRoutes } from './pay/preview.ts'
import { receiptRoutes } from './pay/receipt.ts'
import { sandboxPaymentRoutes } from './pay/sandbox-pay.ts'
import { qrRoutes } from './pay/qr.ts'
import { codePageRoutes } from './pay/code.ts'
import { makeAccountLimiter, makeByHandLimiter, makePublicLimit, type SharedLimiter } from './server/rate-limit.ts'
import { recordRequests } from './server/record-requests.ts'
import { codeRoutes } from './api/codes.ts'
import { orderRoutes } from './api/orders.ts'
import { disputeRoutes } from './api/disputes.ts'
import { payoutRoutes } from './api/payouts.ts'
import { refundRoutes } from './api/refunds.ts'
import { shopRoutes } from './api/shop.ts'
import { counterRoutes } from './dashboard/counter.ts'
import { deliveryRoutes } from './dashboard/deliveries.ts'
import { exportRoutes } from './dashboard/exports.ts'
import { keyRoutes } from './dashboard/keys.ts'
import { manifestRoutes } from './dashboard/manifest.ts'
import { noticeRoutes } from './dashboard/notices.ts'
import { requestRoutes } from './dashboard/requests.ts'
import { overviewRoutes } from './dashboard/overview.ts'
import { searchRoutes } from './dashboard/search.ts'
import { shopSettingRoutes } from './dashboard/shop.ts'
import { timeZoneRoutes } from './dashboard/time-zone.ts'
import { timelineRoutes } from './dashboard/timeline.ts'
import { accountRoutes, createAccountRoutes } from './operator/accounts.ts'
import { auditLogRoutes } from './operator/audit-log.ts'
import { exceptionRoutes } from './operator/exceptions.ts'
import { providerRoutes } from './operator/providers.ts'
import { reconciliationRoutes } from './operator/reconciliation.ts'
import { operatorHealthRoutes } from './operator/health.ts'
import { operatorDisputeRoutes } from './operator/disputes.ts'
import { operatorPayoutRoutes } from './operator/payouts.ts'
import { reversalRoutes } from './operator/reversals.ts'
import { operatorRequestRoutes } from './operator/requests.ts'
import { operatorRefundRoutes } from './operator/refunds.ts'
import { operatorSearchRoutes } from './operator/search.ts'
import { operatorDepositRoutes } from './operator/deposits.ts'
import { makeCheckedSerializer, makeSerializer, withZod, type Api } from './server/schemas.ts'
import { DASHBOARD_PREFIX, requireSession } from './auth/session.ts'
import { hasSessionCookie } from './auth/session-cookie.ts'
import { signInRoutes } from './auth/sign-in.ts'
import { webhookStatsRoutes } from './api/webhook-stats.ts'
import { webhookRoutes } from './api/webhooks.ts'

export type App = FastifyInstance & {
  /** From now on /readyz says not ready, so that load balancers stop sending. Requests are still served. */
  leave(): void
  /** From now on new requests are refused, and those in flight finish. Call it before close(). */
  drain(): void
}

export type AppOptions = {
  /** True if exactly one proxy in front of us reports the caller's address. */
  trustProxy?: boolean
  maxInFlight?: number
  home?: string | undefined
  maxStreams?: number
  maxStreamsPerAccount?: number
  /** Compares every answer with its schema, as tests do. */
  checksAnswers?: boolean
}

// Node's own limits are too wide for slow and hostile callers.
const HEADERS_TIMEOUT_MS = 10_000
// A request is at most 16 KiB, or 1 MiB from a provider. Slower ones only hold a connection.
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_CHECK_MS = 2_000
// Longer than the 60 s after which common proxies drop an idle connection: the proxy must be the one that closes it.
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const MAX_HEADER_BYTES = 16 * 1024
const API_BODY_LIMIT_BYTES = 16 * 1024
// A server that follows its own history needs one; a thousand leave room for the counters of a chain of shops.
const MAX_STREAMS_PER_ACCOUNT = 1_000

export async function buildApp(ctx: Context, options: AppOptions = {}): Promise<App> {
  const { app, load, log } = makeBareApp(ctx, options)
  if (!options.trustProxy) noticeForwarded(app, ctx)
  await describeRoutes(app)
  const { maxStreams = maxConnections() / 4, maxStreamsPerAccount = MAX_STREAMS_PER_ACCOUNT } = options
  const streams = makeStreams({ max: maxStreams, maxPerOwner: maxStreamsPerAccount })
  app.addHook('preClose', async () => streams.endAll())
  const { home } = options
  const limits = { limitAccount: makeAccountLimiter(ctx), limitByHand: makeByHandLimiter(ctx) }
  const shared = { completed: makeCompletedAnswers(), streams, home, ...limits }
  await app.register(async (scope) => apiRoutes(scope, ctx, { load, home }, shared))
  await app.register(async (scope) => dashboardApi(scope, ctx, shared), { prefix: DASHBOARD_PREFIX })
  await app.register(async (scope) => signInApi(scope, ctx, log))
  await app.register(async (scope) => callbackRoutes(scope, ctx))
  const limitPublic = makePublicLimit(ctx)
  await app.register(async (scope) => {
    limitPublic(scope)
    payerRoutes(withZod(scope), ctx, options)
  })
  healthRoutes(app, ctx, load)
  elementRoutes(app)
  manifestRoutes(app)
  await dashboardPageRoutes(app, { hasSession: (request) => hasSessionCookie(ctx.settings, request.headers.cookie) })
  await app.register(async (scope) => {
    limitPublic(scope)
    docsRoutes(scope, ctx.settings.publicUrl)
  })
  return app
}

/** What a process without an API answers: whether it works, and how well. */
export function buildWorkerApp(ctx: Context, { home }: Pick<AppOptions, 'home'> = {}): App {
  const { app, load } = makeBareApp(ctx, {})
  void app.register(async (scope) => {
    requireKeys(scope, ctx, makeAccountLimiter(ctx))
    metricsRoutes(scope, ctx, { load, home })
  })
  healthRoutes(app, ctx, load)
  return app
}

function makeBareApp(ctx: Context, options: AppOptions): { app: App; load: Load; log: RefusalLog } {
  const { maxInFlight = MAX_IN_FLIGHT } = options
  const load: Load = { inFlight: 0, maxInFlight, isLeaving: false, isDraining: false }
  const app = makeServer(ctx, options)
  app.setSerializerCompiler(options.checksAnswers ? makeCheckedSerializer : makeSerializer)
  const log = receiveRequests(app, ctx)
  answerRefusals(app, log)
  limitInFlight(app, load, limitConnections(app.server, maxConnections()))
  const stages = { leave: () => void (load.isLeaving = true), drain: () => void (load.isDraining = true) }
  return { app: Object.assign(app, stages), load, log }
}

/** Of keys and sessions together. */
type Shared = {
  completed: CompletedAnswers
  limitAccount: SharedLimiter
  limitByHand: SharedLimiter
  streams: Streams
  home: string | undefined
}

function apiRoutes(
  scope: FastifyInstance,
  ctx: Context,
  measured: Measured,
  { limitAccount, ...shared }: Shared,
): void {
  readJsonOnly(scope, { limitBytes: API_BODY_LIMIT_BYTES })
  requireKeys(scope, ctx, limitAccount)
  recordRequests(scope, ctx)
  tellIgnoredFields(scope)
  metricsRoutes(scope, ctx, measured)
  sharedRoutes(withZod(scope), ctx, { ...shared, followers: 'programs' })
}

/** The same routes for people: with a session, and under another prefix, so that no cookie works where a key does. */
function dashboardApi(scope: FastifyInstance, ctx: Context, { limitAccount, ...shared }: Shared): void {
  readJsonOnly(scope, { limitBytes: API_BODY_LIMIT_BYTES })
  requireSession(scope, ctx, limitAccount)
  const api = withZod(scope)
  sharedRoutes(api, ctx, { ...shared, followers: 'pages' })
  overviewRoutes(api, ctx, shared.home)
  keyRoutes(api, ctx)
  noticeRoutes(api, ctx)
  timelineRoutes(api, ctx)
  searchRoutes(api, ctx)
  deliveryRoutes(api, ctx)
  requestRoutes(api, ctx)
  counterRoutes(api, ctx)
  exportRoutes(api, ctx)
  timeZoneRoutes(api, ctx)
  shopSettingRoutes(api, ctx)
  previewRoutes(api, ctx)
  createAccountRoutes(api, ctx)
  invitationRoutes(api, ctx)
  memberRoutes(api, ctx)
}

function signInApi(scope: FastifyInstance, ctx: Context, log: RefusalLog): void {
  readJsonOnly(scope, { limitBytes: API_BODY_LIMIT_BYTES })
  signInRoutes(withZod(scope), ctx, log)
}

function sharedRoutes(
  api: Api,
  ctx: Context,
  { completed, limitByHand, streams, home, followers }: Omit<Shared, 'limitAccount'> & { followers: Followers },
): void {
  depositRoutes(api, ctx, completed)
  orderRoutes(api, ctx)
  codeRoutes(api, ctx)
  shopRoutes(api, ctx)
  refundRoutes(api, ctx)
  disputeRoutes(api, ctx)
  payoutRoutes(api, ctx)
  statementRoutes(api, ctx)
  webhookRoutes(api, ctx, limitByHand)
  webhookStatsRoutes(api, ctx, limitByHand)
  eventRoutes(api, ctx, streams)
  historyRoutes(api, ctx, streams, followers)
  accountRoutes(api, ctx)
  operatorSearchRoutes(api, ctx)
  operatorDepositRoutes(api, ctx)
  exceptionRoutes(api, ctx)
  operatorRefundRoutes(api, ctx)
  operatorDisputeRoutes(api, ctx)
  operatorPayoutRoutes(api, ctx)
  reversalRoutes(api, ctx)
  reconciliationRoutes(api, ctx)
  auditLogRoutes(api, ctx)
  operatorRequestRoutes(api, ctx)
  providerRoutes(api, ctx)
  operatorHealthRoutes(api, ctx, home)
}

function payerRoutes(scope: Api, ctx: Context, { maxStreams = maxConnections() / 2 }: AppOptions): void {
  logRoutes(scope, ctx)
  paymentPageRoutes(scope, ctx)
  paymentDataRoutes(scope, ctx)
  receiptRoutes(scope, ctx)
  logoRoutes(scope, ctx)
  evidenceRoutes(scope, ctx)
  paymentEventRoutes(scope, ctx, maxStreams)
  sandboxPaymentRoutes(scope, ctx)
  qrRoutes(scope, ctx)
  codePageRoutes(scope, ctx)
}

function makeServer(ctx: Context, options: AppOptions): FastifyInstance {
  const app = Fastify({
    // Fastify would log URLs, which may contain a key.
    logger: false,
    genReqId: requestId,
    // Only the nearest proxy is trusted: the caller can invent the rest of X-Forwarded-For.
    trustProxy: options.trustProxy ? (_address, hop) => hop === 0 : false,
    bodyLimit: API_BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node would refuse such a request in its own format.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    return503OnClosing: false,
    rewriteUrl: routable,
    clientErrorHandler: answerClientError,
    // For a URL that rewriteUrl cannot repair. No hook has run, and Fastify would use its own format.
    frameworkErrors: (_error, request, reply) => {
      stamp(everywhereHeaders(ctx.settings), request, reply)
      sendRefusal(request, reply, NOT_FOUND)
    },
  })
  app.server.on('checkExpectation', (raw) =>
    raw.socket.end(rawAnswer(makeRefusal('expectation_failed', 'This Expect header is not supported'))),
  )
  return app
}
