import { Fault } from '../../base/fault.ts'
import { randomPassword } from '../../base/ids.ts'
import { query, transact } from '../../db/tx.ts'
import { checkReason, type Actor } from '../core/audit-log.ts'
import { auditSecurityIn } from './security-events.ts'
import { checkNewPassword, hashPassword } from './users.ts'
import { endVerifications } from './verifications.ts'
import type { Core } from '../core/core.ts'

// What whoever runs the service does for somebody who cannot sign in. They know that person; there is no mail to prove it by.

export type PersonKind = 'account' | 'operator'

/** Ends every session and every link of that person. Without a password, a random one is made, and returned this once. */
export async function setPassword(
  core: Core,
  now: Date,
  wanted: { kind: PersonKind; email: string; password: string | null; reason: string; publicUrl: string },
  actor: Actor,
): Promise<{ email: string; password: string }> {
  const reason = checkReason(wanted.reason)
  const { userId, email, name } = await requireUser(core, wanted.kind, wanted.email)
  const { publicUrl } = wanted
  const password = checkNewPassword(wanted.password ?? randomPassword(), { email, name, publicUrl })
  const passwordHash = await hashPassword(password)
  await transact(core.pool, async (tx) => {
    await tx.run('update credentials set password = $2, updated_at = $3 where user_id = $1', [
      userId,
      passwordHash,
      now,
    ])
    await tx.run('update users set email_verified = true, updated_at = $2 where id = $1', [userId, now])
    await tx.run('delete from sessions where user_id = $1', [userId])
    await endVerifications(tx, userId)
    await auditSecurityIn(tx, now, userId, { action: 'password.set', details: {}, actor, reason })
  })
  return { email, password }
}

/** As following the link in a letter does. Confirming twice is fine. */
export async function confirmEmail(core: Core, now: Date, email: string, reason: string, actor: Actor): Promise<void> {
  const checked = checkReason(reason)
  const { userId } = await requireUser(core, 'account', email)
  await transact(core.pool, async (tx) => {
    const changed = await tx.run(
      'update users set email_verified = true, updated_at = $2 where id = $1 and not email_verified',
      [userId, now],
    )
    if (changed === 0) return
    await auditSecurityIn(tx, now, userId, { action: 'email.confirmed', details: {}, actor, reason: checked })
  })
}

async function requireUser(
  core: Core,
  kind: PersonKind,
  email: string,
): Promise<{ userId: string; email: string; name: string }> {
  const [user] = await query<{ userId: string; email: string; name: string }>(
    core.pool,
    'select id as "userId", email, name from users where email = lower($1) and kind = $2',
    [email.trim(), kind],
  )
  if (user) return user
  throw new Fault('not_found', `no ${kind} has the e-mail ${email}; \`guiche ${kind} list\` shows them`)
}
