import { isCents, decimalFromCents, MAX_CENTS } from '../base/money.ts'
import { isRecord, parseInstant, type Answer, type Call } from './answer.ts'
import { refusal } from './bank.ts'
import type { PixFacts, Refund } from './book.ts'
import { isText } from './charge-body.ts'
import { record, transferId, type Psp } from './psp.ts'

// What fits into one request.
const ITEMS_MAX = 300

type PastPix = Omit<PixFacts, 'chave'>
type PastRefund = { endToEndId: string; refund: Refund }

// POST /bank/history { pix: [{ endToEndId, txid, amountCents, at }], refunds: [{ endToEndId, id, amountCents, at }] }
// imports past payments and refunds, without notifications. Known ones stay as they are, so an import can be repeated.
export function importHistory(psp: Psp, call: Call): Answer {
  const { pix = [], refunds = [] } = isRecord(call.body) ? call.body : {}
  if (!Array.isArray(pix) || !Array.isArray(refunds) || pix.length + refunds.length > ITEMS_MAX) {
    return refusal(400, `pix and refunds must be lists of at most ${ITEMS_MAX} items in all`)
  }
  const pastPix = pix.map(readPix)
  const wrongPix = pastPix.indexOf(undefined)
  if (wrongPix !== -1) return refusal(400, `pix ${wrongPix} must have endToEndId, txid, amountCents and at`)
  const known = new Set(pastPix.map((each) => each?.endToEndId))
  const pastRefunds = refunds.map(readRefund)
  const wrongRefund = pastRefunds.findIndex(
    (each) => !each || !(known.has(each.endToEndId) || psp.book.pixById.has(each.endToEndId)),
  )
  if (wrongRefund !== -1) {
    return refusal(400, `refund ${wrongRefund} must have the endToEndId of a payment, id, amountCents and at`)
  }
  const chave = psp.book.webhooks.keys().next().value ?? 'sandbox'
  for (const facts of pastPix) if (facts) record(psp, { kind: 'pix', facts: { ...facts, chave }, owed: false })
  for (const each of pastRefunds) if (each) record(psp, { kind: 'refund', ...each, owed: false })
  return { status: 201, body: { pix: pix.length, refunds: refunds.length }, seq: psp.journal.lastSeq() }
}

function readPix(item: unknown): PastPix | undefined {
  const { endToEndId, txid, amountCents, at } = isRecord(item) ? item : {}
  const horario = parseInstant(at)?.toISOString()
  if (!isEndToEndId(endToEndId) || !isId(txid) || !isAmount(amountCents) || horario === undefined) return undefined
  return { endToEndId, txid, valor: decimalFromCents(amountCents), horario }
}

function readRefund(item: unknown): PastRefund | undefined {
  const { endToEndId, id, amountCents, at } = isRecord(item) ? item : {}
  const moment = parseInstant(at)
  if (!isEndToEndId(endToEndId) || !isId(id) || !isAmount(amountCents) || !moment) return undefined
  const horario = { solicitacao: moment.toISOString(), liquidacao: moment.toISOString() }
  const valor = decimalFromCents(amountCents)
  const rtrId = transferId('D', moment)
  return { endToEndId, refund: { id, rtrId, valor, natureza: 'ORIGINAL', horario, status: 'DEVOLVIDO' } }
}

const isEndToEndId = (value: unknown): value is string => typeof value === 'string' && /^E[0-9A-Za-z]{31}$/.test(value)
const isId = (value: unknown): value is string => isText(value, 35, 1) && /^[a-zA-Z0-9]+$/.test(value)
const isAmount = (value: unknown): value is number => isCents(value) && value <= MAX_CENTS
