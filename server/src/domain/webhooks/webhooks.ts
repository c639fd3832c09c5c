import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { differenceOf, writeAudit, type Actor, type AuditAction } from '../core/audit-log.ts'
import { makeReason, type Reason } from '../ports/delivery-reasons.ts'
import { disableWebhook, enableWebhook, WEBHOOK_COLUMNS, type Webhook } from './webhook-rows.ts'
import { EVENT_KINDS, type EventKind } from './events.ts'
import { makeSigningSecret } from './signature.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type WebhookFields = { name: string; url: string; eventKinds: EventKind[]; authorization: string | null }

/** What a webhook gets unless its owner says. */
export const DEFAULT_EVENT_KINDS: EventKind[] = ['DEPOSIT_ASSET_SUCCESS']
// Each event is sent to all of an account's webhooks; a hundred is far past any use and bounds that.
const MAX_WEBHOOKS = 100
export const DEFAULT_OVERLAP_SECONDS = 86_400
export const MAX_OVERLAP_SECONDS = 7 * 86_400

export const MAX_NAME_LENGTH = 100
export const NAME_RULE = `name must be 1 to ${MAX_NAME_LENGTH} characters, without control characters`
export const EVENTS_RULE = `events must list at least one of ${EVENT_KINDS.join(', ')}`
export const AUTHORIZATION_RULE = 'authorization must be 1 to 1000 characters of ASCII, without spaces at its ends'
export const AUTHORIZATION_SHAPE = /^[\x21-\x7e]([\x20-\x7e]{0,998}[\x21-\x7e])?$/

/** Returns the signing secret, which is shown this once. */
export async function createWebhook(
  ctx: Context,
  accountId: string,
  fields: WebhookFields,
  actor = holder(accountId),
): Promise<{ webhook: Webhook; secret: string }> {
  checkFields(ctx, fields)
  const now = ctx.now()
  const id = newUuid7(now)
  const secret = makeSigningSecret()
  const { secretBox } = ctx.settings
  const webhook = await transact(ctx.pool, async (tx) => {
    // The account's row serialises those who add at the same moment, so that the bound holds.
    await tx.rows('select 1 from accounts where id = $1 for no key update', [accountId])
    const [count] = await tx.rows<{ count: number }>(
      'select count(*) from webhooks where account_id = $1 and deleted_at is null',
      [accountId],
    )
    if (count!.count >= MAX_WEBHOOKS)
      throw new Fault('webhook_limit', `An account can have at most ${MAX_WEBHOOKS} webhooks`, {
        details: { maxWebhooks: MAX_WEBHOOKS },
      })
    const [row] = await tx.rows<Webhook>(
      `insert into webhooks (id, account_id, name, url, event_kinds, authorization_box, secret_box, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${WEBHOOK_COLUMNS}`,
      [
        id,
        accountId,
        fields.name,
        fields.url,
        fields.eventKinds,
        sealed(ctx, fields.authorization, id),
        secretBox.seal(secret, id),
        now,
      ],
    )
    await note(tx, now, actor, { action: 'webhook.created', webhookId: id, accountId, details: auditable(row!) })
    return row!
  })
  return { webhook, secret }
}

export function listWebhooks(core: Core, accountId: string): Promise<Webhook[]> {
  return query<Webhook>(
    core.pool,
    `select ${WEBHOOK_COLUMNS} from webhooks where account_id = $1 and deleted_at is null order by created_at, id`,
    [accountId],
  )
}

/** For the operator: of one account, or with null of all. */
export function listWebhooksOf(core: Core, accountId: string | null): Promise<(Webhook & { email: string })[]> {
  return query<Webhook & { email: string }>(
    core.pool,
    `select ${WEBHOOK_COLUMNS}, (select a.email from accounts a where a.id = account_id) as email
     from webhooks where ($1::uuid is null or account_id = $1) and deleted_at is null order by email, created_at, id`,
    [accountId],
  )
}

export async function findWebhook(core: Core, accountId: string, webhookId: string): Promise<Webhook> {
  const [row] = isUuid(webhookId)
    ? await query<Webhook>(
        core.pool,
        `select ${WEBHOOK_COLUMNS} from webhooks where account_id = $1 and id = $2 and deleted_at is null`,
        [accountId, webhookId],
      )
    : []
  return row ?? notFound()
}

