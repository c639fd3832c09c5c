import { Fault } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, queryOne, transact, type Tx } from '../../db/tx.ts'
import { checkReason, writeAudit, SYSTEM, type Actor } from '../core/audit-log.ts'
import { cursorUuid, page } from '../core/cursor.ts'
import { makeBalanceAccount } from '../ledger/ledger.ts'
import { checkPerson, emailTaken, insertUser, type Person } from '../users/users.ts'
import { heldFor } from '../ledger/account-statement.ts'
import type { Core } from '../core/core.ts'

export type Account = { accountId: string; email: string; name: string }

type AccountHolder = { email: string; name: string; passwordHash: string; isEmailVerified?: boolean }

/** Without a password it makes a random one, which only this call returns. */
export async function createAccount(
  core: Core,
  account: Person,
  actor: Actor = SYSTEM,
): Promise<Account & { password: string }> {
  const { password, ...holder } = await checkPerson('An account', account)
  const accountId = await transact(core.pool, (tx) => makeAccount(tx, core.now(), holder, actor))
  return { accountId, email: holder.email, name: holder.name, password }
}

/** As createAccount(), with the password hashed before, in a transaction that does more. */
export async function makeAccount(tx: Tx, now: Date, holder: AccountHolder, actor: Actor): Promise<string> {
  const userId = await insertUser(tx, now, { kind: 'account', ...holder })
  if (!userId) throw await emailTaken(tx, holder.email, 'account')
  const accountId = newUuid7(now)
  const { email, name } = holder
  await insertRow(tx, 'accounts', { id: accountId, user_id: userId, email, name, created_at: now })
  await makeBalanceAccount(tx, accountId)
  await writeAudit(tx, now, actor, {
    action: 'account.created',
    subject: `account ${accountId}`,
    accountId,
    details: { email, name },
    rows: [
      ['user', userId],
      ['account', accountId],
      // The trigger accounts_first_owner made it.
      ['member', accountId],
    ],
  })
  return accountId
}

export async function findAccount(core: Core, email: string): Promise<Account | undefined> {
  const sql = 'select id as "accountId", email, name from accounts where email = lower($1)'
  const [account] = await query<Account>(core.pool, sql, [email.trim()])
  return account
}

export async function countAccounts(core: Core): Promise<number> {
  return (await queryOne<{ count: number }>(core.pool, 'select count(*) as count from accounts')).count
}

export async function readAccountRow<Row>(
  tx: Tx,
  accountId: string,
  columns: string,
  lock: '' | 'for no key update' = '',
): Promise<Row> {
  const sql = `select ${columns} from accounts a where a.id = $1 ${lock}`
  const [row] = isUuid(accountId) ? await tx.rows<Row>(sql, [accountId]) : []
  if (!row) throw new Fault('not_found', 'Account not found')
  return row
}

// ---- What operators see ----

export type ListedAccount = Account & {
  createdAt: Date
  suspendedAt: Date | null
  suspendedReason: string | null
  balanceCents: Cents
  owedCents: Cents
}

const LISTED_COLUMNS = `a.id as "accountId", a.email, a.name, a.created_at as "createdAt",
  a.suspended_at as "suspendedAt", a.suspended_reason as "suspendedReason",
  ${heldFor('a.id', 'balance', 'reserved', 'held')} as "balanceCents", -${heldFor('a.id', 'owed')} as "owedCents"`

export async function listAccounts(
  core: Core,
  filter: { search?: string; cursor?: string; limit: number },
): Promise<{ accounts: ListedAccount[]; nextCursor: string | null }> {
  const rows = await query<ListedAccount>(
    core.pool,
    `select ${LISTED_COLUMNS} from accounts a
     where a.id < $1
       and ($2::text is null or position(lower($2) in a.email) > 0 or position(lower($2) in lower(a.name)) > 0)
     order by a.id desc limit $3`,
    [cursorUuid(filter.cursor), filter.search ?? null, filter.limit + 1],
  )
  const { items: accounts, nextCursor } = page(rows, filter.limit, ({ accountId }) => accountId)
  return { accounts, nextCursor }
}

export type AccountCounts = {
  pending: number
  completed: number
  expired: number
  canceled: number
  isCut: boolean
  activeKeys: number
  webhooks: number
}

// A busy account has millions of charges. The newest tell how it does, and are counted in a fraction of a second.
const MAX_COUNTED = 100_000

export function readAccount(core: Core, accountId: string): Promise<{ account: ListedAccount; counts: AccountCounts }> {
  return transact(core.pool, async (tx) => ({
    account: await readAccountRow<ListedAccount>(tx, accountId, LISTED_COLUMNS),
    counts: await countOf(tx, core.now(), accountId),
  }))
}

function countOf(tx: Tx, now: Date, accountId: string): Promise<AccountCounts> {
  return tx.one(
    `with newest as (select status from charges where account_id = $1 order by id desc limit $3)
     select
       count(*) filter (where status = 'PENDING') as pending,
       count(*) filter (where status = 'COMPLETED') as completed,
       count(*) filter (where status = 'EXPIRED') as expired,
       count(*) filter (where status = 'CANCELED') as canceled,
       count(*) = $3 as "isCut",
       (select count(*) from api_keys
        where account_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)) as "activeKeys",
       (select count(*) from webhooks where account_id = $1 and deleted_at is null) as webhooks
     from newest`,
    [accountId, now, MAX_COUNTED],
  )
}

/** Its keys can only read within two seconds; open charges stay payable. Suspending twice keeps the first reason. */
export function suspendAccount(core: Core, actor: Actor, accountId: string, reason: string): Promise<void> {
  return setSuspension(core, actor, { accountId, reason: checkReason(reason), isSuspended: true })
}

export function resumeAccount(core: Core, actor: Actor, accountId: string, reason: string): Promise<void> {
  return setSuspension(core, actor, { accountId, reason: checkReason(reason), isSuspended: false })
}

type Suspension = { suspendedAt: Date | null; suspendedReason: string | null }
type ErasableSuspension = Suspension & { isErased: boolean }

async function setSuspension(
  core: Core,
  actor: Actor,
  { accountId, reason, isSuspended }: { accountId: string; reason: string; isSuspended: boolean },
): Promise<void> {
  const now = core.now()
  const columns = `a.suspended_at as "suspendedAt", a.suspended_reason as "suspendedReason",
    a.erased_at is not null as "isErased"`
  await transact(core.pool, async (tx) => {
    const row = await readAccountRow<ErasableSuspension>(tx, accountId, columns, 'for no key update')
    const { isErased, ...before } = row
    if (isErased)
      throw new Fault('account_suspended', 'The personal data of this account were erased: it stays suspended')
    if ((before.suspendedAt !== null) === isSuspended) return
    const after: Suspension = { suspendedAt: isSuspended ? now : null, suspendedReason: isSuspended ? reason : null }
    const sql = 'update accounts set suspended_at = $2, suspended_reason = $3 where id = $1'
    await tx.run(sql, [accountId, after.suspendedAt, after.suspendedReason])
    await writeAudit(tx, now, actor, {
      action: isSuspended ? 'account.suspended' : 'account.resumed',
      subject: `account ${accountId}`,
      accountId,
      reason,
      details: { before, after },
      rows: [['account', accountId]],
    })
  })
}
