import type { ListRefundsQuery, RefundDepositBody } from './api.ts'
import { GuicheError } from './errors.ts'
import type { Call, CallOptions, Created, CreateOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Refund } from './types.ts'

export type Refunds = {
  /** Sends money of a paid deposit back: all that is left unless `value` says less. A retry never refunds twice. */
  create(paymentLinkId: string, refund?: RefundDepositBody, options?: CreateOptions): Promise<Created<Refund>>
  get(paymentLinkId: string, refundId: string, options?: CallOptions): Promise<Refund>
  /** Lists the refunds of one deposit, newest first. */
  list(paymentLinkId: string, query?: ListRefundsQuery, options?: CallOptions): Pages<Refund>
}

export function makeRefunds(call: Call): Refunds {
  const list: Refunds['list'] = (paymentLinkId, query, options) =>
    pagesFrom(async (cursor) => {
      const input = { path: { paymentLinkId }, query: { ...query, ...(cursor && { cursor }) } }
      const { refunds, nextCursor } = await call('listRefunds', input, options)
      return { items: refunds, nextCursor }
    })
  return {
    async create(paymentLinkId, body = {}, options) {
      const { refund, replayed } = await call('refundDeposit', { path: { paymentLinkId }, body }, options)
      return { ...refund, replayed }
    },
    // The API lists the refunds of a deposit and has no address for one of them. A deposit has few.
    async get(paymentLinkId, refundId, options) {
      for await (const refund of list(paymentLinkId, {}, options)) if (refund.id === refundId) return refund
      throw new GuicheError('not_found', 'Refund not found')
    },
    list,
  }
}
