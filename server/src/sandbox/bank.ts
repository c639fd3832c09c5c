import assert from 'node:assert/strict'
import { z } from 'zod'
import { BrCodeError, decodeBrCode } from '../base/brcode.ts'
import { decimalFromCents } from '../base/money.ts'
import { bankAmount, bankPayer, bankTime, bankTxid, readBody, refusal, type Answer, type Call } from './answer.ts'
import { tokenOf, type Charge, type Pix, type PixFacts } from './book.ts'
import { parsePlan } from './faults.ts'
import { notifyWhenDurable, record, transferId, type Psp } from './psp.ts'

const PAGE_MAX = 1000

const payOrder = z
  .strictObject({
    emv: z.string().min(1).max(512).trim().optional(),
    txid: bankTxid.optional(),
    amountCents: bankAmount.optional(),
    at: bankTime.optional(),
    times: z.int().min(1).max(1000).default(1),
    force: z.boolean().default(false),
    chave: z.string().min(1).max(77).optional(),
    infoPagador: z.string().max(140).optional(),
    payer: bankPayer.optional(),
  })
  .refine(({ emv, txid }) => (emv === undefined) !== (txid === undefined), 'Give either emv or txid')

export type PayOrder = z.input<typeof payOrder>

// POST /bank/pay acts as the payer's bank. A plain order pays the charge's amount, now and once, only while the charge
// is ATIVA. One with another amount, `at`, `times` or `force` is executed in any state, to produce late, duplicate and
// wrong payments. An unknown txid and a static code need `amountCents`, and make a Pix without a charge.
export function pay(psp: Psp, call: Call): Answer {
  const order = readBody(payOrder, call.body)
  if (typeof order === 'string') return refusal(400, order)
  const found = findCharge(psp, order)
  if (found instanceof BrCodeError) return refusal(400, `The emv is not a BR Code: ${found.message}`)
  if (found && 'pixKey' in found) Object.assign(order, { txid: found.label ?? '', chave: found.pixKey })
  const charge = found && 'cob' in found ? found : undefined
  if (!charge && (order.txid === undefined || order.amountCents === undefined)) {
    return refusal(404, 'No charge has this code; to pay an unknown txid, give txid and amountCents')
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
    ...(order.payer === undefined ? {} : { payer: order.payer }),
  }
  const made: Pix[] = []
  for (let i = 0; i < order.times; i++) made.push(recordPix(psp, common))
  notifyWhenDurable(psp, made)
  return { status: 201, body: { pix: made.map(showPayment) }, seq: psp.journal.lastSeq() }
}

export type Payment = PixFacts & { amountCents: number }

// GET /bank/payments, oldest first. `after` is the endToEndId of the last one seen.
export function listPayments(psp: Psp, call: Call): Answer {
  const query = new URLSearchParams(call.query)
  const limit = Number(query.get('limit') ?? PAGE_MAX)
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    return refusal(400, `Limit must be an integer from 1 to ${PAGE_MAX}`)
  }
  const after = query.get('after')
  const { pix, pixById } = psp.book
  const last = after === null ? undefined : pixById.get(after)
  if (after !== null && !last) return refusal(400, 'After must be the endToEndId of a payment')
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

function recordPix(psp: Psp, common: Omit<PixFacts, 'endToEndId'>): Pix {
  const facts = { endToEndId: transferId('E', new Date(common.horario)), ...common }
  record(psp, { kind: 'pix', facts, owed: psp.book.webhooks.has(facts.chave) })
  const pix = psp.book.pixById.get(facts.endToEndId)
  assert(pix, 'a Pix that was recorded is in the book')
  return pix
}

export const showPayment = ({ facts, amountCents }: Pix): Payment => ({ ...facts, amountCents })

function whyNotPayable(charge: Charge, now: Date): string | undefined {
  const { status, calendario } = charge.cob
  if (status === 'CONCLUIDA') return 'The charge is already paid'
  if (status !== 'ATIVA') return 'The charge was removed by the receiver'
  const expired = now.getTime() >= charge.createdAtMs + calendario.expiracao * 1000
  return expired ? 'The charge is expired' : undefined
}

type StaticCode = { pixKey: string; label: string | undefined }

function findCharge(psp: Psp, order: z.infer<typeof payOrder>): Charge | StaticCode | undefined | BrCodeError {
  if (order.txid !== undefined) return psp.book.charges.get(order.txid)
  try {
    const { location, pixKey, label } = decodeBrCode(order.emv ?? '')
    if (pixKey !== undefined) return { pixKey, label }
    return location === undefined ? undefined : psp.book.chargeByToken.get(tokenOf(location))
  } catch (error) {
    if (error instanceof BrCodeError) return error
    throw error
  }
}
