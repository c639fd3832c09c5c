import { Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import type { RefundStatus } from '../domain/refunds/refund-states.ts'
import { apiAction, type Answer, type Api } from './api.ts'
import { addCommand, AS_JSON, id, limit, ONLY_ACCOUNT, positive, REASON } from './arguments.ts'
import { moment } from './format.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

const STATUSES: RefundStatus[] = ['PROCESSING', 'DONE', 'FAILED']
const OUTCOMES = ['done', 'failed'] as const

export const FOLLOWED = 'The running server completes it. If none is running: guiche start'

export function refundCommands(program: Command, terminal: Terminal): void {
  // Without positional options, `refund` would take the --reason of `refund end`.
  program.enablePositionalOptions()
  const example = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57 --amount 2500 --reason "order 1042 returned"'
  const refund = addCommand(program, 'refund', example)
    .description('refund a completed deposit to its payer; exits 1 if the provider declines')
    .enablePositionalOptions()
    .argument('<paymentLinkId>', 'payment link id of the charge', id)
    .option(REASON[0], `${REASON[1]} (required)`)
    .option('--amount <cents>', 'amount in cents (default: all that is left)', positive)
    .option('--idempotency-key <key>', 'a repetition with the same key refunds nothing more')
    .option(...AS_JSON)
    .addHelpText('after', '\nThe amount is taken from the balance of the account, which must cover it.')
    .action((paymentLinkId, options) => {
      // Checked here, because Commander would require the option of `refund end` as well.
      if (options.reason === undefined) refund.error("error: required option '--reason <text>' not specified")
      return apiAction(terminal, refundCommand)(paymentLinkId, options)
    })
  const endExample = '0199a3c2f4b87d6e9b1a5c0d3e2f4a69 --as failed --reason "bank support found no such refund"'
  addCommand(refund, 'end', endExample)
    .description('record the outcome of a refund that is in doubt; this cannot be undone')
    .argument('<refundId>', 'id from `refunds`', id)
    .addOption(
      new Option('--as <outcome>', 'outcome according to the provider').choices(OUTCOMES).makeOptionMandatory(),
    )
    .requiredOption(...REASON)
    .option(...AS_JSON)
    .addHelpText(
      'after',
      `
done: the payer has the money. failed: the provider made no refund, and the money returns to where it came from.
If the provider reports another outcome later, it is booked and needs another decision.`,
    )
    .action(apiAction(terminal, endCommand))
  addCommand(program, 'refunds', '--in-doubt --email ana@loja.example')
    .description('list the newest refunds')
    .option(...ONLY_ACCOUNT)
    .option('--charge <paymentLinkId>', 'only this charge')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .option('--in-doubt', 'only refunds whose outcome at the provider is unknown')
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, refundsCommand))
}

type Refund = Answer<'endRefund'>['refund']
type RefundOptions = JsonOption & { reason: string; amount?: number; idempotencyKey?: string }

async function refundCommand({ call }: Api, terminal: Terminal, paymentLinkId: string, options: RefundOptions) {
  const { amount: value = null, reason, idempotencyKey } = options
  const input = { path: { paymentLinkId }, body: { value, reason } }
  const { refund } = await call('refundAnyDeposit', input, { idempotencyKey })
  printOne(terminal, options, refund, describe)
  if (refund.status === 'PROCESSING') terminal.say(FOLLOWED)
  if (refund.status === 'FAILED') terminal.setExitCode(1)
}

type EndOptions = JsonOption & { as: 'done' | 'failed'; reason: string }

async function endCommand({ call }: Api, terminal: Terminal, refundId: string, options: EndOptions): Promise<void> {
  const body = { outcome: options.as, reason: options.reason }
  printOne(terminal, options, (await call('endRefund', { path: { refundId }, body })).refund, describe)
}

function describe(refund: Refund): string {
  const { id, value, returnedFee, status, failure, attention } = refund
  const fee = returnedFee > 0 && status !== 'FAILED' ? `, ${formatReais(returnedFee)} of the fee returned` : ''
  const why = failure ?? attention
  return `Refund ${id} of ${formatReais(value)}${fee} is ${stateOf(refund)}${why === null ? '' : `: ${why}`}`
}

type ListOptions = JsonOption & {
  email?: string
  charge?: string
  status?: RefundStatus
  inDoubt?: true
  limit: number
}

async function refundsCommand(api: Api, terminal: Terminal, options: ListOptions): Promise<void> {
  const { json, email, charge: paymentLinkId, inDoubt, ...filter } = options
  const accountId = email && (await api.accountId(email))
  const query = { ...filter, accountId, paymentLinkId, ...(inDoubt && { inDoubt: 'true' as const }) }
  printList(terminal, { json }, await api.list('listAllRefunds', query), {
    empty: 'No refund matches.',
    columns: {
      ID: (refund) => refund.id,
      CREATED: (refund) => moment(refund.createdAt),
      STATUS: stateOf,
      AMOUNT: (refund) => formatReais(refund.value),
      CHARGE: (refund) => refund.paymentLinkId ?? refund.endToEndId,
      BY: (refund) => (refund.source === 'provider' ? 'the provider' : refund.by),
      REASON: (refund) => refund.failure ?? refund.attention ?? refund.endedReason ?? refund.reason ?? '',
    },
  })
}

function stateOf(refund: Refund): string {
  if (refund.undoneAt !== null) return `${refund.status}, undone`
  return refund.inDoubt ? `${refund.status}, in doubt` : refund.status
}
