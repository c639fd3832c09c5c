import { Command, CommanderError } from 'commander'
import { Fault } from '../base/fault.ts'
import { OperatorError } from '../base/operator-error.ts'
import { VERSION } from '../base/version.ts'
import type { Env } from '../config/variables.ts'
import { loadConfig, loadHome, loadRemote } from '../config/config.ts'
import { DatabaseUnavailable, explainDatabase } from '../db/failure.ts'
import { ProviderError } from '../domain/ports/provider.ts'
import type { Screen } from '../log.ts'
import { accountCommands } from './account.ts'
import { auditCommand } from './audit.ts'
import { auditLogCommand } from './audit-log.ts'
import { backupCommand } from './backup.ts'
import { balanceCommand } from './balance.ts'
import { codeCommands } from './code.ts'
import { depositCommands } from './deposit.ts'
import { doctorCommand } from './doctor.ts'
import { eventCommands } from './events.ts'
import { exceptionCommands } from './exceptions.ts'
import { initCommand } from './init.ts'
import { inviteCommand } from './invite.ts'
import { keyCommands } from './key.ts'
import { listenCommand } from './listen.ts'
import { disputeCommands } from './disputes.ts'
import { migrateCommand } from './migrate.ts'
import { openapiCommand } from './openapi.ts'
import { operatorCommands } from './operator.ts'
import { payoutCommands } from './payouts.ts'
import { reversalCommands } from './reversals.ts'
import { payCommand } from './pay.ts'
import { reconcileCommand } from './reconcile.ts'
import { refundCommands } from './refund.ts'
import { restoreCommand } from './restore.ts'
import { sandboxCommand } from './sandbox.ts'
import { searchCommand } from './search.ts'
import { seedCommand } from './seed.ts'
import { statementCommand } from './statement.ts'
import { startCommand, type Start } from './start.ts'
import type { Keyboard, Terminal } from './terminal.ts'
import { topCommand } from './top.ts'
import { upgradeDatabaseCommand } from './upgrade-database.ts'
import { verifyCommand } from './verify.ts'
import { webhookCommands } from './webhooks.ts'

/** What a command uses of the process. Tests pass their own. */
export type Surroundings = {
  stdout: Screen
  stderr: Screen
  /** The error of standard output, if writing failed. */
  outputError?: () => Error | undefined
  readInput(): Promise<string>
  keyboard?: Keyboard | undefined
  /** Defaults to the environment of this process, and .env. */
  env?: Env
  start: Start
}

/** Resolves to the exit code, and never rejects. `start` and `sandbox` go on running. */
export async function runCommand(args: string[], surroundings: Surroundings): Promise<number> {
  let exitCode = 0
  const { stdout, stderr, outputError = () => undefined, readInput, keyboard, env } = surroundings
  const requireOutput = () => {
    const error = outputError()
    if (error)
      throw new OperatorError(`Standard output cannot be written, so the result is not whole: ${error.message}`)
  }
  const terminal: Terminal = {
    print: (line) => void stdout.write(`${line}\n`),
    say: (line) => void stderr.write(`${line}\n`),
    screen: stderr,
    output: stdout,
    requireOutput,
    readInput,
    keyboard,
    loadConfig: (overrides) => loadConfig(env, overrides),
    loadRemote: () => loadRemote(env),
    loadHome: () => loadHome(env),
    setExitCode: (code) => void (exitCode = code),
  }
  try {
    await makeProgram(terminal, surroundings).parseAsync(args, { from: 'user' })
    requireOutput()
    return exitCode
  } catch (error) {
    // Commander has already printed its help or its error.
    if (error instanceof CommanderError) return error.exitCode
    terminal.say(`guiche: ${explain(error)}`)
    return 1
  }
}

export function makeProgram(terminal: Terminal, { stdout, stderr, start }: Surroundings): Command {
  // Subcommands copy these settings when they are added.
  const program = new Command('guiche')
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showHelpAfterError('(for help: guiche --help)')
    .description('A self-hosted Pix deposit service.')
    .version(VERSION)
    .addHelpText(
      'after',
      `
Commands use the database of the service (DATABASE_URL, or the embedded one in GUICHE_HOME), whether it is running or not.
With GUICHE_URL and GUICHE_KEY, commands use the API of a service elsewhere. Those that need the database then refuse.
Most commands have a --json option. For the options and an example of a command: guiche <command> --help

A first deposit:
  $ npm start                         # prints an API key, and a curl command that creates a charge
  $ npx guiche pay <paymentLinkId>    # pays the charge at the sandbox bank
  $ npx guiche audit                  # checks that every centavo is accounted for`,
    )
  initCommand(program, terminal)
  startCommand(program, terminal, start)
  migrateCommand(program, terminal)
  accountCommands(program, terminal)
  operatorCommands(program, terminal)
  inviteCommand(program, terminal)
  keyCommands(program, terminal)
  webhookCommands(program, terminal)
  eventCommands(program, terminal)
  listenCommand(program, terminal)
  searchCommand(program, terminal)
  refundCommands(program, terminal)
  exceptionCommands(program, terminal)
  payoutCommands(program, terminal)
  reversalCommands(program, terminal)
  disputeCommands(program, terminal)
  depositCommands(program, terminal)
  codeCommands(program, terminal)
  balanceCommand(program, terminal)
  statementCommand(program, terminal)
  payCommand(program, terminal)
  sandboxCommand(program, terminal)
  seedCommand(program, terminal)
  auditCommand(program, terminal)
  auditLogCommand(program, terminal)
  verifyCommand(program, terminal)
  reconcileCommand(program, terminal)
  backupCommand(program, terminal)
  restoreCommand(program, terminal)
  upgradeDatabaseCommand(program, terminal)
  doctorCommand(program, terminal)
  topCommand(program, terminal)
  openapiCommand(program, terminal)
  return program
}

/** One line for errors that the operator can fix, a stack trace for bugs. */
function explain(error: unknown): string {
  if (error instanceof DatabaseUnavailable) return explainDatabase(error.cause) ?? error.message
  const isForOperator = error instanceof OperatorError || error instanceof Fault || error instanceof ProviderError
  if (!(error instanceof Error)) return String(error)
  if (isForOperator) return error.message
  return explainDatabase(error) ?? error.stack ?? error.message
}
