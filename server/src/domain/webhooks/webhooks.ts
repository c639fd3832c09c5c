import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { differenceOf, writeAudit, type Actor, type AuditAction } from '../core/audit-log.ts'
import { makeReason, type Reason } from '../ports/delivery-reasons.ts'
import { disableEndpoint, enableEndpoint, ENDPOINT_COLUMNS, type Endpoint } from './webhook-rows.ts'
import { EVENT_KINDS, type EventKind } from './events.ts'
import { makeSigningSecret } from './signature.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type EndpointFields = { name: string; url: string; eventKinds: EventKind[]; authorization: string | null }

/** What an endpoint gets unless its owner says. */
export const DEFAULT_EVENT_KINDS: EventKind[] = ['DEPOSIT_ASSET_SUCCESS']
// Each event is sent to all of an account's endpoints; a hundred is far past any use and bounds that.
const MAX_ENDPOINTS = 100
export const DEFAULT_OVERLAP_SECONDS = 86_400
export const MAX_OVERLAP_SECONDS = 7 * 86_400

export const MAX_NAME_LENGTH = 100
export const NAME_RULE = `name must be 1 to ${MAX_NAME_LENGTH} characters, without control characters`
export const EVENTS_RULE = `events must list at least one of ${EVENT_KINDS.join(', ')}`
export const AUTHORIZATION_RULE = 'authorization must be 1 to 1000 characters of ASCII, without spaces at its ends'
export const AUTHORIZATION_SHAPE = /^[\x21-\x7e]([\x20-\x7e]{0,998}[\x21-\x7e])?$/

