import { createHash, randomBytes } from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { Fault } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { auditSecurityIn } from './security-events.ts'
import type { UserKind } from './users.ts'

// Passkeys: a key pair on the person's device, which signs only for this service, and only after it knew its owner. So
// a passkey is two factors at once, and nothing that a false page could ask for.

// Enough for a phone, a laptop and a few security keys.
const MAX_PASSKEYS = 20
const CHALLENGE_MS = 5 * 60_000

export type Passkey = { id: string; name: string; createdAt: Date; lastUsedAt: Date | null }

export function listPasskeys(core: Core, userId: string): Promise<Passkey[]> {
  return query<Passkey>(
    core.pool,
    `select id, name, created_at as "createdAt", last_used_at as "lastUsedAt" from passkeys where user_id = $1
     order by id`,
    [userId],
  )
}

/** At the first use: most processes never need the package. */
function loadWebauthn() {
  return import('@simplewebauthn/server')
}

/** Browsers bind passkeys to the name of the host. */
function partyOf({ settings }: Core): { rpID: string; origin: string } {
  const { hostname, origin } = new URL(settings.publicUrl)
  return { rpID: hostname, origin }
}

// ---- Adding and removing ----

export async function beginPasskey(
  core: Core,
  { userId, email }: { userId: string; email: string },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await loadWebauthn()
  const known = await query<{ id: Buffer }>(
    core.pool,
    'select credential_id as id from passkeys where user_id = $1 limit $2',
    [userId, MAX_PASSKEYS],
  )
  if (known.length >= MAX_PASSKEYS) throw tooManyPasskeys()
  return generateRegistrationOptions({
    rpName: 'guiche',
    rpID: partyOf(core).rpID,
    userName: email,
    userID: new Uint8Array(Buffer.from(userId.replaceAll('-', ''), 'hex')),
    challenge: await makeChallenge(core, userId),
    timeout: CHALLENGE_MS,
    excludeCredentials: known.map(({ id }) => ({ id: id.toString('base64url') })),
    // Discoverable: signing in asks for no e-mail first.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

export async function addPasskey(
  core: Core,
  { userId, name, response }: { userId: string; name: string; response: RegistrationResponseJSON },
): Promise<void> {
  const { verifyRegistrationResponse } = await loadWebauthn()
  const { rpID, origin } = partyOf(core)
  const { registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: (challenge) => takeChallenge(core, challenge, userId),
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: true,
  }).catch(refuse)
  if (!registrationInfo) throw refused()
  const { credential } = registrationInfo
  const now = core.now()
  await transact(core.pool, async (tx) => {
    await tx.run('select from users where id = $1 for no key update', [userId])
    const sql = 'select count(*) as count from passkeys where user_id = $1'
    if ((await tx.one<{ count: number }>(sql, [userId])).count >= MAX_PASSKEYS) throw tooManyPasskeys()
    const row = {
      id: newUuid7(now),
      user_id: userId,
      credential_id: Buffer.from(credential.id, 'base64url'),
      public_key: Buffer.from(credential.publicKey),
      sign_count: credential.counter,
      name,
      created_at: now,
    }
    const made = await insertRow(tx, 'passkeys', row, 'on conflict (credential_id) do nothing returning id')
    if (made.length === 0) throw refused()
    await auditSecurityIn(tx, now, userId, { action: 'passkey.added', details: { name } })
  })
}

export async function removePasskey(tx: Tx, now: Date, userId: string, passkeyId: string): Promise<void> {
  const sql = 'delete from passkeys where id = $1 and user_id = $2 returning name'
  const [gone] = isUuid(passkeyId) ? await tx.rows<{ name: string }>(sql, [passkeyId, userId]) : []
  if (!gone) throw new Fault('not_found', 'Passkey not found')
  await auditSecurityIn(tx, now, userId, { action: 'passkey.removed', details: gone })
}

// ---- Signing in ----

export async function beginPasskeySignIn(core: Core): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await loadWebauthn()
  const { rpID } = partyOf(core)
  const challenge = await makeChallenge(core, null)
  return generateAuthenticationOptions({ rpID, challenge, timeout: CHALLENGE_MS, userVerification: 'required' })
}

export type PasskeyOwner = { userId: string; kind: UserKind; email: string; name: string; isConfirmed: boolean }

/** Whose passkey it is, if it signed a challenge of ours that nobody used before. */
export async function checkPasskey(
  core: Core,
  response: AuthenticationResponseJSON,
): Promise<PasskeyOwner | undefined> {
  const [found] = await query<PasskeyOwner & { id: string; publicKey: Buffer; signCount: number }>(
    core.pool,
    `select p.id, p.public_key as "publicKey", p.sign_count as "signCount", u.id as "userId", u.kind, u.email, u.name,
       u.email_verified as "isConfirmed"
     from passkeys p join users u on u.id = p.user_id where p.credential_id = $1`,
    [Buffer.from(response.id, 'base64url')],
  )
  if (!found) return undefined
  const { id, publicKey, signCount, ...owner } = found
  const { verifyAuthenticationResponse } = await loadWebauthn()
  const { rpID, origin } = partyOf(core)
  const checked = await verifyAuthenticationResponse({
    response,
    expectedChallenge: (challenge) => takeChallenge(core, challenge, null),
    expectedOrigin: origin,
    expectedRPID: rpID,
    credential: { id: response.id, publicKey: new Uint8Array(publicKey), counter: signCount },
    requireUserVerification: true,
  }).catch(() => undefined)
  if (!checked?.verified) return undefined
  // Of two answers with one count, a copied device gave one.
  const sql = 'update passkeys set sign_count = $3, last_used_at = $4 where id = $1 and sign_count = $2 returning id'
  const values = [id, signCount, checked.authenticationInfo.newCounter, core.now()]
  return (await query(core.pool, sql, values)).length > 0 ? owner : undefined
}

// ---- Challenges ----

async function makeChallenge(core: Core, userId: string | null): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = new Uint8Array(randomBytes(32))
  await query(core.pool, 'insert into passkey_challenges (hash, user_id, expires_at) values ($1, $2, $3)', [
    hashOf(Buffer.from(challenge).toString('base64url')),
    userId,
    new Date(core.now().getTime() + CHALLENGE_MS),
  ])
  return challenge
}

/** Each works once, for the one that it was made for. */
async function takeChallenge(core: Core, challenge: string, userId: string | null): Promise<boolean> {
  const sql = `delete from passkey_challenges where hash = $1 and user_id is not distinct from $2 and expires_at > $3
    returning hash`
  return (await query(core.pool, sql, [hashOf(challenge), userId, core.now()])).length > 0
}

function hashOf(challenge: string): Buffer {
  return createHash('sha256').update(challenge).digest()
}

/** The package throws sentences; which rule was broken helps nobody but an attacker. */
function refuse(): never {
  throw refused()
}

function refused(): Fault {
  return new Fault('passkey_refused', 'This passkey could not be added: try again, or use another device')
}

function tooManyPasskeys(): Fault {
  return new Fault('passkey_limit', `A person can have at most ${MAX_PASSKEYS} passkeys: remove one first`, {
    details: { maxPasskeys: MAX_PASSKEYS },
  })
}
