import { randomUUID } from 'node:crypto'
import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Charge, Deposit, GuicheError, NewCharge } from '#sdk'
import { formatReais } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import { EXPIRES_SECONDS } from '../domain/core/charge-facts.ts'
import { BY_API, serviceAction, type Api } from './api.ts'
import { addCommand, AS_JSON, id, limit, positive, taxId, time } from './arguments.ts'
import { labelled, moment } from './format.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

const STATUSES = ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED'] satisfies Deposit['status'][]
const EXAMPLE_ID = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'

const WAIT = ['--wait', 'wait until it is paid; exits 1 if it expires or is canceled'] as const
const IDEMPOTENCY_KEY = ['--idempotency-key <key>', 'a repetition with the same key does nothing more'] as const

export function depositCommands(program: Command, terminal: Terminal): void {
  const deposit = program
    .command('deposit')
    .description('create, query, cancel and refund deposits of an account, from anywhere')
    .addHelpText('after', BY_API)
  const add = (name: string, ...examples: string[]) =>
    addCommand(deposit, name, ...examples).addHelpText('after', BY_API)
  add('create', '5000', '5000 --external-id order-1042 --description "Order 1042" --wait')
    .description('create a charge to pay by Pix; prints its payment page and code')
    .argument('<cents>', 'amount in cents: 5000 is R$ 50,00', positive)
    .option('--external-id <text>', 'your own reference; a second deposit with it is refused')
    .option('--description <text>', 'text that the payer sees')
    .option('--return-url <url>', 'where the payment page leads back to, on an origin of the shop’s list')
    .option('--metadata <key=value>', 'your own data, which the payer does not see; may be repeated', metadata)
    .option('--payer <taxId>', 'CPF or CNPJ of the person who is to pay', taxId)
    .option('--require-payer', 'credits nothing before the bank has confirmed that this person paid')
    .option(
      '--expires-in <seconds>',
      `seconds until it expires, ${EXPIRES_SECONDS.min} to ${EXPIRES_SECONDS.max}`,
      positive,
    )
    .option(...IDEMPOTENCY_KEY)
    .option(...WAIT)
    .option(...AS_JSON)
    .action(serviceAction(terminal, createDeposit))
  const ofOne = (name: string, example: string) =>
    add(name, `${EXAMPLE_ID} ${example}`).argument('<paymentLinkId>', 'payment link id of the charge', id)
  ofOne('get', '--wait')
    .description('show a charge; a PENDING one is first checked with the provider')
    .option(...WAIT)
    .option(...AS_JSON)
    .action(serviceAction(terminal, getDeposit))
  add('list', '--status COMPLETED --from 2026-01-31T00:00:00-03:00')
    .description('list the newest deposits')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .option('--external-id <text>', 'only this reference of yours')
    .option('--search <text>', 'part of the reference or description, an amount, or the beginning of an id')
    .option('--from <time>', 'only created from this time on', time)
    .option('--to <time>', 'only created before this time', time)
    .option(...limit(50))
    .option(...AS_JSON)
    .action(serviceAction(terminal, listDeposits))
  ofOne('cancel', '')
    .description('cancel a PENDING charge, so that nobody can pay it')
    .option(...AS_JSON)
    .action(serviceAction(terminal, cancelDeposit))
  ofOne('refund', '--amount 2500 --reason "order 1042 returned"')
    .description('refund a COMPLETED deposit out of the balance, where the operator allows it; exits 1 if it fails')
    .option('--amount <cents>', 'amount in cents (default: all that is left)', positive)
    .option('--reason <text>', 'note for yourself')
    .option(...IDEMPOTENCY_KEY)
    .option(...AS_JSON)
    .action(serviceAction(terminal, refundDeposit))
}

/** Adds one `key=value` to those before it. */
function metadata(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be key=value.')
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) }
}

type CreateOptions = JsonOption & {
  externalId?: string
  description?: string
  returnUrl?: string
  metadata?: Record<string, string>
  payer?: string
  requirePayer?: boolean
  expiresIn?: number
  idempotencyKey?: string
  wait?: boolean
}

