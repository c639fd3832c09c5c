import { Option, type Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Core } from '../domain/core/core.ts'
import { transact } from '../db/tx.ts'
import { OPERATOR_SCOPE, OPERATOR_SCOPES, type OperatorScope } from '../domain/accounts/callers.ts'
import { createOperatorKey } from '../domain/accounts/api-keys.ts'
import {
  createOperator,
  findOperator,
  listOperators,
  setOperatorEnabled,
  type Operator,
} from '../domain/users/operators.ts'
import { AS_JSON, examples, EXPIRES_IN_DAYS, PASSWORD_STDIN, REASON } from './arguments.ts'
import { expiryOf } from './key.ts'
import { passwordCommand } from './password.ts'
import {
  consoleActor,
  databaseAction,
  json,
  moment,
  printList,
  readPassword,
  type JsonOption,
  type Terminal,
} from './terminal.ts'

const OF_OPERATOR = ['--email <email>', 'e-mail of the operator'] as const
const CHANGES = {
  disable: 'end the sessions of an operator, and stop their keys within 2 seconds',
  enable: 'let a disabled operator sign in and use their keys again',
}

export function operatorCommands(program: Command, terminal: Terminal): void {
  const operator = program.command('operator').description('create, list and disable operators, who run the service')
  operator
    .command('create')
    .description('create an operator; prints it as JSON, with the password if it was generated')
    .requiredOption('--email <email>', 'e-mail that the operator signs in with')
    .option('--name <name>', 'name in the audit log (default: the e-mail)')
    .option(...PASSWORD_STDIN)
    .addHelpText(...examples(['operator create --email ops@example.com --name Olga']))
    .action(databaseAction(terminal, createOperatorCommand))
  operator
    .command('list')
    .description('list all operators')
    .option(...AS_JSON)
    .addHelpText(...examples(['operator list']))
    .action(databaseAction(terminal, listOperatorsCommand))
  for (const [verb, description] of Object.entries(CHANGES)) {
    operator
      .command(verb)
      .description(description)
      .requiredOption(...OF_OPERATOR)
      .requiredOption(...REASON)
      .addHelpText(...examples([`operator ${verb} --email ops@example.com --reason "change of team"`]))
      .action(
        databaseAction(terminal, (core, _, options: Change) =>
          enableOperator(core, terminal, { ...options, isEnabled: verb === 'enable' }),
        ),
      )
  }
  passwordCommand(operator, terminal, 'operator')
  operator
    .command('key')
    .description('create API keys for operators; `guiche key` lists and revokes them')
    .command('create')
    .description('create a key for /api/operator or /metrics; prints only the key, once')
    .requiredOption(...OF_OPERATOR)
    .requiredOption('--name <name>', 'what the key is for')
    .addOption(
      new Option('--scope <scope>', 'operator: everything; metrics:read: only /metrics')
        .choices([...OPERATOR_SCOPES])
        .default(OPERATOR_SCOPE),
    )
    .option(...EXPIRES_IN_DAYS)
    .addHelpText(...examples(['operator key create --email ops@example.com --name prometheus --scope metrics:read']))
    .action(databaseAction(terminal, createOperatorKeyCommand))
}

type Change = { email: string; reason: string }

async function createOperatorCommand(
  core: Core,
  terminal: Terminal,
  options: { email: string; name?: string; passwordStdin?: boolean },
): Promise<void> {
  const given = await readPassword(terminal, options)
  const { email, name = email } = options
  const person = { email, name, password: given, publicUrl: core.settings.publicUrl }
  const { password, ...operator } = await createOperator(core, person, consoleActor())
  terminal.print(json({ ...operator, ...(given === null && { password }) }))
}

async function listOperatorsCommand(core: Core, terminal: Terminal, options: JsonOption): Promise<void> {
  printList(terminal, options, await listOperators(core), {
    empty: 'There are no operators. Create one with: guiche operator create --email <email>',
    columns: {
      ID: (operator) => operator.operatorId,
      'E-MAIL': (operator) => operator.email,
      NAME: (operator) => operator.name,
      CREATED: (operator) => moment(operator.createdAt),
      STATE: ({ disabledAt }) => (disabledAt ? `disabled ${moment(disabledAt)}` : 'active'),
    },
  })
}

async function enableOperator(
  core: Core,
  terminal: Terminal,
  { email, isEnabled, reason }: Change & { isEnabled: boolean },
): Promise<void> {
  const operator = await requireOperator(core, email)
  await setOperatorEnabled(core, { operatorId: operator.operatorId, isEnabled, reason }, consoleActor())
  terminal.print(`${operator.email}: ${isEnabled ? 'enabled' : 'disabled'}`)
}

async function createOperatorKeyCommand(
  core: Core,
  terminal: Terminal,
  options: { email: string; name: string; scope: OperatorScope; expiresInDays?: number },
): Promise<void> {
  const { operatorId, email, disabledAt } = await requireOperator(core, options.email)
  if (disabledAt)
    throw new OperatorError(
      `${email} is disabled; enable with: guiche operator enable --email ${email} --reason <text>`,
    )
  const now = core.now()
  const key = { operatorId, name: options.name, scope: options.scope, expiresAt: expiryOf(now, options) }
  const { text } = await transact(core.pool, (tx) =>
    createOperatorKey(tx, now, core.settings.mode, key, consoleActor()),
  )
  terminal.print(text)
}

async function requireOperator(core: Core, email: string): Promise<Operator> {
  const operator = await findOperator(core, email)
  if (operator) return operator
  const command = `guiche operator create --email ${email}`
  throw new Fault('not_found', `no operator has the e-mail ${email}; create one with: ${command}`)
}
