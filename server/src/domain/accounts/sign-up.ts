import { Fault } from '../../base/fault.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { makeAccount } from './accounts.ts'
import { endInvitation, markInvitationUsed, lockInvitation } from '../users/invitations.ts'
import { checkPerson, type CheckedPerson } from '../users/users.ts'
import type { Core } from '../core/core.ts'

export type SignUp = { email: string; name: string; password: string; invitation: string | null }

/** The response must not depend on isNew, or anybody could find out who has an account. The e-mail tells. */
export type SignedUp = { email: string; name: string; isEmailVerified: boolean; isNew: boolean }

export async function signUp(core: Core, wanted: SignUp): Promise<SignedUp> {
  const { signup } = core.settings.signIn
  if (signup === 'closed') throw new Fault('not_enabled', 'Only the operator can create accounts here')
  if (signup === 'invite' && wanted.invitation === null)
    throw new Fault('not_enabled', 'You need an invitation to create an account here: ask the operator for one')
  const person = await checkPerson('An account', { ...wanted, publicUrl: core.settings.publicUrl })
  const { email, name } = person
  const made = await transact(core.pool, (tx) => make(tx, core.now(), person, wanted.invitation))
  return { email, name, isEmailVerified: made === 'confirmed', isNew: made !== 'taken' }
}

/** confirmed: the invitation was sent to this address. taken: somebody has this e-mail already. */
async function make(
  tx: Tx,
  now: Date,
  person: CheckedPerson,
  token: string | null,
): Promise<'confirmed' | 'unconfirmed' | 'taken'> {
  const invitation = token === null ? undefined : await lockInvitation(tx, now, token, person.email)
  const isEmailVerified = invitation?.email === person.email
  const actor = { kind: 'account' as const, name: person.email }
  try {
    const accountId = await makeAccount(tx, now, { ...person, isEmailVerified }, actor)
    if (invitation) await markInvitationUsed(tx, now, { invitationId: invitation.invitationId, accountId })
    return isEmailVerified ? 'confirmed' : 'unconfirmed'
  } catch (error) {
    // Our own refusal, before anything was written: the transaction can go on.
    if (!(error instanceof Fault) || error.code !== 'email_taken') throw error
    // If the invitation still worked, its holder could find out which addresses have accounts.
    if (invitation) await endInvitation(tx, now, invitation.invitationId)
    return 'taken'
  }
}