/** Returns the signing secret, which is shown this once. */
export async function createEndpoint(
  ctx: Context,
  accountId: string,
  fields: EndpointFields,
  actor = holder(accountId),
): Promise<{ endpoint: Endpoint; secret: string }> {
  checkFields(ctx, fields)
  const now = ctx.now()
  const id = newUuid7(now)
  const secret = makeSigningSecret()
  const { secretBox } = ctx.settings
  const endpoint = await transact(ctx.pool, async (tx) => {
    // The account's row serialises those who add at the same moment, so that the bound holds.
    await tx.rows('select 1 from accounts where id = $1 for no key update', [accountId])
    const [count] = await tx.rows<{ count: number }>(
      'select count(*) from webhook_endpoints where account_id = $1 and deleted_at is null',
      [accountId],
    )
    if (count!.count >= MAX_ENDPOINTS) throw new Fault('conflict', `An account has at most ${MAX_ENDPOINTS} webhooks`)
    const [row] = await tx.rows<Endpoint>(
      `insert into webhook_endpoints (id, account_id, name, url, event_kinds, authorization_box, secret_box, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${ENDPOINT_COLUMNS}`,
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
    await note(tx, now, actor, { action: 'webhook.created', endpointId: id, accountId, details: auditable(row!) })
    return row!
  })
  return { endpoint, secret }
}

export function listEndpoints(core: Core, accountId: string): Promise<Endpoint[]> {
  return query<Endpoint>(
    core.pool,
    `select ${ENDPOINT_COLUMNS} from webhook_endpoints where account_id = $1 and deleted_at is null order by created_at, id`,
    [accountId],
  )
}

/** For the operator: of one account, or with null of all. */
export function listEndpointsOf(core: Core, accountId: string | null): Promise<(Endpoint & { email: string })[]> {
  return query<Endpoint & { email: string }>(
    core.pool,
    `select ${ENDPOINT_COLUMNS}, (select a.email from accounts a where a.id = account_id) as email
     from webhook_endpoints where ($1::uuid is null or account_id = $1) and deleted_at is null order by email, created_at, id`,
    [accountId],
  )
}

export async function findEndpoint(core: Core, accountId: string, endpointId: string): Promise<Endpoint> {
  const [row] = isUuid(endpointId)
    ? await query<Endpoint>(
        core.pool,
        `select ${ENDPOINT_COLUMNS} from webhook_endpoints where account_id = $1 and id = $2 and deleted_at is null`,
        [accountId, endpointId],
      )
    : []
  return row ?? notFound()
}

/** Whose endpoint it is: operators name endpoints by id alone. */
export async function findEndpointOwner(core: Core, endpointId: string): Promise<string> {
  const [row] = isUuid(endpointId)
    ? await query<{ accountId: string }>(
        core.pool,
        'select account_id as "accountId" from webhook_endpoints where id = $1 and deleted_at is null',
        [endpointId],
      )
    : []
  return row?.accountId ?? notFound()
}

/** Only what is given changes, and only that is checked: an address that is no longer allowed must not keep anybody from disabling it. */
export async function updateEndpoint(
  ctx: Context,
  accountId: string,
  endpointId: string,
  patch: Partial<EndpointFields> & { enabled?: boolean },
  actor = holder(accountId),
): Promise<Endpoint> {
  await findEndpoint(ctx, accountId, endpointId)
  checkFields(ctx, patch)
  const authorizationBox = sealed(ctx, patch.authorization ?? null, endpointId)
  return transact(ctx.pool, async (tx) => {
    const now = ctx.now()
    const before = await lockEndpoint(tx, accountId, endpointId)
    // The Authorization value was meant for the old host: whoever may only change the address must not get to read it.
    const isElsewhere = patch.url !== undefined && new URL(patch.url).origin !== new URL(before.url).origin
    const change = isElsewhere ? { authorization: null, ...patch } : patch
    const after = await changeEndpoint(tx, now, { endpointId, patch: change, authorizationBox, by: disabledBy(actor) })
    const difference = differenceOf(auditable(before), auditable(after))
    // Of a value that replaces another, both sides are true, and neither may be written down.
    const isReplaced = typeof patch.authorization === 'string' && before.hasAuthorization
    if (difference || isReplaced) {
      const details = { ...difference, ...(isReplaced && { authorization: 'replaced' }) }
      await note(tx, now, actor, { action: 'webhook.changed', endpointId, accountId, details })
    }
    return after
  })
}

async function changeEndpoint(
  tx: Tx,
  now: Date,
  change: {
    endpointId: string
    patch: Partial<EndpointFields> & { enabled?: boolean }
    authorizationBox: string | null
    by: Reason
  },
): Promise<Endpoint> {
  const { endpointId, patch, authorizationBox, by } = change
  const [row] = await tx.rows<Endpoint>(
    `update webhook_endpoints
     set name = coalesce($2, name), url = coalesce($3, url), event_kinds = coalesce($4, event_kinds),
       authorization_box = case when $5 then $6 else authorization_box end
     where id = $1 returning ${ENDPOINT_COLUMNS}`,
    [endpointId, patch.name, patch.url, patch.eventKinds, patch.authorization !== undefined, authorizationBox],
  )
  if (patch.enabled === undefined) return row!
  return patch.enabled ? enableEndpoint(tx, endpointId) : disableEndpoint(tx, now, endpointId, by)
}

export async function deleteEndpoint(
  core: Core,
  accountId: string,
  endpointId: string,
  actor = holder(accountId),
): Promise<void> {
  await findEndpoint(core, accountId, endpointId)
  await transact(core.pool, async (tx) => {
    const now = core.now()
    const before = await lockEndpoint(tx, accountId, endpointId)
    await disableEndpoint(tx, now, endpointId, makeReason('deleted', 'deleted'))
    await tx.run('update webhook_endpoints set deleted_at = $2 where id = $1', [endpointId, now])
    await note(tx, now, actor, { action: 'webhook.deleted', endpointId, accountId, details: auditable(before) })
  })
}

/** What an endpoint is called unless its owner says. An address that cannot be read is refused elsewhere, in words. */
export function nameFromUrl(url: string): string {
  return (URL.canParse(url) && new URL(url).host.slice(0, MAX_NAME_LENGTH)) || 'webhook'
}

/** A new secret; for `overlapSeconds` the old one signs too, so that receivers can change over without losing a delivery. */
export async function rotateSecret(
  core: Core,
  accountId: string,
  endpointId: string,
  overlapSeconds: number,
  actor = holder(accountId),
): Promise<{ endpoint: Endpoint; secret: string }> {
  await findEndpoint(core, accountId, endpointId)
  const secret = makeSigningSecret()
  const until = overlapSeconds > 0 ? new Date(core.now().getTime() + overlapSeconds * 1000) : null
  const endpoint = await transact(core.pool, async (tx) => {
    const [row] = await tx.rows<Endpoint>(
      `update webhook_endpoints set secret_box = $3, previous_secret_until = $4,
         previous_secret_box = case when $4::timestamptz is null then null else secret_box end
       where account_id = $1 and id = $2 and deleted_at is null returning ${ENDPOINT_COLUMNS}`,
      [accountId, endpointId, core.settings.secretBox.seal(secret, endpointId), until],
    )
    if (!row) return notFound()
    const details = { previousSecretUntil: until }
    await note(tx, core.now(), actor, { action: 'webhook.secret_rotated', endpointId, accountId, details })
    return row
  })
  return { endpoint, secret }
}

/** False when the newest endpoint's secret was sealed with a key that this process does not have. */
export async function canOpenNewestSecret(core: Core): Promise<boolean> {
  const [row] = await query<{ id: string; secret_box: string }>(
    core.pool,
    'select id, secret_box from webhook_endpoints where deleted_at is null order by created_at desc limit 1',
  )
  try {
    if (row) core.settings.secretBox.open(row.secret_box, row.id)
    return true
  } catch {
    return false
  }
}

function checkFields(ctx: Context, fields: Partial<EndpointFields>): void {
  const { name, url, eventKinds, authorization } = fields
  // Escape sequences in a name would play tricks on the operator's terminal, and PostgreSQL refuses NUL.
  const isName = (text: string) =>
    text !== '' && Array.from(text).length <= MAX_NAME_LENGTH && !/[\p{Cc}\p{Cs}]/u.test(text)
  if (name !== undefined && !isName(name)) throw new Fault('bad_request', NAME_RULE)
  if (
    eventKinds !== undefined &&
    (eventKinds.length === 0 || !eventKinds.every((kind) => EVENT_KINDS.includes(kind)))
  ) {
    throw new Fault('bad_request', EVENTS_RULE)
  }
  const refusal = url === undefined ? undefined : ctx.webhookSender.check(url)
  if (refusal) {
    const { code, text, detail } = refusal.reason
    throw new Fault('url_not_allowed', `url cannot be used: ${text}`, {
      details: { reason: code, ...(detail !== null && { detail }) },
    })
  }
  if (typeof authorization === 'string' && !AUTHORIZATION_SHAPE.test(authorization))
    throw new Fault('bad_request', AUTHORIZATION_RULE)
}

function sealed(core: Core, text: string | null, owner: string): string | null {
  return text === null ? null : core.settings.secretBox.seal(text, owner)
}

async function lockEndpoint(tx: Tx, accountId: string, endpointId: string): Promise<Endpoint> {
  const [row] = await tx.rows<Endpoint>(
    `select ${ENDPOINT_COLUMNS} from webhook_endpoints where account_id = $1 and id = $2 and deleted_at is null
     for no key update`,
    [accountId, endpointId],
  )
  return row ?? notFound()
}

// ---- For the audit log ----

/** Unless a caller says who, it is whoever the endpoint belongs to. */
function holder(accountId: string): Actor {
  return { kind: 'account', name: accountId }
}

function disabledBy(actor: Actor): Reason {
  return actor.kind === 'account'
    ? makeReason('disabled_by_account', 'disabled by the account holder')
    : makeReason('disabled_by_operator', 'disabled by the operator')
}

/**
 * What may be kept for ever. Paths and queries of receivers' addresses hold tokens often enough, so of the address there is the origin, and a digest that tells
 * whether two are the same.
 */
function auditable(endpoint: Endpoint): object {
  const { name, url, eventKinds, hasAuthorization, disabledCode } = endpoint
  return {
    name,
    origin: new URL(url).origin,
    urlSha256: createHash('sha256').update(url).digest('hex').slice(0, 16),
    eventKinds,
    hasAuthorization,
    isEnabled: endpoint.disabledAt === null,
    disabledCode,
  }
}

function note(
  tx: Tx,
  now: Date,
  actor: Actor,
  change: { action: AuditAction; endpointId: string; accountId: string; details: object },
): Promise<void> {
  const { action, endpointId, accountId, details } = change
  return writeAudit(tx, now, actor, { action, subject: `webhook ${endpointId}`, accountId, reason: null, details })
}

function notFound(): never {
  throw new Fault('not_found', 'Webhook not found')
}
