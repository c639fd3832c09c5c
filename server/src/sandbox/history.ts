import { z } from 'zod'
import { decimalFromCents } from '../base/money.ts'
import { bankAmount, bankTime, bankTxid, readBody, refusal, type Answer, type Call } from './answer.ts'
import { record, transferId, type Psp } from './psp.ts'

const endToEndId = z.string().regex(/^E[0-9A-Za-z]{31}$/)
const pastPix = z.object({ endToEndId, txid: bankTxid, amountCents: bankAmount, at: bankTime })
const pastRefund = z.object({ endToEndId, id: bankTxid, amountCents: bankAmount, at: bankTime })
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
  for (const { endToEndId, id, amountCents, at } of refunds) {
    const horario = { solicitacao: at.toISOString(), liquidacao: at.toISOString() }
    const amount = { valor: decimalFromCents(amountCents), natureza: 'ORIGINAL' as const }
    const refund = { id, rtrId: transferId('D', at), ...amount, horario, status: 'DEVOLVIDO' as const }
    record(psp, { kind: 'refund', endToEndId, refund, owed: false })
  }
  return { status: 201, body: { pix: pix.length, refunds: refunds.length }, seq: psp.journal.lastSeq() }
}
