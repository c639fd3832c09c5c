import { Fault } from '../base/fault.ts'
import { newUuid7 } from '../base/ids.ts'
import type { Pool } from '../db/pool.ts'
import { read, transact } from '../db/tx.ts'
import { checkPerson } from './accounts.ts'
import { noteChange, type Actor } from './audit-log.ts'

// Those who run the service. They are no account holders, also when somebody is both: nothing is shared but the e-mail.

export type Operator = { operatorId: string; email: string; name: string; createdAt: Date; disabledAt: Date | null }

const OPERATOR_COLUMNS = `id as "operatorId", email, name, created_at as "createdAt", disabled_at as "disabledAt"`

/** Without a password, a random one is made, and returned this once. */
export async function createOperator(
  pool: Pool,
  now: Date,
  operator: { email: string; name: string; password: string | null },
  actor: Actor,
): Promise<{ operatorId: string; email: string; name: string; password: string }> {
  const { password, passwordHash, ...person } = await checkPerson('an operator', operator)
  const operatorId = newUuid7(now)
  await transact(pool, async (tx) => {
    const made = await tx.run(
      `insert into operators (id, email, name, password_hash, created_at) values ($1, $2, $3, $4, $5) on conflict (email) do nothing`,
      [operatorId, person.email, person.name, passwordHash, now],
    )
    if (made === 0) throw new Fault('conflict', `an operator with the e-mail ${person.email} exists already`)
    await noteChange(tx, now, actor, {
      action: 'operator.created',
      subject: `operator ${operatorId}`,
      accountId: null,
      reason: null,
      details: person,
    })
  })
  return { operatorId, ...person, password }
}

export async function findOperator(pool: Pool, email: string): Promise<Operator | undefined> {
  const [row] = await read<Operator>(pool, `select ${OPERATOR_COLUMNS} from operators where email = lower($1)`, [
    email.trim(),
  ])
  return row
}

export function listOperators(pool: Pool): Promise<Operator[]> {
  return read<Operator>(pool, `select ${OPERATOR_COLUMNS} from operators order by email`)
}

/** A disabled operator's keys fail everywhere within two seconds. What the operator did stays in the audit log, so none is ever deleted. */
export async function setOperatorEnabled(
  pool: Pool,
  now: Date,
  { operatorId, isEnabled }: { operatorId: string; isEnabled: boolean },
  actor: Actor,
): Promise<void> {
  await transact(pool, async (tx) => {
    const changed = await tx.run(
      'update operators set disabled_at = $2 where id = $1 and (disabled_at is null) <> $3',
      [operatorId, isEnabled ? null : now, isEnabled],
    )
    if (changed === 0) return
    await noteChange(tx, now, actor, {
      action: isEnabled ? 'operator.enabled' : 'operator.disabled',
      subject: `operator ${operatorId}`,
      accountId: null,
      reason: null,
      details: {},
    })
  })
}
