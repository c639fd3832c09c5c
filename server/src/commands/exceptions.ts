import { Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { ExceptionState, Resolution } from '../domain/exceptions/exception-states.ts'
import { EXCEPTION_KINDS, type ExceptionKind } from '../domain/refunds/exceptions.ts'
import { apiAction, type Answer, type Api } from './api.ts'
import { addCommand, AS_JSON, id, limit, ONLY_PROVIDER, REASON, time } from './arguments.ts'
import { labelled, moment } from './format.ts'
import { FOLLOWED } from './refund.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

const STATES: (ExceptionState | 'all')[] = ['open', 'resolving', 'resolved', 'all']

export function exceptionCommands(program: Command, terminal: Terminal): void {
  const exceptions = program
    .command('exceptions')
    .description('list, show and resolve payments and refunds that need a decision')
  addCommand(exceptions, 'list', '--kind wrong_amount --state all')
    .description('list the newest exceptions')
    .addOption(new Option('--state <state>', 'only exceptions in this state').choices(STATES).default('open'))
    .addOption(new Option('--kind <kind>', 'only this kind').choices(EXCEPTION_KINDS))
    .option(...ONLY_PROVIDER)
    .option('--from <time>', 'only opened from this time on', time)
    .option('--to <time>', 'only opened before this time', time)
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, listCommand))
  addCommand(exceptions, 'show', '<id>')
    .description('show an exception with its payment, charge, refund and notes')
    .argument('<id>', 'id from `exceptions list`', id)
    .option(...AS_JSON)
    .action(apiAction(terminal, showCommand))
  addCommand(exceptions, 'note', '<id> "the payer called: it was meant for order 1042"')
    .description('write a note for other operators; it is never changed or deleted')
    .argument('<id>', 'id from `exceptions list`', id)
    .argument('<text>', 'up to 1000 characters')
    .option(...AS_JSON)
    .action(apiAction(terminal, noteCommand))
  addCommand(
    exceptions,
    'resolve',
    '<id> --credit ana@loja.example --reason "paid by key instead of code, order 1042"',
    '<id> --refund --reason "paid twice"',
    '<id> --match --reason "the shop accepts R$ 90,00 for order 1042"',
    '<id> --refund --close-charge --reason "paid too little, order canceled"',
  )
    .description('decide what happens with the money; this cannot be undone')
    .argument('<id>', 'id from `exceptions list`', id)
    .requiredOption(...REASON)
    .option('--credit <email>', 'credit all of it to this account, without a fee')
    .option('--refund', 'refund it to the payer')
    .option('--write-off', 'book it as the operator’s gain, or for a foreign_refund as its loss')
    .option('--charge-account', 'foreign_refund only: debit the account that was credited')
    .option('--match', 'complete the charge of the payment although the amount differs, less the fee')
    .option('--close-charge', 'first cancel the charge of the payment, so that nobody can pay it')
    .option(...AS_JSON)
    .action((id, options) => {
      checkWays(options)
      return apiAction(terminal, resolveCommand)(id, options)
    })
}

type Exception = Answer<'getException'>['exception']
type ListOptions = JsonOption & {
  state: ExceptionState | 'all'
  kind?: ExceptionKind
  provider?: string
  from?: Date
  to?: Date
  limit: number
}

async function listCommand(api: Api, terminal: Terminal, { json, state, ...filter }: ListOptions): Promise<void> {
  const listed = await api.list('listExceptions', { ...filter, state: state === 'all' ? undefined : state })
  printList(terminal, { json }, listed, {
    empty: state === 'open' ? 'No open exception matches.' : 'No exception matches.',
    columns: {
      ID: (exception) => exception.id,
      OPENED: (exception) => moment(exception.openedAt),
      KIND: (exception) => exception.kind,
      AMOUNT: (exception) => formatReais(exception.value),
      STATE: stateOf,
      PAYMENT: (exception) => exception.endToEndId ?? '',
      CHARGE: ({ charge }) => (charge === null ? '' : `${charge.email} ${charge.paymentLinkId}`),
    },
  })
}

async function showCommand(api: Api, terminal: Terminal, exceptionId: string, options: JsonOption): Promise<void> {
  const { exception, notes } = await api.call('getException', { path: { exceptionId } })
  printOne(terminal, options, { ...exception, notes }, (shown) =>
    [describe(shown), ...shown.notes.map(noteText)].join('\n'),
  )
}

type Note = Answer<'getException'>['notes'][number]

async function noteCommand(api: Api, terminal: Terminal, exceptionId: string, text: string, options: JsonOption) {
  const { note } = await api.call('noteException', { path: { exceptionId }, body: { text } })
  printOne(terminal, options, note, noteText)
}

function noteText({ number, notedAt, by, text }: Note): string {
  return `Note ${number}, ${moment(notedAt)}, ${by}: ${text}`
}

type ResolveOptions = JsonOption & {
  reason: string
  credit?: string
  refund?: boolean
  writeOff?: boolean
  chargeAccount?: boolean
  match?: boolean
  closeCharge?: boolean
}

function checkWays({ credit, refund, writeOff, chargeAccount, match, closeCharge }: ResolveOptions): void {
  if ([credit, refund, writeOff, chargeAccount, match].filter((way) => way !== undefined).length !== 1)
    throw new OperatorError('Give exactly one of: --credit <email>, --refund, --write-off, --charge-account, --match')
  if (closeCharge && (match || chargeAccount))
    throw new OperatorError('--close-charge needs --credit, --refund or --write-off')
}

async function resolveCommand(api: Api, terminal: Terminal, exceptionId: string, options: ResolveOptions) {
  const body = { ...(await resolutionFrom(api, options)), reason: options.reason }
  const { exception } = await api.call('resolveException', { path: { exceptionId }, body })
  printOne(terminal, options, exception, describe)
  if (exception.state === 'resolving') terminal.say(FOLLOWED)
  // The provider declined the refund at once.
  if (exception.state === 'open') terminal.setExitCode(1)
}

async function resolutionFrom(api: Api, options: ResolveOptions): Promise<Resolution> {
  const charge = options.closeCharge ? 'close' : 'keep'
  if (options.credit !== undefined) return { how: 'credit', accountId: await api.accountId(options.credit), charge }
  if (options.match) return { how: 'match' }
  if (options.chargeAccount) return { how: 'charge_account' }
  return { how: options.refund ? 'refund' : 'write_off', charge }
}

function stateOf({ state, resolution }: Exception): string {
  return resolution === null ? state : `${state}: ${resolution.how}`
}

function paymentOf({ endToEndId, provider, occurredAt }: Exception): string {
  return occurredAt === null ? `not named by ${provider}` : `${endToEndId} at ${provider}, ${moment(occurredAt)}`
}

function describe(exception: Exception): string {
  const { charge, resolution, refund, resolvedAt } = exception
  return labelled({
    Exception: exception.id,
    Kind: exception.kind,
    State: stateOf(exception),
    Amount: formatReais(exception.value),
    Payment: paymentOf(exception),
    Opened: moment(exception.openedAt),
    Charge: charge && `${charge.paymentLinkId} of ${charge.email}, ${charge.status}, of ${formatReais(charge.value)}`,
    Refund: refund && `${refund.providerRefundId}, ${refund.failure ?? refund.status}`,
    'Decided by': resolution && `${resolution.by}: ${resolution.reason}`,
    Account: resolution?.accountId,
    Resolved: resolvedAt && moment(resolvedAt),
  })
}
