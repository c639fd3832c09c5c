import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { decimalFromCents, type Cents } from '../../base/money.ts'
import type { Context } from '../../domain/context.ts'
import { DAY_ZONE, dayOf } from '../../domain/core/business-days.ts'
import type { Core } from '../../domain/core/core.ts'
import { creditedCents, type ChargeStatus } from '../../domain/deposits/charge-reads.ts'
import { NOTHING_HELD, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import type { PayoutStatus } from '../../domain/payouts/payout-states.ts'
import { listDeposits, type Deposit } from '../../domain/reports/list-deposits.ts'
import { readReport, type Report } from '../../domain/reports/read-report.ts'
import { readStatement, type StatementLine } from '../../domain/ledger/account-statement.ts'
import { depositsQuery } from '../api/deposits.ts'
import { statementQuery } from '../api/statement.ts'
import { oneOf, type Api } from '../server/schemas.ts'

/**
 * csv: for programs, with the names of the API, decimal points and UTC. excel-br: for Brazilian spreadsheets, with
 * semicolons, decimal commas and Brasília time.
 */
const CSV_FORMATS = ['csv', 'excel-br'] as const
type CsvFormat = (typeof CSV_FORMATS)[number]

const format = oneOf('format', CSV_FORMATS).default('csv')
const exportDepositsRoute = { querystring: depositsQuery.omit({ cursor: true }).extend({ format }) }
const exportStatementRoute = { querystring: statementQuery.omit({ cursor: true }).extend({ format }) }

/** Rows per read: a short query, and some hundred kB in memory. */
export const CSV_PAGE = 500

export function exportRoutes(api: Api, ctx: Context): void {
  const deposits = { schema: exportDepositsRoute, config: { scope: 'deposits:read' } } as const
  api.get('/api/deposits.csv', deposits, ({ query, caller }, reply) => {
    const { format, ...filter } = query
    return sendCsv(ctx, reply, { name: 'deposits', format }, DEPOSIT_COLUMNS, async (core, page) => {
      const { deposits, held, nextCursor } = await listDeposits(core, caller.accountId, { ...filter, ...page })
      const rows = deposits.map((deposit) => ({ ...deposit, ...(held.get(deposit.id) ?? NOTHING_HELD) }))
      return { rows, nextCursor }
    })
  })

  const statement = { schema: exportStatementRoute, config: { scope: 'balance:read' } } as const
  api.get('/api/statement.csv', statement, ({ query, caller }, reply) => {
    const { format, ...filter } = query
    return sendCsv(ctx, reply, { name: 'statement', format }, LINE_COLUMNS, async (core, page) => {
      const { lines: rows, nextCursor } = await readStatement(core, caller.accountId, { ...filter, ...page })
      return { rows, nextCursor }
    })
  })
}

/** Tells how old the data of a report are, if a standby gave them. */
export function sayAge(reply: FastifyReply, ageSeconds: number | null): void {
  if (ageSeconds !== null) reply.header('guiche-data-age', String(ageSeconds))
}

// ---- Columns, by their name in the API and with their Brazilian title ----

/** Users typed the text cells, so those are escaped; the others are ours. */
type Cell =
  | { text: string | null }
  | { cents: Cents | null }
  | { time: string | null }
  | { plain: string | number | boolean | null }
  | { word: string; translation: string }
type Columns<Row> = Record<string, { title: string; cell: (row: Row) => Cell }>

const plain = (value: string | boolean | null) => ({ plain: value })
const text = (value: string | null) => ({ text: value })
const cents = (value: Cents | null) => ({ cents: value })
const time = (value: string | null) => ({ time: value })
const word = (value: string, titles: Record<string, string>) => ({ word: value, translation: titles[value] ?? value })

const STATUS_TITLES: Record<ChargeStatus, string> = {
  PENDING: 'Aguardando',
  COMPLETED: 'Pago',
  EXPIRED: 'Expirado',
  CANCELED: 'Cancelado',
}

const LINE_TITLES = {
  deposit: 'Depósito',
  matched_deposit: 'Depósito liberado pela equipe do guiche',
  refund_reserved: 'Devolução',
  refund_released: 'Devolução não realizada',
  fee_returned: 'Tarifa devolvida',
  fee_kept: 'Tarifa cobrada novamente',
  exception_credited: 'Crédito da equipe do guiche',
  refund_charged: 'Devolução feita pela instituição',
  payout_reserved: 'Repasse',
  payout_returned: 'Repasse recusado',
}

const PAYOUT_TITLES: Record<PayoutStatus, string> = {
  REQUESTED: 'Pedido',
  PAID: 'Pago',
  REJECTED: 'Recusado',
}

const DEPOSIT_COLUMNS: Columns<Deposit & HeldMoney> = {
  id: { title: 'ID', cell: (charge) => plain(charge.id) },
  paymentLinkId: { title: 'Link de pagamento', cell: (charge) => plain(charge.paymentLinkId) },
  status: { title: 'Situação', cell: (charge) => word(charge.status, STATUS_TITLES) },
  createdAt: { title: 'Criado em', cell: (charge) => time(charge.createdAt) },
  expiresAt: { title: 'Expira em', cell: (charge) => time(charge.expiresAt) },
  paidAt: { title: 'Pago em', cell: (charge) => time(charge.paidAt) },
  paidLate: { title: 'Pago depois de vencer ou cancelado', cell: (charge) => plain(charge.paidLate) },
  value: { title: 'Valor', cell: (charge) => cents(charge.valueCents) },
  originalValue: { title: 'Valor pedido', cell: (charge) => cents(charge.originalValueCents) },
  fee: { title: 'Tarifa', cell: (charge) => cents(charge.feeCents) },
  creditedValue: { title: 'Valor creditado', cell: (charge) => cents(creditedCents(charge)) },
  refundedValue: { title: 'Valor devolvido', cell: (charge) => cents(charge.refundedCents) },
  heldValue: { title: 'Valor em análise', cell: (charge) => cents(charge.heldCents) },
  keptValue: { title: 'Valor recebido à parte', cell: (charge) => cents(charge.keptCents) },
  endToEndId: { title: 'ID da transação Pix (E2E)', cell: (charge) => text(charge.endToEndId) },
  externalId: { title: 'Referência', cell: (charge) => text(charge.externalId) },
  description: { title: 'Descrição', cell: (charge) => text(charge.description) },
  metadata: { title: 'Dados próprios', cell: (charge) => text(charge.metadata) },
}

const LINE_COLUMNS: Columns<StatementLine> = {
  id: { title: 'Lançamento', cell: (line) => plain(line.id) },
  kind: { title: 'Tipo', cell: (line) => word(line.kind, LINE_TITLES) },
  recordedAt: { title: 'Lançado em', cell: (line) => time(line.recordedAt) },
  occurredAt: { title: 'Ocorrido em', cell: (line) => time(line.occurredAt) },
  gross: { title: 'Valor bruto', cell: (line) => cents(line.grossCents) },
  fee: { title: 'Tarifa', cell: (line) => cents(line.feeCents) },
  amount: { title: 'Valor líquido', cell: (line) => cents(line.amountCents) },
  balance: { title: 'Saldo', cell: (line) => cents(line.balanceCents) },
  externalId: { title: 'Referência', cell: (line) => text(line.externalId) },
  description: { title: 'Descrição', cell: (line) => text(line.description) },
  chargeId: { title: 'ID do depósito', cell: (line) => plain(line.chargeId) },
  paymentLinkId: { title: 'Link de pagamento', cell: (line) => plain(line.paymentLinkId) },
  refundId: { title: 'ID da devolução', cell: (line) => plain(line.refundId) },
  payoutId: { title: 'ID do repasse', cell: (line) => plain(line.payoutId) },
  payoutStatus: { title: 'Situação do repasse', cell: ({ payout }) => word(payout?.status ?? '', PAYOUT_TITLES) },
  payoutReference: { title: 'Referência bancária', cell: ({ payout }) => text(payout?.reference ?? null) },
  payoutPaidAt: { title: 'Repasse pago em', cell: ({ payout }) => plain(payout?.paidAt ?? null) },
}

type Page<Row> = { rows: Row[]; nextCursor: string | null }
type ReadPage<Row> = (cursor: string | undefined) => Promise<Report<Page<Row>>>

// Tells spreadsheets that the file is UTF-8.
const BYTE_ORDER_MARK = '\u{feff}'

/** Streams all pages, each read after the previous one was sent: a slow reader slows the queries. */
async function sendCsv<Row>(
  ctx: Context,
  reply: FastifyReply,
  { name, format }: { name: string; format: CsvFormat },
  columns: Columns<Row>,
  read: (core: Core, page: { limit: number; cursor?: string }) => Promise<Page<Row>>,
): Promise<FastifyReply> {
  const day = dayOf(ctx.now())
  const readPage: ReadPage<Row> = (cursor) =>
    readReport(ctx, (core) => read(core, { limit: CSV_PAGE, ...(cursor !== undefined && { cursor }) }))
  // Read before anything is sent, so that an error gets a response of its own and does not truncate a file.
  const { result: first, ageSeconds } = await readPage(undefined)
  sayAge(reply, ageSeconds)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}-${day}${format === 'csv' ? '' : `-${format}`}.csv"`)
    .send(Readable.from(csvOf({ columns, format }, first, readPage), { objectMode: false, highWaterMark: 1 }))
}

