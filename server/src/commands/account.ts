import { InvalidArgumentError, Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import { columnOf } from '../db/sql-values.ts'
import { readAccountTerms, setAccountTerms, type AccountTerms, type TermsPatch } from '../domain/accounts/terms.ts'
import { createAccount } from '../domain/accounts/accounts.ts'
import { TERM_NAMES, TERMS, type TermsOverrides } from '../domain/core/terms.ts'
import { confirmEmail } from '../domain/users/passwords.ts'
import { accountDataCommands } from './account-data.ts'
import { accountMemberCommands } from './account-members.ts'
import { apiAction, requireAccount, type Api } from './api.ts'
import { addCommand, AS_JSON, limit, OF_ACCOUNT, REASON, wholeNumber } from './arguments.ts'
import { addChange, addCreate, addPassword, addResetTwoStep, printChange } from './user.ts'
import { count, moment, tableOf } from './format.ts'
import { consoleActor, printList, printOne, withDatabase, type JsonOption, type Terminal } from './terminal.ts'

export function accountCommands(program: Command, terminal: Terminal): void {
  const account = program.command('account').description('create, list, price, suspend, export and erase accounts')
  addCreate(account, terminal, 'name that payers see', createAccount)
  addCommand(account, 'list', '--search loja')
    .description('list accounts with their balances, newest first')
    .option('--search <text>', 'only accounts with this text in the e-mail or name')
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, listAccountsCommand, withDatabase))
  registerTerms(account, terminal)
  registerChanges(account, terminal)
  addPassword(account, terminal, 'account')
  addResetTwoStep(account, terminal, 'account')
  addChange(
    account,
    'confirm',
    'confirmed by phone',
    printChange(terminal, async (core, { email, reason }) => {
      await confirmEmail(core, email, reason, consoleActor())
      return `${email}: confirmed`
    }),
  ).description('mark the e-mail of an account as confirmed, where guiche sends no mail')
  accountMemberCommands(account, terminal)
  accountDataCommands(account, terminal)
}

function registerChanges(account: Command, terminal: Terminal): void {
  type Change = { email: string; reason: string }
  const add = (name: string, why: string, work: (api: Api, id: string, change: Change) => Promise<string>) =>
    addChange(
      account,
      name,
      why,
      apiAction(
        terminal,
        async (api, _, change: Change) => terminal.print(await work(api, await api.accountId(change.email), change)),
        withDatabase,
      ),
    )
  add('suspend', 'under review', async ({ call }, accountId, { reason }) =>
    describeState((await call('suspendAccount', { path: { accountId }, body: { reason } })).account),
  ).description('make the keys of an account read-only; open charges stay payable, and payments are credited')
  add('resume', 'review finished', async ({ call }, accountId, { reason }) =>
    describeState((await call('resumeAccount', { path: { accountId }, body: { reason } })).account),
  ).description('end the suspension of an account')
  add('sign-out', 'lost phone', async ({ call }, accountId, { email, reason }) => {
    const { ended } = await call('signOutAccount', { path: { accountId }, body: { reason } })
    return `${email}: ${count(ended, 'session')} ended`
  }).description('end all dashboard sessions of an account; its API keys keep working')
}

type ListOptions = JsonOption & { search?: string; limit: number }

async function listAccountsCommand(api: Api, terminal: Terminal, { json, ...filter }: ListOptions): Promise<void> {
  printList(terminal, { json }, await api.list('listAccounts', filter), {
    empty: 'No account matches. Create one with: guiche account create --email <email>',
    columns: {
      ID: (account) => account.id,
      'E-MAIL': (account) => account.email,
      NAME: (account) => account.name,
      BALANCE: ({ balance, owed }) => (owed > 0 ? `owes ${formatReais(owed)}` : formatReais(balance)),
      CREATED: (account) => moment(account.createdAt),
      STATE: stateOf,
    },
  })
}

type Suspension = { suspendedAt: string | null; suspendedReason: string | null }

function stateOf({ suspendedAt, suspendedReason }: Suspension): string {
  return suspendedAt ? `suspended since ${moment(suspendedAt)}: ${suspendedReason}` : 'active'
}

function describeState(account: Suspension & { email: string }): string {
  return `${account.email}: ${stateOf(account)}`
}

// ---- Terms ----

const OPTIONS = TERM_NAMES.map((key) => {
  const term = TERMS[key]
  const placeholder = term.choices ? 'who' : key.endsWith('Cents') ? 'cents' : 'n'
  const parse = term.choices ? choiceOf(term.choices.map(String)) : wholeNumber(term)
  const flag = columnOf(key)
    .replace(/_cents$/, '')
    .replaceAll('_', '-')
  const option = new Option(`--${flag} <${placeholder}>`, term.words)
  return { key, option: option.argParser((given) => (given === 'default' ? given : parse(given))), name: flag }
})

function choiceOf(choices: string[]): (given: string) => string {
  return (given) => {
    if (choices.includes(given)) return given
    throw new InvalidArgumentError(`It must be ${choices.join(', ')} or default.`)
  }
}

function registerTerms(account: Command, terminal: Terminal): void {
  const example = '--email ana@loja.example --fee-bps 80 --fee-max default --reason "contract of March"'
  const command = addCommand(account, 'terms', example)
    .description('set the fee and limits of one account, or show them with their history')
    .requiredOption(...OF_ACCOUNT)
  for (const { option } of OPTIONS) command.addOption(option)
  command
    .option(REASON[0], `${REASON[1]} (required for a change)`)
    .option(...AS_JSON)
    .addHelpText('after', '\nUse "default" as a value to go back to the default of the deployment.')
    .action((options) => termsCommand(terminal, options))
}

type TermsOptions = JsonOption & { email: string; reason?: string } & Record<string, unknown>

async function termsCommand(terminal: Terminal, options: TermsOptions): Promise<void> {
  const { email, reason } = options
  const patch = patchOf(options)
  const isChange = Object.keys(patch).length > 0
  if (isChange && reason === undefined) throw new OperatorError('To change terms, add --reason "…"')
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
  const given = OPTIONS.map(({ key, option }) => [key, options[option.attributeName()]] as const)
  const named = given.filter(([, value]) => value !== undefined)
  return Object.fromEntries(named.map(([key, value]) => [key, value === 'default' ? null : value]))
}

function describe({ overrides, effective, history }: AccountTerms): string {
  const now = tableOf(OPTIONS, {
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
  const own = OPTIONS.filter(({ key }) => overrides[key] !== null).map(({ key, name }) => `${name} ${overrides[key]}`)
  return own.join(', ') || 'none'
}
