import type { CreateDepositBody, ListDepositsQuery } from './api.ts'
import type { Call, CallOptions, Created, CreateOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Charge, Deposit, NewCharge } from './types.ts'
import { pollWith, waitUntilPaid, type WaitOptions } from './wait.ts'

export type Deposits = {
  /**
   * Creates a charge to pay by Pix. A retry, also by this client itself, never creates a second one. With an
   * `externalId` that holds for the same fields in every later call: it returns the charge that is PENDING or
   * COMPLETED, and creates another one only after that one expired or was canceled.
   */
  create(deposit: CreateDepositBody, options?: CreateOptions): Promise<Created<NewCharge>>
  /** Whether it is paid. A PENDING charge is first checked with the payment provider. */
  get(paymentLinkId: string, options?: CallOptions): Promise<Charge>
  /** Everything that is known of it, such as `expiresAt`, `paidAt` and `heldValue`. Checked like `get`. */
  retrieve(paymentLinkId: string, options?: CallOptions): Promise<Deposit>
  /** Newest first. */
  list(query?: ListDepositsQuery, options?: CallOptions): Pages<Deposit>
  cancel(paymentLinkId: string, options?: CallOptions): Promise<Deposit>
  /**
   * Resolves when the charge is paid. Throws `payment_held` if another amount arrived, about which the operator
   * decides: do not ask the payer to pay again. Throws `not_paid` if it expires or is canceled first, and `timeout`
   * after `timeoutMs`. For a page or a script: what books orders should go by webhooks, which outlive the process.
   */
  waitUntilPaid(paymentLinkId: string, options?: WaitOptions): Promise<Deposit>
}

export function makeDeposits(call: Call): Deposits {
  const retrieve: Deposits['retrieve'] = async (paymentLinkId, options) =>
    (await call('retrieveDeposit', { path: { paymentLinkId } }, options)).deposit
  return {
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
        pollWith((id, signal) => retrieve(id, { signal }), options.intervalMs),
        paymentLinkId,
        options,
      ),
  }
}

/** A key is kept for a day, and hardly any order expires more often in one. */
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
    // Nobody can pay it. The key of the next one follows from it, so that programs which renew at once renew once.
    previousId = charge.id
  }
  return create()
}

/** The same for the same fields. Others get a key of their own, and the server decides by `externalId`. */
async function keyOf(body: CreateDepositBody, previousId: string): Promise<string> {
  const fields = Object.entries(body).filter(([, value]) => value !== undefined && value !== null)
  const text = JSON.stringify([fields.toSorted(([a], [b]) => (a < b ? -1 : 1)), previousId])
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return `sdk-${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