async function* csvOf<Row>(
  { columns, format }: { columns: Columns<Row>; format: CsvFormat },
  first: Page<Row>,
  readPage: ReadPage<Row>,
): AsyncGenerator<string> {
  const isBrazilian = format === 'excel-br'
  const separator = isBrazilian ? ';' : ','
  const cellText = isBrazilian ? brazilianText : plainText
  const cells = Object.values(columns)
  const line = (row: Row) => cells.map(({ cell }) => cellText(cell(row))).join(separator)
  const head = isBrazilian ? cells.map(({ title }) => quoted(title)) : Object.keys(columns)
  yield `${BYTE_ORDER_MARK}${head.join(separator)}\r\n`
  let page: Page<Row> | undefined = first
  while (page) {
    yield page.rows.map((row) => `${line(row)}\r\n`).join('')
    page = page.nextCursor === null ? undefined : (await readPage(page.nextCursor)).result
  }
}

function plainText(cell: Cell): string {
  if ('text' in cell) return quoted(escapeFormula(cell.text ?? ''))
  if ('cents' in cell) return cell.cents === null ? '' : amount(cell.cents)
  if ('time' in cell) return cell.time ?? ''
  if ('word' in cell) return cell.word
  return quoted(String(cell.plain ?? ''))
}

const brazilianTime = new Intl.DateTimeFormat('pt-BR', {
  timeZone: DAY_ZONE,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

function brazilianText(cell: Cell): string {
  if ('cents' in cell) return plainText(cell).replace('.', ',')
  // Spreadsheets recognize 15/11/2026 14:03:59 as a time, but not with the comma that the formatter puts between.
  if ('time' in cell) return cell.time ? brazilianTime.format(new Date(cell.time)).replace(', ', ' ') : ''
  if ('word' in cell) return quoted(cell.translation)
  if ('plain' in cell && typeof cell.plain === 'boolean') return cell.plain ? 'sim' : 'não'
  return plainText(cell)
}

function amount(cents: Cents): string {
  return `${cents < 0 ? '-' : ''}${decimalFromCents(cents < 0 ? -cents : cents)}`
}

// A spreadsheet runs a cell that begins like a formula, and these texts come from other people's systems.
function escapeFormula(text: string): string {
  return /^[\s=+\-@\uff0b\uff0d\uff1d\uff20]/u.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",;\r\n\t']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
