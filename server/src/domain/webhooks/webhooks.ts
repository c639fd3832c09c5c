import { createHash } from 'node:crypto'
import { Fault, invalidField } from '../../base/fault.ts'
import { isUuid, newHexId, newUuid7 } from '../../base/ids.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { insertRow, insertRows, type Columns } from '../../db/insert-rows.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { differenceOf, SYSTEM, writeAudit, type Actor, type AuditAction } from '../core/audit-log.ts'
import { makeReason, type Reason } from '../ports/delivery-reasons.ts'
import { WEBHOOK_DISABLED } from './account-event-kinds.ts'
import { dataOf } from './event-fields.ts'
import { EVENT_KINDS, type EventKind } from './event-kinds.ts'
import { insertEvents } from './events.ts'
import { OVERWRITE_OUTCOME, sealOutcome } from './outcomes.ts'
import { makeSigningSecret } from './signature.ts'
import type { Core } from '../core/core.ts'
import type { WebhookSender } from '../ports/webhook-sender.ts'

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
  /** The reason, for programs. */
  disabledCode: string | null
  /** Until then a replaced secret signs beside the new one. */
  previousSecretUntil: Date | null
}

const WEBHOOK_COLUMNS = `
  id as "webhookId", name, url, event_kinds as "eventKinds", authorization_box is not null as "hasAuthorization",
  created_at as "createdAt", failing_since as "failingSince", disabled_at as "disabledAt",
  disabled_reason as "disabledReason", disabled_code as "disabledCode", previous_secret_until as "previousSecretUntil"`

/** Creating and changing a webhook checks its URL as written, without a network call. */
type UrlChecker = Core & { webhookSender: Pick<WebhookSender, 'check'> }

export type WebhookFields = { name: string; url: string; eventKinds: EventKind[]; authorization: string | null }

export const DEFAULT_EVENT_KINDS: EventKind[] = ['DEPOSIT_ASSET_SUCCESS']
// Each event goes to all webhooks of its account, so their number bounds the cost of an event.
const MAX_WEBHOOKS = 100
export const DEFAULT_OVERLAP_SECONDS = 86_400
export const MAX_OVERLAP_SECONDS = 7 * 86_400

export const MAX_NAME_LENGTH = 100
export const NAME_RULE = `name must be 1 to ${MAX_NAME_LENGTH} characters, ${READABLE_RULE}`
export const EVENTS_RULE = `events must list at least one of ${EVENT_KINDS.join(', ')}`
export const AUTHORIZATION_RULE = 'authorization must be 1 to 1000 characters of ASCII, without spaces at its ends'
export const AUTHORIZATION_SHAPE = /^[\x21-\x7e]([\x20-\x7e]{0,998}[\x21-\x7e])?$/

export async function createWebhook(
  core: UrlChecker,
  accountId: string,
  fields: WebhookFields,
  actor = holder(accountId),
): Promise<{ webhook: Webhook; secret: string }> {
  checkFields(core, fields)
  const now = core.now()
  const id = newUuid7(now)
  const secret = makeSigningSecret()
  const webhook = await transact(core.pool, async (tx) => {
    // The lock on the account keeps two requests at once from passing the limit.
    await tx.rows('select 1 from accounts where id = $1 for no key update', [accountId])
    const { count } = await tx.one<{ count: number }>(
      'select count(*) from webhooks where account_id = $1 and deleted_at is null',
      [accountId],
    )
    if (count >= MAX_WEBHOOKS)
      throw new Fault('webhook_limit', `An account can have at most ${MAX_WEBHOOKS} webhooks`, {
        details: { maxWebhooks: MAX_WEBHOOKS },
      })
    const row = {
      id,
      account_id: accountId,
      name: fields.name,
      url: fields.url,
      event_kinds: fields.eventKinds,
      authorization_box: sealed(core, fields.authorization, id),
      secret_box: sealed(core, secret, id),
      created_at: now,
    }
    const [created] = await insertRow<Webhook>(tx, 'webhooks', row, `returning ${WEBHOOK_COLUMNS}`)
    const details = auditable(created!)
    await audit(tx, now, actor, { action: 'webhook.created', webhookId: id, accountId, details })
    return created!
  })
  return { webhook, secret }
}

