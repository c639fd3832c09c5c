import { InvalidArgumentError, Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { isDay } from '../domain/core/business-days.ts'
import { PAYOUT_STATUSES, type PayoutStatus } from '../domain/payouts/payout-states.ts'
import { apiAction, type Answer, type Api } from './api.ts'
import { addCommand, AS_JSON, id, limit, OF_ACCOUNT, ONLY_ACCOUNT, positive, REASON } from './arguments.ts'
import { labelled, moment } from './format.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

export function payoutCommands(program: Command, terminal: Terminal): void {
  const payouts = program
    .command('payouts')
    .description('list and ask for payouts, and record what became of them; guiche itself moves no money')
  addCommand(payouts, 'list', '--status REQUESTED', '--email ana@loja.example')
    .description('list the newest payouts')
    .option(...ONLY_ACCOUNT)
    .addOption(new Option('--status <status>', 'only this status').choices(PAYOUT_STATUSES))
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, listCommand))
  addCommand(payouts, 'ask', '--email ana@loja.example --amount 250000 --note "March, first half"')
    .description('ask for a payout in the name of an account, also of a suspended one')
    .requiredOption(...OF_ACCOUNT)
    .requiredOption('--amount <cents>', 'amount in cents', positive)
    .option('--note <text>', 'a note, which account holder and operator both see')
    .option('--idempotency-key <key>', 'a repetition with the same key asks for nothing more')
    .option(...AS_JSON)
    .action(apiAction(terminal, askCommand))
  addCommand(payouts, 'pay', '<id> --reference E18236120202601311500s0a1b2c3d4e --paid-at 2026-01-31')
    .description('record that you paid it; this cannot be undone')
    .argument('<id>', 'id from `payouts list`', id)
    .requiredOption('--reference <text>', 'by which the bank knows the transfer')
    .option('--paid-at <day>', 'the day in Brazil on which you paid it (default: today)', day)
    .option(...AS_JSON)
    .action(apiAction(terminal, payCommand))
  addCommand(payouts, 'reject', '<id> --reason "the bank account is closed"')
    .description('make its amount available to the account again; this cannot be undone')
    .argument('<id>', 'id from `payouts list`', id)
    .requiredOption('--reason <text>', `${REASON[1]} and the account holder`)
    .option(...AS_JSON)
    .action(apiAction(terminal, rejectCommand))
}

function day(text: string): string {
  if (isDay(text)) return text
  throw new InvalidArgumentError('It must be a day such as 2026-01-31.')
}

type Payout = Answer<'payPayout'>['payout']
type ListOptions = JsonOption & { email?: string; status?: PayoutStatus; limit: number }

async function listCommand(api: Api, terminal: Terminal, { json, email, ...filter }: ListOptions): Promise<void> {
  const accountId = email && (await api.accountId(email))
  printList(terminal, { json }, await api.list('listAllPayouts', { ...filter, accountId }), {
    empty: 'No payout matches.',
    columns: {
      ID: (payout) => payout.id,
      REQUESTED: (payout) => moment(payout.requestedAt),
      STATUS: (payout) => payout.status,
      AMOUNT: (payout) => formatReais(payout.value),
      ACCOUNT: (payout) => payout.email,
      NOTE: (payout) => payout.note ?? '',
      'REFERENCE OR REASON': (payout) => payout.reference ?? payout.reason ?? '',
    },
  })
}

type AskOptions = JsonOption & { email: string; amount: number; note?: string; idempotencyKey?: string }

async function askCommand(api: Api, terminal: Terminal, options: AskOptions): Promise<void> {
  const { email, amount: value, note = null, idempotencyKey } = options
  const body = { accountId: await api.accountId(email), value, note }
  const { payout } = await api.call('requestPayoutFor', { body }, { idempotencyKey })
  printOne(terminal, options, payout, describe)
}

type PayOptions = JsonOption & { reference: string; paidAt?: string }

async function payCommand({ call }: Api, terminal: Terminal, payoutId: string, options: PayOptions): Promise<void> {
  const { reference, paidAt } = options
  const body = { reference, ...(paidAt !== undefined && { paidAt }) }
  printOne(terminal, options, (await call('payPayout', { path: { payoutId }, body })).payout, describe)
}

type RejectOptions = JsonOption & { reason: string }

async function rejectCommand({ call }: Api, terminal: Terminal, payoutId: string, options: RejectOptions) {
  const body = { reason: options.reason }
  printOne(terminal, options, (await call('rejectPayout', { path: { payoutId }, body })).payout, describe)
}

function describe(payout: Payout): string {
  return labelled({
    Payout: payout.id,
    Status: payout.status,
    Amount: formatReais(payout.value),
    Account: payout.email,
    Note: payout.note,
    'Asked for by': `${payout.requestedBy}, ${moment(payout.requestedAt)}`,
    'Ended by': payout.endedBy && `${payout.endedBy}, ${moment(payout.endedAt!)}`,
    'Paid on': payout.paidAt,
    Reference: payout.reference,
    Reason: payout.reason,
  })
}
