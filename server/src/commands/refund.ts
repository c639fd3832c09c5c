import { Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { isInDoubt, type Refund, type RefundStatus } from '../domain/refunds/refund-states.ts'
import { endUndecided, listRefunds, requestRefund } from '../domain/refunds/request-refund.ts'
import { requireAccount } from './account.ts'
import { positive, wholeNumber } from './arguments.ts'
import { consoleActor, json, moment, table, withContext, type Terminal } from './terminal.ts'

const STATUSES: RefundStatus[] = ['PROCESSING', 'DONE', 'FAILED']
const OUTCOMES = ['done', 'failed'] as const
const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000

export function refundCommands(program: Command, terminal: Terminal): void {
  // Options belong to the command behind which they stand, so that `refund end` has a --reason of its own.
  program.enablePositionalOptions()
  const refund = program
    .command('refund')
    .description('give a completed deposit back to its payer; exits 1 when the provider declines')
    .enablePositionalOptions()
    .argument('<paymentLinkId>', 'of the charge')
    .option('--reason <text>', 'why, for the audit log; required')
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
    .action((paymentLinkId, options) => {
      // By hand: a required option of a command is required of its subcommands too.
      if (options.reason === undefined) refund.error("error: required option '--reason <text>' not specified")
      return refundCommand(terminal, paymentLinkId, options)
    })
  refund
    .command('end')
    .description('say what became of a refund that stays undecided; cannot be taken back')
    .argument('<refundId>', 'as `refunds` shows it')
    .addOption(
      new Option('--as <outcome>', 'what you have learned at the provider').choices(OUTCOMES).makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'why, for the audit log')
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
done: the provider made it, and the payer has the money. failed: it did not, and the money goes back to where it came from.
What the provider says later is booked too, and asks for another decision.

Example:
  $ npx guiche refund end 0199a3c2f4b87d6e9b1a5c0d3e2f4a69 --as failed --reason "the bank's support found no such refund"`,
    )
    .action((refundId, options) => endCommand(terminal, refundId, options))
  program
    .command('refunds')
    .description('the newest refunds')
    .option('--email <email>', 'of this account only')
    .option('--charge <paymentLinkId>', 'of this charge only')
    .addOption(new Option('--status <status>', 'only those that are').choices(STATUSES))
    .option('--in-doubt', 'only those whose outcome at the provider is not known')
    .option('--limit <n>', `how many, up to ${MAX_LIMIT}`, wholeNumber({ min: 1, max: MAX_LIMIT }), DEFAULT_LIMIT)
    .option('--json', 'as JSON, for programs')
    .action((options) => refundsCommand(terminal, options))
}

async function refundCommand(
  terminal: Terminal,
  paymentLinkId: string,
  options: { reason: string; amount?: number; idempotencyKey?: string; json?: boolean },
): Promise<void> {
  await withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const { refund } = await requestRefund(ctx, consoleActor(), {
      accountId: null,
      paymentLinkId,
      amountCents: options.amount ?? null,
      reason: options.reason,
      idempotencyKey: options.idempotencyKey ?? null,
    })
    terminal.print(options.json ? json(refund) : describe(refund))
    if (refund.status === 'PROCESSING') terminal.say(FOLLOWED)
    if (refund.status === 'FAILED') terminal.setExitCode(1)
  })
}

async function endCommand(
  terminal: Terminal,
  refundId: string,
  options: { as: 'done' | 'failed'; reason: string; json?: boolean },
): Promise<void> {
  await withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const decision = { outcome: options.as, reason: options.reason }
    const refund = await endUndecided(ctx, consoleActor(), refundId, decision)
    terminal.print(options.json ? json(refund) : describe(refund))
  })
}

export const FOLLOWED = 'A running server follows it to its end; without one it waits until it starts.'

function describe(refund: Refund): string {
  const { id, amountCents, feeReturnedCents, status, failure, attention } = refund
  const fee =
    feeReturnedCents > 0 && status !== 'FAILED' ? `, with ${formatReais(feeReturnedCents)} of the fee given back` : ''
  const why = failure ?? attention
  return `Refund ${id} of ${formatReais(amountCents)}${fee} is ${stateOf(refund)}${why === null ? '' : `: ${why}`}`
}

async function refundsCommand(
  terminal: Terminal,
  options: {
    email?: string
    charge?: string
    status?: RefundStatus
    inDoubt?: true
    limit: number
    json?: boolean
  },
): Promise<void> {
  await withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const { email, charge, status, inDoubt, limit } = options
    const account = email === undefined ? undefined : await requireAccount(ctx, email)
    const { refunds, nextCursor } = await listRefunds(ctx, {
      limit,
      ...(account && { accountId: account.accountId }),
      ...(charge !== undefined && { paymentLinkId: charge }),
      ...(status && { status }),
      ...(inDoubt && { inDoubt }),
    })
    if (nextCursor) terminal.say(`The newest ${refunds.length}; there are more: see --limit.`)
    if (options.json) return terminal.print(json(refunds))
    if (refunds.length === 0) return terminal.say('There are no such refunds.')
    terminal.print(table(['ID', 'MADE', 'STATUS', 'AMOUNT', 'OF', 'BY', 'REASON'], refunds.map(rowOf)))
  })
}

function stateOf(refund: Refund): string {
  if (refund.undoneAt !== null) return `${refund.status}, undone`
  return isInDoubt(refund) ? `${refund.status}, in doubt` : refund.status
}

function rowOf(refund: Refund): string[] {
  return [
    refund.id,
    moment(refund.createdAt),
    stateOf(refund),
    formatReais(refund.amountCents),
    refund.paymentLinkId ?? refund.endToEndId,
    refund.source === 'provider' ? 'the provider' : `${refund.requestedBy.kind} ${refund.requestedBy.name}`,
    refund.failure ?? refund.attention ?? refund.endedBy?.reason ?? refund.reason ?? '',
  ]
}
