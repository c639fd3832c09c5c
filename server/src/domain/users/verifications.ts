import { createHash } from 'node:crypto'
import { query, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

// Links to reset a password, and sign-ins that wait for their second step, as better-auth keeps them in `verifications`.

const RESET = 'reset-password:'

/**
 * Under which name a row is kept: whoever reads the database must not be able to use it. Resets can be told from the rest, so that a new one ends the
 * older ones. The prefix differs from better-auth's own, for it also looks for names that are not hashed.
 */
export function storedIdentifier(identifier: string): string {
  const hash = createHash('sha256').update(identifier).digest('base64url')
  return identifier.startsWith(RESET) ? `reset:${hash}` : hash
}

export type Owner = { userId: string; kind: 'account' | 'operator'; email: string; name: string }

/** Whose password a link would change. */
export function resetOwner(core: Core, now: Date, token: string): Promise<Owner | undefined> {
  return ownerOf(core, now, `${RESET}${token}`)
}

/** Whose sign-in waits for a code. */
export function challengeOwner(core: Core, now: Date, challenge: string): Promise<Owner | undefined> {
  return ownerOf(core, now, challenge)
}

async function ownerOf(core: Core, now: Date, identifier: string): Promise<Owner | undefined> {
  const [owner] = await query<Owner>(
    core.pool,
    `select u.id as "userId", u.kind, u.email, u.name from verifications v join users u on u.id::text = v.value
     where v.identifier = $1 and v.expires_at > $2`,
    [storedIdentifier(identifier), now],
  )
  return owner
}

/** The newest link is the one that works. */
export async function endOlderResets(core: Core, userId: string, newestToken: string): Promise<void> {
  await query(
    core.pool,
    `delete from verifications where value = $1 and identifier like 'reset:%' and identifier <> $2`,
    [userId, storedIdentifier(`${RESET}${newestToken}`)],
  )
}

/** After a change of password: neither a link from before nor a sign-in that is half done is good any more. */
export async function endVerifications(tx: Tx, userId: string): Promise<void> {
  await tx.run('delete from verifications where value = $1', [userId])
}
