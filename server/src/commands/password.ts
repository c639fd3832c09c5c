import type { Command } from 'commander'
import type { Core } from '../domain/core/core.ts'
import { setPassword } from '../domain/users/passwords.ts'
import type { UserKind } from '../domain/users/users.ts'
import { examples, PASSWORD_STDIN, REASON } from './arguments.ts'
import { consoleActor, databaseAction, json, readPassword, type Terminal } from './terminal.ts'

type Options = { email: string; reason: string; passwordStdin?: boolean }

/** `account password` and `operator password`: for users who cannot sign in and receive no mail. */
export function passwordCommand(parent: Command, terminal: Terminal, kind: UserKind): void {
  parent
    .command('password')
    .description(`set the password of an ${kind} and end its sessions; prints JSON, with the password if generated`)
    .requiredOption('--email <email>', `e-mail of the ${kind}`)
    .requiredOption(...REASON)
    .option(...PASSWORD_STDIN)
    .addHelpText(...examples([`${kind} password --email ana@loja.example --reason "forgot it"`]))
    .action(databaseAction(terminal, (core, _, options: Options) => setUserPassword(core, terminal, kind, options)))
}

async function setUserPassword(core: Core, terminal: Terminal, kind: UserKind, options: Options): Promise<void> {
  const { email, reason } = options
  const given = await readPassword(terminal, options)
  const wanted = { kind, email, reason, password: given, publicUrl: core.settings.publicUrl }
  const set = await setPassword(core, wanted, consoleActor())
  terminal.print(json({ email: set.email, ...(given === null && { password: set.password }) }))
}
