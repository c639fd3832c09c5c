import { InvalidArgumentError, type Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { formatReais, MAX_CENTS } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Core } from '../domain/core/core.ts'
import { readAccountTerms, setAccountTerms, type AccountTerms, type TermsPatch } from '../domain/accounts/terms.ts'
import {
  createAccount,
  findAccount,
  listAccounts,
  readAccount,
  resumeAccount,
  suspendAccount,
  type Account,
  type ListedAccount,
} from '../domain/accounts/accounts.ts'
import type { TermsOverrides } from '../domain/accounts/pricing.ts'
import type { Terms } from '../domain/core/settings.ts'
import { confirmEmail } from '../domain/users/passwords.ts'
import { endSessions } from '../domain/accounts/sessions.ts'
import { wholeNumber } from './arguments.ts'
import { passwordCommand } from './password.ts'
import { consoleActor, json, moment, readPassword, table, withDatabase, type Terminal } from './terminal.ts'

async function createAccountCommand(
  terminal: Terminal,
  options: { email: string; name?: string; passwordStdin?: boolean },
): Promise<void> {
  const config = terminal.loadConfig()
  const given = options.passwordStdin ? await readPassword(terminal) : null
  await withDatabase(config, terminal, async (core) => {
    const { email, name = email } = options
    const account = { email, name, password: given, publicUrl: config.publicUrl }
    const { password, ...made } = await createAccount(core, account, consoleActor())
    terminal.print(json({ ...made, ...(given === null && { password }) }))
  })
}

export async function requireAccount(core: Core, email: string): Promise<Account> {
  const account = await findAccount(core, email)
  if (account) return account
  throw new Fault(
    'not_found',
    `no account has the e-mail ${email}; make it with: guiche account create --email ${email}`,
  )
}

export function accountCommands(program: Command, terminal: Terminal): void {
  const account = program.command('account').description('account holders')
  account
    .command('create')
    .description('make an account; prints it as JSON, with its password if that was made here')
    .requiredOption('--email <email>', 'e-mail, with which the holder signs in')
    .option('--name <name>', 'who is paid, as payers see it (default: the e-mail)')
    .option('--password-stdin', 'read the password from standard input instead of making a random one')
    .addHelpText('after', '\nExample:\n  $ npx guiche account create --email ana@loja.example --name "Loja da Ana"')
    .action((options) => createAccountCommand(terminal, options))
  account
    .command('list')
    .description('accounts and their balances, newest first')
    .option('--search <text>', 'any part of the e-mail or the name')
    .option('--limit <n>', 'how many', wholeNumber({ min: 1, max: 1_000 }), 50)
    .option('--json', 'as JSON, for programs')
    .action((options) => listAccountsCommand(terminal, options))
  registerTerms(account, terminal)
  for (const [verb, description] of [
    ['suspend', 'its keys may only read; charges that are out stay payable, and what is paid is credited'],
    ['resume', 'end a suspension'],
  ] as const) {
    account
      .command(verb)
      .description(description)
      .requiredOption('--email <email>', 'which account')
      .requiredOption('--reason <text>', 'why, for the audit log')
      .action((options) => suspensionCommand(terminal, verb, options))
  }
  passwordCommand(account, terminal, 'account')
  account
    .command('confirm')
    .description('count an e-mail as confirmed, where no mail is sent that could prove it')
    .requiredOption('--email <email>', 'which account')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .action((options) => confirmCommand(terminal, options))
  account
    .command('sign-out')
    .description("end all of an account holder's sessions in the dashboard; API keys go on working")
    .requiredOption('--email <email>', 'which account')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .action((options) => signOutCommand(terminal, options))
}

async function confirmCommand(terminal: Terminal, options: { email: string; reason: string }): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    await confirmEmail(core, options.email, options.reason, consoleActor())
    terminal.print(`${options.email}: confirmed`)
  })
}

async function signOutCommand(terminal: Terminal, options: { email: string; reason: string }): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const { accountId, email } = await requireAccount(core, options.email)
    const ended = await endSessions(core, consoleActor(), accountId, options.reason)
    terminal.print(`${email}: ${ended} ${ended === 1 ? 'session' : 'sessions'} ended`)
  })
}

