import { InvalidArgumentError, Option, type Command } from 'commander'
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
import { AS_JSON, examples, limit, OF_ACCOUNT, PASSWORD_STDIN, REASON, wholeNumber } from './arguments.ts'
import { passwordCommand } from './password.ts'
import {
  consoleActor,
  count,
  databaseAction,
  json,
  moment,
  printList,
  printOne,
  readPassword,
  tableOf,
  withDatabase,
  type JsonOption,
  type Terminal,
} from './terminal.ts'

export function accountCommands(program: Command, terminal: Terminal): void {
  const account = program.command('account').description('create, list, price and suspend accounts')
  account
    .command('create')
    .description('create an account; prints it as JSON, with the password if it was generated')
    .requiredOption('--email <email>', 'e-mail that the account holder signs in with')
    .option('--name <name>', 'name that payers see (default: the e-mail)')
    .option(...PASSWORD_STDIN)
    .addHelpText(...examples(['account create --email ana@loja.example --name "Loja da Ana"']))
    .action(databaseAction(terminal, createAccountCommand))
  account
    .command('list')
    .description('list accounts with their balances, newest first')
    .option('--search <text>', 'only accounts with this text in the e-mail or name')
    .option(...limit(50))
    .option(...AS_JSON)
    .addHelpText(...examples(['account list --search loja']))
    .action(databaseAction(terminal, listAccountsCommand))
  registerTerms(account, terminal)
  for (const { name, description, why, work } of CHANGES) {
    account
      .command(name)
      .description(description)
      .requiredOption(...OF_ACCOUNT)
      .requiredOption(...REASON)
      .addHelpText(...examples([`account ${name} --email ana@loja.example --reason "${why}"`]))
      .action(databaseAction(terminal, async (core, { print }, options: Change) => print(await work(core, options))))
  }
  passwordCommand(account, terminal, 'account')
}

export async function requireAccount(core: Core, email: string): Promise<Account> {
  const account = await findAccount(core, email)
  if (account) return account
  throw new Fault(
    'not_found',
    `no account has the e-mail ${email}; create it with: guiche account create --email ${email}`,
  )
}

async function createAccountCommand(
  core: Core,
  terminal: Terminal,
  options: { email: string; name?: string; passwordStdin?: boolean },
): Promise<void> {
  const given = await readPassword(terminal, options)
  const { email, name = email } = options
  const { publicUrl } = core.settings
  const { password, ...account } = await createAccount(
    core,
    { email, name, password: given, publicUrl },
    consoleActor(),
  )
  terminal.print(json({ ...account, ...(given === null && { password }) }))
}

type ListOptions = JsonOption & { search?: string; limit: number }

async function listAccountsCommand(core: Core, terminal: Terminal, options: ListOptions): Promise<void> {
  const { accounts, nextCursor } = await listAccounts(core, options)
  const empty = 'No account matches. Create one with: guiche account create --email <email>'
  printList(terminal, options, accounts, {
    nextCursor,
    empty,
    columns: {
      ID: (account) => account.accountId,
      'E-MAIL': (account) => account.email,
      NAME: (account) => account.name,
      BALANCE: (account) => formatReais(account.balanceCents),
      CREATED: (account) => moment(account.createdAt),
      STATE: stateOf,
    },
  })
}

function stateOf({ suspendedAt, suspendedReason }: ListedAccount): string {
  return suspendedAt ? `suspended since ${moment(suspendedAt)}: ${suspendedReason}` : 'active'
}

// ---- Changes that take an e-mail and a reason ----

type Change = { email: string; reason: string }

/** `work` returns the line to print. */
const CHANGES: { name: string; description: string; why: string; work: typeof confirm }[] = [
  {
    name: 'suspend',
    description: 'make the keys of an account read-only; open charges stay payable, and payments are credited',
    why: 'chargebacks under review',
    work: (core, change) => changeSuspension(core, change, suspendAccount),
  },
  {
    name: 'resume',
    description: 'end the suspension of an account',
    why: 'review finished',
    work: (core, change) => changeSuspension(core, change, resumeAccount),
  },
  {
    name: 'confirm',
    description: 'mark the e-mail of an account as confirmed, where guiche sends no mail',
    why: 'confirmed by phone',
    work: confirm,
  },
  {
    name: 'sign-out',
    description: 'end all dashboard sessions of an account; its API keys keep working',
    why: 'lost phone',
    work: signOut,
  },
]

