import type { Tx } from '../db/tx.ts'

/** Who does something: an operator by key or dashboard, an account holder by key or dashboard, somebody at the server's terminal, or guiche itself. */
export type Actor = { kind: 'operator' | 'account' | 'console' | 'system'; name: string }

export const SYSTEM: Actor = { kind: 'system', name: 'guiche' }

export type Change = {
  /** A dotted past tense, such as 'exception.resolved'. */
  action: string
  subject: string
  accountId: string | null
  reason: string | null
  /** Before and after, or whatever tells what changed. Never a secret. */
  details: object
}

/** In the transaction of the change itself, so that there is none without its record. */
export async function noteChange(tx: Tx, now: Date, actor: Actor, change: Change): Promise<void> {
  await tx.run(
    `insert into audit_log (at, actor_kind, actor, action, subject, account_id, reason, details)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [now, actor.kind, actor.name, change.action, change.subject, change.accountId, change.reason, change.details],
  )
}
