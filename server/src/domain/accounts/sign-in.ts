import { query, transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { checkCode, countWrongCode, takeCode } from '../users/second-factor.ts'
import { checkPasskey } from '../users/passkeys.ts'
import { hashPassword, isPassword, type UserKind } from '../users/users.ts'
import { createSecondStep, endVerification, trySecondStep } from '../users/verifications.ts'
import { openSession, type NewSession, type SessionToken } from './sessions.ts'

// Signing in: the password, and a code where the person has a second factor.

export type SignInRefused =
  | 'wrong_password'
  | 'email_unconfirmed'
  | 'operator_disabled'
  /** A member who was removed from every account. */
  | 'no_account'
  | 'wrong_code'
  | 'wrong_passkey'
  | 'code_used_before'
  | 'challenge_over'
  | 'second_factor_locked'

export type SignedIn =
  | { outcome: 'signed_in'; userId: string; email: string; name: string; session: SessionToken }
  | { outcome: 'second_factor_wanted'; userId: string; challenge: string }
  /** `isLocking`: this wrong code was one too many. */
  | { outcome: SignInRefused; userId: string | undefined; isLocking?: boolean }

export async function signIn(
  core: Core,
  { email, password, ...wanted }: Omit<NewSession, 'userId' | 'hours'> & { email: string; password: string },
): Promise<SignedIn> {
  const [person] = await query<{
    userId: string
    kind: UserKind
    email: string
    name: string
    hash: string
    isConfirmed: boolean
    isTwoFactor: boolean
    isDisabled: boolean
  }>(
    core.pool,
    `select u.id as "userId", u.kind, u.email, u.name, c.password as hash, u.email_verified as "isConfirmed",
       u.two_factor_enabled as "isTwoFactor", o.disabled_at is not null as "isDisabled"
     from users u join credentials c on c.user_id = u.id left join operators o on o.user_id = u.id where u.email = $1`,
    [email.trim().toLowerCase()],
  )
  if (!person) {
    // It takes as long as for an e-mail that somebody has.
    await hashPassword(password)
    return { outcome: 'wrong_password', userId: undefined }
  }
  const { userId, name } = person
  if (!(await isPassword(person.hash, password))) return { outcome: 'wrong_password', userId }
  if (!person.isConfirmed) return { outcome: 'email_unconfirmed', userId }
  if (person.isDisabled) return { outcome: 'operator_disabled', userId }
  if (person.isTwoFactor) {
    const challenge = await createSecondStep(core, userId, wanted.isUntilClosed)
    return { outcome: 'second_factor_wanted', userId, challenge }
  }
  const { hours } = core.settings.signIn.sessions[person.kind]
  const session = await transact(core.pool, (tx) => openSession(tx, core.now(), { userId, hours, ...wanted }))
  if (!session) return { outcome: NO_SESSION[person.kind], userId }
  return { outcome: 'signed_in', userId, email: person.email, name, session }
}

/** A passkey alone signs in: it is two factors at once. */
export async function signInWithPasskey(
  core: Core,
  { response, ...wanted }: Omit<NewSession, 'userId' | 'hours'> & { response: Parameters<typeof checkPasskey>[1] },
): Promise<SignedIn> {
  const person = await checkPasskey(core, response)
  if (!person) return { outcome: 'wrong_passkey', userId: undefined }
  const { userId, kind, email, name } = person
  if (!person.isConfirmed) return { outcome: 'email_unconfirmed', userId }
  const { hours } = core.settings.signIn.sessions[kind]
  const asked = { userId, hours, isByPasskey: true, ...wanted }
  const session = await transact(core.pool, (tx) => openSession(tx, core.now(), asked))
  return session ? { outcome: 'signed_in', userId, email, name, session } : { outcome: NO_SESSION[kind], userId }
}

const NO_SESSION = { operator: 'operator_disabled', account: 'no_account' } as const

export type SecondStepCode = { code: string; how: 'app_code' | 'recovery_code'; at: number }

/** With the code that the sign-in waits for. A code that is refused is not used up. */
export async function finishSignIn(
  core: Core,
  {
    challenge,
    code,
    ...device
  }: { challenge: string; code: SecondStepCode } & Pick<NewSession, 'address' | 'userAgent'>,
): Promise<SignedIn> {
  const step = await trySecondStep(core, challenge)
  if (!step) return { outcome: 'challenge_over', userId: undefined }
  const { userId, email, name, isUntilClosed } = step
  if (step.isLocked) return { outcome: 'second_factor_locked', userId }
  const checked = await checkCode(core, userId, code)
  if (checked.is === 'wrong') return { outcome: 'wrong_code', userId, isLocking: await countWrongCode(core, userId) }
  if (checked.is === 'used_before') return { outcome: 'code_used_before', userId }
  return transact(core.pool, async (tx) => {
    if (!(await takeCode(tx, userId, checked.code))) return { outcome: 'code_used_before', userId }
    if (!(await endVerification(tx, challenge))) return { outcome: 'challenge_over', userId }
    const { hours } = core.settings.signIn.sessions[step.kind]
    const session = await openSession(tx, core.now(), { userId, hours, isUntilClosed, ...device })
    return session ? { outcome: 'signed_in', userId, email, name, session } : { outcome: NO_SESSION[step.kind], userId }
  })
}
