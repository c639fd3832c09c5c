import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import type { Config } from '../config.ts'
import { findAccount } from '../domain/accounts/accounts.ts'
import { DEMO_EMAIL } from '../domain/demo/demo-account.ts'
import { seedHistory, type BankHistory } from '../domain/demo/seed.ts'
import { requireAccount } from './account.ts'
import { wholeNumber } from './arguments.ts'
import { requireSandbox, sandboxBankUrl } from './pay.ts'
import { makeProgress } from './progress.ts'
import { withContext, type Terminal } from './terminal.ts'

// A million deposits are planned in memory, with some hundred bytes each, and the sandbox bank keeps its payments there
// too.
const MAX_DEPOSITS = 1_000_000
// The sandbox refuses refunds of what is older, and the dashboard shows less.
const MAX_DAYS = 365
const DEFAULT_DAYS = 90
const MAX_SEED = 2 ** 31 - 1
const BANK_TIMEOUT_MS = 30_000

export function seedCommand(program: Command, terminal: Terminal): void {
  program
    .command('seed')
    .description('fill an account with a believable history of deposits, in sandbox mode, to try things out')
    .requiredOption('--deposits <n>', 'how many', wholeNumber({ min: 1, max: MAX_DEPOSITS }))
    .option('--email <email>', 'whose history (default: the demo account)')
    .option('--days <n>', 'over how many days up to now', wholeNumber({ min: 1, max: MAX_DAYS }), DEFAULT_DAYS)
    .option(
      '--seed <n>',
      'a number: the same one makes the same amounts, times and outcomes',
      wholeNumber({ min: 0, max: MAX_SEED }),
      1,
    )
    .addHelpText('after', '\nExample:\n  $ npx guiche seed --deposits 3000 && npx guiche audit')
    .action((options) => seed(terminal.loadConfig(), terminal, options))
}

type Options = { deposits: number; email?: string; days: number; seed: number }

async function seed(config: Config, terminal: Terminal, options: Options): Promise<void> {
  if (config.settings.mode === 'live')
    throw new OperatorError(
      'seed works in sandbox mode only: it writes deposits that nobody paid, and here money is real',
    )
  const { name: provider } = requireSandbox(config, 'seed')
  await withContext(config, terminal, async (ctx, sandboxUrl) => {
    const account = options.email ? await requireAccount(ctx, options.email) : await findAccount(ctx, DEMO_EMAIL)
    if (!account)
      throw new OperatorError(
        'there is no demo account: start the service once to have it made, or name an account with --email',
      )
    const bankUrl = sandboxBankUrl(config, sandboxUrl)
    const progress = makeProgress(terminal.screen, Date.now)
    const request = { ...options, account, provider }
    const seeded = await seedHistory(
      ctx,
      request,
      (history) => tellBank(bankUrl, history),
      (done, all) => progress.show(done / all, `seeding ${account.email}`),
    )
    progress.end()
    const { deposits, payments, refunds, pending } = seeded
    terminal.print(
      `${account.email} has ${deposits} deposits more: ${payments} paid, of which ${refunds} were refunded, and ${pending} pending.`,
    )
  })
}

async function tellBank(url: string, history: BankHistory): Promise<void> {
  const { request } = await import('undici')
  const answer = await request(`${url}/bank/history`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(history),
    headersTimeout: BANK_TIMEOUT_MS,
    bodyTimeout: BANK_TIMEOUT_MS,
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 201)
    throw new OperatorError(
      `the sandbox bank did not take the history, so that audit will name it: ${text.slice(0, 300)}`,
    )
}
