import { query } from '../src/db/tx.ts'
import { inviteMember, joinAccount, joinWithNewSignIn } from '../src/domain/accounts/member-invitations.ts'
import type { Role } from '../src/domain/accounts/roles.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import { PASSWORD } from './sign-in-client.ts'
import type { World } from './world.ts'

// People who join an account, for the tests of members and of what their roles allow.

export type TestMember = { accountId: string; userId: string; email: string }

/** Invites the person and follows the link. A person who has a sign-in joins with it. */
export async function join(
  w: World,
  accountId: string,
  role: Role,
  email = `${role}@example.com`,
): Promise<TestMember> {
  const owner: Actor = { kind: 'account', name: 'owner' }
  const { token } = await inviteMember(w.ctx, owner, { accountId, email, role })
  const find = () => query<{ userId: string }>(w.pool, 'select id as "userId" from users where email = $1', [email])
  const [known] = await find()
  if (known) await joinAccount(w.ctx, token, { ...known, email })
  else await joinWithNewSignIn(w.ctx, token, { name: role, password: PASSWORD })
  return { accountId, userId: (await find())[0]!.userId, email }
}
