import { formatReais, type Cents } from '../../base/money.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { checkReason, IS_PERSONAL, IS_SIGN_IN, writeAudit, type Actor } from '../core/audit-log.ts'
import type { RowName } from '../core/seals.ts'
import { heldFor } from '../ledger/account-statement.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { insertUser } from '../users/users.ts'
import { endVerifications } from '../users/verifications.ts'
import { disableWebhook } from '../webhooks/webhooks.ts'
import { readAccountRow } from './accounts.ts'
import { eraseRequests } from './read-requests.ts'
import { eraseBrand } from './brands.ts'
import type { Core } from '../core/core.ts'

// Erases the person behind an account: docs/privacy.md says what goes, what stays, and why. The books stay whole, with
// the id of the account in place of the person.

const ERASED = 'erased'

// Each process knows a suspension within two seconds. After a minute, no request from before it is under way.
const SUSPENDED_MS = 60_000

// An account may have millions of charges, and each is asked whether it is open.
const STATEMENT_TIMEOUT_MS = 5 * 60_000

export type Erasure = {
  accountId: string
  /** guiche pays nothing out: that the balance was paid elsewhere is for a person to say. */
  isPaidOut?: boolean
}
export type Erased = { balanceCents: Cents; sessions: number; keys: number; webhooks: number; auditLines: number }

/** In one transaction. Returns the reason instead, if the account cannot be erased. */
export async function eraseAccount(
  core: Core,
  actor: Actor,
  erasure: Erasure,
  reason: string,
): Promise<Erased | { refusal: string }> {
  const checked = checkReason(reason)
  const now = core.now()
  const { accountId } = erasure
  return transact(core.pool, async (tx) => {
    const { refusal, balanceCents } = await lockErasable(tx, now, erasure)
    if (refusal !== undefined) return { refusal }
    // First, because the trigger audit_log_kept looks at it.
    const { userId, email } = await tx.one<{ userId: string; email: string }>(
      'update accounts set erased_at = $2, name = $3 where id = $1 returning user_id as "userId", email',
      [accountId, now, ERASED],
    )
    const hasBrand = await eraseBrand(tx, now, accountId)
    const webhooks = await eraseWebhooks(tx, now, accountId)
    await tx.run('delete from notices where account_id = $1', [accountId])
    await eraseRequests(tx, accountId)
    await tx.run('delete from payer_numbers where account_id = $1', [accountId])
    const keys = await tx.run(
      'update api_keys set name = $3, made_by = null, revoked_at = coalesce(revoked_at, $2) where account_id = $1',
      [accountId, now, ERASED],
    )
    const people = await readOwnPeople(tx, accountId)
    let sessions = 0
    // The e-mail of the account follows that of its contact.
    for (const person of people) {
      const name = person === userId ? accountId : person
      sessions += await eraseUser(tx, now, { userId: person, name })
    }
    const replaced = people.includes(userId) ? [] : await replaceContact(tx, now, accountId)
    await tx.run(
      'update members set removed_at = $2 where account_id = $1 and removed_at is null and user_id <> all($3)',
      [accountId, now, people],
    )
    await tx.run('delete from member_invitations where account_id = $1', [accountId])
    // Deleted and not emptied: without an e-mail, an invitation is for anybody.
    await tx.run('delete from invitations where used_by = $1 or email = $2', [accountId, email])
    const auditLines = await tx.run(
      `delete from audit_log where account_id = $1 and ${IS_PERSONAL}
         or ${IS_SIGN_IN} and action like 'invitation.%' and details ->> 'email' = $2`,
      [accountId, email],
    )
    const erased = { balanceCents, sessions, keys, webhooks, auditLines }
    const change = { subject: `account ${accountId}`, accountId, reason: checked, details: erased }
    const rows = await readErasedRows(tx, accountId, replaced)
    if (hasBrand) rows.push(['brand', accountId])
    await writeAudit(tx, now, actor, { action: 'account.erased', ...change, rows })
    return erased
  })
}

/** What the erasure wrote, and the people who stay. The lines that told of these rows are gone. */
async function readErasedRows(tx: Tx, accountId: string, newUserIds: string[]): Promise<RowName[]> {
  const owned = await tx.rows<{ kind: 'key' | 'webhook' | 'member' | 'user'; id: string }>(
    `select 'key' as kind, id from api_keys where account_id = $1
     union all select 'webhook', id from webhooks where account_id = $1
     union all select 'member', id from members where account_id = $1
     union all select 'user', user_id from members where account_id = $1`,
    [accountId],
  )
  const rows = owned.map(({ kind, id }): RowName => [kind, id])
  return [...rows, ...newUserIds.map((id) => ['user', id] as const), ['account', accountId] as const]
}

export function whyNotErasable(core: Core, erasure: Erasure): Promise<string | undefined> {
  return transact(core.pool, async (tx) => (await lockErasable(tx, core.now(), erasure)).refusal)
}

/** Locks the account, so that nobody resumes it meanwhile. */
async function lockErasable(
  tx: Tx,
  now: Date,
  { accountId, isPaidOut = false }: Erasure,
): Promise<{ refusal: string | undefined; balanceCents: Cents }> {
  await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
  const columns = 'a.email, a.suspended_at as "suspendedAt", a.erased_at as "erasedAt"'
  const account = await readAccountRow<Account>(tx, accountId, columns, 'for no key update')
  const underWay = await readUnderWay(tx, accountId)
  const { balanceCents } = underWay
  return { refusal: refusalOf(now, account, { ...underWay, balanceCents: isPaidOut ? 0 : balanceCents }), balanceCents }
}

