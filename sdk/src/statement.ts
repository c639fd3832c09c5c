import type { GetStatementQuery, Operations } from './api.ts'
import type { Call, CallOptions, Download } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { StatementLine } from './types.ts'

/** Days, such as `2026-01-31`, in the time zone of the account, the last one inclusive; or times. */
export type StatementPeriod = Pick<GetStatementQuery, 'from' | 'to'>

/** `ofx` is OFX 1.02 and `ofx2` OFX 2.1.1. `csv-br` is for spreadsheets in Brazil. */
export type StatementFormat = 'csv' | 'csv-br' | 'ofx' | 'ofx2' | 'jsonl'

type Answer = Operations['getStatement']['answer']
/** The balances and the sums by kind of a period. A period with more than 100,000 lines has no totals. */
export type StatementSummary = Required<Omit<Answer, 'lines' | 'nextCursor' | 'totals'>> & Pick<Answer, 'totals'>

export type StatementFile = { fileName: string; body: ReadableStream<Uint8Array> }

export type Statement = {
  /** Lists what changed the balance, newest first. */
  list(query?: GetStatementQuery, options?: CallOptions): Pages<StatementLine>
  /** Returns the balances before and after a period, and its totals by kind. */
  summary(period: StatementPeriod, options?: CallOptions): Promise<StatementSummary>
  /**
   * Returns the lines of a period as a file, oldest first. It is read as you read it, and `timeoutMs` is the time until
   * it begins. A body that ends with an error is not the whole file.
   */
  export(query: StatementPeriod & { format: StatementFormat }, options?: CallOptions): Promise<StatementFile>
}

export function makeStatement(call: Call, download: Download): Statement {
  return {
    list: (query, options) =>
      pagesFrom(async (cursor) => {
        const page = { ...query, ...(cursor && { cursor }) }
        const { lines, nextCursor } = await call('getStatement', { query: page }, options)
        return { items: lines, nextCursor }
      }),
    async summary(period, options) {
      // Without a day the service would leave them out.
      const query = { from: '1970-01-01', ...period, limit: 1 }
      const { lines: _, nextCursor: __, ...summary } = await call('getStatement', { query }, options)
      return summary as StatementSummary
    },
    async export(query, options) {
      const response = await download('/api/statement/export', query, options)
      const fileName = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
      return { fileName: fileName ?? `statement.${query.format}`, body: response.body! }
    },
  }
}
