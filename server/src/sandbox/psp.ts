import { randomBytes } from 'node:crypto'
import { applyEntry, type Book, type Entry, type Pix, type Refund } from './book.ts'
import type { Demands } from './banks.ts'
import type { FaultPlan } from './faults.ts'
import type { Journal } from './journal.ts'
import type { Notifier } from './notifications.ts'
import type { Tokens } from './oauth.ts'

export type Psp = {
  port: number
  now: () => Date
  book: Book
  journal: Journal
  tokens: Tokens
  // Undefined: one that takes every way of being called.
  bank: Demands | undefined
  // Of calls that must have a new id each.
  callIds: Set<string>
  plan: FaultPlan
  notifier: Notifier
  calls: Map<string, number>
  refunding: Set<{ pix: Pix; refund: Refund }>
}

// The book changes at once, so that a second payment meets a paid charge; the answer waits for the disk.
export function record(psp: Psp, entry: Entry): number {
  const seq = psp.journal.append(entry)
  applyEntry(psp.book, entry, seq)
  return seq
}

// A notification must not report a Pix that a power cut could still undo.
export function notifyWhenDurable(psp: Psp, pix: Pix[]): void {
  const owed = pix.filter((payment) => payment.owed)
  if (owed.length === 0) return
  psp.journal.durable(psp.journal.lastSeq()).then(
    () => owed.forEach((payment) => psp.notifier.notify(payment)),
    () => undefined,
  )
}

export function showPix(psp: Psp, pix: Pix) {
  const isWrong = psp.plan.faults.refundsListedFailed
  const shown = pix.refunds.filter((refund) => isShown(psp, refund))
  const devolucoes = shown.map((refund) => (isWrong ? asFailed(refund) : showRefund(psp, refund)))
  const { payer: _, ...facts } = pix.facts
  return { ...facts, ...(devolucoes.length === 0 ? {} : { devolucoes }) }
}

export function showRefund({ plan }: Psp, refund: Refund) {
  return plan.faults.refundsFailed ? asFailed(refund) : refund
}

function asFailed(refund: Refund) {
  return refund.status === 'DEVOLVIDO' ? { ...refund, status: 'NAO_REALIZADO' } : refund
}

// A bank may answer reads from a replica that lags, and shows no return before the time that it is frozen for.
export function isShown({ plan, now }: Psp, refund: Refund): boolean {
  const { refundLagMs } = plan.faults
  const isOver = refundLagMs === 0 && refund.status !== 'EM_PROCESSAMENTO'
  return isOver || now().getTime() - Date.parse(refund.horario.solicitacao) >= refundLagMs
}

// An invented participant number.
const ISPB = '88888888'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

// E for a payment, D for a refund; then the bank, the minute and a unique part.
export function transferId(letter: 'E' | 'D', at: Date): string {
  const minute = at.toISOString().replaceAll(/[-:T]/g, '').slice(0, 12)
  let unique = ''
  for (const byte of randomBytes(11)) unique += ALPHABET[byte % ALPHABET.length]
  return letter + ISPB + minute + unique
}
