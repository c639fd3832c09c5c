import type { Command } from 'commander'
import { setPassword } from '../domain/users/passwords.ts'
import type { UserKind } from '../domain/users/users.ts'
import { consoleActor, json, readPassword, withDatabase, type Terminal } from './terminal.ts'

/** `account password` and `operator password`: for somebody who cannot sign in and gets no mail. */
export function passwordCommand(parent: Command, terminal: Terminal, kind: UserKind): void {
  parent
    .command('password')
    .description('set a new password, and end all sessions; prints it as JSON if it was made here')
    .requiredOption('--email <email>', 'whose')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .option('--password-stdin', 'read the password from standard input instead of making a random one')
    .action((options) => setPasswordCommand(terminal, kind, options))
}

async function setPasswordCommand(
  terminal: Terminal,
  kind: UserKind,
  options: { email: string; reason: string; passwordStdin?: boolean },
): Promise<void> {
  const config = terminal.loadConfig()
  const given = options.passwordStdin ? await readPassword(terminal) : null
  await withDatabase(config, terminal, async (core) => {
    const { email, reason } = options
    const wanted = { kind, email, reason, password: given, publicUrl: config.publicUrl }
    const set = await setPassword(core, wanted, consoleActor())
    terminal.print(json({ email: set.email, ...(given === null && { password: set.password }) }))
  })
}
