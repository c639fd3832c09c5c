export type ComparisonDifference = { kind: DifferenceKind; endToEndId: string; text: string }

export type DifferenceKind =
  | 'not_in_books'
  | 'not_at_provider'
  | 'other_provider'
  | 'other_amount'
  | 'other_txid'
  | 'other_time'
  | 'outside_window'
  | 'foreign_refund'
  | 'refund_not_in_books'
  | 'refund_not_at_provider'
  | 'refund_other_amount'
  | 'refund_other_nature'
  | 'unread'

/** All are counted; the first MAX_NAMED are named. */
export type DifferenceList = { differenceCount: number; differences: ComparisonDifference[] }

// A hundred named differences tell as much as a million, and fit a screen's scrollback.
export const MAX_NAMED = 100

export function addDifference(list: DifferenceList, { kind, endToEndId, text }: ComparisonDifference): void {
  list.differenceCount++
  if (list.differences.length >= MAX_NAMED) return
  list.differences.push({ kind, endToEndId: printable(endToEndId), text: printable(text) })
}

export function addDifferences(to: DifferenceList, more: DifferenceList): void {
  to.differenceCount += more.differenceCount
  to.differences.push(...more.differences.slice(0, MAX_NAMED - to.differences.length))
}

// Providers' texts go to terminals, and to a column that refuses some characters.
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '\u{fffd}')
}
