import type { Command } from 'commander'
import { transact } from '../db/tx.ts'
import { createInvitation, INVITATION_DAYS, invitationLink } from '../domain/users/invitations.ts'
import { wholeNumber } from './arguments.ts'
import { consoleActor, moment, withDatabase, type Terminal } from './terminal.ts'

export function inviteCommand(program: Command, terminal: Terminal): void {
  program
    .command('invite')
    .description('invite somebody to make an account; prints the link alone, this once')
    .option('--email <email>', 'only this address may use it (default: whoever has the link)')
    .option(
      '--days <n>',
      'how long it works',
      wholeNumber({ min: 1, max: INVITATION_DAYS.max }),
      INVITATION_DAYS.default,
    )
    .action((options) => invite(terminal, options))
}

async function invite(terminal: Terminal, options: { email?: string; days: number }): Promise<void> {
  const config = terminal.loadConfig()
  const { settings } = config
  await withDatabase(config, terminal, async (core) => {
    const wanted = { email: options.email ?? null, expiresInDays: options.days }
    const { invitation, token } = await transact(core.pool, (tx) =>
      createInvitation(tx, core.now(), wanted, consoleActor()),
    )
    terminal.print(invitationLink(settings.publicUrl, token))
    const whom = invitation.email ?? 'whoever has it'
    terminal.say(`For ${whom}, once, until ${moment(invitation.expiresAt)} UTC.`)
    if (settings.signIn.signup === 'closed') terminal.say('SIGNUP is closed: set it to invite, or nobody can use this.')
  })
}
