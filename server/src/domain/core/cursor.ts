import { invalidField, type Fault } from '../../base/fault.ts'
import { hexFromUuid, isHexId } from '../../base/ids.ts'

// A cursor is the id of the last row seen. It needs no signature: a forged one reads nothing of another account.

export type ListFilter = { from?: Date; to?: Date; cursor?: string; limit: number }

/** For lists in the order of a number; without a cursor, a number past all of them. */
export function cursorNumber(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor()
  return Number(cursor)
}

/** For lists in the order of a UUID; without a cursor, the UUID past all of them. */
export function cursorUuid(cursor: string | undefined): string {
  if (cursor === undefined) return 'ffffffff-ffff-ffff-ffff-ffffffffffff'
  if (!isHexId(cursor)) throw badCursor()
  return cursor
}

/**
 * The statement asked for one row more than `limit`, which tells that there is another page. A UUID in a cursor has no
 * hyphens.
 */
export function page<Item>(
  rows: Item[],
  limit: number,
  cursorOf: (item: Item) => string,
): { items: Item[]; nextCursor: string | null } {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, nextCursor: last !== undefined && rows.length > limit ? hexFromUuid(cursorOf(last)) : null }
}

/** A cursor names the last row of a page. The id just before this one stands for a row that no page had yet. */
export function hexBeside(id: string, order: 'desc' | 'asc'): string {
  return (BigInt(`0x${hexFromUuid(id)}`) + (order === 'desc' ? 1n : -1n)).toString(16).padStart(32, '0')
}

function badCursor(): Fault {
  return invalidField('cursor', 'cursor must be a nextCursor of an earlier answer')
}