async function changeSuspension(core: Core, { email, reason }: Change, apply: typeof suspendAccount): Promise<string> {
  const { accountId } = await requireAccount(core, email)
  await apply(core, consoleActor(), accountId, reason)
  const { account } = await readAccount(core, accountId)
  return `${account.email}: ${stateOf(account)}`
}

async function confirm(core: Core, { email, reason }: Change): Promise<string> {
  await confirmEmail(core, email, reason, consoleActor())
  return `${email}: confirmed`
}

async function signOut(core: Core, { email, reason }: Change): Promise<string> {
  const account = await requireAccount(core, email)
  const ended = await endSessions(core, consoleActor(), account.accountId, reason)
  return `${account.email}: ${count(ended, 'session')} ended`
}

// ---- Terms ----

const cents = wholeNumber({ min: 0, max: MAX_CENTS })

/** Each term with its option, in the order in which they are shown. */
const TERMS = [
  term('feeBps', '--fee-bps <n>', 'fee in basis points of the value; 100 is 1 %', wholeNumber({ min: 0, max: 10_000 })),
  term('feeFixedCents', '--fee-fixed <cents>', 'fixed fee, added to that', cents),
  term('feeMinCents', '--fee-min <cents>', 'minimum fee', cents),
  term('feeMaxCents', '--fee-max <cents>', 'maximum fee', cents),
  term('feeBearer', '--fee-bearer <who>', 'who bears the fee: account or payer', bearer),
  term('valueMinCents', '--value-min <cents>', 'minimum deposit', cents),
  term('valueMaxCents', '--value-max <cents>', 'maximum deposit', cents),
]

function term(key: keyof Terms, flags: string, text: string, parse: (given: string) => unknown) {
  const option = new Option(flags, text).argParser((given) => (given === 'default' ? given : parse(given)))
  return { key, option, name: option.name() }
}

function bearer(given: string): 'account' | 'payer' {
  if (given === 'account' || given === 'payer') return given
  throw new InvalidArgumentError('It must be account, payer or default.')
}

function registerTerms(account: Command, terminal: Terminal): void {
  const command = account
    .command('terms')
    .description('set the fee and limits of one account, or show them with their history')
    .requiredOption(...OF_ACCOUNT)
  for (const { option } of TERMS) command.addOption(option)
  command
    .option(REASON[0], `${REASON[1]}; required for a change`)
    .option(...AS_JSON)
    .addHelpText(
      ...examples(
        ['account terms --email ana@loja.example --fee-bps 80 --fee-max default --reason "contract of March"'],
        'Use "default" as a value to go back to the deployment\'s default.',
      ),
    )
    .action((options) => termsCommand(terminal, options))
}

type TermsOptions = JsonOption & { email: string; reason?: string } & Record<string, unknown>

async function termsCommand(terminal: Terminal, options: TermsOptions): Promise<void> {
  const { email, reason } = options
  const patch = patchOf(options)
  const isChange = Object.keys(patch).length > 0
  if (isChange && reason === undefined) throw new OperatorError('to change terms, add --reason "…"')
  await withDatabase(terminal, async (core) => {
    const { accountId } = await requireAccount(core, email)
    const terms =
      isChange && reason !== undefined
        ? await setAccountTerms(core, consoleActor(), accountId, patch, reason)
        : await readAccountTerms(core, accountId)
    printOne(terminal, options, terms, describe)
  })
}

function patchOf(options: TermsOptions): TermsPatch {
  const given = TERMS.map(({ key, option }) => [key, options[option.attributeName()]] as const)
  const named = given.filter(([, value]) => value !== undefined)
  return Object.fromEntries(named.map(([key, value]) => [key, value === 'default' ? null : value]))
}

function describe({ overrides, effective, history }: AccountTerms): string {
  const now = tableOf(TERMS, {
    TERM: ({ name }) => name,
    NOW: ({ key }) => effective[key] ?? 'none',
    SOURCE: ({ key }) => (overrides[key] === null ? 'default' : 'account'),
  })
  const past = tableOf(history, {
    FROM: ({ validFrom }) => moment(validFrom),
    'OWN TERMS': (entry) => ownTerms(entry.overrides),
    'SET BY': ({ setBy }) => setBy,
    REASON: ({ reason }) => reason,
  })
  return `${now}\n\n${history.length > 0 ? past : 'This account never had terms of its own.'}`
}

function ownTerms(overrides: TermsOverrides): string {
  const own = TERMS.filter(({ key }) => overrides[key] !== null).map(({ key, name }) => `${name} ${overrides[key]}`)
  return own.join(', ') || 'none'
}
