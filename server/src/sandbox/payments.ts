import { z } from 'zod'
import { decimalFromCents } from '../base/money.ts'
import { bankAmount, CNPJ, bankTime, bankTxid, problem, readBody, refusal, type Answer, type Call } from './answer.ts'
import { NATUREZAS, pixBetween, type Pix } from './book.ts'
import { pageOf, parseListQuery } from './paging.ts'
import { isShown, record, showPix, transferId, type Psp } from './psp.ts'

// GET /pix/{e2eid}
export function readPix(psp: Psp, call: Call): Answer {
  const pix = psp.book.pixById.get(call.params[0] ?? '')
  if (!pix) return problem('PixNaoEncontrado', 'Nenhum Pix tem este endToEndId.')
  return { status: 200, body: showPix(psp, pix), seq: pix.seq }
}

// Counted besides GET /pix, which they are too.
const BY_PAYER = 'GET /pix by payer'

// GET /pix, by `horario`. The specification requires a list `cobs`, surely a mistake for `pix`.
export function listPix(psp: Psp, call: Call): Answer {
  const query = parseListQuery(
    call.query,
    {
      txid: /^[a-zA-Z0-9]{1,35}$/,
      txIdPresente: /^(true|false)$/,
      devolucaoPresente: /^(true|false)$/,
      cpf: /^\d{11}$/,
      cnpj: CNPJ,
    },
    'PixConsultaInvalida',
  )
  if ('status' in query) return query
  const { filters, fromMs, untilMs } = query
  const txid = filters.get('txid')
  const refunded = filters.get('devolucaoPresente')
  const payer = filters.get('cpf') ?? filters.get('cnpj')
  if (payer !== undefined) psp.calls.set(BY_PAYER, (psp.calls.get(BY_PAYER) ?? 0) + 1)
  const { payerErrorRate, payerLagMs } = psp.plan.faults
  if (payer !== undefined && payerErrorRate > 0 && psp.plan.random() < payerErrorRate)
    return problem('ServicoIndisponivel', 'Falha pedida por /bank/faults.')
  const isOf = (pix: Pix) => pix.facts.payer === payer && psp.now().getTime() - pix.atMs >= payerLagMs
  // Every Pix of this bank has a txid.
  const none = filters.get('txIdPresente') === 'false'
  const found = none
    ? []
    : pixBetween(psp.book, fromMs, untilMs).filter(
        (pix) =>
          (txid === undefined || txid === pix.facts.txid) &&
          (payer === undefined || isOf(pix)) &&
          (refunded === undefined || (refunded === 'true') === pix.refunds.some((refund) => isShown(psp, refund))),
      )
  const { items, parametros } = pageOf(query, found)
  const malformed = psp.plan.faults.malformedEntry ? [malformedEntry(query.inicio)] : []
  return {
    status: 200,
    body: { parametros, cobs: [], pix: [...malformed, ...items.map((pix) => showPix(psp, pix))] },
    seq: psp.journal.lastSeq(),
  }
}

// A bank may list other transfers among the Pix received.
function malformedEntry(horario: string) {
  return { endToEndId: 'T0000000020260101000000000', valor: '1.00', horario }
}

const endToEndId = z.string().regex(/^E[0-9A-Za-z]{31}$/)
const pastPix = z.object({ endToEndId, txid: bankTxid, amountCents: bankAmount, at: bankTime })
const pastRefund = z.object({
  endToEndId,
  id: bankTxid,
  amountCents: bankAmount,
  at: bankTime,
  natureza: z.enum(NATUREZAS).default('ORIGINAL'),
})
const ITEMS_MAX = 300
const history = z
  .object({ pix: z.array(pastPix).default([]), refunds: z.array(pastRefund).default([]) })
  .refine(({ pix, refunds }) => pix.length + refunds.length <= ITEMS_MAX, `At most ${ITEMS_MAX} items in all`)

// POST /bank/history imports past payments and refunds, without notifications. Known ones stay as they are.
export function importHistory(psp: Psp, call: Call): Answer {
  const body = readBody(history, call.body)
  if (typeof body === 'string') return refusal(400, body)
  const { pix, refunds } = body
  const known = new Set(pix.map((payment) => payment.endToEndId))
  const wrong = refunds.findIndex((refund) => !known.has(refund.endToEndId) && !psp.book.pixById.has(refund.endToEndId))
  if (wrong !== -1) return refusal(400, `Refund ${wrong} must have the endToEndId of a payment`)
  const chave = psp.book.webhooks.keys().next().value ?? 'sandbox'
  for (const { amountCents, at, ...payment } of pix) {
    const facts = { ...payment, valor: decimalFromCents(amountCents), horario: at.toISOString(), chave }
    record(psp, { kind: 'pix', facts, owed: false })
  }
  for (const { endToEndId, id, amountCents, at, natureza } of refunds) {
    const horario = { solicitacao: at.toISOString(), liquidacao: at.toISOString() }
    const amount = { valor: decimalFromCents(amountCents), natureza }
    const refund = { id, rtrId: transferId('D', at), ...amount, horario, status: 'DEVOLVIDO' as const }
    record(psp, { kind: 'refund', endToEndId, refund, owed: false })
  }
  return { status: 201, body: { pix: pix.length, refunds: refunds.length }, seq: psp.journal.lastSeq() }
}
