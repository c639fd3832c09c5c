/** Where a provider and our books disagree about one payment. */
export type ComparisonDifference = { kind: DifferenceKind; endToEndId: string; text: string }

export type DifferenceKind =
  | 'not_in_books'
  | 'not_at_provider'
  | 'other_provider'
  | 'other_amount'
  | 'other_txid'
  | 'other_time'
  | 'foreign_refund'
  | 'refund_not_in_books'
  | 'refund_not_at_provider'
  | 'refund_other_amount'
  | 'unread'

/** How many there are; the first hundred are named. */
export type Named = { differenceCount: number; differences: ComparisonDifference[] }

// A hundred named differences tell as much as a million.
export const MAX_NAMED = 100

export function note(named: Named, { kind, endToEndId, text }: ComparisonDifference): void {
  named.differenceCount++
  if (named.differences.length >= MAX_NAMED) return
  named.differences.push({ kind, endToEndId: printable(endToEndId), text: printable(text) })
}

export function addNamed(to: Named, more: Named): void {
  to.differenceCount += more.differenceCount
  to.differences.push(...more.differences.slice(0, MAX_NAMED - to.differences.length))
}

// What a provider wrote goes to terminals, and to a column that refuses some characters.
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '\u{fffd}')
}