type Account = { email: string; suspendedAt: Date | null; erasedAt: Date | null }

function refusalOf(now: Date, { email, suspendedAt, erasedAt }: Account, underWay: UnderWay): string | undefined {
  const { balanceCents, payouts, openCharges, refunds, exceptions, disputes } = underWay
  if (erasedAt) return 'it was erased before'
  if (!suspendedAt) return `it is in use; first: guiche account suspend --email ${email} --reason "closed by request"`
  if (now.getTime() - suspendedAt.getTime() < SUSPENDED_MS)
    return 'it was suspended less than a minute ago, and requests from before may be under way; try again in a minute'
  if (payouts) return `a payout is REQUESTED; pay or reject it: guiche payouts list --email ${email} --status REQUESTED`
  if (disputes) return 'a payer contests one of its payments; wait until it ends: guiche disputes list'
  if (balanceCents !== 0)
    return `its balance is ${formatReais(balanceCents)}; if that was paid to its holder elsewhere, add --paid-out`
  if (openCharges)
    return `it has charges or codes that can still be paid; wait until charges expire, or: guiche account cancel-charges --email ${email} --reason "closed by request"`
  if (refunds) return 'a refund is in progress; wait until it ends: guiche refunds --status PROCESSING'
  if (exceptions) return 'an exception about one of its payments is open; resolve it: guiche exceptions list'
  return undefined
}

type UnderWay = {
  balanceCents: Cents
  payouts: boolean
  openCharges: boolean
  refunds: boolean
  exceptions: boolean
  disputes: boolean
}

function readUnderWay(tx: Tx, accountId: string): Promise<UnderWay> {
  return tx.one<UnderWay>(
    `select
       ${heldFor('$1', 'balance', 'reserved', 'held')} as "balanceCents",
       exists (select from payouts where account_id = $1 and status = 'REQUESTED') as payouts,
       exists (select from charges where account_id = $1 and status in ('OPENING', 'PENDING'))
         or exists (select from codes where account_id = $1 and closed_at is null and emv is not null) as "openCharges",
       exists (select from disputes where account_id = $1 and status = 'OPEN') as disputes,
       exists (select from refunds r left join charges c on c.id = r.charge_id
        where r.due_at is not null and coalesce(r.account_id, c.account_id) = $1) as refunds,
       exists (select from exceptions x left join payments p on p.id = x.payment_id
        left join charges c on c.id = coalesce(p.charge_id, x.charge_id)
        where x.resolved_at is null and coalesce(x.account_id, c.account_id) = $1) as exceptions`,
    [accountId],
  )
}

/** The rows stay: outcomes of deliveries refer to them. */
async function eraseWebhooks(tx: Tx, now: Date, accountId: string): Promise<number> {
  const sql = 'select id from webhooks where account_id = $1 order by id for no key update'
  const webhooks = await tx.rows<{ id: string }>(sql, [accountId])
  for (const { id } of webhooks) await disableWebhook(tx, now, id, makeReason('deleted', 'deleted'))
  await tx.run(
    `update webhooks set name = $3, url = 'https://erased.invalid/', authorization_box = null, secret_box = '',
       previous_secret_box = null, previous_secret_until = null, deleted_at = coalesce(deleted_at, $2)
     where account_id = $1`,
    [accountId, now, ERASED],
  )
  return webhooks.length
}

/** Those who are, or were, members of this account and of no other. */
async function readOwnPeople(tx: Tx, accountId: string): Promise<string[]> {
  const people = await tx.rows<{ userId: string }>(
    `select m.user_id as "userId" from members m
     where m.account_id = $1 and not exists (
       select from members o join accounts a on a.id = o.account_id
       where o.user_id = m.user_id and o.account_id <> $1 and o.removed_at is null and a.erased_at is null)
     order by m.user_id`,
    [accountId],
  )
  return people.map(({ userId }) => userId)
}

/** A contact who goes on elsewhere keeps the e-mail, so somebody without one takes the place. */
async function replaceContact(tx: Tx, now: Date, accountId: string): Promise<string[]> {
  const person = { kind: 'account', email: erasedEmail(accountId), name: ERASED, passwordHash: '' } as const
  const userId = await insertUser(tx, now, { ...person, isEmailVerified: false })
  if (!userId) throw new Error(`${person.email} is taken`)
  await tx.run('delete from credentials where user_id = $1', [userId])
  await tx.run('update accounts set user_id = $2, email = $3 where id = $1', [accountId, userId, person.email])
  return [userId]
}

// Nobody can own an address of .invalid (RFC 2606), so no mail can reach anybody.
function erasedEmail(name: string): string {
  return `${name}@erased.invalid`
}

/** Returns how many sessions ended. */
async function eraseUser(tx: Tx, now: Date, { userId, name }: { userId: string; name: string }): Promise<number> {
  // First, because it waits for a session that is being opened now.
  await tx.run(
    `update users set email = $2, name = $3, email_verified = false, two_factor_enabled = false, updated_at = $4
     where id = $1`,
    [userId, erasedEmail(name), ERASED, now],
  )
  for (const table of ['credentials', 'second_factors', 'passkeys', 'notice_choices', 'notice_people', 'notice_emails'])
    await tx.run(`delete from ${table} where user_id = $1`, [userId])
  await tx.run('delete from notices where user_id = $1', [userId])
  await tx.run(`delete from followers where name in ('mail ' || $1::uuid, 'bell ' || $1::uuid)`, [userId])
  await endVerifications(tx, userId)
  return tx.run('delete from sessions where user_id = $1', [userId])
}
