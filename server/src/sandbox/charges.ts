import { randomBytes } from 'node:crypto'
import { encodeBrCode } from '../base/brcode.ts'
import { centsFromDecimal } from '../base/money.ts'
import { CNPJ, isRecord, problem, violation, type Answer, type Call } from './answer.ts'
import type { Charge, Cob } from './book.ts'
import { readChargeFields, type ChargeFields } from './charge-body.ts'
import { pageOf, parseListQuery } from './paging.ts'
import { record, showPix, type Psp } from './psp.ts'

const TXID = /^[a-zA-Z0-9]{26,35}$/
const EXPIRY_DEFAULT_SECONDS = 86_400
const REMOVED = 'REMOVIDA_PELO_USUARIO_RECEBEDOR'

// PUT /cob/{txid}. API Pix has no 409: a txid in use is refused with 400, even if the body is the same.
export function createCharge(psp: Psp, call: Call): Answer {
  const [txid = ''] = call.params
  if (!TXID.test(txid)) {
    return invalidCharge([violation('cob.txid', 'Deve ter de 26 a 35 letras ou dígitos.', txid)])
  }
  const fields = readChargeFields(call.body, 'create')
  if (Array.isArray(fields)) return invalidCharge(fields)
  if (psp.book.charges.has(txid)) return invalidCharge([violation('cob.txid', 'Já está em uso.', txid)])
  const cob = makeCob(psp, txid, fields)
  const seq = record(psp, { kind: 'charge', cob })
  return { status: 201, body: cob, seq, headers: { location: `/cob/${txid}` } }
}

// GET /cob/{txid}. Only the newest revision is kept.
export function readCharge(psp: Psp, call: Call): Answer {
  const charge = psp.book.charges.get(call.params[0] ?? '')
  if (!charge) return chargeNotFound()
  const revision = call.query === '' ? null : new URLSearchParams(call.query).get('revisao')
  if (revision !== null && revision !== String(charge.cob.revisao)) {
    return problem('CobConsultaInvalida', 'A revisão não existe.', [violation('revisao', 'Não existe.', revision)])
  }
  return { status: 200, body: showCharge(psp, charge), seq: charge.seq }
}

// PATCH /cob/{txid}: either the removal alone, or new values.
export function reviseCharge(psp: Psp, call: Call): Answer {
  const charge = psp.book.charges.get(call.params[0] ?? '')
  if (!charge) return chargeNotFound()
  const fields = readChargeFields(call.body, 'revise')
  if (Array.isArray(fields)) return invalidCharge(fields)
  const status = isRecord(call.body) ? call.body['status'] : undefined
  if (status !== undefined && status !== REMOVED) {
    return invalidCharge([violation('cob.status', `Só pode ser ${REMOVED}.`, status)])
  }
  if (charge.cob.status !== 'ATIVA') {
    return invalidCharge([violation('cob.status', 'A cobrança não está ATIVA.', charge.cob.status)])
  }
  if (status !== undefined && Object.keys(fields).length > 0) {
    return invalidCharge([violation('cob.status', 'A remoção não pode acompanhar outras alterações.', status)])
  }
  const cob: Cob = status === undefined ? revisedCob(charge.cob, fields) : { ...charge.cob, status: REMOVED }
  cob.revisao += 1
  const seq = record(psp, { kind: 'charge', cob })
  return { status: 200, body: cob, seq }
}

// GET /cob. The specification requires `idCob` without defining it.
export function listCharges(psp: Psp, call: Call): Answer {
  const query = parseListQuery(
    call.query,
    { status: /^[A-Z_]{1,50}$/, cpf: /^\d{11}$/, cnpj: CNPJ, locationPresente: /^(true|false)$/ },
    'CobConsultaInvalida',
  )
  if ('status' in query) return query
  const { filters } = query
  const found = [...psp.book.charges.values()].filter(
    ({ cob, createdAtMs }) =>
      createdAtMs >= query.fromMs &&
      createdAtMs <= query.untilMs &&
      (!filters.has('status') || filters.get('status') === cob.status) &&
      (!filters.has('cpf') || filters.get('cpf') === cob.devedor?.cpf) &&
      (!filters.has('cnpj') || filters.get('cnpj') === cob.devedor?.cnpj) &&
      filters.get('locationPresente') !== 'false',
  )
  const { items, parametros } = pageOf(query, found)
  const cobs = items.map((charge) => ({ idCob: charge.cob.txid, ...showCharge(psp, charge) }))
  return { status: 200, body: { parametros, cobs }, seq: psp.journal.lastSeq() }
}

function makeCob(psp: Psp, txid: string, fields: ChargeFields): Cob {
  const { expiracao = EXPIRY_DEFAULT_SECONDS, valor = { original: '' }, chave = '', ...optional } = fields
  const criacao = psp.now().toISOString()
  // Nobody fetches it. A bare host would not match `format: uri`.
  const location = `localhost:${psp.port}/qr/v2/${randomBytes(16).toString('hex')}`
  return {
    calendario: { criacao, expiracao },
    txid,
    revisao: 0,
    loc: { id: psp.book.charges.size + 1, txid, location, tipoCob: 'cob', criacao },
    location,
    status: 'ATIVA',
    valor,
    chave,
    pixCopiaECola: brCodeFor(location, valor.original),
    ...optional,
  }
}

function revisedCob(cob: Cob, fields: ChargeFields): Cob {
  const { expiracao, valor, ...rest } = fields
  const revised: Cob = { ...cob, ...rest }
  if (expiracao !== undefined) revised.calendario = { ...cob.calendario, expiracao }
  if (valor !== undefined) {
    revised.valor = valor
    revised.pixCopiaECola = brCodeFor(cob.location, valor.original)
  }
  return revised
}

function brCodeFor(location: string, amount: string): string {
  return encodeBrCode({
    location,
    merchantName: 'GUICHE SANDBOX',
    merchantCity: 'BRASILIA',
    amountCents: centsFromDecimal(amount),
  })
}

const showCharge = (psp: Psp, { cob, pix }: Charge) =>
  pix.length === 0 ? cob : { ...cob, pix: pix.map((each) => showPix(psp, each)) }

const chargeNotFound = (): Answer => problem('CobNaoEncontrado', 'Nenhuma cobrança tem este txid.')

const invalidCharge = (violations: ReturnType<typeof violation>[]): Answer =>
  problem('CobOperacaoInvalida', 'A cobrança não pode ser criada ou alterada assim.', violations)
