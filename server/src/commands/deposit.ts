import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Option, type Command } from 'commander'
import type { z } from 'zod'
import { formatReais } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { depositSchema } from '../http/api/deposits.ts'
import type { refundSchema } from '../http/api/refunds.ts'
import { addCommand, AS_JSON, limit, positive, time } from './arguments.ts'
import { labelled, moment } from './format.ts'
import { path, type Service } from './service.ts'
import { BY_API, serviceAction } from './source.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

type Deposit = z.output<typeof depositSchema>
/** What the answer to a creation and to a query have in common. */
type Charge = Pick<Deposit, 'paymentLinkId' | 'paymentLinkUrl' | 'emv' | 'value' | 'fee' | 'status'>
type Refund = z.output<typeof refundSchema>

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
    .option('--expires-in <seconds>', 'seconds until it expires, 300 to 86400', positive)
    .option(...IDEMPOTENCY_KEY)
    .option(...WAIT)
    .option(...AS_JSON)
    .action(serviceAction(terminal, createDeposit))
  const ofOne = (name: string, example: string) =>
    add(name, `${EXAMPLE_ID} ${example}`).argument('<paymentLinkId>', 'payment link id of the charge')
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

type CreateOptions = JsonOption & {
  externalId?: string
  description?: string
  expiresIn?: number
  idempotencyKey?: string
  wait?: boolean
}

async function createDeposit(service: Service, terminal: Terminal, value: number, options: CreateOptions) {
  const { externalId, description, expiresIn, idempotencyKey = randomUUID() } = options
  const body = { value, externalId, description, expiresIn }
  const { charge } = await service.ask<{ charge: Charge }>('POST', '/api/deposit', { body, idempotencyKey })
  if (!options.wait) return printOne(terminal, options, charge, describe)
  // Programs get one JSON document, at the end. Whoever pays needs the page before.
  if (options.json) terminal.say(`To be paid at ${charge.paymentLinkUrl}`)
  else terminal.print(describe(charge))
  printEnd(terminal, options, await waitForEnd(service, terminal, charge.paymentLinkId))
}

async function getDeposit(service: Service, terminal: Terminal, id: string, options: JsonOption & { wait?: boolean }) {
  if (!options.wait) return printOne(terminal, options, await readCharge(service, id), describe)
  printEnd(terminal, options, await waitForEnd(service, terminal, id))
}

type ListOptions = JsonOption & {
  status?: Deposit['status']
  externalId?: string
  search?: string
  from?: Date
  to?: Date
  limit: number
}

async function listDeposits(service: Service, terminal: Terminal, { json, ...query }: ListOptions): Promise<void> {
  const { items, nextCursor } = await service.list<Deposit>('/api/deposits', 'deposits', query)
  const options = json === undefined ? {} : { json }
  printList(terminal, options, items, {
    nextCursor,
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

async function cancelDeposit({ ask }: Service, terminal: Terminal, id: string, options: JsonOption): Promise<void> {
  const { charge } = await ask<{ charge: Deposit }>('POST', path`/api/deposit/${id}/cancel`)
  printOne(terminal, options, charge, describe)
}

type RefundOptions = JsonOption & { amount?: number; reason?: string; idempotencyKey?: string }

async function refundDeposit({ ask }: Service, terminal: Terminal, id: string, options: RefundOptions): Promise<void> {
  const { amount: value, reason, idempotencyKey = randomUUID() } = options
  const request = { body: { value, reason }, idempotencyKey }
  const { refund } = await ask<{ refund: Refund }>('POST', path`/api/deposit/${id}/refund`, request)
  printOne(terminal, options, refund, () => `Refund ${refund.id} of ${formatReais(refund.value)} is ${refund.status}`)
  if (refund.status === 'FAILED') terminal.setExitCode(1)
}

// ---- Waiting ----

const FIRST_PAUSE_MS = 1_000
const PAUSE_FACTOR = 1.5
/** The service asks the provider for each query. */
const MAX_PAUSE_MS = 15_000
/** No charge lives longer than a day. The hour is for clocks that differ. */
const MAX_WAIT_MS = 25 * 3_600_000

async function waitForEnd(service: Service, terminal: Terminal, id: string): Promise<Charge> {
  const startMs = performance.now()
  terminal.say('Waiting for the payment… Ctrl-C ends the waiting, and the charge stays payable.')
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_FACTOR, MAX_PAUSE_MS)) {
    const charge = await readCharge(service, id)
    if (charge.status !== 'PENDING') return charge
    if (performance.now() - startMs > MAX_WAIT_MS) throw new OperatorError('the charge is still PENDING after 25 hours')
    await sleep(pauseMs)
  }
}

async function readCharge({ ask }: Service, id: string): Promise<Charge> {
  return (await ask<{ charge: Charge }>('GET', path`/api/deposit/${id}`)).charge
}

function printEnd(terminal: Terminal, options: JsonOption, charge: Charge): void {
  printOne(terminal, options, charge, ({ paymentLinkId, status }) => `${paymentLinkId} is ${status}`)
  if (charge.status !== 'COMPLETED') terminal.setExitCode(1)
}

function describe(charge: Charge): string {
  const lines = labelled({
    Deposit: charge.paymentLinkId,
    Status: charge.status,
    Value: formatReais(charge.value),
    Fee: formatReais(charge.fee),
    Page: charge.paymentLinkUrl,
  })
  // As it is: without one of its spaces the code would be wrong.
  return `${lines}\nCode     ${charge.emv}`
}
