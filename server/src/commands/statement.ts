import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Option, type Command } from 'commander'
import type { StatementFormat, StatementLine, StatementPeriod, StatementSummary } from '#sdk'
import { formatReais } from '../base/money.ts'
import { LINE_KINDS, type LineKindName } from '../domain/ledger/line-kinds.ts'
import { BY_API, serviceAction, type Api } from './api.ts'
import { addCommand, AS_JSON, limit } from './arguments.ts'
import { labelled, moment, type Columns } from './format.ts'
import { printList, type JsonOption, type Terminal } from './terminal.ts'

const FORMATS = ['csv', 'csv-br', 'ofx', 'ofx2', 'jsonl'] satisfies StatementFormat[]

/** The limit of the API. */
const MAX_PAGE = 100

type Options = JsonOption & StatementPeriod & { format?: StatementFormat; out?: string; limit: number }

export function statementCommand(program: Command, terminal: Terminal): void {
  addCommand(
    program,
    'statement',
    '--from 2026-10-01 --to 2026-10-31',
    '--from 2026-10-01 --to 2026-10-31 --format ofx',
  )
    .description('show what changed the balance of an account, or write it to a file, from anywhere')
    .option('--from <day>', 'only from this day on, in the time zone of the account')
    .option('--to <day>', 'only up to this day, inclusive')
    .addOption(new Option('--format <format>', 'write all of it to a file, oldest first').choices(FORMATS))
    .option('--out <file>', 'the file (default: named by account and period, in this folder)')
    .option(...limit(50))
    .option(...AS_JSON)
    .addHelpText('after', BY_API)
    .action(serviceAction(terminal, (api, _, options: Options) => showOrWrite(api, terminal, options)))
}

async function showOrWrite(api: Api, terminal: Terminal, { format, out, ...options }: Options): Promise<void> {
  const period = { ...(options.from && { from: options.from }), ...(options.to && { to: options.to }) }
  if (format) return write(api, terminal, { format, ...period }, out)
  const lines: StatementLine[] = []
  for await (const line of api.statement.list({ ...period, limit: MAX_PAGE })) {
    lines.push(line)
    if (lines.length > options.limit) break
  }
  const listed = { items: lines.slice(0, options.limit), nextCursor: lines[options.limit]?.id ?? null }
  printList(terminal, options, listed, { empty: 'No line in this period.', columns: COLUMNS })
  if (!options.json && (options.from || options.to)) terminal.print(summaryText(await api.statement.summary(period)))
}

const COLUMNS: Columns<StatementLine> = {
  BOOKED: (line) => moment(line.recordedAt),
  WHAT: ({ kind }) => titleOf(kind),
  REFERENCE: (line) => line.externalId ?? '',
  GROSS: (line) => formatReais(line.gross),
  FEE: (line) => formatReais(line.fee),
  NET: (line) => formatReais(line.net),
  BALANCE: (line) => formatReais(line.balance),
}

function summaryText({ openingBalance, closingBalance, totals = [], timeZone }: StatementSummary): string {
  const kinds = totals.map(({ kind, count, net }) => [`${titleOf(kind)} (${count})`, formatReais(net)])
  return `\n${labelled({
    Opening: formatReais(openingBalance),
    ...Object.fromEntries(kinds),
    Closing: formatReais(closingBalance),
    'Days of': timeZone,
  })}`
}

/** A newer service may have a kind that this program does not know. */
function titleOf(kind: string): string {
  return kind in LINE_KINDS ? LINE_KINDS[kind as LineKindName].titles[1] : kind
}

async function write(
  { statement }: Api,
  terminal: Terminal,
  query: StatementPeriod & { format: StatementFormat },
  out: string | undefined,
): Promise<void> {
  const { fileName, body } = await statement.export(query)
  const path = out ?? basename(fileName)
  try {
    await pipeline(body, createWriteStream(path))
  } catch (error) {
    // Half a statement must not be taken for a whole one.
    await rm(path, { force: true })
    throw error
  }
  terminal.say(`Written to ${path}`)
}
