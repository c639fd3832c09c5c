import { Option, type Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { changeRole, listMembers } from '../domain/accounts/members.ts'
import { ROLE_NAMES, type Role } from '../domain/accounts/roles.ts'
import { checkReason } from '../domain/core/audit-log.ts'
import type { Core } from '../domain/core/core.ts'
import { requireAccount } from './api.ts'
import { addCommand, AS_JSON, OF_ACCOUNT, REASON } from './arguments.ts'
import { moment } from './format.ts'
import { consoleActor, databaseAction, printList, type JsonOption, type Terminal } from './terminal.ts'

// Owners choose the members of their account in the dashboard. These are for operators, when no owner can.

export function accountMemberCommands(account: Command, terminal: Terminal): void {
  addCommand(account, 'members', '--email ana@loja.example')
    .description('list who acts for an account, with their roles')
    .requiredOption(...OF_ACCOUNT)
    .option(...AS_JSON)
    .action(databaseAction(terminal, membersCommand))
  const example = '--email ana@loja.example --member bia@loja.example --role owner --reason "the owner has left"'
  addCommand(account, 'role', example)
    .description('give a member of an account another role')
    .requiredOption(...OF_ACCOUNT)
    .requiredOption('--member <email>', 'e-mail of the member')
    .addOption(new Option('--role <role>', 'the new role').choices(ROLE_NAMES).makeOptionMandatory())
    .requiredOption(...REASON)
    .action(databaseAction(terminal, roleCommand))
}

async function membersCommand(
  core: Core,
  terminal: Terminal,
  { email, json }: JsonOption & { email: string },
): Promise<void> {
  const { accountId } = await requireAccount(core, email)
  printList(terminal, { json }, await listMembers(core, accountId), {
    empty: 'This account has no members.',
    columns: {
      'E-MAIL': (member) => member.email,
      NAME: (member) => member.name,
      ROLE: (member) => member.role,
      'SECOND FACTOR': (member) => (member.hasSecondFactor ? 'on' : 'off'),
      SINCE: (member) => moment(member.addedAt),
    },
  })
}

type Wanted = { email: string; member: string; role: Role; reason: string }

async function roleCommand(core: Core, terminal: Terminal, { email, member, role, reason }: Wanted): Promise<void> {
  const { accountId } = await requireAccount(core, email)
  const found = (await listMembers(core, accountId)).find((one) => one.email === member.trim().toLowerCase())
  if (!found) throw new Fault('not_found', `${member} is no member of ${email}; guiche account members lists them`)
  await changeRole(core, consoleActor(), { accountId, userId: found.userId, role, reason: checkReason(reason) })
  terminal.print(`${found.email}: ${role} of ${email}`)
}
