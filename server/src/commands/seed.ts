import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { findAccount } from '../domain/accounts/accounts.ts'
import { DEMO_EMAIL } from '../domain/demo/demo-account.ts'
import { seedHistory, type BankHistory } from '../domain/demo/seed.ts'
import { requireAccount } from './api.ts'
import { addCommand, wholeNumber } from './arguments.ts'
import { postToBank, withSandbox } from './pay.ts'
import { withProgress } from './progress.ts'
import { databaseConfig, type Terminal } from './terminal.ts'

// This command and the bank keep all deposits in memory.
const MAX_DEPOSITS = 1_000_000
// The sandbox refunds nothing older, and the dashboard shows less.
const MAX_DAYS = 365
const DEFAULT_DAYS = 90
const MAX_SEED = 2 ** 31 - 1
const BANK_TIMEOUT_MS = 30_000

export function seedCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'seed', '--deposits 3000 --email ana@loja.example')
    .description('create a realistic history of deposits in an account, in sandbox mode only')
    .requiredOption('--deposits <n>', 'how many deposits', wholeNumber({ min: 1, max: MAX_DEPOSITS }))
    .option('--email <email>', 'e-mail of the account (default: the demo account)')
    .option('--days <n>', `over how many days, up to ${MAX_DAYS}`, wholeNumber({ min: 1, max: MAX_DAYS }), DEFAULT_DAYS)
    .option(
      '--seed <n>',
      'random seed: the same number gives the same amounts, times and outcomes',
      wholeNumber({ min: 0, max: MAX_SEED }),
      1,
    )
    .action((options) => seed(terminal, options))
}

type Options = { deposits: number; email?: string; days: number; seed: number }

function seed(terminal: Terminal, options: Options): Promise<void> {
  const config = databaseConfig(terminal)
  if (config.settings.mode === 'live')
    throw new OperatorError('Seed works in sandbox mode only: it creates deposits that nobody paid')
  return withSandbox(config, terminal, async (ctx, bank) => {
    const account = options.email ? await requireAccount(ctx, options.email) : await findAccount(ctx, DEMO_EMAIL)
    if (!account)
      throw new OperatorError('There is no demo account: start the service once, or name an account with --email')
    const { deposits, payments, refunds, pending } = await withProgress(terminal.screen, (show) =>
      seedHistory(
        ctx,
        { ...options, account, provider: bank.name },
        (history) => sendToBank(bank.url, history),
        (done, all) => show(done / all, `seeding ${account.email}`),
      ),
    )
    terminal.print(
      `Created ${deposits} deposits in ${account.email}: ${payments} paid (${refunds} of them refunded), ${pending} pending.`,
    )
  })
}

async function sendToBank(url: string, history: BankHistory): Promise<void> {
  const { status, text } = await postToBank(`${url}/history`, history, BANK_TIMEOUT_MS)
  if (status === 201) return
  throw new OperatorError(`The sandbox bank refused the history, so audit will list it: ${text.slice(0, 300)}`)
}
