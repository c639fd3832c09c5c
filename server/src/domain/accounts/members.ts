import { Fault } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { writeAudit, type Actor, type Change } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import type { RowName } from '../core/seals.ts'
import { HAS_SECOND_FACTOR } from '../users/second-factor.ts'
import { readAccountRow } from './accounts.ts'
import type { Role } from './roles.ts'

// The people of an account. Every change locks the row of the account, so that the bounds below hold: concurrent
// changes take turns.

/** Members and open invitations together; far more than anybody needs. */
export const MAX_MEMBERS = 100

export type Member = {
  userId: string
  email: string
  name: string
  role: Role
  addedAt: Date
  hasSecondFactor: boolean
}

export async function listMembers(core: Core, accountId: string): Promise<Member[]> {
  return query<Member>(
    core.pool,
    `select m.user_id as "userId", u.email, u.name, m.role, m.added_at as "addedAt",
       ${HAS_SECOND_FACTOR} as "hasSecondFactor"
     from members m join users u on u.id = m.user_id
     where m.account_id = $1 and m.removed_at is null order by m.added_at, m.id`,
    [accountId],
  )
}

/** The role applies from the person's next request on. */
export async function changeRole(
  core: Core,
  actor: Actor,
  { accountId, userId, role, reason = null }: { accountId: string; userId: string; role: Role; reason?: string | null },
): Promise<void> {
  await transact(core.pool, async (tx) => {
    await lockAccount(tx, accountId)
    const member = await requireMember(tx, accountId, userId)
    if (member.role === role) return
    await tx.run('update members set role = $2 where id = $1', [member.id, role])
    const details = { email: member.email, before: member.role, after: role }
    await finishChange(tx, core.now(), actor, { action: 'member.role_changed', accountId, reason, member, details })
  })
}

/** Their sessions in this account end with the next request. A key that they made stays: it is the account's. */
export async function removeMember(core: Core, actor: Actor, accountId: string, userId: string): Promise<void> {
  await transact(core.pool, async (tx) => {
    await lockAccount(tx, accountId)
    const member = await requireMember(tx, accountId, userId)
    await tx.run('update members set removed_at = $2 where id = $1', [member.id, core.now()])
    const details = { email: member.email, role: member.role }
    await finishChange(tx, core.now(), actor, { action: 'member.removed', accountId, member, details })
  })
}

/** Null stands for no, so that accounts that never demanded one keep their seal. */
export async function demandSecondFactor(
  core: Core,
  actor: Actor,
  accountId: string,
  isDemanded: boolean,
): Promise<void> {
  await transact(core.pool, async (tx) => {
    const sql = `update accounts set requires_second_factor = nullif($2::boolean, false)
      where id = $1 and requires_second_factor is distinct from nullif($2::boolean, false)`
    if ((await tx.run(sql, [accountId, isDemanded])) === 0) return
    await writeAudit(tx, core.now(), actor, {
      action: 'account.second_factor_demanded',
      subject: `account ${accountId}`,
      accountId,
      details: { demanded: isDemanded },
      rows: [['account', accountId]],
    })
  })
}

export async function isSecondFactorDemanded(core: Core, accountId: string): Promise<boolean> {
  const sql = 'select requires_second_factor as demanded from accounts where id = $1'
  const [row] = await query<{ demanded: boolean | null }>(core.pool, sql, [accountId])
  return row?.demanded ?? false
}

export function lockAccount(tx: Tx, accountId: string): Promise<{ name: string }> {
  return readAccountRow<{ name: string }>(tx, accountId, 'a.name', 'for no key update')
}

/** The caller has locked the account. Returns the name of the member's row; undefined if the person is a member. */
export async function addMember(
  tx: Tx,
  now: Date,
  { accountId, userId, role }: { accountId: string; userId: string; role: Role },
): Promise<RowName | undefined> {
  const [made] = await tx.rows<{ id: string }>(
    `insert into members (id, account_id, user_id, role, added_at) values ($1, $2, $3, $4, $5)
     on conflict (account_id, user_id) do update set role = $4, added_at = $5, removed_at = null
     where members.removed_at is not null returning id`,
    [newUuid7(now), accountId, userId, role, now],
  )
  return made && ['member', made.id]
}

type LockedMember = { id: string; userId: string; email: string; role: Role }

async function requireMember(tx: Tx, accountId: string, userId: string): Promise<LockedMember> {
  const [member] = isUuid(userId)
    ? await tx.rows<LockedMember>(
        `select m.id, m.user_id as "userId", u.email, m.role from members m join users u on u.id = m.user_id
         where m.account_id = $1 and m.user_id = $2 and m.removed_at is null`,
        [accountId, userId],
      )
    : []
  if (!member) throw new Fault('not_found', 'Member not found')
  return member
}

/** Refuses a change after which the account has no owner. Its contact becomes an owner who stays. */
async function finishChange(
  tx: Tx,
  now: Date,
  actor: Actor,
  { member, ...change }: Pick<Change, 'action' | 'details' | 'reason'> & { accountId: string; member: LockedMember },
): Promise<void> {
  const { accountId } = change
  const sql = `select from members where account_id = $1 and role = 'owner' and removed_at is null limit 1`
  if ((await tx.rows(sql, [accountId])).length === 0)
    throw new Fault('last_owner', 'An account needs an owner: make somebody else an owner first')
  const hasMoved = await moveContact(tx, accountId, member.userId)
  const rows: RowName[] = [['member', member.id], ...(hasMoved ? [['account', accountId] as const] : [])]
  await writeAudit(tx, now, actor, { ...change, subject: `user ${member.userId}`, rows })
}

/**
 * The contact gives the account its e-mail, and is one of its owners. A person is the contact of one account at most:
 * if every owner who stays is that of another one, the contact stays too, and has no rights by that.
 */
async function moveContact(tx: Tx, accountId: string, leaverId: string): Promise<boolean> {
  const moved = await tx.run(
    `update accounts a set user_id = o.user_id, email = o.email
     from (
       select m.user_id, u.email from members m join users u on u.id = m.user_id
       where m.account_id = $1 and m.role = 'owner' and m.removed_at is null
         and not exists (select from accounts b where b.user_id = m.user_id)
       order by m.added_at, m.id limit 1
     ) o
     where a.id = $1 and a.user_id = $2
       and not exists (select from members m where m.account_id = $1 and m.user_id = $2 and m.role = 'owner'
         and m.removed_at is null)`,
    [accountId, leaverId],
  )
  return moved > 0
}
