import { createHash, randomBytes } from 'node:crypto'
import { query, type Tx } from '../../db/tx.ts'
import type { UserKind } from './users.ts'
import type { Core } from '../core/core.ts'

// Links that reset a password, and sign-ins that wait for a code. The database holds hashes of their tokens, so that
// reading it does not let anybody use them.

const LIFE_MS = { reset: 3_600_000, second_step: 600_000 }
export const SECOND_STEP_SECONDS = LIFE_MS.second_step / 1000
// Codes that may be tried in one sign-in.
const MAX_ATTEMPTS = 5

export type Owner = { userId: string; kind: UserKind; email: string; name: string }

const OWNER = 'u.id as "userId", u.kind, u.email, u.name'

/** Returns the token of a link, and ends older links. It takes as long for an e-mail that nobody has. */
export async function createReset(core: Core, email: string): Promise<{ email: string; token: string } | undefined> {
  const now = core.now()
  const token = randomBytes(24).toString('base64url')
  const [person] = await query<{ email: string }>(
    core.pool,
    `with person as (select id, email from users where email = $1),
       older as (delete from verifications where kind = 'reset' and user_id in (select id from person)),
       made as (insert into verifications (identifier, kind, user_id, created_at, expires_at)
         select $2, 'reset', id, $3, $4 from person)
     select email from person`,
    [email, hashOf(token), now, new Date(now.getTime() + LIFE_MS.reset)],
  )
  return person && { email: person.email, token }
}

/** The person whose password a link would change. */
export async function resetOwner(core: Core, token: string): Promise<Owner | undefined> {
  const [owner] = await query<Owner>(
    core.pool,
    `select ${OWNER} from verifications v join users u on u.id = v.user_id
     where v.identifier = $1 and v.kind = 'reset' and v.expires_at > $2`,
    [hashOf(token), core.now()],
  )
  return owner
}

/** Returns the token of a sign-in that waits for a code. */
export async function createSecondStep(core: Core, userId: string, isUntilClosed: boolean): Promise<string> {
  const now = core.now()
  const token = randomBytes(24).toString('base64url')
  await query(
    core.pool,
    `insert into verifications (identifier, kind, user_id, until_closed, created_at, expires_at)
     values ($1, 'second_step', $2, $3, $4, $5)`,
    [hashOf(token), userId, isUntilClosed, now, new Date(now.getTime() + LIFE_MS.second_step)],
  )
  return token
}

export type SecondStep = Owner & {
  isUntilClosed: boolean
  /** After too many wrong codes, from whomever. */
  isLocked: boolean
}

/** The person whose sign-in waits for a code. Counts an attempt; undefined after the last one. */
export async function trySecondStep(core: Core, token: string): Promise<SecondStep | undefined> {
  const [step] = await query<SecondStep>(
    core.pool,
    `update verifications v set attempts = attempts + 1 from users u join second_factors f on f.user_id = u.id
     where v.identifier = $1 and v.kind = 'second_step' and v.expires_at > $2 and v.attempts < $3 and u.id = v.user_id
     returning ${OWNER}, v.until_closed as "isUntilClosed", coalesce(f.locked_until > $2, false) as "isLocked"`,
    [hashOf(token), core.now(), MAX_ATTEMPTS],
  )
  return step
}

/** False if somebody else was first. */
export async function endVerification(tx: Tx, token: string): Promise<boolean> {
  return (await tx.run('delete from verifications where identifier = $1', [hashOf(token)])) > 0
}

/** After a change of password, older links and half-done sign-ins end. */
export async function endVerifications(tx: Tx, userId: string): Promise<void> {
  await tx.run('delete from verifications where user_id = $1', [userId])
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
