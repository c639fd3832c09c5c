import { Fault } from '../base/fault.ts'
import { isHexId, uuidFromHex } from '../base/ids.ts'

// Cursors are the id of the last row seen. They need no secret: a forged one reads nothing that belongs to somebody else.

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
  return uuidFromHex(cursor)
}

function badCursor(): Fault {
  return new Fault('bad_request', 'cursor must be a nextCursor of an earlier answer')
}
