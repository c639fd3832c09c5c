import type { Tx } from '../../db/tx.ts'
import { writeAudit, SYSTEM } from '../core/audit-log.ts'
import type { Reason } from '../ports/delivery-reasons.ts'
import type { EventKind } from './events.ts'

/** Where an account holder wants to be told of events. */
export type Webhook = {
  webhookId: string
  name: string
  url: string
  eventKinds: EventKind[]
  hasAuthorization: boolean
  createdAt: Date
  failingSince: Date | null
  disabledAt: Date | null
  disabledReason: string | null
  /** The same for programs; null on one that was disabled before there were codes. */
  disabledCode: string | null
  /** While a replaced secret still signs beside the new one. */
  previousSecretUntil: Date | null
}

export const WEBHOOK_COLUMNS = `
  id as "webhookId", name, url, event_kinds as "eventKinds", authorization_box is not null as "hasAuthorization",
  created_at as "createdAt", failing_since as "failingSince", disabled_at as "disabledAt", disabled_reason as "disabledReason",
  disabled_code as "disabledCode",
  previous_secret_until as "previousSecretUntil"`

export async function enableWebhook(tx: Tx, webhookId: string): Promise<Webhook> {
  const [row] = await tx.rows<Webhook>(
    `update webhooks set disabled_at = null, disabled_reason = null, disabled_code = null, failing_since = null where id = $1 returning ${WEBHOOK_COLUMNS}`,
    [webhookId],
  )
  return row!
}

/** What was still to be delivered counts as failed, and can be resent when the webhook is enabled again. */
export async function disableWebhook(tx: Tx, now: Date, webhookId: string, reason: Reason): Promise<Webhook> {
  const [row] = await tx.rows<Webhook>(
    `update webhooks set disabled_at = coalesce(disabled_at, $2), disabled_reason = coalesce(disabled_reason, $3),
       disabled_code = case when disabled_at is null then $4 else disabled_code end
     where id = $1 returning ${WEBHOOK_COLUMNS}`,
    [webhookId, now, reason.text, reason.code],
  )
  await tx.run(
    `with stopped as (delete from deliveries where webhook_id = $1 returning event_id, attempts)
     insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at)
     select event_id, $1, 'failed', attempts, $2 from stopped
     on conflict (event_id, webhook_id) do update set outcome = 'failed', attempts = excluded.attempts, ended_at = excluded.ended_at`,
    [webhookId, now],
  )
  return row!
}

/** Disabled by guiche itself, which stands in the audit log like what people do. */
export async function giveUpWebhook(tx: Tx, now: Date, webhookId: string, reason: Reason): Promise<void> {
  const [enabled] = await tx.rows<{ accountId: string }>(
    'select account_id as "accountId" from webhooks where id = $1 and disabled_at is null for no key update',
    [webhookId],
  )
  await disableWebhook(tx, now, webhookId, reason)
  if (!enabled) return
  await writeAudit(tx, now, SYSTEM, {
    action: 'webhook.disabled',
    subject: `webhook ${webhookId}`,
    accountId: enabled.accountId,
    reason: reason.text,
    details: { reasonCode: reason.code },
  })
}