async function createDeposit(api: Api, terminal: Terminal, value: number, options: CreateOptions) {
  const { externalId, description, returnUrl, metadata, payer, requirePayer, expiresIn } = options
  const { idempotencyKey = randomUUID() } = options
  if (requirePayer && payer === undefined) throw new OperatorError('--require-payer needs --payer')
  const body = {
    value,
    ...(externalId !== undefined && { externalId }),
    ...(description !== undefined && { description }),
    ...(returnUrl !== undefined && { returnUrl }),
    ...(metadata !== undefined && { metadata }),
    ...(payer !== undefined && {
      payer: { taxId: payer, policy: requirePayer ? ('require' as const) : ('verify' as const) },
    }),
    ...(expiresIn !== undefined && { expiresIn }),
  }
  const { charge } = await api.call('createDeposit', { body }, { idempotencyKey })
  if (!options.wait) return printOne(terminal, options, charge, describe)
  // With --json, standard output gets one document, at the end. The payer needs the page before that.
  if (options.json) terminal.say(`To be paid at ${charge.paymentLinkUrl}`)
  else terminal.print(describe(charge))
  await waitForEnd(api, terminal, charge.paymentLinkId, options)
}

async function getDeposit(
  api: Api,
  terminal: Terminal,
  paymentLinkId: string,
  options: JsonOption & { wait?: boolean },
) {
  if (options.wait) return waitForEnd(api, terminal, paymentLinkId, options)
  printOne(terminal, options, await api.deposits.get(paymentLinkId), describe)
}

type ListOptions = JsonOption & {
  status?: Deposit['status']
  externalId?: string
  search?: string
  from?: Date
  to?: Date
  limit: number
}

async function listDeposits(api: Api, terminal: Terminal, { json, ...query }: ListOptions): Promise<void> {
  printList(terminal, { json }, await api.list('listDeposits', query), {
    empty: 'No deposit matches.',
    columns: {
      ID: (deposit) => deposit.paymentLinkId,
      CREATED: (deposit) => moment(deposit.createdAt),
      STATUS: (deposit) => deposit.status,
      VALUE: (deposit) => formatReais(deposit.value),
      'EXTERNAL ID': (deposit) => deposit.externalId ?? '',
      DESCRIPTION: (deposit) => deposit.description ?? '',
    },
  })
}

async function cancelDeposit(api: Api, terminal: Terminal, paymentLinkId: string, options: JsonOption): Promise<void> {
  printOne(terminal, options, await api.deposits.cancel(paymentLinkId), describe)
}

type RefundOptions = JsonOption & { amount?: number; reason?: string; idempotencyKey?: string }

async function refundDeposit({ call }: Api, terminal: Terminal, paymentLinkId: string, options: RefundOptions) {
  const { amount: value = null, reason = null, idempotencyKey } = options
  const input = { path: { paymentLinkId }, body: { value, reason } }
  const { refund } = await call('refundDeposit', input, { idempotencyKey })
  printOne(terminal, options, refund, () => `Refund ${refund.id} of ${formatReais(refund.value)} is ${refund.status}`)
  if (refund.status === 'FAILED') terminal.setExitCode(1)
}

async function waitForEnd({ deposits }: Api, terminal: Terminal, paymentLinkId: string, options: JsonOption) {
  terminal.say('Waiting for the payment… Ctrl-C ends the waiting, and the charge stays payable.')
  const ended = await deposits.waitUntilPaid(paymentLinkId).catch((error: GuicheError) => {
    if (!error.deposit) throw error
    if (error.code === 'payment_held') terminal.say(`The operator decides about the payment: ${error.message}`)
    return error.deposit
  })
  printOne(terminal, options, ended, ({ status }) => `${paymentLinkId} is ${status}`)
  if (ended.status !== 'COMPLETED') terminal.setExitCode(1)
}

function describe(charge: NewCharge | Charge | Deposit): string {
  const lines = labelled({
    Deposit: charge.paymentLinkId,
    Status: charge.status,
    Value: formatReais(charge.value),
    Fee: formatReais(charge.fee),
    Page: charge.paymentLinkUrl,
  })
  // Not by labelled(), which would remove spaces that belong to the code.
  return `${lines}\nCode     ${charge.emv}`
}
