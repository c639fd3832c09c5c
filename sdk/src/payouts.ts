import type { ListPayoutsQuery, RequestPayoutBody } from './api.ts'
import type { Call, CallOptions, Created, CreateOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Payout } from './types.ts'

export type Payouts = {
  /** Asks the operator to pay out a part of the available balance. A retry never asks twice. */
  create(payout: RequestPayoutBody, options?: CreateOptions): Promise<Created<Payout>>
  get(payoutId: string, options?: CallOptions): Promise<Payout>
  /** Lists payouts, newest first. */
  list(query?: ListPayoutsQuery, options?: CallOptions): Pages<Payout>
}

export function makePayouts(call: Call): Payouts {
  return {
    async create(body, options) {
      const { payout, replayed } = await call('requestPayout', { body }, options)
      return { ...payout, replayed }
    },
    get: async (payoutId, options) => (await call('getPayout', { path: { payoutId } }, options)).payout,
    list: (query, options) =>
      pagesFrom(async (cursor) => {
        const { payouts, nextCursor } = await call(
          'listPayouts',
          { query: { ...query, ...(cursor && { cursor }) } },
          options,
        )
        return { items: payouts, nextCursor }
      }),
  }
}
