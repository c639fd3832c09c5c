import type { TransferKind } from './ledger.ts'

/**
 * What stands on a statement, in the order in which it can happen to a payment. A fee that moves in the same posting is
 * part of its line, so `fee_returned` and `fee_kept` have none of their own.
 */
type LineKind = {
  /** Portuguese and English, for files and pages. */
  titles: readonly [string, string]
  /** Completes "The line is", for the reference. */
  means: string
  /** In SQL, of transfer l, charge c and refund r: the fee that was taken, negative if it came back. */
  fee?: string
  /** The transfer has the fee already taken off. Otherwise the fee is a transfer of its own, on the same balance. */
  isNet?: true
  /** The fee's own transfer comes behind, so the balance after this line is what it leaves. */
  isFeeBehind?: true
  /** Told apart from other lines of the same payment, refund or payout by this ending of its reference. */
  mark: string
}

export const LINE_KINDS = {
  deposit: {
    titles: ['Depósito', 'Deposit'],
    means: 'a payment, less the fee',
    fee: 'c.fee_cents',
    isNet: true,
    mark: '',
  },
  matched_deposit: {
    titles: ['Depósito liberado pela equipe do guiche', 'Deposit released by the guiche team'],
    means: 'a deposit whose payment was held first, because it had no code or a different amount',
    fee: 'c.fee_cents',
    isNet: true,
    mark: 'M',
  },
  refund_reserved: {
    titles: ['Devolução', 'Refund'],
    means: 'taken for a refund, less the part of the fee that came back with it',
    fee: '-r.fee_returned_cents',
    mark: 'R',
  },
  refund_released: {
    titles: ['Devolução não realizada', 'Refund failed'],
    means: 'returned to you because the refund failed, less the fee that was charged again',
    fee: 'r.fee_returned_cents',
    isFeeBehind: true,
    mark: 'F',
  },
  exception_credited: {
    titles: ['Crédito da equipe do guiche', 'Credit by the guiche team'],
    means: 'a payment that the operator assigned to you, or a refund of yours that came back',
    mark: 'C',
  },
  refund_charged: {
    titles: ['Devolução feita pela instituição', 'Refund made by the bank'],
    means: 'a refund made at the payment provider and charged to you',
    mark: 'B',
  },
  reversal_charged: {
    titles: ['Pagamento devolvido pelo banco', 'Payment returned by the bank'],
    means: 'a deposit that the bank returned to the payer without your request, such as after a report of fraud',
    mark: 'V',
  },
  debt_paid: {
    titles: ['Desconto do valor devido', 'Taken for what you owed'],
    means: 'what the balance lacked when the bank returned a deposit, taken as soon as money came in',
    mark: 'D',
  },
  payout_reserved: { titles: ['Repasse', 'Payout'], means: 'set aside for a payout', mark: 'P' },
  payout_returned: {
    titles: ['Repasse recusado', 'Payout rejected'],
    means: 'available again, because the payout was rejected',
    mark: 'J',
  },
  dispute_held: {
    titles: ['Valor bloqueado por contestação', 'Set aside for a dispute'],
    means: 'set aside because the payer contests the payment',
    mark: 'D',
  },
  dispute_released: {
    titles: ['Valor desbloqueado', 'Dispute ended'],
    means: 'available again, because the dispute ended',
    mark: 'E',
  },
} as const satisfies Partial<Record<TransferKind, LineKind>>

export type LineKindName = keyof typeof LINE_KINDS

export const LINE_KIND_NAMES = Object.keys(LINE_KINDS) as LineKindName[]

const kinds: [LineKindName, LineKind][] = Object.entries(LINE_KINDS) as [LineKindName, LineKind][]

/** In SQL, the transfer kinds that have a line. */
export const HAS_LINE = `kind in (${kinds.map(([name]) => `'${name}'`).join(', ')})`

/** In SQL, of transfer l, charge c and refund r. */
export const FEE = `coalesce(case l.kind ${kinds.map(([name, { fee = '0' }]) => `when '${name}' then ${fee}`).join(' ')} end, 0)`

/** In SQL, whether the amount of transfer l has the fee taken off. */
export const IS_NET = isAny('isNet')

/** In SQL, whether the fee of transfer l is the transfer behind it. */
export const IS_FEE_BEHIND = isAny('isFeeBehind')

function isAny(flag: 'isNet' | 'isFeeBehind'): string {
  return `l.kind in (${kinds.flatMap(([name, kind]) => (kind[flag] ? `'${name}'` : [])).join(', ')})`
}
