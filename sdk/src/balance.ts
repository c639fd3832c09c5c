import type { GetStatementQuery, Operations } from './api.ts'
import type { Call, CallOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { StatementLine } from './types.ts'

export type Balance = {
  /** The balance now, in cents. */
  get(options?: CallOptions): Promise<Operations['getBalance']['answer']>
  /** Lists what changed the balance, newest first. */
  lines(query?: GetStatementQuery, options?: CallOptions): Pages<StatementLine>
}

export function makeBalance(call: Call): Balance {
  return {
    get: (options) => call('getBalance', {}, options),
    lines: (query, options) =>
      pagesFrom(async (cursor) => {
        const { lines, nextCursor } = await call(
          'getStatement',
          { query: { ...query, ...(cursor && { cursor }) } },
          options,
        )
        return { items: lines, nextCursor }
      }),
  }
}