/** Whose webhook it is: operators name webhooks by id alone. */
export async function findWebhookOwner(core: Core, webhookId: string): Promise<string> {
  const [row] = isUuid(webhookId)
    ? await query<{ accountId: string }>(
        core.pool,
        'select account_id as "accountId" from webhooks where id = $1 and deleted_at is null',
        [webhookId],
      )
    : []
  return row?.accountId ?? notFound()
}

/**
 * Only what is given changes, and only that is checked: an address that is no longer allowed must not keep anybody from
 * disabling it.
 */
export async function updateWebhook(
  ctx: Context,
  accountId: string,
  webhookId: string,
  patch: Partial<WebhookFields> & { enabled?: boolean },
  actor = holder(accountId),
): Promise<Webhook> {
  await findWebhook(ctx, accountId, webhookId)
  checkFields(ctx, patch)
  const authorizationBox = sealed(ctx, patch.authorization ?? null, webhookId)
  return transact(ctx.pool, async (tx) => {
    const now = ctx.now()
    const before = await lockWebhook(tx, accountId, webhookId)
    // The Authorization value was meant for the old host: whoever may only change the address must not get to read it.
    const isElsewhere = patch.url !== undefined && new URL(patch.url).origin !== new URL(before.url).origin
    const change = isElsewhere ? { authorization: null, ...patch } : patch
    const after = await changeWebhook(tx, now, { webhookId, patch: change, authorizationBox, by: disabledBy(actor) })
    const difference = differenceOf(auditable(before), auditable(after))
    // Of a value that replaces another, both sides are true, and neither may be written down.
    const isReplaced = typeof patch.authorization === 'string' && before.hasAuthorization
    if (difference || isReplaced) {
      const details = { ...difference, ...(isReplaced && { authorization: 'replaced' }) }
      await note(tx, now, actor, { action: 'webhook.changed', webhookId, accountId, details })
    }
    return after
  })
}

async function changeWebhook(
  tx: Tx,
  now: Date,
  change: {
    webhookId: string
    patch: Partial<WebhookFields> & { enabled?: boolean }
    authorizationBox: string | null
    by: Reason
  },
): Promise<Webhook> {
  const { webhookId, patch, authorizationBox, by } = change
  const [row] = await tx.rows<Webhook>(
    `update webhooks
     set name = coalesce($2, name), url = coalesce($3, url), event_kinds = coalesce($4, event_kinds),
       authorization_box = case when $5 then $6 else authorization_box end
     where id = $1 returning ${WEBHOOK_COLUMNS}`,
    [webhookId, patch.name, patch.url, patch.eventKinds, patch.authorization !== undefined, authorizationBox],
  )
  if (patch.enabled === undefined) return row!
  return patch.enabled ? enableWebhook(tx, webhookId) : disableWebhook(tx, now, webhookId, by)
}

export async function deleteWebhook(
  core: Core,
  accountId: string,
  webhookId: string,
  actor = holder(accountId),
): Promise<void> {
  await findWebhook(core, accountId, webhookId)
  await transact(core.pool, async (tx) => {
    const now = core.now()
    const before = await lockWebhook(tx, accountId, webhookId)
    await disableWebhook(tx, now, webhookId, makeReason('deleted', 'deleted'))
    await tx.run('update webhooks set deleted_at = $2 where id = $1', [webhookId, now])
    await note(tx, now, actor, { action: 'webhook.deleted', webhookId, accountId, details: auditable(before) })
  })
}

/** What a webhook is called unless its owner says. An address that cannot be read is refused elsewhere, in words. */
export function nameFromUrl(url: string): string {
  return (URL.canParse(url) && new URL(url).host.slice(0, MAX_NAME_LENGTH)) || 'webhook'
}

/**
 * A new secret; for `overlapSeconds` the old one signs too, so that receivers can change over without losing a
 * delivery.
 */
