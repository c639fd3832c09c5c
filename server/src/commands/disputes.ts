import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Option, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import { DISPUTE_STATUSES, type DisputeStatus } from '../domain/disputes/dispute-states.ts'
import { apiAction, type Answer, type Api } from './api.ts'
import { addCommand, AS_JSON, id, limit, ONLY_ACCOUNT } from './arguments.ts'
import { labelled, moment } from './format.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

export function disputeCommands(program: Command, terminal: Terminal): void {
  const disputes = program.command('disputes').description('list payments that their payers contest, and give evidence')
  addCommand(disputes, 'list', '', '--status REJECTED --email ana@loja.example')
    .description('list the open disputes, the next deadline first; with a filter, the newest ones')
    .option(...ONLY_ACCOUNT)
    .addOption(new Option('--status <status>', 'only this status').choices(DISPUTE_STATUSES))
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, listCommand))
  addCommand(disputes, 'show', '<id>')
    .description('show a dispute, with the evidence that was given')
    .argument('<id>', 'id from `disputes list`', id)
    .option(...AS_JSON)
    .action(apiAction(terminal, showCommand))
  addCommand(disputes, 'evidence', '<id> delivery.pdf --description "Signed receipt of the delivery"')
    .description('send a PDF, PNG or JPEG file to the bank that decides')
    .argument('<id>', 'id from `disputes list`', id)
    .argument('<file>', 'the file, of at most 3 MiB')
    .option('--description <text>', 'what it shows; the bank reads it')
    .option(...AS_JSON)
    .action(apiAction(terminal, evidenceCommand))
}

type Dispute = Answer<'getAnyDispute'>['dispute']
type ListOptions = JsonOption & { email?: string; status?: DisputeStatus; limit: number }

async function listCommand(api: Api, terminal: Terminal, { json, email, ...filter }: ListOptions): Promise<void> {
  const isFiltered = email !== undefined || filter.status !== undefined
  const accountId = email && (await api.accountId(email))
  const listed = isFiltered
    ? await api.list('listAllDisputes', { ...filter, accountId })
    : (await api.call('listOpenDisputes', {})).disputes.slice(0, filter.limit)
  printList(terminal, { json }, listed, {
    empty: isFiltered ? 'No dispute matches.' : 'No dispute is open.',
    columns: {
      ID: (dispute) => dispute.id,
      DEADLINE: (dispute) => moment(dispute.deadlineAt),
      STATUS: (dispute) => dispute.status,
      AMOUNT: (dispute) => formatReais(dispute.value),
      HELD: (dispute) => formatReais(dispute.held),
      ACCOUNT: (dispute) => dispute.email ?? '',
      FILES: (dispute) => dispute.evidence.length,
      REASON: (dispute) => dispute.reason ?? '',
    },
  })
}

async function showCommand({ call }: Api, terminal: Terminal, disputeId: string, options: JsonOption): Promise<void> {
  printOne(terminal, options, (await call('getAnyDispute', { path: { disputeId } })).dispute, describe)
}

type EvidenceOptions = JsonOption & { description?: string }

async function evidenceCommand(
  { call }: Api,
  terminal: Terminal,
  disputeId: string,
  file: string,
  options: EvidenceOptions,
): Promise<void> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new OperatorError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  })
  const about = { fileName: basename(file).slice(0, 100), description: options.description ?? null }
  const body = { ...about, content: bytes.toString('base64') }
  printOne(terminal, options, (await call('giveEvidenceFor', { path: { disputeId }, body })).dispute, describe)
}

function describe(dispute: Dispute): string {
  const files = dispute.evidence.map(({ fileName, status, failure }) => [fileName, status, failure].join(' ').trim())
  return labelled({
    Dispute: dispute.id,
    Status: dispute.status,
    Amount: formatReais(dispute.value),
    Held: formatReais(dispute.held),
    Account: dispute.email,
    Deposit: dispute.paymentLinkId,
    Payment: dispute.endToEndId,
    Reason: dispute.reason,
    Opened: moment(dispute.openedAt),
    Deadline: moment(dispute.deadlineAt),
    Ended: dispute.endedAt && moment(dispute.endedAt),
    Evidence: files.join('; '),
  })
}