export function listWebhooks(core: Core, accountId: string | null): Promise<(Webhook & { email: string })[]> {
  return query<Webhook & { email: string }>(
    core.pool,
    `select ${WEBHOOK_COLUMNS}, (select a.email from accounts a where a.id = account_id) as email
     from webhooks where ($1::uuid is null or account_id = $1) and deleted_at is null order by email, created_at, id`,
    [accountId],
  )
}

export async function findWebhook(core: Core, accountId: string, webhookId: string): Promise<Webhook> {
  requireUuid(webhookId)
  const [row] = await query<Webhook>(core.pool, ONE_WEBHOOK, [accountId, webhookId])
  return row ?? notFound()
}

/** The id of the account: operators name webhooks by id alone. */
export async function findWebhookOwner(core: Core, webhookId: string): Promise<string> {
  requireUuid(webhookId)
  const [row] = await query<{ accountId: string }>(
    core.pool,
    'select account_id as "accountId" from webhooks where id = $1 and deleted_at is null',
    [webhookId],
  )
  return row?.accountId ?? notFound()
}

const ONE_WEBHOOK = `select ${WEBHOOK_COLUMNS} from webhooks where account_id = $1 and id = $2 and deleted_at is null`

async function lockWebhook(tx: Tx, accountId: string, webhookId: string): Promise<Webhook> {
  requireUuid(webhookId)
  const [row] = await tx.rows<Webhook>(`${ONE_WEBHOOK} for no key update`, [accountId, webhookId])
  return row ?? notFound()
}

function requireUuid(webhookId: string): void {
  if (!isUuid(webhookId)) notFound()
}

function notFound(): never {
  throw new Fault('not_found', 'Webhook not found')
}

type WebhookPatch = Partial<WebhookFields> & { enabled?: boolean }

/** Checks only the given fields: a webhook whose URL is no longer allowed can still be disabled. */
export async function updateWebhook(
  core: UrlChecker,
  accountId: string,
  webhookId: string,
  patch: WebhookPatch,
  actor = holder(accountId),
): Promise<Webhook> {
  await findWebhook(core, accountId, webhookId)
  checkFields(core, patch)
  return transact(core.pool, async (tx) => {
    const now = core.now()
    const before = await lockWebhook(tx, accountId, webhookId)
    // The Authorization value was meant for the old receiver. Another path of the host may belong to somebody else, who
    // would read it there.
    const isElsewhere = patch.url !== undefined && receiverOf(patch.url) !== receiverOf(before.url)
    const change = isElsewhere ? { authorization: null, ...patch } : patch
    let after = await changeFields(tx, webhookId, change, sealed(core, patch.authorization ?? null, webhookId))
    if (patch.enabled === true) after = await enableWebhook(tx, webhookId)
    if (patch.enabled === false) after = (await disableAndTell(tx, now, webhookId, disabledBy(actor))) ?? after
    const difference = differenceOf(auditable(before), auditable(after))
    // The audit log never holds the values, and hasAuthorization is true before and after.
    const isReplaced = typeof patch.authorization === 'string' && before.hasAuthorization
    if (difference || isReplaced) {
      const details = { ...difference, ...(isReplaced && { authorization: 'replaced' }) }
      await audit(tx, now, actor, { action: 'webhook.changed', webhookId, accountId, details })
    }
    return after
  })
}

function receiverOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function changeFields(
  tx: Tx,
  webhookId: string,
  { name, url, eventKinds, authorization }: WebhookPatch,
  authorizationBox: string | null,
): Promise<Webhook> {
  return tx.one<Webhook>(
    `update webhooks
     set name = coalesce($2, name), url = coalesce($3, url), event_kinds = coalesce($4, event_kinds),
       authorization_box = case when $5 then $6 else authorization_box end
     where id = $1 returning ${WEBHOOK_COLUMNS}`,
    [webhookId, name, url, eventKinds, authorization !== undefined, authorizationBox],
  )
}

