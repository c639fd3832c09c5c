import type { CreateDepositBody, EnsureDepositBody, GetOrderQuery, ListDepositsQuery } from './api.ts'
import type { Call, CallOptions, Created, CreateOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Open } from './payment-stream.ts'
import type { Charge, Deposit, FullDeposit, NewCharge } from './types.ts'
import { waitUntilPaid, watchWith, type WaitOptions } from './wait.ts'

/** `externalId` names the order. */
export type OrderDeposit = EnsureDepositBody & { externalId: string }

export type Deposits = {
  /**
   * Returns the one deposit of an order: PENDING to be paid, or COMPLETED. Makes it if there is none, renews one that
   * expired or was canceled, and replaces one of another `value` or `payer`, which can then no longer be paid. Call it
   * as often as you like, from any number of programs. Throws `order_paid` if the order was paid with another value;
   * the error's `paymentLinkId` names the deposit.
   */
  ensure(deposit: OrderDeposit, options?: CallOptions): Promise<Deposit>
  /** Lists all deposits of an order, newest first. */
  listByOrder(externalId: string, query?: GetOrderQuery, options?: CallOptions): Pages<Deposit>
  /**
   * Creates a charge to pay by Pix. A retry, also by this client itself, never creates a second one. With an
   * `externalId`, every later call with the same fields returns the charge that is PENDING or COMPLETED. It creates
   * another one only after that one expired or was canceled.
   */
  create(deposit: CreateDepositBody, options?: CreateOptions): Promise<Created<NewCharge>>
  /** Tells whether the deposit is paid. A PENDING charge is first checked with the payment provider. */
  get(paymentLinkId: string, options?: CallOptions): Promise<Charge>
  /**
   * Returns all that is known of the deposit, such as `expiresAt`, `paidAt`, its refunds and payments that were held.
   * Checks it as `get` does.
   */
  retrieve(paymentLinkId: string, options?: CallOptions): Promise<FullDeposit>
  /** Lists deposits, newest first. */
  list(query?: ListDepositsQuery, options?: CallOptions): Pages<Deposit>
  cancel(paymentLinkId: string, options?: CallOptions): Promise<Deposit>
  /**
   * Resolves when the charge is paid. Throws `payment_held` if another amount arrived. The operator decides about it,
   * so do not ask the payer to pay again. Throws `not_paid` if the charge expires or is canceled first, and `timeout`
   * after `timeoutMs`. Use it for a page or a script. Programs that book orders should use webhooks, which outlive the
   * process.
   */
  waitUntilPaid(paymentLinkId: string, options?: WaitOptions): Promise<FullDeposit>
}

export function makeDeposits(call: Call, open: Open): Deposits {
  const retrieve: Deposits['retrieve'] = async (paymentLinkId, options) =>
    (await call('retrieveDeposit', { path: { paymentLinkId } }, options)).deposit
  return {
    ensure: async ({ externalId, ...body }, options) =>
      (await call('ensureDeposit', { path: { externalId }, body }, options)).deposit,
    listByOrder: (externalId, query, options) =>
      pagesFrom(async (cursor) => {
        const input = { path: { externalId }, query: { ...query, ...(cursor && { cursor }) } }
        const { deposits, nextCursor } = await call('getOrder', input, options)
        return { items: deposits, nextCursor }
      }),
    create: (body, options = {}) => createDeposit(call, body, options),
    get: async (paymentLinkId, options) => (await call('getDeposit', { path: { paymentLinkId } }, options)).charge,
    retrieve,
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
        watchWith({ read: (id, signal) => retrieve(id, { signal }), open }, options.intervalMs),
        paymentLinkId,
        options,
      ),
  }
}

/** The server keeps a key for a day, and hardly any order expires more often in a day. */
const MAX_RENEWALS = 10

async function createDeposit(call: Call, body: CreateDepositBody, options: CreateOptions): Promise<Created<NewCharge>> {
  const create = async (idempotencyKey?: string) => {
    const { charge, replayed } = await call('createDeposit', { body }, { ...options, idempotencyKey })
    return { ...charge, replayed }
  }
  if (options.idempotencyKey !== undefined || !body.externalId) return create(options.idempotencyKey)
  let previousId = ''
  for (let turn = 0; turn <= MAX_RENEWALS; turn++) {
    const charge = await create(await keyOf(body, previousId))
    if (charge.status === 'PENDING' || charge.status === 'COMPLETED') return charge
    // Nobody can pay this charge. Its id determines the next key, so programs that renew at the same time create one
    // charge.
    previousId = charge.id
  }
  return create()
}

/**
 * Equal fields give an equal key. Other fields give another key, and then the server decides by `externalId`. The payer
 * stays out of it: the key is stored, and a hash of a tax id is guessed in no time.
 */
async function keyOf(body: CreateDepositBody, previousId: string): Promise<string> {
  const fields = Object.entries({ ...body, payer: null }).filter(([, value]) => value !== undefined && value !== null)
  const text = JSON.stringify([fields.toSorted(([a], [b]) => (a < b ? -1 : 1)), previousId])
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return `sdk-${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
