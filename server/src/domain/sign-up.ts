import { Fault } from '../base/fault.ts'
import { transact, type Tx } from '../db/tx.ts'
import { makeAccount } from './accounts.ts'
import type { Context } from './context.ts'
import { markInvitationUsed, takeInvitation } from './invitations.ts'
import { checkPerson, type CheckedPerson } from './sign-in.ts'

export type SignUp = { email: string; name: string; password: string; invitation: string | null }

/** To a stranger both look the same, or anybody could find out who has an account. The mailbox learns which it was. */
export type SignedUp = { email: string; name: string; isEmailVerified: boolean; isNew: boolean }

/** Person, password, account, ledger account and the use of the invitation are one transaction: there is no half of an account. */
export async function signUp(ctx: Context, wanted: SignUp): Promise<SignedUp> {
  const { signup } = ctx.settings.signIn
  if (signup === 'closed') throw new Fault('not_enabled', 'Accounts here are made by the operator')
  if (signup === 'invite' && wanted.invitation === null)
    throw new Fault('not_enabled', 'An account here needs an invitation: ask the operator for one')
  const person = await checkPerson('an account', wanted)
  const { email, name } = person
  try {
    const isEmailVerified = await transact(ctx.pool, (tx) => make(tx, ctx.now(), person, wanted.invitation))
    return { email, name, isEmailVerified, isNew: true }
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'conflict') throw error
    return { email, name, isEmailVerified: false, isNew: false }
  }
}

async function make(tx: Tx, now: Date, person: CheckedPerson, token: string | null): Promise<boolean> {
  const invitation = token === null ? undefined : await takeInvitation(tx, now, token, person.email)
  // Whoever has the link of an invitation to this address reads its mail. Nobody else is confirmed by it.
  const isEmailVerified = invitation?.email === person.email
  const { email, name, passwordHash } = person
  const actor = { kind: 'account' as const, name: email }
  const accountId = await makeAccount(tx, now, { email, name, passwordHash, isEmailVerified }, actor)
  if (invitation) await markInvitationUsed(tx, now, { invitationId: invitation.invitationId, accountId })
  return isEmailVerified
}
