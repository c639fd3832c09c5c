import { OperatorError } from './base/operator-error.ts'
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { Fault } from './base/fault.ts'
import { auditCommand } from './commands/audit.ts'
import { accountCommands, createAccountCommand } from './commands/account.ts'
import { auditLogCommand } from './commands/audit-log.ts'
import { positive } from './commands/arguments.ts'
import { doctorCommand } from './commands/doctor.ts'
import { eventCommands } from './commands/events.ts'
import { exceptionCommands } from './commands/exceptions.ts'
import { inviteCommand } from './commands/invite.ts'
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from './commands/key.ts'
import { migrateCommand } from './commands/migrate.ts'
import { operatorCommands } from './commands/operator.ts'
import { payCommand } from './commands/pay.ts'
import { reconcileCommand } from './commands/reconcile.ts'
import { refundCommands } from './commands/refund.ts'
import { sandboxCommand } from './commands/sandbox.ts'
import { seedCommand } from './commands/seed.ts'
import { webhookCommands } from './commands/webhooks.ts'
import { loadConfig } from './config.ts'
import { DatabaseUnavailable, explainDatabase } from './db/failure.ts'
import { ProviderError } from './domain/ports/provider.ts'
import { SCOPES } from './domain/accounts/callers.ts'

// What a command answers goes to standard output; what it is doing meanwhile goes to standard error, so that output can be piped.
const print = (line: string) => void process.stdout.write(`${line}\n`)
const say = (line: string) => void process.stderr.write(`${line}\n`)

const program = new Command('guiche')
  .description('A self-hosted deposit service for Pix: charges, payments, a double-entry ledger.')
  .version(version())
  .showHelpAfterError('(guiche --help lists the commands)')
  .addHelpText(
    'after',
    `
All commands work on the same database as the server, whether it runs or not: the one in GUICHE_HOME, or DATABASE_URL.

A first deposit:
  $ npm start                                          # prints an API key and a curl line
  $ npx guiche pay <paymentLinkId>                     # pays the charge at the sandbox bank
  $ npx guiche audit                                   # proves that every centavo is accounted for`,
  )

program
  .command('start')
  .description('run the service: HTTP, workers, and in sandbox mode the bank')
  .addHelpText('after', '\nConfiguration is by environment and .env; docs/configuration.md lists the variables.')
  .action(async () => {
    // The web floor takes a third of a second to load, which no other command should wait for.
    const { start } = await import('./main.ts')
    await start(loadConfig(), print)
  })

migrateCommand(program, { print, say })

const account = program.command('account').description('account holders')
account
  .command('create')
  .description('make an account; prints it as JSON, with its password if that was made here')
  .requiredOption('--email <email>', 'e-mail, with which the holder signs in')
  .option('--name <name>', 'who is paid, as payers see it (default: the e-mail)')
  .option('--password-stdin', 'read the password from standard input instead of making a random one')
  .addHelpText('after', '\nExample:\n  $ npx guiche account create --email ana@loja.example --name "Loja da Ana"')
  .action((options) => createAccountCommand(loadConfig(), { print, say }, options))
accountCommands(account, { print, say })
operatorCommands(program, { print, say })
inviteCommand(program, { print, say })

const key = program.command('key').description('API keys')
key
  .command('create')
  .description('make an API key; prints the key alone, this once')
  .requiredOption('--email <email>', 'whose key')
  .requiredOption('--name <name>', 'what it is for')
  .option('--scopes <scopes>', `comma-separated, of ${SCOPES.join(', ')}`, SCOPES.join(','))
  .option('--expires-in-days <days>', 'after which it stops working (default: never)', positive)
  .addHelpText(
    'after',
    '\nExample:\n  $ KEY=$(npx guiche key create --email ana@loja.example --name shop --scopes deposits:write,deposits:read)',
  )
  .action((options) => createKeyCommand(loadConfig(), { print, say }, options))
key
  .command('list')
  .description('all keys, or those of one account holder or operator')
  .option('--email <email>', 'of this one only')
  .option('--json', 'as JSON, for programs')
  .action((options) => listKeysCommand(loadConfig(), { print, say }, options))
key
  .command('revoke')
  .description('stop a key from working, everywhere within 2 seconds')
  .argument('<id>', 'its id as `key list` shows it, or the key itself')
  .action((id) => revokeKeyCommand(loadConfig(), { print, say }, id))

webhookCommands(program, { print, say })
eventCommands(program, { print, say })
refundCommands(program, { print, say })
exceptionCommands(program, { print, say })

program
  .command('pay')
  .description('pay a charge at the sandbox bank, as a payer would')
  .argument('<paymentLinkId>', 'of the charge')
  .option('--amount <cents>', 'another amount than the charge asks for', positive)
  .option('--times <n>', 'pay it this often', positive)
  .action((paymentLinkId, options) => payCommand(loadConfig(), { print, say }, paymentLinkId, options))

program
  .command('sandbox')
  .description('run the sandbox bank alone: a payment provider that speaks API Pix')
  .option('--port <port>', 'where to listen (default: that of last time, or any free one)', positive)
  .option('--host <host>', 'on which address', '127.0.0.1')
  .addHelpText('after', '\nPoint a guiche at it with PROVIDER_SANDBOX_URL=http://127.0.0.1:<port>')
  .action((options) => sandboxCommand(loadConfig(), { print, say }, options))

seedCommand(program, { print, say })

auditCommand(program, { print, say })

auditLogCommand(program, { print, say })

reconcileCommand(program, { print, say })

program
  .command('doctor')
  .description('check configuration, database, provider and clock; exits 1 when something is wrong')
  .action(() => doctorCommand(loadConfig(), { print, say }))

program
  .command('openapi')
  .description('print the OpenAPI document')
  .action(async () => {
    const { renderOpenapi } = await import('./http/render-openapi.ts')
    print(await renderOpenapi())
  })

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = 1
  say(`guiche: ${explain(error)}`)
}

/** One line for what the operator can mend; a stack for what only we can. */
function explain(error: unknown): string {
  if (error instanceof DatabaseUnavailable) return explainDatabase(error.cause) ?? error.message
  const isForOperator = error instanceof OperatorError || error instanceof Fault || error instanceof ProviderError
  if (!(error instanceof Error)) return String(error)
  if (isForOperator) return error.message
  return explainDatabase(error) ?? error.stack ?? error.message
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}
