import { Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Context } from '../domain/context.ts'
import type { ExceptionState, Resolution } from '../domain/deposits/exception-states.ts'
import {
  EXCEPTION_KINDS,
  findException,
  listExceptions,
  type Exception,
  type ExceptionKind,
} from '../domain/refunds/exceptions.ts'
import { resolveException } from '../domain/refunds/resolve-exception.ts'
import { requireAccount } from './account.ts'
import { time, wholeNumber } from './arguments.ts'
import { FOLLOWED } from './refund.ts'
import { consoleActor, json, moment, table, withContext, type Terminal } from './terminal.ts'

const STATES: (ExceptionState | 'all')[] = ['open', 'resolving', 'resolved', 'all']
const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000

export function exceptionCommands(program: Command, terminal: Terminal): void {
  const exceptions = program
    .command('exceptions')
    .description('money that came without a charge to credit, went without us, or came back')
  exceptions
    .command('list')
    .description('the newest that wait for a decision')
    .addOption(new Option('--state <state>', 'which').choices(STATES).default('open'))
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(EXCEPTION_KINDS))
    .option('--provider <name>', 'of this provider only')
    .option('--from <time>', 'opened from this time on', time)
    .option('--to <time>', 'opened before this time', time)
    .option('--limit <n>', `how many, up to ${MAX_LIMIT}`, wholeNumber({ min: 1, max: MAX_LIMIT }), DEFAULT_LIMIT)
    .option('--json', 'as JSON, for programs')
    .action((options) => listCommand(terminal, options))
  exceptions
    .command('show')
    .description('all that is known of one')
    .argument('<id>', 'as `exceptions list` shows it')
    .option('--json', 'as JSON, for programs')
    .action((id, options) => showCommand(terminal, id, options))
  exceptions
    .command('resolve')
    .description('say what becomes of the money; cannot be taken back')
    .argument('<id>', 'as `exceptions list` shows it')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .option('--credit <email>', 'give it to this account, whole and without a fee')
    .option('--refund', 'give it back to the payer')
    .option('--write-off', 'the house keeps it; of a foreign_refund, bears it')
    .option('--charge-account', 'of a foreign_refund: the account that was credited bears it')
    .option('--match', 'it completes the charge that it names, although its amount differs; less the fee')
    .option('--close-charge', 'withdraw the charge that it names first, so that nobody pays it any more')
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
Examples:
  $ npx guiche exceptions resolve <id> --credit ana@loja.example --reason "paid by key instead of code, order 1042"
  $ npx guiche exceptions resolve <id> --refund --reason "paid twice"
  $ npx guiche exceptions resolve <id> --match --reason "the shop accepts R$ 90,00 for order 1042"
  $ npx guiche exceptions resolve <id> --refund --close-charge --reason "paid too little, order canceled"`,
    )
    .action((id, options) => resolveCommand(terminal, id, options))
}

type ListOptions = {
  state: ExceptionState | 'all'
  kind?: ExceptionKind
  provider?: string
  from?: Date
  to?: Date
  limit: number
  json?: boolean
}

function listCommand(terminal: Terminal, { state, json: asJson, ...filter }: ListOptions): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const { exceptions, nextCursor } = await listExceptions(ctx, { ...filter, ...(state !== 'all' && { state }) })
    if (nextCursor) terminal.say(`The newest ${exceptions.length}; there are more: see --limit.`)
    if (asJson) return terminal.print(json(exceptions))
    if (exceptions.length === 0)
      return terminal.say(state === 'open' ? 'No exception is open.' : 'There are no such exceptions.')
    terminal.print(table(['ID', 'OPENED', 'KIND', 'AMOUNT', 'STATE', 'PAYMENT', 'MEANT FOR'], exceptions.map(rowOf)))
  })
}

function showCommand(terminal: Terminal, id: string, options: { json?: boolean }): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const exception = await findException(ctx, id)
    terminal.print(options.json ? json(exception) : describe(exception))
  })
}

type ResolveOptions = {
  reason: string
  credit?: string
  refund?: boolean
  writeOff?: boolean
  chargeAccount?: boolean
  match?: boolean
  closeCharge?: boolean
  json?: boolean
}

async function resolveCommand(terminal: Terminal, id: string, options: ResolveOptions): Promise<void> {
  const { credit, refund, writeOff, chargeAccount, match, closeCharge } = options
  if ([credit, refund, writeOff, chargeAccount, match].filter((way) => way !== undefined).length !== 1) {
    throw new OperatorError('name one of these: --credit <email>, --refund, --write-off, --charge-account, --match')
  }
  if (closeCharge && (match || chargeAccount)) {
    throw new OperatorError('--close-charge goes with --credit, --refund or --write-off')
  }
  await withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const resolution = await resolutionFrom(ctx, options)
    const exception = await resolveException(ctx, consoleActor(), id, resolution, options.reason)
    terminal.print(options.json ? json(exception) : describe(exception))
    if (exception.state === 'resolving') terminal.say(FOLLOWED)
    // A refund that the provider declined at once.
    if (exception.state === 'open') terminal.setExitCode(1)
  })
}

async function resolutionFrom(ctx: Context, options: ResolveOptions): Promise<Resolution> {
  const charge = options.closeCharge ? 'close' : 'keep'
  if (options.credit !== undefined) {
    return { how: 'credit', accountId: (await requireAccount(ctx, options.credit)).accountId, charge }
  }
  if (options.match) return { how: 'match' }
  if (options.chargeAccount) return { how: 'charge_account' }
  return { how: options.refund ? 'refund' : 'write_off', charge }
}

function rowOf(exception: Exception): string[] {
  return [
    exception.id,
    moment(exception.openedAt),
    exception.kind,
    formatReais(exception.amountCents),
    stateOf(exception),
    exception.endToEndId,
    exception.charge === null ? '' : `${exception.charge.email} ${exception.charge.paymentLinkId}`,
  ]
}

function stateOf({ state, resolution }: Exception): string {
  return resolution === null ? state : `${state}: ${resolution.how}`
}

function describe(exception: Exception): string {
  const { charge, resolution, refund } = exception
  const lines = [
    ['Exception', exception.id],
    ['Kind', exception.kind],
    ['State', stateOf(exception)],
    ['Amount', formatReais(exception.amountCents)],
    ['Payment', `${exception.endToEndId} at ${exception.provider}, ${moment(exception.occurredAt)}`],
    ['Opened', moment(exception.openedAt)],
  ]
  if (charge) {
    const value = `${charge.status}, of ${formatReais(charge.valueCents)}`
    lines.push(['Charge', `${charge.paymentLinkId} of ${charge.email}, ${value}`])
  }
  if (refund) lines.push(['Refund', `${refund.providerRefundId}, ${refund.failure ?? refund.status}`])
  if (resolution) {
    lines.push(['Decided by', `${resolution.by.kind} ${resolution.by.name}: ${resolution.reason}`])
    if (resolution.accountId) lines.push(['Account', resolution.accountId])
  }
  if (exception.resolvedAt) lines.push(['Resolved', moment(exception.resolvedAt)])
  return table(['', ''], lines).trimStart()
}
