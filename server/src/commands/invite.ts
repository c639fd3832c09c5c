import type { Command } from 'commander'
import { transact } from '../db/tx.ts'
import type { Core } from '../domain/core/core.ts'
import { createInvitation, INVITATION_DAYS, invitationLink } from '../domain/users/invitations.ts'
import { addCommand, wholeNumber } from './arguments.ts'
import { moment } from './format.ts'
import { consoleActor, databaseAction, type Terminal } from './terminal.ts'

export function inviteCommand(program: Command, terminal: Terminal): void {
  const days = wholeNumber({ min: 1, max: INVITATION_DAYS.max })
  addCommand(program, 'invite', '--email ana@loja.example --days 2')
    .description('create a link to sign up with; prints only the link, once')
    .option('--email <email>', 'only this e-mail can sign up with it (default: any)')
    .option('--days <n>', `days until it expires, up to ${INVITATION_DAYS.max}`, days, INVITATION_DAYS.default)
    .action(databaseAction(terminal, invite))
}

async function invite(core: Core, terminal: Terminal, options: { email?: string; days: number }): Promise<void> {
  const { publicUrl, signIn } = core.settings
  const wanted = { email: options.email ?? null, expiresInDays: options.days }
  const { invitation, token } = await transact(core.pool, (tx) =>
    createInvitation(tx, core.now(), wanted, consoleActor()),
  )
  terminal.print(invitationLink(publicUrl, token))
  const guest = invitation.email ?? 'anyone with the link'
  terminal.say(`For ${guest}. It works once, until ${moment(invitation.expiresAt)} UTC.`)
  if (signIn.signup === 'closed') terminal.say('SIGNUP is closed, so the link does not work yet: set SIGNUP=invite.')
}