export async function deleteWebhook(
  core: Core,
  accountId: string,
  webhookId: string,
  actor = holder(accountId),
): Promise<void> {
  await transact(core.pool, async (tx) => {
    const now = core.now()
    const before = await lockWebhook(tx, accountId, webhookId)
    await disableAndTell(tx, now, webhookId, makeReason('deleted', 'deleted'))
    await tx.run('update webhooks set deleted_at = $2 where id = $1', [webhookId, now])
    await audit(tx, now, actor, { action: 'webhook.deleted', webhookId, accountId, details: auditable(before) })
  })
}

export function nameFromUrl(url: string): string {
  return (URL.canParse(url) && new URL(url).host.slice(0, MAX_NAME_LENGTH)) || 'webhook'
}

/** The old secret signs too for `overlapSeconds`, so that receivers can switch without losing a delivery. */
export async function rotateSecret(
  core: Core,
  accountId: string,
  webhookId: string,
  overlapSeconds: number,
  actor = holder(accountId),
): Promise<{ webhook: Webhook; secret: string }> {
  const secret = makeSigningSecret()
  const now = core.now()
  const until = overlapSeconds > 0 ? new Date(now.getTime() + overlapSeconds * 1000) : null
  const webhook = await transact(core.pool, async (tx) => {
    await lockWebhook(tx, accountId, webhookId)
    const rotated = await tx.one<Webhook>(
      `update webhooks set secret_box = $2, previous_secret_until = $3,
         previous_secret_box = case when $3::timestamptz is null then null else secret_box end
       where id = $1 returning ${WEBHOOK_COLUMNS}`,
      [webhookId, sealed(core, secret, webhookId), until],
    )
    const details = { previousSecretUntil: until }
    await audit(tx, now, actor, { action: 'webhook.secret_rotated', webhookId, accountId, details })
    return rotated
  })
  return { webhook, secret }
}

/** False if this process lacks the key that sealed the newest webhook's secret. */
export async function canOpenNewestSecret(core: Core): Promise<boolean> {
  const [row] = await query<{ id: string; secret_box: string }>(
    core.pool,
    'select id, secret_box from webhooks where deleted_at is null order by created_at desc limit 1',
  )
  try {
    if (row) core.settings.secretBox.open(row.secret_box, row.id)
    return true
  } catch {
    return false
  }
}

export function enableWebhook(tx: Tx, webhookId: string): Promise<Webhook> {
  return tx.one<Webhook>(
    `update webhooks set disabled_at = null, disabled_reason = null, disabled_code = null, failing_since = null
     where id = $1 returning ${WEBHOOK_COLUMNS}`,
    [webhookId],
  )
}

type Disabled = Webhook & { accountId: string }

/** Queued deliveries become failed, and can be resent once it is enabled. Undefined when it is disabled already. */
export async function disableWebhook(
  tx: Tx,
  now: Date,
  webhookId: string,
  reason: Reason,
): Promise<Disabled | undefined> {
  const [disabled] = await tx.rows<Disabled>(
    `update webhooks set disabled_at = $2, disabled_reason = $3, disabled_code = $4
     where id = $1 and disabled_at is null returning account_id as "accountId", ${WEBHOOK_COLUMNS}`,
    [webhookId, now, reason.text, reason.code],
  )
  for (;;) {
    const stopped = await tx.rows<Stopped>(
      `delete from deliveries where webhook_id = $1 and event_id in (
         select event_id from deliveries where webhook_id = $1 limit ${STOPPED_AT_ONCE}
       ) returning event_id as "eventId", attempts`,
      [webhookId],
    )
    await insertRows(tx, 'delivery_outcomes', stopped, outcomeColumns(tx, now, webhookId), { tail: OVERWRITE_OUTCOME })
    if (stopped.length < STOPPED_AT_ONCE) return disabled
  }
}

