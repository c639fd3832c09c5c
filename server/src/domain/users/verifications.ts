import { createHash } from 'node:crypto'
import { query, type Tx } from '../../db/tx.ts'
import type { UserKind } from './users.ts'
import type { Core } from '../core/core.ts'

// Links that reset a password, and sign-ins that wait for a code, as better-auth stores them in `verifications`.

const RESET = 'reset-password:'

/**
 * The identifier of a row is hashed, so that reading the database does not let anybody use it. Resets have a prefix, so
 * that a new one ends the older ones. It differs from better-auth's, which also looks for identifiers without a hash.
 */
export function storedIdentifier(identifier: string): string {
  const hash = createHash('sha256').update(identifier).digest('base64url')
  return identifier.startsWith(RESET) ? `reset:${hash}` : hash
}

export type Owner = { userId: string; kind: UserKind; email: string; name: string }

/** The person whose password a link would change. */
export function resetOwner(core: Core, token: string): Promise<Owner | undefined> {
  return challengeOwner(core, `${RESET}${token}`)
}

/** The person whose sign-in waits for a code. */
export async function challengeOwner(core: Core, identifier: string): Promise<Owner | undefined> {
  const [owner] = await query<Owner>(
    core.pool,
    `select u.id as "userId", u.kind, u.email, u.name from verifications v join users u on u.id::text = v.value
     where v.identifier = $1 and v.expires_at > $2`,
    [storedIdentifier(identifier), core.now()],
  )
  return owner
}

/** Only the newest link works. */
export async function endOlderResets(core: Core, userId: string, newestToken: string): Promise<void> {
  await query(
    core.pool,
    `delete from verifications where value = $1 and identifier like 'reset:%' and identifier <> $2`,
    [userId, storedIdentifier(`${RESET}${newestToken}`)],
  )
}

/** After a change of password, older links and half-done sign-ins end. */
export async function endVerifications(tx: Tx, userId: string): Promise<void> {
  await tx.run('delete from verifications where value = $1', [userId])
}