export async function rotateSecret(
  core: Core,
  accountId: string,
  webhookId: string,
  overlapSeconds: number,
  actor = holder(accountId),
): Promise<{ webhook: Webhook; secret: string }> {
  await findWebhook(core, accountId, webhookId)
  const secret = makeSigningSecret()
  const until = overlapSeconds > 0 ? new Date(core.now().getTime() + overlapSeconds * 1000) : null
  const webhook = await transact(core.pool, async (tx) => {
    const [row] = await tx.rows<Webhook>(
      `update webhooks set secret_box = $3, previous_secret_until = $4,
         previous_secret_box = case when $4::timestamptz is null then null else secret_box end
       where account_id = $1 and id = $2 and deleted_at is null returning ${WEBHOOK_COLUMNS}`,
      [accountId, webhookId, core.settings.secretBox.seal(secret, webhookId), until],
    )
    if (!row) return notFound()
    const details = { previousSecretUntil: until }
    await note(tx, core.now(), actor, { action: 'webhook.secret_rotated', webhookId, accountId, details })
    return row
  })
  return { webhook, secret }
}

/** False when the newest webhook's secret was sealed with a key that this process does not have. */
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

function checkFields(ctx: Context, fields: Partial<WebhookFields>): void {
  const { name, url, eventKinds, authorization } = fields
  // Escape sequences in a name would play tricks on the operator's terminal, and PostgreSQL refuses NUL.
  const isName = (text: string) =>
    text !== '' && Array.from(text).length <= MAX_NAME_LENGTH && !/[\p{Cc}\p{Cs}]/u.test(text)
  if (name !== undefined && !isName(name)) throw new Fault('field_invalid', NAME_RULE, { details: { field: 'name' } })
  if (
    eventKinds !== undefined &&
    (eventKinds.length === 0 || !eventKinds.every((kind) => EVENT_KINDS.includes(kind)))
  ) {
    throw new Fault('field_invalid', EVENTS_RULE, { details: { field: 'events' } })
  }
  const refusal = url === undefined ? undefined : ctx.webhookSender.check(url)
  if (refusal) {
    const { code, text, detail } = refusal.reason
    throw new Fault('url_not_allowed', `url cannot be used: ${text}`, {
      details: { reason: code, ...(detail !== null && { detail }) },
    })
  }
  if (typeof authorization === 'string' && !AUTHORIZATION_SHAPE.test(authorization))
    throw new Fault('field_invalid', AUTHORIZATION_RULE, { details: { field: 'authorization' } })
}

function sealed(core: Core, text: string | null, owner: string): string | null {
  return text === null ? null : core.settings.secretBox.seal(text, owner)
}

async function lockWebhook(tx: Tx, accountId: string, webhookId: string): Promise<Webhook> {
  const [row] = await tx.rows<Webhook>(
    `select ${WEBHOOK_COLUMNS} from webhooks where account_id = $1 and id = $2 and deleted_at is null
     for no key update`,
    [accountId, webhookId],
  )
  return row ?? notFound()
}

// ---- For the audit log ----

/** Unless a caller says who, it is whoever the webhook belongs to. */
function holder(accountId: string): Actor {
  return { kind: 'account', name: accountId }
}

function disabledBy(actor: Actor): Reason {
  return actor.kind === 'account'
    ? makeReason('disabled_by_account', 'disabled by the account holder')
    : makeReason('disabled_by_operator', 'disabled by the operator')
}

/**
 * What may be kept for ever. Paths and queries of receivers' addresses hold tokens often enough, so of the address
 * there is the origin, and a digest that tells whether two are the same.
 */
function auditable(webhook: Webhook): object {
  const { name, url, eventKinds, hasAuthorization, disabledCode } = webhook
  return {
    name,
    origin: new URL(url).origin,
    urlSha256: createHash('sha256').update(url).digest('hex').slice(0, 16),
    eventKinds,
    hasAuthorization,
    isEnabled: webhook.disabledAt === null,
    disabledCode,
  }
}

function note(
  tx: Tx,
  now: Date,
  actor: Actor,
  change: { action: AuditAction; webhookId: string; accountId: string; details: object },
): Promise<void> {
  const { action, webhookId, accountId, details } = change
  return writeAudit(tx, now, actor, { action, subject: `webhook ${webhookId}`, accountId, reason: null, details })
}

function notFound(): never {
  throw new Fault('not_found', 'Webhook not found')
}