function registerTerms(account: Command, terminal: Terminal): void {
  const cents = orDefault(wholeNumber({ min: 0, max: MAX_CENTS }))
  account
    .command('terms')
    .description("set an account's own fee and limits, or show them with their history")
    .requiredOption('--email <email>', 'which account')
    .option('--fee-bps <n>', 'basis points of the value: 100 is 1 %', orDefault(wholeNumber({ min: 0, max: 10_000 })))
    .option('--fee-fixed <cents>', 'on top of that', cents)
    .option('--fee-min <cents>', 'the least fee', cents)
    .option('--fee-max <cents>', 'the greatest fee', cents)
    .option('--fee-bearer <who>', 'account or payer', orDefault(bearer))
    .option('--value-min <cents>', 'the least deposit', cents)
    .option('--value-max <cents>', 'the greatest deposit', cents)
    .option('--reason <text>', 'why, for the audit log; needed for a change')
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
"default" instead of a value takes the account's own away, and the deployment's counts again.

Example:
  $ npx guiche account terms --email ana@loja.example --fee-bps 80 --fee-max default --reason "contract of March"`,
    )
    .action((options) => termsCommand(terminal, options))
}

async function listAccountsCommand(
  terminal: Terminal,
  options: { search?: string; limit: number; json?: boolean },
): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const { accounts, nextCursor } = await listAccounts(core, options)
    if (options.json) return terminal.print(json(accounts))
    if (accounts.length === 0) return terminal.say('No account matches.')
    const rows = accounts.map((one) => [
      one.accountId,
      one.email,
      one.name,
      formatReais(one.balanceCents),
      moment(one.createdAt),
      stateOf(one),
    ])
    terminal.print(table(['ID', 'E-MAIL', 'NAME', 'BALANCE', 'MADE', 'STATE'], rows))
    if (nextCursor) terminal.say(`There are more: narrow it down with --search, or raise --limit.`)
  })
}

async function suspensionCommand(
  terminal: Terminal,
  verb: 'suspend' | 'resume',
  options: { email: string; reason: string },
): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const { accountId, email } = await requireAccount(core, options.email)
    const change = verb === 'suspend' ? suspendAccount : resumeAccount
    await change(core, consoleActor(), accountId, options.reason)
    terminal.print(`${email}: ${stateOf((await readAccount(core, accountId)).account)}`)
  })
}

function stateOf({ suspendedAt, suspendedReason }: ListedAccount): string {
  return suspendedAt ? `suspended since ${moment(suspendedAt)}: ${suspendedReason}` : 'active'
}

// ---- Terms ----

type Given<Value> = Value | 'default'

type TermsOptions = {
  email: string
  feeBps?: Given<number>
  feeFixed?: Given<number>
  feeMin?: Given<number>
  feeMax?: Given<number>
  feeBearer?: Given<'account' | 'payer'>
  valueMin?: Given<number>
  valueMax?: Given<number>
  reason?: string
  json?: boolean
}

// As the options are called, in the order in which they are shown.
const OPTION_NAMES = {
  feeBps: 'fee-bps',
  feeFixedCents: 'fee-fixed',
  feeMinCents: 'fee-min',
  feeMaxCents: 'fee-max',
  feeBearer: 'fee-bearer',
  valueMinCents: 'value-min',
  valueMaxCents: 'value-max',
} as const satisfies Record<keyof Terms, string>
const TERMS = Object.keys(OPTION_NAMES) as (keyof Terms)[]

async function termsCommand(terminal: Terminal, options: TermsOptions): Promise<void> {
  const config = terminal.loadConfig()
  const patch = patchOf(options)
  const isChange = Object.keys(patch).length > 0
  if (isChange && options.reason === undefined)
    throw new OperatorError('a change of terms needs a --reason "…", which is kept with it')
  await withDatabase(config, terminal, async (core) => {
    const { accountId } = await requireAccount(core, options.email)
    const terms = isChange
      ? await setAccountTerms(core, consoleActor(), accountId, patch, options.reason!)
      : await readAccountTerms(core, accountId)
    terminal.print(options.json ? json(terms) : describe(terms))
  })
}

function patchOf(options: TermsOptions): TermsPatch {
  const given: { [Key in keyof Terms]: Given<NonNullable<Terms[Key]>> | undefined } = {
    feeBps: options.feeBps,
    feeFixedCents: options.feeFixed,
    feeMinCents: options.feeMin,
    feeMaxCents: options.feeMax,
    feeBearer: options.feeBearer,
    valueMinCents: options.valueMin,
    valueMaxCents: options.valueMax,
  }
  const named = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(named.map(([key, value]) => [key, value === 'default' ? null : value]))
}

function describe({ overrides, effective, history }: AccountTerms): string {
  const now = TERMS.map((key) => [
    OPTION_NAMES[key],
    String(effective[key] ?? 'none'),
    overrides[key] === null ? "the deployment's" : "the account's own",
  ])
  const past = history.map((one) => [moment(one.validFrom), ownTerms(one.overrides), one.setBy, one.reason])
  const shown =
    past.length > 0 ? table(['FROM', 'OWN TERMS', 'SET BY', 'REASON'], past) : 'It never had terms of its own.'
  return `${table(['TERM', 'NOW', 'WHOSE'], now)}\n\n${shown}`
}

function ownTerms(overrides: TermsOverrides): string {
  const own = TERMS.filter((key) => overrides[key] !== null).map((key) => `${OPTION_NAMES[key]} ${overrides[key]}`)
  return own.join(', ') || 'none'
}

function orDefault<Value>(parse: (text: string) => Value): (text: string) => Given<Value> {
  return (given) => (given === 'default' ? 'default' : parse(given))
}

function bearer(given: string): 'account' | 'payer' {
  if (given === 'account' || given === 'payer') return given
  throw new InvalidArgumentError('It must be account, payer or default.')
}
