import type { Context } from '../../domain/context.ts'
import { readHolder } from '../../domain/accounts/time-zone.ts'
import { dayOf } from '../../domain/core/business-days.ts'
import { creditedCents, type ChargeStatus } from '../../domain/deposits/charge-reads.ts'
import { NOTHING_HELD, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import { listDeposits, type Deposit } from '../../domain/reports/list-deposits.ts'
import { depositsQuery } from '../api/deposits.ts'
import { cents, CSV_FORMATS, csvWriter, plain, text, time, word, type Columns } from '../server/csv.ts'
import { sendRows } from '../server/exports.ts'
import { oneOf, type Api } from '../server/schemas.ts'

const format = oneOf('format', CSV_FORMATS).default('csv')
const exportDepositsRoute = { querystring: depositsQuery.omit({ cursor: true }).extend({ format }) }

export function exportRoutes(api: Api, ctx: Context): void {
  const deposits = { schema: exportDepositsRoute, config: { scope: 'deposits:read' } } as const
  api.get('/api/deposits.csv', deposits, async ({ query, caller: { accountId } }, reply) => {
    const { format, ...filter } = query
    const { timeZone } = await readHolder(ctx, accountId)
    const fileName = `deposits-${dayOf(ctx.now(), timeZone)}${format === 'csv' ? '' : '-br'}.csv`
    const form = { type: 'text/csv; charset=utf-8', fileName, ...csvWriter(COLUMNS, { format, timeZone }) }
    return sendRows(ctx, reply, form, async (core, page) => {
      const { deposits, held, nextCursor } = await listDeposits(core, accountId, { ...filter, ...page })
      const rows = deposits.map((deposit) => ({ ...deposit, ...(held.get(deposit.id) ?? NOTHING_HELD) }))
      return { rows, nextCursor }
    })
  })
}

const STATUS_TITLES: Record<ChargeStatus, string> = {
  PENDING: 'Aguardando',
  COMPLETED: 'Pago',
  EXPIRED: 'Expirado',
  CANCELED: 'Cancelado',
}

const COLUMNS: Columns<Deposit & HeldMoney> = {
  id: { title: 'ID', cell: (charge) => plain(charge.id) },
  paymentLinkId: { title: 'Link de pagamento', cell: (charge) => plain(charge.paymentLinkId) },
  status: { title: 'Situação', cell: (charge) => word(charge.status, STATUS_TITLES[charge.status]) },
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
  code: { title: 'Código', cell: (charge) => text(charge.code) },
}
