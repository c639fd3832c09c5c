import { newUuid7 } from '../../base/ids.ts'
import { query, transact } from '../../db/tx.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import { checkPerson, emailTaken, insertUser, type Person } from './users.ts'
import type { Core } from '../core/core.ts'

// Those who run the service. They are no account holders: somebody who is both signs in with two e-mails.

export type Operator = { operatorId: string; email: string; name: string; createdAt: Date; disabledAt: Date | null }

const OPERATOR_COLUMNS = `id as "operatorId", email, name, created_at as "createdAt", disabled_at as "disabledAt"`

/** Without a password, a random one is made, and returned this once. */
export async function createOperator(
  core: Core,
  now: Date,
  operator: Person,
  actor: Actor,
): Promise<{ operatorId: string; email: string; name: string; password: string }> {
  const { password, passwordHash, ...person } = await checkPerson('an operator', operator)
  const operatorId = newUuid7(now)
  await transact(core.pool, async (tx) => {
    const userId = await insertUser(tx, now, { kind: 'operator', ...person, passwordHash })
    if (!userId) throw await emailTaken(tx, person.email, 'operator')
    await tx.run('insert into operators (id, user_id, email, name, created_at) values ($1, $2, $3, $4, $5)', [
      operatorId,
      userId,
      person.email,
      person.name,
      now,
    ])
    await writeAudit(tx, now, actor, {
      action: 'operator.created',
      subject: `operator ${operatorId}`,
      accountId: null,
      reason: null,
      details: person,
    })
  })
  return { operatorId, ...person, password }
}

export async function findOperator(core: Core, email: string): Promise<Operator | undefined> {
  const [row] = await query<Operator>(core.pool, `select ${OPERATOR_COLUMNS} from operators where email = lower($1)`, [
    email.trim(),
  ])
  return row
}

export function listOperators(core: Core): Promise<Operator[]> {
  return query<Operator>(core.pool, `select ${OPERATOR_COLUMNS} from operators order by email`)
}

/** A disabled operator's keys fail everywhere within two seconds, and sessions at once. What the operator did stays in the audit log, so none is ever deleted. */
export async function setOperatorEnabled(
  core: Core,
  now: Date,
  { operatorId, isEnabled, reason }: { operatorId: string; isEnabled: boolean; reason?: string },
  actor: Actor,
): Promise<void> {
  const checked = reason === undefined ? null : checkReason(reason)
  await transact(core.pool, async (tx) => {
    const changed = await tx.run(
      'update operators set disabled_at = $2 where id = $1 and (disabled_at is null) <> $3',
      [operatorId, isEnabled ? null : now, isEnabled],
    )
    if (changed === 0) return
    await writeAudit(tx, now, actor, {
      action: isEnabled ? 'operator.enabled' : 'operator.disabled',
      subject: `operator ${operatorId}`,
      accountId: null,
      reason: checked,
      details: {},
    })
  })
}
