import { hash, verify } from '@node-rs/argon2'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { newUuid7, randomPassword } from '../../base/ids.ts'
import type { Tx } from '../../db/tx.ts'
import { checkPassword, type PasswordOwner } from './password-rules.ts'

// People who sign in. Account holders and operators have one row of users each; what they may do hangs on the other table, accounts or
// operators, that refers to it.

export const PASSWORD_LENGTH = { min: 12, max: 200 }

// argon2id with what OWASP names as the least for it: 19 MiB, two passes.
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export type Person = {
  email: string
  name: string
  password: string | null
  /** Of the service, whose name is no password either. */
  publicUrl?: string
}
export type CheckedPerson = { email: string; name: string; password: string; passwordHash: string }

/** Somebody who is to sign in, as they are stored. Without a password, a random one is made. */
export async function checkPerson(what: 'an account' | 'an operator', person: Person): Promise<CheckedPerson> {
  const email = checkEmail(person.email)
  const name = person.name.trim()
  if (name.length < 1 || name.length > 100)
    throw new Fault('field_invalid', `${what} needs a name of 1 to 100 characters`, { details: { field: 'name' } })
  // Payers and operators read it: escape sequences play tricks on a terminal, and marks of direction turn the text around them.
  if (/[\p{Cc}\p{Cs}\p{Bidi_Control}]/u.test(name))
    throw new Fault(
      'field_invalid',
      'a name must not contain control characters or marks that change the text direction',
      {
        details: { field: 'name' },
      },
    )
  const password = checkNewPassword(person.password ?? randomPassword(), { ...person, email, name })
  return { email, name, password, passwordHash: await hashPassword(password) }
}

/** Everything that a password must be, for whoever is not better-auth. */
export function checkNewPassword(password: string, owner: PasswordOwner): string {
  if (password.length < PASSWORD_LENGTH.min || password.length > PASSWORD_LENGTH.max)
    throw new Fault('password_length', `a password has ${PASSWORD_LENGTH.min} to ${PASSWORD_LENGTH.max} characters`, {
      details: PASSWORD_LENGTH,
    })
  checkPassword(password, owner)
  return password
}

export function checkEmail(text: string): string {
  const email = text.trim().toLowerCase()
  // By the rule that signing in has too, so that nobody is made who cannot come in.
  if (email.length > 254 || !z.email().safeParse(email).success)
    throw new Fault('field_invalid', `not an e-mail address: ${text.slice(0, 80)}`, { details: { field: 'email' } })
  return email
}

export function hashPassword(password: string): Promise<string> {
  return hash(password, ARGON2)
}

/** False also for what is no hash at all: nobody gets in by it. */
export function isPassword(passwordHash: string, password: string): Promise<boolean> {
  return verify(passwordHash, password).catch(() => false)
}

/** The person and the password; what they may do is the caller's next statement, in the same transaction. Undefined: the e-mail is taken. */
export async function insertUser(
  tx: Tx,
  now: Date,
  user: { kind: 'account' | 'operator'; email: string; name: string; passwordHash: string; isEmailVerified?: boolean },
): Promise<string | undefined> {
  const userId = newUuid7(now)
  const made = await tx.run(
    `insert into users (id, kind, email, email_verified, name, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6)
     on conflict (email) do nothing`,
    [userId, user.kind, user.email, user.isEmailVerified ?? true, user.name, now],
  )
  if (made === 0) return undefined
  await tx.run(
    `insert into credentials (id, user_id, provider_id, account_id, password, created_at, updated_at)
     values ($1, $2, 'credential', $3, $4, $5, $5)`,
    [newUuid7(now), userId, userId, user.passwordHash, now],
  )
  return userId
}

/** Why an e-mail cannot be used again, in words for whoever may know: never for strangers, who would learn who is a customer. */
export async function emailTaken(tx: Tx, email: string, kind: 'account' | 'operator'): Promise<Fault> {
  const [holder] = await tx.rows<{ kind: 'account' | 'operator' }>('select kind from users where email = $1', [email])
  const text =
    !holder || holder.kind === kind
      ? `an ${kind} with the e-mail ${email} already exists`
      : `the e-mail ${email} is ${holder.kind === 'operator' ? 'an operator’s' : 'an account holder’s'}, and an e-mail is one or the other: use another`
  return new Fault('email_taken', text)
}
