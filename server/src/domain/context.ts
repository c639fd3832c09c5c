import type { IsBreached } from '../base/breached-passwords.ts'
import { makeOwnBuckets, type SharedBuckets } from '../base/token-buckets.ts'
import { makeKeyCache, type KeyCache } from './accounts/callers.ts'
import { makeRequestLog, type RequestLog } from './accounts/request-log.ts'
import { makeCore, type Core } from './core/core.ts'
import { makeHistoryFeed, type HistoryFeed } from './history/history-feed.ts'
import type { Witness } from './history/witness.ts'
import { makeDepositLanes, type DepositLanes } from './deposits/lanes.ts'
import type { Mailer } from './ports/mailer.ts'
import type { Provider } from './ports/provider.ts'
import type { WebhookSender } from './ports/webhook-sender.ts'
import { recordExternalRefunds, reportOf } from './refunds/external-refunds.ts'
import { makeWebhookLanes, type WebhookLanes } from './webhooks/delivery-queue.ts'

export type Ports = {
  /** In order of preference. */
  providers: Provider[]
  webhookSender: WebhookSender
  mailer: Mailer
  /** Countersigns the heads of the history; undefined without WITNESS_URL. */
  witness?: Witness | undefined
}

/** A function that takes the Context may call providers, besides all that `Core` allows; see core/core.ts. */
export type Context = Core &
  Ports &
  WebhookLanes &
  DepositLanes & {
    historyFeed: HistoryFeed
    keys: KeyCache
    limits: SharedBuckets
    isBreached: IsBreached
    requestLog: RequestLog
  }

type Optional = { limits?: SharedBuckets; isBreached?: IsBreached }

/** Without `limits`, the limits are those of one process. Without `isBreached`, no password is. */
export function makeContext(parts: Parameters<typeof makeCore>[0] & Ports & Optional): Context {
  const core = makeCore(parts)
  return {
    ...core,
    providers: parts.providers,
    webhookSender: parts.webhookSender,
    mailer: parts.mailer,
    witness: parts.witness,
    historyFeed: makeHistoryFeed(core),
    requestLog: makeRequestLog(core),
    keys: makeKeyCache(),
    limits: parts.limits ?? makeOwnBuckets(),
    isBreached: parts.isBreached ?? (async () => false),
    ...makeWebhookLanes(core),
    ...makeDepositLanes(core, (payments) => recordExternalRefunds(core, payments.map(reportOf))),
  }
}
