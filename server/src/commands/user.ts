import type { Command } from 'commander'
import type { Actor } from '../domain/core/audit-log.ts'
import type { Core } from '../domain/core/core.ts'
import { resetTwoStep, setPassword } from '../domain/users/passwords.ts'
import type { Person, UserKind } from '../domain/users/users.ts'
import { addCommand, REASON } from './arguments.ts'
import { json } from './format.ts'
import { consoleActor, databaseAction, type Terminal } from './terminal.ts'

const PASSWORD_STDIN = ['--password-stdin', 'read the password from standard input (default: generate one)'] as const

type NewUser = { email: string; name?: string; passwordStdin?: boolean }
type Change = { email: string; reason: string; passwordStdin?: boolean }
type Create = (core: Core, person: Person, actor: Actor) => Promise<{ password: string }>

export function addCreate(parent: Command, terminal: Terminal, nameText: string, create: Create): void {
  const kind = parent.name()
  addCommand(parent, 'create', `--email ${exampleOf(parent)} --name "Ana Souza"`)
    .description(`create an ${kind}; prints it as JSON, with the password if it was generated`)
    .requiredOption('--email <email>', `e-mail that the ${kind} signs in with`)
    .option('--name <name>', `${nameText} (default: the e-mail)`)
    .option(...PASSWORD_STDIN)
    .action(
      databaseAction(terminal, async (core, _, options: NewUser) => {
        const given = await readPassword(terminal, options)
        const { email, name = email } = options
        const person = { email, name, password: given, publicUrl: core.settings.publicUrl }
        const { password, ...user } = await create(core, person, consoleActor())
        terminal.print(json({ ...user, ...(given === null && { password }) }))
      }),
    )
}

/** For users who cannot sign in and receive no mail. */
export function addPassword(parent: Command, terminal: Terminal, kind: UserKind): void {
  const set = printChange(terminal, async (core, options) => {
    const given = await readPassword(terminal, options)
    const wanted = { ...options, kind, password: given, publicUrl: core.settings.publicUrl }
    const { email, password } = await setPassword(core, wanted, consoleActor())
    return json({ email, ...(given === null && { password }) })
  })
  addChange(parent, 'password', 'forgot it', set)
    .description(`set the password of an ${kind} and end its sessions; prints JSON, with the password if generated`)
    .option(...PASSWORD_STDIN)
}

/** For users who lost the device of their codes or passkeys, and have no recovery code. */
export function addResetTwoStep(parent: Command, terminal: Terminal, kind: UserKind): void {
  const reset = printChange(terminal, async (core, options) =>
    json(await resetTwoStep(core, { ...options, kind }, consoleActor())),
  )
  addChange(parent, 'reset-two-step', 'lost the phone, known in person', reset).description(
    `turn off two-step verification of an ${kind}, remove its passkeys and end its sessions; prints JSON`,
  )
}

export function addChange(
  parent: Command,
  name: string,
  why: string,
  action: (change: Change) => Promise<void>,
): Command {
  return addCommand(parent, name, `--email ${exampleOf(parent)} --reason "${why}"`)
    .requiredOption('--email <email>', `e-mail of the ${parent.name()}`)
    .requiredOption(...REASON)
    .action(action)
}

/** `work` returns what to print. */
export function printChange(terminal: Terminal, work: (core: Core, change: Change) => Promise<string>) {
  return databaseAction(terminal, async (core, _, change: Change) => terminal.print(await work(core, change)))
}

/** Null if it is to be generated. */
async function readPassword(terminal: Terminal, options: { passwordStdin?: boolean }): Promise<string | null> {
  return options.passwordStdin ? (await terminal.readInput()).replace(/\r?\n$/, '') : null
}

function exampleOf(parent: Command): string {
  return parent.name() === 'operator' ? 'ops@example.com' : 'ana@loja.example'
}
