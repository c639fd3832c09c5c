import { z } from 'zod'
import { Fault, invalidField } from '../../base/fault.ts'
import { newUuid7, randomPassword } from '../../base/ids.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { insertRow } from '../../db/insert-rows.ts'
import type { Tx } from '../../db/tx.ts'
import { checkPassword, type PasswordOwner } from './password-rules.ts'

// People who sign in. Account holders and operators have one row of users each; the row of accounts or operators that
// refers to it decides what they may do.

export type UserKind = 'account' | 'operator'

export const PASSWORD_LENGTH = { min: 12, max: 200 }

// argon2id with OWASP's minimum: 19 MiB, two passes.
export const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export type Person = {
  email: string
  name: string
  password: string | null
  /** The service's own URL, whose name makes a bad password. */
  publicUrl?: string
}
export type CheckedPerson = { email: string; name: string; password: string; passwordHash: string }

/** Checks and normalises a new person. Without a password it makes a random one. */
export async function checkPerson(
  what: 'An account' | 'An operator' | 'A member',
  person: Person,
): Promise<CheckedPerson> {
  const email = checkEmail(person.email)
  const name = person.name.trim()
  if (name.length < 1 || name.length > 100) throw invalidField('name', `${what} needs a name of 1 to 100 characters`)
  if (!isReadable(name)) throw invalidField('name', `A name must be ${READABLE_RULE}`)
  const password = checkNewPassword(person.password ?? randomPassword(), { ...person, email, name })
  return { email, name, password, passwordHash: await hashPassword(password) }
}

export function checkNewPassword(password: string, owner: PasswordOwner): string {
  const { min, max } = PASSWORD_LENGTH
  if (password.length < min || password.length > max)
    throw new Fault('password_length', `A password must have ${min} to ${max} characters`, { details: { min, max } })
  checkPassword(password, owner)
  return password
}

export function checkEmail(text: string): string {
  const email = text.trim().toLowerCase()
  // The same rule as at sign-in, so that every stored e-mail can sign in.
  if (email.length > 254 || !z.email().safeParse(email).success)
    throw invalidField('email', `Not an e-mail address: ${text.slice(0, 80)}`)
  return email
}

export async function hashPassword(password: string): Promise<string> {
  const { hash } = await loadArgon2()
  return hash(password, ARGON2)
}

/** False also for text that is no hash. */
export async function isPassword(passwordHash: string, password: string): Promise<boolean> {
  const { verify } = await loadArgon2()
  return verify(passwordHash, password).catch(() => false)
}

/** At the first use: a command that asks the API of a service elsewhere runs without the packages of the platform. */
export function loadArgon2() {
  return import('@node-rs/argon2')
}

/** Undefined: the e-mail is taken. The caller inserts the account or operator in the same transaction. */
export async function insertUser(
  tx: Tx,
  now: Date,
  user: { kind: UserKind; email: string; name: string; passwordHash: string; isEmailVerified?: boolean },
): Promise<string | undefined> {
  const userId = newUuid7(now)
  const { kind, email, name, isEmailVerified = true } = user
  const row = { id: userId, kind, email, email_verified: isEmailVerified, name, created_at: now, updated_at: now }
  const made = await insertRow(tx, 'users', row, 'on conflict (email) do nothing returning id')
  if (made.length === 0) return undefined
  await insertRow(tx, 'credentials', { user_id: userId, password: user.passwordHash, updated_at: now })
  return userId
}

/** Says who has the e-mail. Strangers must not see it: they would learn who is a customer. */
export async function emailTaken(tx: Tx, email: string, kind: UserKind): Promise<Fault> {
  const [holder] = await tx.rows<{ kind: UserKind }>('select kind from users where email = $1', [email])
  const text =
    !holder || holder.kind === kind
      ? `An ${kind} with the e-mail ${email} already exists`
      : `The e-mail ${email} is ${holder.kind === 'operator' ? 'an operator’s' : 'an account holder’s'}, and an e-mail is one or the other: use another`
  return new Fault('email_taken', text)
}
