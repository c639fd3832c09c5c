import type { CreateDepositBody, ListDepositsQuery } from './api.ts'
import type { Call, CallOptions, CreateOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Charge, Deposit, NewCharge } from './types.ts'
import { pollWith, waitUntilPaid, type WaitOptions } from './wait.ts'

export type Deposits = {
  /** Creates a charge to pay by Pix. A retry, also by this client itself, never creates a second one. */
  create(deposit: CreateDepositBody, options?: CreateOptions): Promise<NewCharge>
  /** Whether it is paid. A PENDING charge is first checked with the payment provider. */
  get(paymentLinkId: string, options?: CallOptions): Promise<Charge>
  /** Everything that is known of it, such as `expiresAt`, `paidAt` and `heldValue`. Checked like `get`. */
  retrieve(paymentLinkId: string, options?: CallOptions): Promise<Deposit>
  /** Newest first. */
  list(query?: ListDepositsQuery, options?: CallOptions): Pages<Deposit>
  cancel(paymentLinkId: string, options?: CallOptions): Promise<Deposit>
  /**
   * Resolves when the charge is paid. Throws `not_paid` if it expires or is canceled first, and `timeout` after
   * `timeoutMs`. For a page or a script: what books orders should go by webhooks, which outlive the process.
   */
  waitUntilPaid(paymentLinkId: string, options?: WaitOptions): Promise<Charge>
}

export function makeDeposits(call: Call): Deposits {
  const get: Deposits['get'] = async (paymentLinkId, options) =>
    (await call('getDeposit', { path: { paymentLinkId } }, options)).charge
  return {
    create: async (body, options) => (await call('createDeposit', { body }, options)).charge,
    get,
    retrieve: async (paymentLinkId, options) =>
      (await call('retrieveDeposit', { path: { paymentLinkId } }, options)).deposit,
    list: (query, options) =>
      pagesFrom(async (cursor) => {
        const input = { query: { ...query, ...(cursor && { cursor }) } }
        const { deposits, nextCursor } = await call('listDeposits', input, options)
        return { items: deposits, nextCursor }
      }),
    cancel: async (paymentLinkId, options) =>
      (await call('cancelDeposit', { path: { paymentLinkId } }, options)).charge,
    waitUntilPaid: (paymentLinkId, options = {}) =>
      waitUntilPaid(
        pollWith((id, signal) => get(id, { signal }), options.intervalMs),
        paymentLinkId,
        options,
      ),
  }
}
