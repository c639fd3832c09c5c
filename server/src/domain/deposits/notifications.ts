import { query, transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'

/** Whether a provider's notifications reach us. Without them payments are only found later, so nobody would notice. */
export type NotificationHealth = {
  provider: string
  lastAt: Date | null
  /** Payments since the last notification, counted up to MAX_COUNTED. */
  paymentsSince: number
  isSilent: boolean
}

// Written at most this often for each provider: to the minute is precise enough.
const WRITE_EVERY_MS = 60_000
// A provider's notification may follow its payment by minutes.
const NOTIFICATION_DELAY_MS = 5 * 60_000
// One or two notifications may get lost; three in a row do not.
const SILENT_AFTER_PAYMENTS = 3
// Older payments do not count: a provider that was fixed, or has no traffic, must not alarm forever.
const LOOK_BACK_MS = 24 * 3_600_000
const MAX_COUNTED = 1_000

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
         on conflict (provider)
           do update set received_at = greatest(provider_notifications.received_at, excluded.received_at)`,
        [provider, now],
      ).catch((error: unknown) => {
        writtenAtMs.delete(provider)
        core.log.warn({ err: error, provider }, 'recording the time of a notification failed')
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
         where p.provider = names.provider
           and p.occurred_at >= $2
           and p.occurred_at < $3
           and p.occurred_at > coalesce(n.received_at, '-infinity')
         limit ${MAX_COUNTED}
       ) since
     ) as "paymentsSince"
     from unnest($1::text[]) as names (provider) left join provider_notifications n on n.provider = names.provider
     order by names.provider`,
    [providers, before(LOOK_BACK_MS), before(NOTIFICATION_DELAY_MS)],
  )
  return rows.map((row) => ({ ...row, isSilent: row.paymentsSince >= SILENT_AFTER_PAYMENTS }))
}

export function silenceText({ provider, lastAt, paymentsSince }: NotificationHealth): string {
  const since = lastAt ? `since its last notification at ${lastAt.toISOString()}` : 'and it has never notified us'
  const advice = 'check that it can reach PUBLIC_URL/callbacks, and that its certificate is trusted there'
  return `${paymentsSince} payments arrived at ${provider} ${since}: ${advice}`
}
