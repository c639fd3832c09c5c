import assert from 'node:assert/strict'
import { BrCodeError, decodeBrCode } from '../base/brcode.ts'
import { MAX_CENTS, decimalFromCents, isCents } from '../base/money.ts'
import { isRecord, parseInstant, type Answer, type Call } from './answer.ts'
import { tokenOf, type Charge, type Pix, type PixFacts } from './book.ts'
import { isText } from './charge-body.ts'
import { parsePlan } from './faults.ts'
import { notifyWhenDurable, record, transferId, type Psp } from './psp.ts'

const TIMES_MAX = 1000
const PAGE_MAX = 1000

type Order = {
  txid: string | undefined
  emv: string | undefined
  amountCents: number | undefined
  at: Date | undefined
  times: number
  force: boolean
  chave: string | undefined
  infoPagador: string | undefined
}

// POST /bank/pay acts as the payer's bank. A plain order is what a banking app would send: the charge's amount, now,
// once, and only while the charge is ATIVA and not expired. An order with another amount, with `at`, with `times` above
// one or with `force` is executed in any state of the charge, to produce late, duplicate and wrong payments. A txid
// that no charge has needs `amountCents`, and makes a Pix without a charge.
export function pay(psp: Psp, call: Call): Answer {
  const order = readOrder(call.body)
  if (typeof order === 'string') return refusal(400, order)
  const charge = findCharge(psp, order)
  if (charge instanceof BrCodeError) return refusal(400, `emv is not a BR Code: ${charge.message}`)
  if (!charge && (order.txid === undefined || order.amountCents === undefined)) {
    return refusal(404, 'no charge has this code; to pay an unknown txid, give txid and amountCents')
  }
  const amountCents = order.amountCents ?? charge?.amountCents ?? 0
  const forced = order.force || order.at !== undefined || order.times > 1 || amountCents !== charge?.amountCents
  if (charge && !forced) {
    const reason = whyNotPayable(charge, psp.now())
    if (reason !== undefined) return refusal(409, reason)
  }
  const horario = (order.at ?? psp.now()).toISOString()
  const chave = charge?.cob.chave ?? order.chave ?? psp.book.webhooks.keys().next().value ?? 'sandbox'
  const common = {
    txid: charge?.cob.txid ?? order.txid ?? '',
    valor: decimalFromCents(amountCents),
    chave,
    horario,
    ...(order.infoPagador === undefined ? {} : { infoPagador: order.infoPagador }),
  }
  const made: Pix[] = []
  for (let i = 0; i < order.times; i++) made.push(recordPix(psp, common))
  notifyWhenDurable(psp, made)
  return { status: 201, body: { pix: made.map(showPayment) }, seq: psp.journal.lastSeq() }
}

// GET /bank/payments: every Pix made, oldest first. `after` is the endToEndId of the last one seen.
export function listPayments(psp: Psp, call: Call): Answer {
  const query = new URLSearchParams(call.query)
  const limit = Number(query.get('limit') ?? PAGE_MAX)
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    return refusal(400, `limit must be an integer from 1 to ${PAGE_MAX}`)
  }
  const after = query.get('after')
  const { pix, pixById } = psp.book
  const last = after === null ? undefined : pixById.get(after)
  if (after !== null && !last) return refusal(400, 'after must be the endToEndId of a payment')
  const start = last ? pix.indexOf(last) + 1 : 0
  const page = pix.slice(start, start + limit)
  const more = start + limit < pix.length
  return { status: 200, body: { pix: page.map(showPayment), total: pix.length, more }, seq: psp.journal.lastSeq() }
}

// GET /bank/stats
export function readStats(psp: Psp): Answer {
  return {
    status: 200,
    body: {
      calls: Object.fromEntries(psp.calls),
      notifications: psp.notifier.counts,
      charges: psp.book.charges.size,
      payments: psp.book.pix.length,
    },
  }
}

// GET and PUT /bank/faults
export function readFaults(psp: Psp): Answer {
  return { status: 200, body: psp.plan.faults }
}

export function setFaults(psp: Psp, call: Call): Answer {
  const plan = parsePlan(call.body)
  if (typeof plan === 'string') return refusal(400, plan)
  psp.plan = plan
  return readFaults(psp)
}

export const refusal = (status: number, error: string): Answer => ({ status, body: { error } })

function recordPix(psp: Psp, common: Omit<PixFacts, 'endToEndId'>): Pix {
  const facts = { endToEndId: transferId('E', new Date(common.horario)), ...common }
  record(psp, { kind: 'pix', facts, owed: psp.book.webhooks.has(facts.chave) })
  const pix = psp.book.pixById.get(facts.endToEndId)
  assert(pix, 'a Pix that was recorded is in the book')
  return pix
}

const showPayment = ({ facts, amountCents }: Pix) => ({ ...facts, amountCents })

function whyNotPayable(charge: Charge, now: Date): string | undefined {
  const { status, calendario } = charge.cob
  if (status === 'CONCLUIDA') return 'the charge is already paid'
  if (status !== 'ATIVA') return 'the charge was removed by the receiver'
  const expired = now.getTime() >= charge.createdAtMs + calendario.expiracao * 1000
  return expired ? 'the charge is expired' : undefined
}

function findCharge(psp: Psp, order: Order): Charge | undefined | BrCodeError {
  if (order.txid !== undefined) return psp.book.charges.get(order.txid)
  try {
    const { location } = decodeBrCode(order.emv ?? '')
    return location === undefined ? undefined : psp.book.chargeByToken.get(tokenOf(location))
  } catch (error) {
    if (error instanceof BrCodeError) return error
    throw error
  }
}

const ORDER_FIELDS = ['emv', 'txid', 'amountCents', 'at', 'times', 'force', 'chave', 'infoPagador']

function readOrder(body: unknown): Order | string {
  if (!isRecord(body)) return 'the body must be a JSON object'
  const unknown = Object.keys(body).find((name) => !ORDER_FIELDS.includes(name))
  if (unknown !== undefined) return `unknown field "${unknown}"; known are ${ORDER_FIELDS.join(', ')}`
  const { emv, txid, amountCents, at, times = 1, force = false, chave, infoPagador } = body
  if ((emv === undefined) === (txid === undefined)) return 'give either emv or txid'
  if (emv !== undefined && !isText(emv, 512, 1)) return 'emv must be a text of up to 512 characters'
  if (txid !== undefined && !(isText(txid, 35, 1) && /^[a-zA-Z0-9]+$/.test(txid))) {
    return 'txid must be 1 to 35 letters or digits'
  }
  if (amountCents !== undefined && !(isCents(amountCents) && amountCents <= MAX_CENTS)) {
    return `amountCents must be an integer from 1 to ${MAX_CENTS}`
  }
  const instant = at === undefined ? undefined : parseInstant(at)
  if (at !== undefined && !instant) return 'at must be a time such as 2026-01-31T12:00:00Z'
  if (typeof times !== 'number' || !Number.isInteger(times) || times < 1 || times > TIMES_MAX) {
    return `times must be an integer from 1 to ${TIMES_MAX}`
  }
  if (typeof force !== 'boolean') return 'force must be true or false'
  if (chave !== undefined && !isText(chave, 77, 1)) return 'chave must be a text of up to 77 characters'
  if (infoPagador !== undefined && !isText(infoPagador, 140))
    return 'infoPagador must be a text of up to 140 characters'
  return { txid, emv: emv?.trim(), amountCents, at: instant, times, force, chave, infoPagador }
}
