import { query, transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

/** Whether a provider's notifications reach us. Payments are found without them, only later, so that nobody would notice otherwise. */
export type NotificationHealth = {
  provider: string
  lastAt: Date | null
  /** Payments that arrived since then, counted up to MAX_COUNTED. */
  paymentsSince: number
  /** So many payments came without a word that notifications do not reach us. */
  isSilent: boolean
}

// Written at most this often for each provider: a minute's accuracy is plenty for what it is read for.
const WRITE_EVERY_MS = 60_000
// A provider's notification may follow its payment by minutes.
const PATIENCE_MS = 5 * 60_000
// One or two may have been lost on the way; this many were not.
const SILENT_AFTER_PAYMENTS = 3
// What arrived before is over: a provider that was mended, or has no traffic, must not alarm for ever.
const LOOK_BACK_MS = 24 * 3_600_000
const MAX_COUNTED = 1_000

/** Remembers when each provider last notified us, off the path of the notification. */
export function makeNotificationLog(core: Core): { received(provider: string): void } {
  const writtenAtMs = new Map<string, number>()
  return {
    received(provider) {
      const now = core.now()
      if (now.getTime() - (writtenAtMs.get(provider) ?? 0) < WRITE_EVERY_MS) return
      writtenAtMs.set(provider, now.getTime())
      query(
        core.pool,
        `insert into provider_notifications (provider, received_at) values ($1, $2)
         on conflict (provider) do update set received_at = greatest(provider_notifications.received_at, excluded.received_at)`,
        [provider, now],
      ).catch((error: unknown) => {
        writtenAtMs.delete(provider)
        core.log.warn({ err: error, provider }, 'could not record when the provider last notified us')
      })
    },
  }
}

export function readNotificationHealth(ctx: Context): Promise<NotificationHealth[]> {
  const providers = ctx.providers.map((provider) => provider.name)
  return transact(ctx.pool, (tx) => notificationHealth(tx, ctx.now(), providers))
}

export async function notificationHealth(tx: Tx, now: Date, providers: string[]): Promise<NotificationHealth[]> {
  const before = (ms: number) => new Date(now.getTime() - ms)
  const rows = await tx.rows<Omit<NotificationHealth, 'isSilent'>>(
    `select names.provider, n.received_at as "lastAt", (
       select count(*) from (
         select from payments p
         where p.provider = names.provider and p.occurred_at >= $2 and p.occurred_at < $3
           and p.occurred_at > coalesce(n.received_at, '-infinity')
         limit ${MAX_COUNTED}
       ) since
     ) as "paymentsSince"
     from unnest($1::text[]) as names (provider) left join provider_notifications n on n.provider = names.provider
     order by names.provider`,
    [providers, before(LOOK_BACK_MS), before(PATIENCE_MS)],
  )
  return rows.map((row) => ({ ...row, isSilent: row.paymentsSince >= SILENT_AFTER_PAYMENTS }))
}

/** For people: what is wrong, and where to look. */
export function silenceText({ provider, lastAt, paymentsSince }: NotificationHealth): string {
  const since = lastAt ? `since its last notification at ${lastAt.toISOString()}` : 'and it has never notified us'
  return `${paymentsSince} payments arrived at ${provider} ${since}: check that it can reach PUBLIC_URL/callbacks, and that its certificate is trusted there`
}
