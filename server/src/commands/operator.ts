import { Option, type Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Core } from '../domain/core/core.ts'
import { transact } from '../db/tx.ts'
import { createOperatorKey } from '../domain/accounts/api-keys.ts'
import { OPERATOR_SCOPE, OPERATOR_SCOPES, type OperatorScope } from '../domain/accounts/callers.ts'
import {
  createOperator,
  findOperator,
  listOperators,
  setOperatorEnabled,
  type Operator,
} from '../domain/users/operators.ts'
import { addCommand, AS_JSON, EXPIRES_IN_DAYS } from './arguments.ts'
import { expiryOf } from './key.ts'
import { addChange, addCreate, addPassword, addResetTwoStep, printChange } from './user.ts'
import { moment } from './format.ts'
import { consoleActor, databaseAction, printList, type JsonOption, type Terminal } from './terminal.ts'

export function operatorCommands(program: Command, terminal: Terminal): void {
  const operator = program.command('operator').description('create, list and disable operators, who run the service')
  addCreate(operator, terminal, 'name in the audit log', createOperator)
  addCommand(operator, 'list', '')
    .description('list all operators')
    .option(...AS_JSON)
    .action(databaseAction(terminal, listOperatorsCommand))
  const enable = (isEnabled: boolean) =>
    printChange(terminal, (core, change) => enableOperator(core, change, isEnabled))
  addChange(operator, 'disable', 'left the team', enable(false)).description(
    'end the sessions of an operator, and stop their keys within 2 seconds',
  )
  addChange(operator, 'enable', 'back in the team', enable(true)).description(
    'let a disabled operator sign in and use their keys again',
  )
  addPassword(operator, terminal, 'operator')
  addResetTwoStep(operator, terminal, 'operator')
  const key = operator.command('key').description('create API keys for operators; `guiche key` lists and revokes them')
  addCommand(key, 'create', '--email ops@example.com --name prometheus --scope metrics:read')
    .description('create a key for /api/operator or /metrics; prints only the key, once')
    .requiredOption('--email <email>', 'e-mail of the operator')
    .requiredOption('--name <name>', 'what the key is for')
    .addOption(
      new Option('--scope <scope>', 'operator: everything; metrics:read: only /metrics')
        .choices([...OPERATOR_SCOPES])
        .default(OPERATOR_SCOPE),
    )
    .option(...EXPIRES_IN_DAYS)
    .action(databaseAction(terminal, createOperatorKeyCommand))
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

async function enableOperator(core: Core, change: { email: string; reason: string }, isEnabled: boolean) {
  const { operatorId, email } = await requireOperator(core, change.email)
  await setOperatorEnabled(core, { operatorId, isEnabled, reason: change.reason }, consoleActor())
  return `${email}: ${isEnabled ? 'enabled' : 'disabled'}`
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
  throw new Fault('not_found', `No operator has the e-mail ${email}; create one with: ${command}`)
}
