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
import { positive } from './arguments.ts'
import { passwordCommand } from './password.ts'
import { consoleActor, json, moment, readPassword, table, withDatabase, type Terminal } from './terminal.ts'

const DAY_MS = 24 * 3_600_000

export function operatorCommands(program: Command, terminal: Terminal): void {
  const operator = program.command('operator').description('those who run the service, apart from account holders')
  operator
    .command('create')
    .description('make an operator; prints it as JSON, with its password if that was made here')
    .requiredOption('--email <email>', 'e-mail, with which the operator signs in')
    .option('--name <name>', 'whom the audit log means (default: the e-mail)')
    .option('--password-stdin', 'read the password from standard input instead of making a random one')
    .action((options) => createOperatorCommand(terminal, options))
  operator
    .command('list')
    .description('all operators')
    .option('--json', 'as JSON, for programs')
    .action((options) => listOperatorsCommand(terminal, options))
  for (const verb of ['disable', 'enable'] as const) {
    operator
      .command(verb)
      .description(
        verb === 'disable'
          ? "stop an operator's keys from working, everywhere within 2 seconds, and end what is done in the dashboard"
          : 'let them work again',
      )
      .requiredOption('--email <email>', 'which operator')
      .requiredOption('--reason <text>', 'why, for the audit log')
      .action((options) => enableOperatorCommand(terminal, verb, options))
  }
  passwordCommand(operator, terminal, 'operator')
  operator
    .command('key')
    .description("operators' API keys; `key list` shows them, and `key revoke` revokes them")
    .command('create')
    .description('make a key for /api/operator or /metrics; prints the key alone, this once')
    .requiredOption('--email <email>', 'which operator’s')
    .requiredOption('--name <name>', 'what it is for')
    .addOption(
      new Option('--scope <scope>', 'what it may do: all that operators may, or read /metrics and nothing else')
        .choices([...OPERATOR_SCOPES])
        .default(OPERATOR_SCOPE),
    )
    .option('--expires-in-days <days>', 'after which it stops working (default: never)', positive)
    .addHelpText(
      'after',
      '\nExample:\n  $ KEY=$(npx guiche operator key create --email ops@example.com --name laptop --expires-in-days 90)\n  $ npx guiche operator key create --email ops@example.com --name prometheus --scope metrics:read',
    )
    .action((options) => createOperatorKeyCommand(terminal, options))
}

async function createOperatorCommand(
  terminal: Terminal,
  options: { email: string; name?: string; passwordStdin?: boolean },
): Promise<void> {
  const given = options.passwordStdin ? await readPassword(terminal) : null
  const config = terminal.loadConfig()
  await withDatabase(config, terminal, async (core) => {
    const { email, name = email } = options
    const operator = { email, name, password: given, publicUrl: config.publicUrl }
    const { password, ...made } = await createOperator(core, operator, consoleActor())
    terminal.print(json({ ...made, ...(given === null && { password }) }))
  })
}

async function listOperatorsCommand(terminal: Terminal, options: { json?: boolean }): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const operators = await listOperators(core)
    if (options.json) return terminal.print(json(operators))
    if (operators.length === 0)
      return terminal.say('There are no operators yet. Make one with: guiche operator create --email <email>')
    const rows = operators.map((one) => [
      one.operatorId,
      one.email,
      one.name,
      moment(one.createdAt),
      one.disabledAt ? `disabled ${moment(one.disabledAt)}` : 'active',
    ])
    terminal.print(table(['ID', 'E-MAIL', 'NAME', 'MADE', 'STATE'], rows))
  })
}

async function enableOperatorCommand(
  terminal: Terminal,
  verb: 'disable' | 'enable',
  options: { email: string; reason: string },
): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const { operatorId, email } = await requireOperatorNamed(core, options.email)
    const change = { operatorId, isEnabled: verb === 'enable', reason: options.reason }
    await setOperatorEnabled(core, change, consoleActor())
    terminal.print(`${email}: ${verb}d`)
  })
}

async function createOperatorKeyCommand(
  terminal: Terminal,
  options: { email: string; name: string; scope: OperatorScope; expiresInDays?: number },
): Promise<void> {
  const config = terminal.loadConfig()
  await withDatabase(config, terminal, async (core) => {
    const { operatorId, email, disabledAt } = await requireOperatorNamed(core, options.email)
    if (disabledAt)
      throw new OperatorError(`${email} is disabled; enable with: guiche operator enable --email ${email}`)
    const createdAt = core.now()
    const expiresAt = options.expiresInDays ? new Date(createdAt.getTime() + options.expiresInDays * DAY_MS) : null
    const { text } = await transact(core.pool, (tx) =>
      createOperatorKey(
        tx,
        createdAt,
        config.settings.mode,
        { operatorId, name: options.name, scope: options.scope, expiresAt },
        consoleActor(),
      ),
    )
    terminal.print(text)
  })
}

async function requireOperatorNamed(core: Core, email: string): Promise<Operator> {
  const operator = await findOperator(core, email)
  if (operator) return operator
  throw new Fault(
    'not_found',
    `no operator has the e-mail ${email}; make one with: guiche operator create --email ${email}`,
  )
}
