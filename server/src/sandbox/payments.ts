import { problem, type Answer, type Call } from './answer.ts'
import { pixBetween } from './book.ts'
import { pageOf, parseListQuery } from './paging.ts'
import { isShown, showPix, type Psp } from './psp.ts'

// GET /pix/{e2eid}
export function readPix(psp: Psp, call: Call): Answer {
  const pix = psp.book.pixById.get(call.params[0] ?? '')
  if (!pix) return problem('PixNaoEncontrado', 'Nenhum Pix tem este endToEndId.')
  return { status: 200, body: showPix(psp, pix), seq: pix.seq }
}

// GET /pix, by `horario`. The specification requires a list `cobs`, surely a mistake for `pix`.
export function listPix(psp: Psp, call: Call): Answer {
  const query = parseListQuery(
    call.query,
    {
      txid: /^[a-zA-Z0-9]{1,35}$/,
      txIdPresente: /^(true|false)$/,
      devolucaoPresente: /^(true|false)$/,
      cpf: /^\d{11}$/,
      cnpj: /^[0-9A-Z]{14}$/,
    },
    'PixConsultaInvalida',
  )
  if ('status' in query) return query
  const { filters, fromMs, untilMs } = query
  const txid = filters.get('txid')
  const refunded = filters.get('devolucaoPresente')
  // Every Pix of this bank has a txid and none has a known payer.
  const none = filters.get('txIdPresente') === 'false' || filters.has('cpf') || filters.has('cnpj')
  const found = none
    ? []
    : pixBetween(psp.book, fromMs, untilMs).filter(
        (pix) =>
          (txid === undefined || txid === pix.facts.txid) &&
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
