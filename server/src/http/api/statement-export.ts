import type { FastifyReply } from 'fastify'
import { readHolder } from '../../domain/accounts/time-zone.ts'
import type { Context } from '../../domain/context.ts'
import { dayOf, monthEnd } from '../../domain/core/business-days.ts'
import { findPeriod, readStatement, type StatementLine } from '../../domain/ledger/account-statement.ts'
import { LINE_KINDS } from '../../domain/ledger/line-kinds.ts'
import type { PayoutStatus } from '../../domain/payouts/payout-states.ts'
import { readReport } from '../../domain/reports/read-report.ts'
import { cents, csvWriter, plain, text, time, word, type Columns } from '../server/csv.ts'
import { sayAge, sendRows, type Form } from '../server/exports.ts'
import { ofxWriter } from './ofx.ts'

/** Each with what it is for, its end of a file name, and its type. */
export const STATEMENT_FORMATS = {
  csv: { means: 'comma, decimal point and UTC: for programs', ending: '.csv', type: 'text/csv; charset=utf-8' },
  'csv-br': {
    means: 'semicolon, decimal comma and local time: for spreadsheets in Brazil',
    ending: '-br.csv',
    type: 'text/csv; charset=utf-8',
  },
  ofx: { means: 'OFX 1.02: for accounting programs', ending: '.ofx', type: 'application/x-ofx' },
  ofx2: { means: 'OFX 2.1.1, as XML', ending: '-2.ofx', type: 'application/x-ofx' },
  jsonl: { means: 'a line of JSON for each line', ending: '.jsonl', type: 'application/jsonl; charset=utf-8' },
} as const
export type StatementFormat = keyof typeof STATEMENT_FORMATS

const COLUMNS: Columns<StatementLine> = {
  id: { title: 'Lançamento', cell: (line) => plain(line.id) },
  recordedAt: { title: 'Lançado em', cell: (line) => time(line.recordedAt) },
  occurredAt: { title: 'Ocorrido em', cell: (line) => time(line.occurredAt) },
  kind: { title: 'Tipo', cell: (line) => word(line.kind, LINE_KINDS[line.kind].titles[0]) },
  externalId: { title: 'Referência', cell: (line) => text(line.externalId) },
  description: { title: 'Descrição', cell: (line) => text(line.description) },
  endToEndId: { title: 'ID da transação Pix (E2E)', cell: (line) => text(line.endToEndId) },
  gross: { title: 'Valor bruto', cell: (line) => cents(line.grossCents) },
  fee: { title: 'Tarifa', cell: (line) => cents(line.feeCents) },
  net: { title: 'Valor líquido', cell: (line) => cents(line.netCents) },
  balance: { title: 'Saldo', cell: (line) => cents(line.balanceCents) },
  paymentLinkId: { title: 'Link de pagamento', cell: (line) => plain(line.paymentLinkId) },
  chargeId: { title: 'ID do depósito', cell: (line) => plain(line.chargeId) },
  refundId: { title: 'ID da devolução', cell: (line) => plain(line.refundId) },
  payoutId: { title: 'ID do repasse', cell: (line) => plain(line.payoutId) },
  payoutStatus: { title: 'Situação do repasse', cell: ({ payout }) => payoutStatus(payout) },
  payoutReference: { title: 'Referência bancária', cell: ({ payout }) => text(payout?.reference ?? null) },
  payoutPaidAt: { title: 'Repasse pago em', cell: ({ payout }) => plain(payout?.paidAt ?? null) },
  disputeId: { title: 'ID da contestação', cell: (line) => plain(line.disputeId) },
}

const PAYOUT_TITLES: Record<PayoutStatus, string> = { REQUESTED: 'Pedido', PAID: 'Pago', REJECTED: 'Recusado' }

function payoutStatus(payout: StatementLine['payout']) {
  return payout === null ? plain(null) : word(payout.status, PAYOUT_TITLES[payout.status])
}

type Wanted = { accountId: string; format: StatementFormat; from?: Date | undefined; to?: Date | undefined }

/** Oldest first, as a balance is counted. The period is found once, so that what is booked meanwhile is not in it. */
export async function sendStatement(
  ctx: Context,
  reply: FastifyReply,
  { accountId, format, from, to }: Wanted,
  presentLine: (line: StatementLine) => object,
): Promise<FastifyReply> {
  const holder = await readHolder(ctx, accountId)
  const { timeZone } = holder
  const { result, ageSeconds } = await readReport(ctx, async (core) => {
    const period = await findPeriod(core, accountId, { from, to })
    const { lines } = await readStatement(core, accountId, { order: 'oldest first', limit: 1, period })
    return { period, first: lines[0] }
  })
  sayAge(reply, ageSeconds)
  const { period, first } = result
  const now = ctx.now()
  const days = { from: from ?? new Date(first?.recordedAt ?? now), to: to ?? now }
  const { type, ending } = STATEMENT_FORMATS[format]
  const { tail = '', ...written } = writer()
  const form: Form<StatementLine> = {
    type,
    fileName: `extrato-${slugOf(holder.name) || accountId}-${periodName(days, timeZone)}${ending}`,
    ...written,
    tail(last) {
      // A standby that is behind could lack the newest lines: half a file must not look like a whole one.
      if ((last?.balanceCents ?? period.openingCents) !== period.closingCents)
        throw new Error(`the statement of account ${accountId} does not end at its closing balance`)
      return tail
    },
  }
  return sendRows(ctx, reply, form, async (core, page) => {
    const { lines, nextCursor } = await readStatement(core, accountId, { order: 'oldest first', ...page, period })
    return { rows: lines, nextCursor }
  })

  function writer(): Pick<Form<StatementLine>, 'head' | 'line' | 'encode'> & { tail?: string } {
    if (format === 'csv' || format === 'csv-br') return csvWriter(COLUMNS, { format, timeZone })
    if (format === 'jsonl') return { head: '', line: (line) => `${JSON.stringify(presentLine(line))}\n` }
    const statement = { accountId, timeZone, now, ...days, ...period }
    return ofxWriter(format === 'ofx' ? '1.02' : '2.1.1', statement)
  }
}

/** "2026-10", or the first and the last day of what is not a month. */
function periodName({ from, to }: { from: Date; to: Date }, timeZone: string): string {
  const [first, last] = [dayOf(from, timeZone), dayOf(new Date(to.getTime() - 1), timeZone)]
  const isMonth = first.endsWith('-01') && last === monthEnd(first)
  return isMonth ? first.slice(0, 7) : `${first}-a-${last}`
}

/** Letters and digits that every file system takes. */
function slugOf(name: string): string {
  const plainLetters = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plainLetters
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
}
