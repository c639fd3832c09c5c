import { newUuid7 } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, transact } from '../../db/tx.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import { checkPerson, emailTaken, insertUser, type Person } from './users.ts'
import type { Core } from '../core/core.ts'

// Operators run the service and hold no account: somebody who does both signs in with two e-mails.

export type Operator = { operatorId: string; email: string; name: string; createdAt: Date; disabledAt: Date | null }

const OPERATOR_COLUMNS = `id as "operatorId", email, name, created_at as "createdAt", disabled_at as "disabledAt"`

/** Without a password it makes a random one, which only this call returns. */
export async function createOperator(
  core: Core,
  operator: Person,
  actor: Actor,
): Promise<{ operatorId: string; email: string; name: string; password: string }> {
  const { password, passwordHash, ...person } = await checkPerson('An operator', operator)
  const now = core.now()
  const operatorId = newUuid7(now)
  await transact(core.pool, async (tx) => {
    const userId = await insertUser(tx, now, { kind: 'operator', ...person, passwordHash })
    if (!userId) throw await emailTaken(tx, person.email, 'operator')
    await insertRow(tx, 'operators', { id: operatorId, user_id: userId, ...person, created_at: now })
    const subject = `operator ${operatorId}`
    const rows = [['user', userId] as const, ['operator', operatorId] as const]
    await writeAudit(tx, now, actor, { action: 'operator.created', subject, details: person, rows })
  })
  return { operatorId, ...person, password }
}

export async function findOperator(core: Core, email: string): Promise<Operator | undefined> {
  const sql = `select ${OPERATOR_COLUMNS} from operators where email = lower($1)`
  const [operator] = await query<Operator>(core.pool, sql, [email.trim()])
  return operator
}

export function listOperators(core: Core): Promise<Operator[]> {
  return query<Operator>(core.pool, `select ${OPERATOR_COLUMNS} from operators order by email`)
}

/** Ends sessions at once and keys within two seconds. Operators are never deleted: the audit log names them. */
export async function setOperatorEnabled(
  core: Core,
  { operatorId, isEnabled, reason }: { operatorId: string; isEnabled: boolean; reason?: string },
  actor: Actor,
): Promise<void> {
  const checked = reason === undefined ? null : checkReason(reason)
  const now = core.now()
  await transact(core.pool, async (tx) => {
    const sql = 'update operators set disabled_at = $2 where id = $1 and (disabled_at is null) <> $3'
    const changed = await tx.run(sql, [operatorId, isEnabled ? null : now, isEnabled])
    if (changed === 0) return
    const action = isEnabled ? 'operator.enabled' : 'operator.disabled'
    const change = { subject: `operator ${operatorId}`, reason: checked, rows: [['operator', operatorId]] } as const
    await writeAudit(tx, now, actor, { action, ...change })
  })
}
