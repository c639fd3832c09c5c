import { Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { loadConfig } from '../config.ts'
import type { Refund, RefundStatus } from '../domain/refund-life.ts'
import { listRefunds, requestRefund } from '../domain/refunds.ts'
import { requireAccount } from './account.ts'
import { positive, wholeNumber } from './arguments.ts'
import { consoleActor, json, moment, table, withContext, type Terminal } from './terminal.ts'

const STATUSES: RefundStatus[] = ['PROCESSING', 'DONE', 'FAILED']
const USUAL_LIMIT = 50
const MAX_LIMIT = 1000

export function refundCommands(program: Command, terminal: Terminal): void {
  program
    .command('refund')
    .description('give a completed deposit back to its payer; exits 1 when the provider declines')
    .argument('<paymentLinkId>', 'of the charge')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .option('--amount <cents>', 'how much (default: all that is left)', positive)
    .option('--idempotency-key <key>', 'makes the command safe to repeat')
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
The account's balance pays for it, and must hold as much.

Example:
  $ npx guiche refund 7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57 --amount 2500 --reason "order 1042 returned"`,
    )
    .action((paymentLinkId, options) => refundCommand(terminal, paymentLinkId, options))
  program
    .command('refunds')
    .description('the newest refunds')
    .option('--email <email>', 'of this account only')
    .option('--charge <paymentLinkId>', 'of this charge only')
    .addOption(new Option('--status <status>', 'only those that are').choices(STATUSES))
    .option('--limit <n>', `how many, up to ${MAX_LIMIT}`, wholeNumber({ min: 1, max: MAX_LIMIT }), USUAL_LIMIT)
    .option('--json', 'as JSON, for programs')
    .action((options) => refundsCommand(terminal, options))
}

async function refundCommand(
  terminal: Terminal,
  paymentLinkId: string,
  options: { reason: string; amount?: number; idempotencyKey?: string; json?: boolean },
): Promise<void> {
  await withContext(loadConfig(), terminal, async (ctx) => {
    const { refund } = await requestRefund(ctx, consoleActor(), {
      accountId: null,
      paymentLinkId,
      amountCents: options.amount ?? null,
      reason: options.reason,
      idempotencyKey: options.idempotencyKey ?? null,
    })
    terminal.print(options.json ? json(refund) : describe(refund))
    if (refund.status === 'PROCESSING') terminal.say(FOLLOWED)
    if (refund.status === 'FAILED') process.exitCode = 1
  })
}

export const FOLLOWED = 'A running server follows it to its end; without one it waits until it starts.'

function describe({ id, amountCents, feeReturnedCents, status, failure }: Refund): string {
  const fee =
    feeReturnedCents > 0 && status !== 'FAILED' ? `, with ${formatReais(feeReturnedCents)} of the fee given back` : ''
  const why = failure === null ? '' : `: ${failure}`
  return `Refund ${id} of ${formatReais(amountCents)}${fee} is ${status}${why}`
}

async function refundsCommand(
  terminal: Terminal,
  options: { email?: string; charge?: string; status?: RefundStatus; limit: number; json?: boolean },
): Promise<void> {
  await withContext(loadConfig(), terminal, async (ctx) => {
    const { email, charge, status, limit } = options
    const account = email === undefined ? undefined : await requireAccount(ctx.pool, email)
    const { refunds, nextCursor } = await listRefunds(ctx, {
      limit,
      ...(account && { accountId: account.accountId }),
      ...(charge !== undefined && { paymentLinkId: charge }),
      ...(status && { status }),
    })
    if (nextCursor) terminal.say(`The newest ${refunds.length}; there are more: see --limit.`)
    if (options.json) return terminal.print(json(refunds))
    if (refunds.length === 0) return terminal.say('There are no such refunds.')
    terminal.print(table(['ID', 'MADE', 'STATUS', 'AMOUNT', 'OF', 'BY', 'REASON'], refunds.map(rowOf)))
  })
}

function rowOf(refund: Refund): string[] {
  return [
    refund.id,
    moment(refund.createdAt),
    refund.status,
    formatReais(refund.amountCents),
    refund.paymentLinkId ?? refund.endToEndId,
    refund.source === 'provider' ? 'the provider' : `${refund.requestedBy.kind} ${refund.requestedBy.name}`,
    refund.failure ?? refund.reason ?? '',
  ]
}
