import { centsFromDecimal } from '../base/money.ts'

// Everything the bank knows, in memory: about 1 kB per charge.

export type ChargeStatus = 'ATIVA' | 'CONCLUIDA' | 'REMOVIDA_PELO_USUARIO_RECEBEDOR'

// As API Pix shows it, without `pix`.
export type Cob = {
  txid: string
  revisao: number
  calendario: { criacao: string; expiracao: number }
  status: ChargeStatus
  loc: { id: number; txid: string; location: string; tipoCob: 'cob'; criacao: string }
  location: string
  valor: { original: string; modalidadeAlteracao?: number }
  chave: string
  pixCopiaECola: string
  devedor?: { nome: string; cpf?: string | undefined; cnpj?: string | undefined }
  solicitacaoPagador?: string
  infoAdicionais?: { nome: string; valor: string }[]
}

export type Charge = { cob: Cob; amountCents: number; createdAtMs: number; pix: Pix[]; seq: number }

export const NATUREZAS = ['ORIGINAL', 'RETIRADA', 'MED_OPERACIONAL', 'MED_FRAUDE', 'MED_PIX_AUTOMATICO'] as const
export type Natureza = (typeof NATUREZAS)[number]

export type Refund = {
  id: string
  rtrId: string
  valor: string
  natureza: Natureza
  descricao?: string
  horario: { solicitacao: string; liquidacao?: string }
  status: 'EM_PROCESSAMENTO' | 'DEVOLVIDO'
}

// As API Pix shows it, without `devolucoes`.
export type PixFacts = {
  endToEndId: string
  txid: string
  valor: string
  chave: string
  horario: string
  infoPagador?: string
  /** Who paid. API Pix never shows it. */
  payer?: string
}

export type Pix = {
  facts: PixFacts
  amountCents: number
  atMs: number
  // One whose `solicitacao` is still to come is money that the bank has frozen, of which it tells nobody.
  refunds: Refund[]
  // True from the moment a notification is owed until it was delivered, given up or lost on purpose.
  owed: boolean
  seq: number
}

export type Webhook = { chave: string; webhookUrl: string; criacao: string }

export type Entry =
  | { kind: 'charge'; cob: Cob }
  | { kind: 'pix'; facts: PixFacts; owed: boolean }
  | { kind: 'refund'; endToEndId: string; refund: Refund; owed: boolean }
  | { kind: 'told'; endToEndIds: string[] }
  | { kind: 'webhook'; webhook: Webhook }
  | { kind: 'unhook'; chave: string }

export type Book = {
  charges: Map<string, Charge>
  chargeByToken: Map<string, Charge>
  pix: Pix[]
  pixById: Map<string, Pix>
  pixByTime: PixByTime
  webhooks: Map<string, Webhook>
}

// Sorted only after a Pix that did not arrive in order.
type PixByTime = { list: Pix[]; isSorted: boolean }

export const emptyBook = (): Book => ({
  charges: new Map(),
  chargeByToken: new Map(),
  pix: [],
  pixById: new Map(),
  pixByTime: { list: [], isSorted: true },
  webhooks: new Map(),
})

// Both ends included, oldest first.
export function pixBetween({ pixByTime }: Book, fromMs: number, untilMs: number): Pix[] {
  const { list } = pixByTime
  if (!pixByTime.isSorted) list.sort((a, b) => a.atMs - b.atMs)
  pixByTime.isSorted = true
  return list.slice(firstAt(list, fromMs), firstAt(list, untilMs + 1))
}

function firstAt(list: Pix[], atMs: number): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[middle]!.atMs < atMs) low = middle + 1
    else high = middle
  }
  return low
}

// Requests and the replay of the journal both apply entries here.
export function applyEntry(book: Book, entry: Entry, seq: number): void {
  switch (entry.kind) {
    case 'charge':
      return applyCharge(book, entry.cob, seq)
    case 'pix':
      return applyPix(book, entry, seq)
    case 'refund':
      return applyRefund(book, entry, seq)
    case 'told':
      for (const id of entry.endToEndIds) {
        const pix = book.pixById.get(id)
        if (pix) pix.owed = false
      }
      return
    case 'webhook':
      book.webhooks.set(entry.webhook.chave, entry.webhook)
      return
    case 'unhook':
      book.webhooks.delete(entry.chave)
      return
  }
}

export const tokenOf = (location: string): string => location.slice(location.lastIndexOf('/') + 1)

function applyCharge(book: Book, cob: Cob, seq: number): void {
  const known = book.charges.get(cob.txid)
  const charge: Charge = known ?? { cob, amountCents: 0, createdAtMs: 0, pix: [], seq }
  charge.cob = cob
  charge.amountCents = centsFromDecimal(cob.valor.original)
  charge.createdAtMs = Date.parse(cob.calendario.criacao)
  charge.seq = seq
  if (known) return
  book.charges.set(cob.txid, charge)
  book.chargeByToken.set(tokenOf(cob.location), charge)
}

// A paid charge is CONCLUIDA, whatever the amount and even if it was removed.
function applyPix(book: Book, entry: { facts: PixFacts; owed: boolean }, seq: number): void {
  const { facts, owed } = entry
  if (book.pixById.has(facts.endToEndId)) return
  const amountCents = centsFromDecimal(facts.valor)
  const pix: Pix = { facts, amountCents, atMs: Date.parse(facts.horario), refunds: [], owed, seq }
  book.pix.push(pix)
  book.pixById.set(facts.endToEndId, pix)
  const { pixByTime } = book
  if (pix.atMs < (pixByTime.list.at(-1)?.atMs ?? 0)) pixByTime.isSorted = false
  pixByTime.list.push(pix)
  const charge = book.charges.get(facts.txid)
  if (!charge) return
  charge.pix.push(pix)
  charge.cob = { ...charge.cob, status: 'CONCLUIDA' }
  charge.seq = seq
}

function applyRefund(book: Book, entry: { endToEndId: string; refund: Refund; owed: boolean }, seq: number): void {
  const pix = book.pixById.get(entry.endToEndId)
  if (!pix) return
  const known = pix.refunds.findIndex((refund) => refund.id === entry.refund.id)
  if (known === -1) pix.refunds.push(entry.refund)
  else pix.refunds[known] = entry.refund
  pix.owed = entry.owed
  pix.seq = seq
  const charge = book.charges.get(pix.facts.txid)
  if (charge) charge.seq = seq
}
