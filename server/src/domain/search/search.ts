import { Fault } from '../../base/fault.ts'
import { isStatementTimeout } from '../../db/failure.ts'
import { inTurn, transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { FINDERS, type Found, type FoundKind, type Scope } from './finders.ts'
import { readTyped } from './typed-text.ts'

// One text, looked for in everything that the caller may see. Each kind is a statement or two.

// So that a search never takes the connections that deposits need.
const KINDS_AT_ONCE = 3
// An index answers in milliseconds. What takes longer is a text that too much contains.
const STATEMENT_TIMEOUT_MS = 2_000

/** In the order of the kinds; those of one kind newest first, at most `limit`. */
export async function searchAll(
  core: Core,
  q: string,
  kinds: readonly FoundKind[],
  { timeoutMs = STATEMENT_TIMEOUT_MS, ...scope }: Scope & { timeoutMs?: number },
): Promise<Found[]> {
  const typed = readTyped(q)
  const blocks = new Map<FoundKind, Found[]>()
  const left = [...kinds]
  const findKind = (kind: FoundKind) => withTimeLimit(core, timeoutMs, (tx) => FINDERS[kind](tx, typed, scope))
  const work = async () => {
    for (let kind = left.shift(); kind !== undefined; kind = left.shift()) blocks.set(kind, await findKind(kind))
  }
  await Promise.all(Array.from({ length: KINDS_AT_ONCE }, work)).finally(() => left.splice(0))
  return kinds.flatMap((kind) => blocks.get(kind) ?? [])
}

/** A search that takes too long is refused, and is no outage of the database. */
function withTimeLimit<Result>(core: Core, timeoutMs: number, find: (tx: Tx) => Promise<Result>): Promise<Result> {
  return inTurn(core.pool, () =>
    transact(core.pool, async (tx) => {
      await tx.setStatementTimeout(timeoutMs)
      try {
        return await find(tx)
      } catch (error) {
        if (!isStatementTimeout(error)) throw error
        throw new Fault('search_too_slow', 'Too much matches this text: search for more of it', { cause: error })
      }
    }),
  )
}