// A receiver that was away for days may have a million deliveries waiting. Each of these takes some hundred bytes here.
const STOPPED_AT_ONCE = 5_000

type Stopped = { eventId: string; attempts: number }

function outcomeColumns(tx: Tx, now: Date, webhookId: string): Columns<Stopped> {
  return {
    event_id: ['uuid', ({ eventId }) => eventId],
    webhook_id: ['uuid', () => webhookId],
    outcome: ['text', () => 'failed'],
    attempts: ['int', ({ attempts }) => attempts],
    ended_at: ['timestamptz', () => now],
    seal: [
      'bytea',
      ({ eventId, attempts: attempt }) => sealOutcome(tx, now, { eventId, webhookId, attempt }, 'failed'),
    ],
  }
}

/** The event goes to the other webhooks: this one gets nothing any more. */
async function disableAndTell(tx: Tx, now: Date, webhookId: string, reason: Reason): Promise<Disabled | undefined> {
  const disabled = await disableWebhook(tx, now, webhookId, reason)
  if (!disabled) return undefined
  const subjectId = newHexId(now)
  const data = dataOf(WEBHOOK_DISABLED, disabled)
  await insertEvents(tx, now, [
    { kind: 'WEBHOOK_DISABLED', accountId: disabled.accountId, subjectId, createdAt: now, data },
  ])
  return disabled
}

export async function disableFailingWebhook(tx: Tx, now: Date, webhookId: string, reason: Reason): Promise<void> {
  const disabled = await disableAndTell(tx, now, webhookId, reason)
  if (!disabled) return
  await writeAudit(tx, now, SYSTEM, {
    action: 'webhook.disabled',
    subject: `webhook ${webhookId}`,
    accountId: disabled.accountId,
    reason: reason.text,
    details: { reasonCode: reason.code },
    rows: [['webhook', webhookId]],
  })
}

function checkFields(core: UrlChecker, { name, url, eventKinds, authorization }: Partial<WebhookFields>): void {
  const isName = (text: string) => text !== '' && Array.from(text).length <= MAX_NAME_LENGTH && isReadable(text)
  if (name !== undefined && !isName(name)) throw invalidField('name', NAME_RULE)
  if (eventKinds && (eventKinds.length === 0 || !eventKinds.every((kind) => EVENT_KINDS.includes(kind))))
    throw invalidField('events', EVENTS_RULE)
  const refusal = url === undefined ? undefined : core.webhookSender.check(url)
  if (refusal) {
    const { code, text, detail } = refusal.reason
    throw new Fault('url_not_allowed', text, {
      details: { reason: code, ...(detail !== null && { detail }) },
    })
  }
  if (typeof authorization === 'string' && !AUTHORIZATION_SHAPE.test(authorization))
    throw invalidField('authorization', AUTHORIZATION_RULE)
}

function sealed(core: Core, text: string | null, owner: string): string | null {
  return text === null ? null : core.settings.secretBox.seal(text, owner)
}

function holder(accountId: string): Actor {
  return { kind: 'account', name: accountId }
}

function disabledBy(actor: Actor): Reason {
  return actor.kind === 'account'
    ? makeReason('disabled_by_account', 'disabled by the account holder')
    : makeReason('disabled_by_operator', 'disabled by the operator')
}

/** Kept for ever. URLs often hold tokens, so it has the origin and a digest. */
function auditable(webhook: Webhook): object {
  const { name, url, eventKinds, hasAuthorization, disabledCode } = webhook
  const { origin } = new URL(url)
  const urlSha256 = createHash('sha256').update(url).digest('hex').slice(0, 16)
  return { name, origin, urlSha256, eventKinds, hasAuthorization, isEnabled: !webhook.disabledAt, disabledCode }
}

function audit(
  tx: Tx,
  now: Date,
  actor: Actor,
  { webhookId, ...change }: { action: AuditAction; webhookId: string; accountId: string; details: object },
): Promise<void> {
  const subject = `webhook ${webhookId}`
  return writeAudit(tx, now, actor, { ...change, subject, reason: null, rows: [['webhook', webhookId]] })
}
