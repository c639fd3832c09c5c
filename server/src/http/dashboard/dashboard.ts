import { z } from 'zod'
import type { Cents } from '../../base/money.ts'
import { Fault } from '../../base/fault.ts'
import { transact } from '../../db/tx.ts'
import { readStatement, type StatementLine } from '../../domain/ledger/account-statement.ts'
import { creditedCents, type Charge, type ChargeStatus } from '../../domain/deposits/charge-states.ts'
import type { Context } from '../../domain/context.ts'
import { dayOf } from '../../domain/core/business-days.ts'
import { listDeliveries, readLoggedDelivery } from '../../domain/webhooks/delivery-log.ts'
import { listDeposits } from '../../domain/deposits/deposits.ts'
import { NOTHING_HELD, readHeld, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import { createKey, listAccountKeys, revokeKey } from '../../domain/accounts/api-keys.ts'
import { actorOf } from '../../domain/accounts/callers.ts'
import { readOverview } from '../../domain/reports/overview.ts'
import { readTimeline } from '../../domain/reports/timeline.ts'
import type { Api } from '../server/typed-app.ts'
import { CSV_FORMATS, CSV_PAGE, sendCsv, type Columns } from './exports.ts'
import { dashboardOperatorRoutes } from './dashboard-operator.ts'
import {
  attemptShape,
  attentionShape,
  daysShape,
  deliveriesQuery,
  deliveryParams,
  deliveryShape,
  keyParams,
  keyShape,
  momentShape,
  newKeyBody,
  periodShape,
  presentAttention,
  presentDay,
  presentDelivery,
  presentKey,
  presentLogAttempt,
  presentMoment,
  presentPeriod,
  requestShape,
} from './dashboard-schemas.ts'
import { presentRecord } from '../api/present.ts'
import { presentRefund, refundShape } from '../api/refunds.ts'
import { answer, depositsQuery, nextCursor, paymentLinkParams, recordShape, statementQuery } from '../server/schemas.ts'

/** What the dashboard alone has. Registered under the prefix /dashboard, behind the door for sessions: no key opens any of it. */
export function dashboardRoutes(api: Api, ctx: Context): void {
  keyRoutes(api, ctx)
  depositViews(api, ctx)
  deliveryViews(api, ctx)
  dashboardOperatorRoutes(api, ctx)
}

function keyRoutes(api: Api, ctx: Context): void {
  // What an account may do while it is suspended: see its keys and revoke them, and not make others.
  const config = { scope: 'balance:read' } as const

  api.get('/api/keys', { schema: keysSchema, config }, async (request) => {
    const keys = await listAccountKeys(ctx, request.caller.accountId)
    return { success: true as const, keys: keys.map(presentKey) }
  })

  const making = { scope: 'webhooks:write', fresh: true } as const
  api.post('/api/keys', { schema: newKeySchema, config: making }, async (request, reply) => {
    const { accountId } = request.caller
    const wanted = { ...request.body, accountId, expiresAt: request.body.expiresAt ?? null }
    const { keyId, text } = await transact(ctx.pool, (tx) =>
      createKey(tx, ctx.now(), ctx.settings.mode, wanted, actorOf(request.caller)),
    )
    reply.code(201)
    return { success: true as const, key: await keyOf(accountId, keyId), text }
  })

  api.delete('/api/keys/:keyId', { schema: revokeSchema, config: { ...config, fresh: true } }, async (request) => {
    const { accountId } = request.caller
    const { keyId } = request.params
    const revoked = await transact(ctx.pool, (tx) =>
      revokeKey(tx, ctx.now(), keyId, actorOf(request.caller), accountId),
    )
    if (!revoked) throw new Fault('not_found', 'Key not found')
    return { success: true as const, key: await keyOf(accountId, revoked.keyId) }
  })

  async function keyOf(accountId: string, keyId: string) {
    const [key] = await listAccountKeys(ctx, accountId, keyId)
    return presentKey(key!)
  }
}

function depositViews(api: Api, ctx: Context): void {
  const { publicUrl } = ctx.settings
  const config = { scope: 'deposits:read' } as const
  const fileName = (what: string) => `${what}-${dayOf(ctx.now())}.csv`

  api.get('/api/overview', { schema: overviewSchema, config: { scope: 'balance:read' } }, async (request) => {
    const overview = await readOverview(ctx, request.caller.accountId)
    return {
      success: true as const,
      balance: overview.balanceCents,
      today: presentPeriod(overview.today),
      yesterday: presentPeriod(overview.yesterday),
      last30: presentPeriod(overview.last30),
      previous30: presentPeriod(overview.previous30),
      days: overview.days.map(presentDay),
      latest: overview.latest.map((charge) => presentRecord(publicUrl, charge, overview.held.get(charge.id))),
      attention: overview.attention.map(presentAttention),
    }
  })

  api.get('/api/deposit/:paymentLinkId/timeline', { schema: timelineSchema, config }, async (request) => {
    const life = await readTimeline(ctx, request.caller.accountId, request.params.paymentLinkId)
    const { charge, held, refunds, moments } = life
    return {
      success: true as const,
      deposit: presentRecord(publicUrl, charge, held),
      refunds: refunds.map(presentRefund),
      timeline: moments.map(presentMoment),
    }
  })

  api.get('/api/deposits.csv', { schema: depositsCsvSchema, config }, (request, reply) => {
    const { limit: _, cursor: __, format, ...filter } = request.query
    const { accountId } = request.caller
    return sendCsv(reply, { fileName: fileName('deposits'), format }, DEPOSIT_COLUMNS, async (after) => {
      const page = { ...filter, ...(after && { cursor: after }), limit: CSV_PAGE }
      const { charges, nextCursor } = await listDeposits(ctx, accountId, page)
      const held = await readHeld(
        ctx,
        charges.map((charge) => charge.id),
      )
      return { rows: charges.map((charge) => ({ ...charge, ...(held.get(charge.id) ?? NOTHING_HELD) })), nextCursor }
    })
  })

  api.get('/api/statement.csv', { schema: statementCsvSchema, config: { scope: 'balance:read' } }, (request, reply) => {
    const { limit: _, cursor: __, format, ...filter } = request.query
    const { accountId } = request.caller
    return sendCsv(reply, { fileName: fileName('statement'), format }, LINE_COLUMNS, async (after) => {
      const page = { ...filter, ...(after && { cursor: after }), limit: CSV_PAGE }
      const { lines, nextCursor } = await readStatement(ctx, accountId, page)
      return { rows: lines, nextCursor }
    })
  })
}

function deliveryViews(api: Api, ctx: Context): void {
  const config = { scope: 'deposits:read' } as const

  api.get('/api/deliveries', { schema: deliveriesSchema, config }, async (request) => {
    const { deliveries, nextCursor } = await listDeliveries(ctx, request.caller.accountId, request.query)
    return { success: true as const, deliveries: deliveries.map(presentDelivery), nextCursor }
  })

  api.get('/api/deliveries/:eventId/:webhookId', { schema: deliverySchema, config }, async (request) => {
    const { accountId } = request.caller
    const { delivery, request: sent, attempts } = await readLoggedDelivery(ctx, accountId, request.params)
    return {
      success: true as const,
      delivery: presentDelivery(delivery),
      request: sent,
      attempts: attempts.map(presentLogAttempt),
    }
  })
}

const plain = (value: string | boolean | null) => ({ plain: value })
const text = (value: string | null) => ({ text: value })
const cents = (value: Cents | null) => ({ cents: value })
const time = (value: Date | null) => ({ time: value })

const word = (value: string, titles: Record<string, string>) => ({ word: value, inBrazil: titles[value] ?? value })

const STATUS_TITLES: Record<ChargeStatus, string> = {
  PENDING: 'Aguardando',
  COMPLETED: 'Pago',
  EXPIRED: 'Expirado',
  CANCELED: 'Cancelado',
}

const LINE_TITLES = {
  deposit: 'Depósito',
  matched_deposit: 'Depósito',
  refund_reserved: 'Devolução',
  refund_released: 'Devolução não realizada',
  fee_returned: 'Tarifa devolvida',
  fee_kept: 'Tarifa cobrada de novo',
  exception_credited: 'Crédito do operador',
  refund_charged: 'Devolução feita pela instituição',
}

const DEPOSIT_COLUMNS: Columns<Charge & HeldMoney> = {
  id: { title: 'ID', cell: (charge) => plain(charge.id) },
  paymentLinkId: { title: 'Link de pagamento', cell: (charge) => plain(charge.paymentLinkId) },
  status: { title: 'Situação', cell: (charge) => word(charge.status, STATUS_TITLES) },
  createdAt: { title: 'Criado em', cell: (charge) => time(charge.createdAt) },
  expiresAt: { title: 'Expira em', cell: (charge) => time(charge.expiresAt) },
  paidAt: { title: 'Pago em', cell: (charge) => time(charge.paidAt) },
  paidLate: { title: 'Pago com atraso', cell: (charge) => plain(charge.paidLate) },
  value: { title: 'Valor', cell: (charge) => cents(charge.valueCents) },
  originalValue: { title: 'Valor pedido', cell: (charge) => cents(charge.originalValueCents) },
  fee: { title: 'Tarifa', cell: (charge) => cents(charge.feeCents) },
  creditedValue: { title: 'Valor creditado', cell: (charge) => cents(creditedCents(charge)) },
  refundedValue: { title: 'Valor devolvido', cell: (charge) => cents(charge.refundedCents) },
  heldValue: { title: 'Valor retido', cell: (charge) => cents(charge.heldCents) },
  keptValue: { title: 'Valor recebido à parte', cell: (charge) => cents(charge.keptCents) },
  endToEndId: { title: 'EndToEndId', cell: (charge) => text(charge.endToEndId) },
  externalId: { title: 'Referência', cell: (charge) => text(charge.externalId) },
  description: { title: 'Descrição', cell: (charge) => text(charge.description) },
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
}

const keysSchema = { response: { 200: answer('', { keys: keyShape.array() }) } }
const newKeySchema = { body: newKeyBody, response: { 201: answer('', { key: keyShape, text: z.string() }) } }
const revokeSchema = { params: keyParams, response: { 200: answer('', { key: keyShape }) } }
const overviewSchema = {
  response: {
    200: answer('', {
      balance: z.int(),
      today: periodShape,
      yesterday: periodShape,
      last30: periodShape,
      previous30: periodShape,
      days: daysShape,
      latest: recordShape.array(),
      attention: attentionShape.array(),
    }),
  },
}
const timelineSchema = {
  params: paymentLinkParams,
  response: {
    200: answer('', { deposit: recordShape, refunds: refundShape.array(), timeline: momentShape.array() }),
  },
}
const format = z.enum(CSV_FORMATS, { error: `format must be one of ${CSV_FORMATS.join(', ')}` }).default('csv')
const depositsCsvSchema = { querystring: depositsQuery.extend({ format }) }
const statementCsvSchema = { querystring: statementQuery.extend({ format }) }
const deliveriesSchema = {
  querystring: deliveriesQuery,
  response: { 200: answer('', { deliveries: deliveryShape.array(), nextCursor }) },
}
const deliverySchema = {
  params: deliveryParams,
  response: {
    200: answer('', { delivery: deliveryShape, request: requestShape, attempts: attemptShape.array() }),
  },
}
