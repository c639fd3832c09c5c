import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isUuid, newUuid7 } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { checkReason, writeAudit, SYSTEM, type Actor } from '../core/audit-log.ts'
import { cursorUuid } from '../core/cursor.ts'
import { makeBalanceAccount } from '../ledger/ledger.ts'
import { checkPerson, emailTaken, insertUser, type Person } from '../users/users.ts'
import type { Core } from '../core/core.ts'

export type NewAccount = Person
export type Account = { accountId: string; email: string; name: string }

/** An account holder, with a ledger account. Without a password, a random one is made, and returned this once. */
export async function createAccount(
  core: Core,
  now: Date,
  account: NewAccount,
  actor: Actor = SYSTEM,
): Promise<Account & { password: string }> {
  const { password, passwordHash, ...person } = await checkPerson('an account', account)
  const accountId = await transact(core.pool, (tx) => makeAccount(tx, now, { ...person, passwordHash }, actor))
  return { accountId, ...person, password }
}

/** As createAccount, with the password hashed, for a transaction that does more. */
export async function makeAccount(
  tx: Tx,
  now: Date,
  account: { email: string; name: string; passwordHash: string; isEmailVerified?: boolean },
  actor: Actor,
): Promise<string> {
  const accountId = await insertAccount(tx, now, account)
  await writeAudit(tx, now, actor, {
    action: 'account.created',
    subject: `account ${accountId}`,
    accountId,
    reason: null,
    details: { email: account.email, name: account.name },
  })
  return accountId
}

export async function findAccount(core: Core, email: string): Promise<Account | undefined> {
  const [row] = await query<Account>(
    core.pool,
    'select id as "accountId", email, name from accounts where email = lower($1)',
    [email.trim()],
  )
  return row
}

export async function countAccounts(core: Core): Promise<number> {
  const [row] = await query<{ count: number }>(core.pool, 'select count(*) as count from accounts')
  return row!.count
}

/** Who signs in, the account and its ledger account, in one. */
export async function insertAccount(
  tx: Tx,
  now: Date,
  account: { email: string; name: string; passwordHash: string; isEmailVerified?: boolean },
): Promise<string> {
  const userId = await insertUser(tx, now, { kind: 'account', ...account })
  if (!userId) throw await emailTaken(tx, account.email, 'account')
  const accountId = newUuid7(now)
  await tx.run('insert into accounts (id, user_id, email, name, created_at) values ($1, $2, $3, $4, $5)', [
    accountId,
    userId,
    account.email,
    account.name,
    now,
  ])
  await makeBalanceAccount(tx, accountId)
  return accountId
}

// ---- What the operator sees ----

export type ListedAccount = Account & {
  createdAt: Date
  suspendedAt: Date | null
  suspendedReason: string | null
  balanceCents: Cents
}

const LISTED_COLUMNS = `a.id as "accountId", a.email, a.name, a.created_at as "createdAt", a.suspended_at as "suspendedAt",
  a.suspended_reason as "suspendedReason", (
    select b.credits_cents - b.debits_cents from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
    where l.kind = 'balance' and l.account_id = a.id) as "balanceCents"`

/** Newest first; `search` is any part of the e-mail or the name, in any case. */
export async function listAccounts(
  core: Core,
  filter: { search?: string; cursor?: string; limit: number },
): Promise<{ accounts: ListedAccount[]; nextCursor: string | null }> {
  const rows = await query<ListedAccount>(
    core.pool,
    `select ${LISTED_COLUMNS} from accounts a
     where a.id < $1 and ($2::text is null or position(lower($2) in a.email) > 0 or position(lower($2) in lower(a.name)) > 0)
     order by a.id desc limit $3`,
    [cursorUuid(filter.cursor), filter.search ?? null, filter.limit + 1],
  )
  const accounts = rows.slice(0, filter.limit)
  return { accounts, nextCursor: rows.length > filter.limit ? hexFromUuid(accounts.at(-1)!.accountId) : null }
}

export type AccountCounts = {
  pending: number
  completed: number
  expired: number
  canceled: number
  /** True when only the newest charges were counted. */
  isCut: boolean
  activeKeys: number
  webhooks: number
}

// A busy account has millions of charges; the newest of them tell how it fares, in a fraction of a second.
const MAX_COUNTED = 100_000

export async function readAccount(
  core: Core,
  accountId: string,
): Promise<{ account: ListedAccount; counts: AccountCounts }> {
  const [account] = isUuid(accountId)
    ? await query<ListedAccount>(core.pool, `select ${LISTED_COLUMNS} from accounts a where a.id = $1`, [accountId])
    : []
  if (!account) throw new Fault('not_found', 'Account not found')
  const [counts] = await query<AccountCounts>(
    core.pool,
    `with newest as (select status from charges where account_id = $1 order by id desc limit $3)
     select count(*) filter (where status = 'PENDING') as pending, count(*) filter (where status = 'COMPLETED') as completed,
       count(*) filter (where status = 'EXPIRED') as expired, count(*) filter (where status = 'CANCELED') as canceled,
       count(*) = $3 as "isCut",
       (select count(*) from api_keys where account_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2))
         as "activeKeys",
       (select count(*) from webhooks where account_id = $1 and deleted_at is null) as webhooks
     from newest`,
    [accountId, core.now(), MAX_COUNTED],
  )
  return { account, counts: counts! }
}

/**
 * Its keys may read and do nothing more, everywhere within two seconds. Charges that payers have in hand stay payable, and what is paid is credited:
 * money that arrived is a fact. Suspending a second time changes nothing: the first reason stands.
 */
export function suspendAccount(core: Core, actor: Actor, accountId: string, reason: string): Promise<void> {
  return setSuspension(core, actor, { accountId, reason: checkReason(reason), isSuspended: true })
}

export function resumeAccount(core: Core, actor: Actor, accountId: string, reason: string): Promise<void> {
  return setSuspension(core, actor, { accountId, reason: checkReason(reason), isSuspended: false })
}

async function setSuspension(
  core: Core,
  actor: Actor,
  { accountId, reason, isSuspended }: { accountId: string; reason: string; isSuspended: boolean },
): Promise<void> {
  if (!isUuid(accountId)) throw new Fault('not_found', 'Account not found')
  const now = core.now()
  await transact(core.pool, async (tx) => {
    const [row] = await tx.rows<{ suspendedAt: Date | null; suspendedReason: string | null }>(
      `select suspended_at as "suspendedAt", suspended_reason as "suspendedReason" from accounts where id = $1 for no key update`,
      [accountId],
    )
    if (!row) throw new Fault('not_found', 'Account not found')
    if ((row.suspendedAt !== null) === isSuspended) return
    const after = isSuspended
      ? { suspendedAt: now, suspendedReason: reason }
      : { suspendedAt: null, suspendedReason: null }
    await tx.run('update accounts set suspended_at = $2, suspended_reason = $3 where id = $1', [
      accountId,
      after.suspendedAt,
      after.suspendedReason,
    ])
    await writeAudit(tx, now, actor, {
      action: isSuspended ? 'account.suspended' : 'account.resumed',
      subject: `account ${accountId}`,
      accountId,
      reason,
      details: { before: row, after },
    })
  })
}
