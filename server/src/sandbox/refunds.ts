import { z } from 'zod'
import { centsFromDecimal, decimalFromCents } from '../base/money.ts'
import { bankAmount, isRecord, problem, readBody, refusal, violation, type Answer, type Call } from './answer.ts'
import { NATUREZAS, type Refund } from './book.ts'
import { isAmount, isText } from './charge-body.ts'
import { isShown, notifyWhenDurable, record, showRefund, transferId, type Psp } from './psp.ts'

const REFUND_WINDOW_MS = 90 * 86_400_000
const REFUND_ID = /^[a-zA-Z0-9]{1,35}$/
// Long enough for a client to see EM_PROCESSAMENTO.
const SETTLES_AFTER_MS = 200

// PUT /pix/{e2eid}/devolucao/{id}. A repetition with the same amount returns the refund. One that refundLagMs hides is
// not recognised, but its amount counts.
export function requestRefund(psp: Psp, call: Call): Answer {
  const [endToEndId = '', id = ''] = call.params
  const pix = psp.book.pixById.get(endToEndId)
  if (!pix) return problem('PixNaoEncontrado', 'Nenhum Pix tem este endToEndId.')
  const body = isRecord(call.body) ? call.body : {}
  const { valor, descricao, natureza = 'ORIGINAL' } = body
  if (!REFUND_ID.test(id)) return refused('devolucao.id', 'Deve ter de 1 a 35 letras ou dígitos.')
  if (!isAmount(valor)) return refused('devolucao.valor', 'Deve ter a forma 0.00 e ser maior que zero.')
  if (natureza !== 'ORIGINAL') return refused('devolucao.natureza', 'Um Pix comum só tem devolução ORIGINAL.')
  if (descricao !== undefined && !isText(descricao, 140)) {
    return refused('devolucao.descricao', 'Deve ter até 140 caracteres.')
  }

  const known = pix.refunds.find((refund) => refund.id === id)
  if (known && known.valor !== valor) return refused('devolucao.id', 'Já foi usado com outro valor.')
  if (known && isShown(psp, known)) return { status: 201, body: showRefund(psp, known), seq: pix.seq }
  const refundedCents = pix.refunds.reduce((sum, refund) => sum + centsFromDecimal(refund.valor), 0)
  if (refundedCents + centsFromDecimal(valor) > pix.amountCents) {
    return refused('devolucao.valor', 'A soma das devoluções passaria do valor do Pix.')
  }
  if (known) return { status: 201, body: showRefund(psp, known), seq: pix.seq }
  if (psp.plan.faults.refundsRefused) return refused('devolucao.id', 'Recusa pedida por /bank/faults.')
  const now = psp.now()
  if (now.getTime() - pix.atMs > REFUND_WINDOW_MS) return refused('devolucao.id', 'O prazo de 90 dias passou.')

  const refund: Refund = {
    id,
    rtrId: transferId('D', now),
    valor,
    natureza: 'ORIGINAL',
    ...(descricao === undefined ? {} : { descricao }),
    horario: { solicitacao: now.toISOString() },
    status: 'EM_PROCESSAMENTO',
  }
  const seq = record(psp, { kind: 'refund', endToEndId, refund, owed: pix.owed })
  psp.refunding.add({ pix, refund })
  return { status: 201, body: refund, seq }
}

// MED: the receiver's bank freezes the money, and has eleven days to return it.
const FREEZE_SECONDS_MAX = 11 * 86_400

const returnOrder = z.strictObject({
  endToEndId: z.string(),
  nature: z.enum(NATUREZAS).default('MED_FRAUDE'),
  amountCents: bankAmount.optional(),
  freezeSeconds: z.int().min(0).max(FREEZE_SECONDS_MAX).default(0),
})

export type ReturnOrder = z.input<typeof returnOrder>

// POST /bank/reversal: the bank returns a Pix that it had credited, by itself. What is frozen before counts as
// returned, so the receiver cannot refund it, and is told of the return alone.
export function reverse(psp: Psp, call: Call): Answer {
  const order = readBody(returnOrder, call.body)
  if (typeof order === 'string') return refusal(400, order)
  const pix = psp.book.pixById.get(order.endToEndId)
  if (!pix) return refusal(404, 'No Pix has this endToEndId')
  const leftCents = pix.amountCents - pix.refunds.reduce((sum, refund) => sum + centsFromDecimal(refund.valor), 0)
  const amountCents = order.amountCents ?? leftCents
  if (amountCents < 1 || amountCents > leftCents) return refusal(409, `${leftCents} cents are left to return`)
  const at = new Date(psp.now().getTime() + order.freezeSeconds * 1000)
  const rtrId = transferId('D', at)
  const refund: Refund = {
    id: rtrId,
    rtrId,
    valor: decimalFromCents(amountCents),
    natureza: order.nature,
    horario: { solicitacao: at.toISOString() },
    status: 'EM_PROCESSAMENTO',
  }
  const seq = record(psp, { kind: 'refund', endToEndId: order.endToEndId, refund, owed: pix.owed })
  psp.refunding.add({ pix, refund })
  return { status: 201, body: { refund }, seq }
}

// GET /pix/{e2eid}/devolucao/{id}
export function readRefund(psp: Psp, call: Call): Answer {
  const [endToEndId = '', id = ''] = call.params
  const pix = psp.book.pixById.get(endToEndId)
  const refund = pix?.refunds.find((each) => each.id === id)
  if (!pix || !refund || !isShown(psp, refund))
    return problem('PixDevolucaoNaoEncontrada', 'Não há devolução com este id.')
  return { status: 200, body: showRefund(psp, refund), seq: pix.seq }
}

export function resumeRefunds(psp: Psp): void {
  for (const pix of psp.book.pix) {
    for (const refund of pix.refunds) if (refund.status === 'EM_PROCESSAMENTO') psp.refunding.add({ pix, refund })
  }
}

// Called before each answer: without a timer, a test that owns the clock decides when a refund is final. The receiver
// is then notified of the Pix again.
export function settleRefunds(psp: Psp): void {
  const nowMs = psp.now().getTime()
  for (const underWay of psp.refunding) {
    const { pix, refund } = underWay
    const settlesAtMs = Date.parse(refund.horario.solicitacao) + SETTLES_AFTER_MS
    if (nowMs < settlesAtMs) continue
    psp.refunding.delete(underWay)
    const { endToEndId, chave } = pix.facts
    const horario = { ...refund.horario, liquidacao: new Date(settlesAtMs).toISOString() }
    const owed = psp.book.webhooks.has(chave)
    record(psp, { kind: 'refund', endToEndId, refund: { ...refund, horario, status: 'DEVOLVIDO' }, owed })
    notifyWhenDurable(psp, [pix])
  }
}

const refused = (property: string, reason: string): Answer =>
  problem('PixDevolucaoInvalida', 'A devolução não pode ser feita assim.', [violation(property, reason)])
