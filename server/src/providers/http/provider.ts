import {
  ProviderError,
  type Provider,
  type ProviderCharge,
  type ProviderChargeRequest,
  type ProviderRefund,
  type ProviderRefundRequest,
  type UnreadEntry,
} from '../../domain/ports/provider.ts'
import type { Calls } from './calls.ts'
import { startDeadline, type Deadline } from './deadline.ts'
import type { Reply } from './guard.ts'
import type { Call } from './json-request.ts'
import { END_TO_END_ID } from './messages.ts'
import { listPages, reportUnreadRefunds, unreadError, type Entries, type Page, type Window } from './received.ts'
import { settleCreation, type NotOk } from './retry.ts'
import type { Timings } from './timings.ts'

/** What an adapter needs for its calls. */
export type Adapter = {
  name: string
  calls: Calls
  timings: Timings
  reportUnread: (entry: UnreadEntry) => void
}

type Mismatch = { text: string; isOver?: true }
type Cancelled = Awaited<ReturnType<Provider['cancel']>>
type RefundIds = { endToEndId: string; refundId: string }

/** How one kind of provider differs from the others. Ids go into paths, so they are checked before a call is made. */
export type ProviderApi<Charge extends { charge: ProviderCharge }> = Pick<
  Provider,
  'registerNotifications' | 'readNotification'
> & {
  isTxid(txid: string): boolean
  isRefund(ids: RefundIds): boolean
  create(request: ProviderChargeRequest): Call<Charge>
  /** `emvNeeded`: the code to pay is needed, and not only the state. */
  getCharge(txid: string, emvNeeded: boolean): Call<Charge>
  /** Why the charge under the requested txid is not the requested one. `isOver`: nobody can pay it any more. */
  mismatch(charge: Charge): Mismatch | undefined
  withPayments(charge: Charge, deadline: Deadline): Promise<ProviderCharge>
  /** The answer of check() when the provider knows no such charge. */
  checkAbsent(txid: string, deadline: Deadline): Promise<ProviderCharge | 'absent'>
  cancel(txid: string): Call<'withdrawn'>
  /** What a failed cancel() came to; undefined: unknown. See Retry.write for `inDoubt`. */
  settleCancel(reply: NotOk, inDoubt: boolean, lookUp: () => Promise<Reply<Charge>>): Promise<Cancelled | undefined>
  refund(request: ProviderRefundRequest): Call<ProviderRefund>
  getRefund(ids: RefundIds): Call<ProviderRefund>
  getPayment(endToEndId: string): Call<Entries>
  getPage(window: Window, position: { page: number; skip: number }): Call<Page>
}

/** The operations of a provider, which are the same for all. */
export function makeProvider<Charge extends { charge: ProviderCharge }>(
  adapter: Adapter,
  api: ProviderApi<Charge>,
): Provider {
  const { name, calls, timings } = adapter
  const timeoutMs = timings.writeTimeoutMs

  /** Creates something under an id of ours. A lost answer is followed by a lookup. */
  function make<Body>(operation: string, deadline: Deadline, call: Call<Body>, lookUp: () => Promise<Reply<Body>>) {
    const settle = settleCreation((reply) => calls.errorOf(operation, reply), lookUp)
    const put = () => calls.once(call, { operation, deadline, timeoutMs })
    return calls.write({ operation, deadline, put, settle })
  }

  return {
    name,
    callsPerSecond: calls.callsPerSecond,
    certificateExpiresAt: calls.certificateExpiresAt,
    async create(request) {
      const { txid, onBehalfOf } = request
      if (!api.isTxid(txid)) throw new Error('not a txid')
      const deadline = startDeadline(timings.createDeadlineMs, onBehalfOf)
      const made = await make('create', deadline, api.create(request), () =>
        calls.read(api.getCharge(txid, true), { operation: 'check', deadline, timeoutMs }),
      )
      const isOther = made.charge.valueCents !== request.valueCents
      const mismatch = isOther ? { text: 'a charge of another value has this txid' } : api.mismatch(made)
      if (!mismatch) return made.charge
      // The txid is ours, so a charge that differs is ours too. Unless it is over, somebody could pay it: the outcome
      // counts as unknown, and whoever asked withdraws the charge.
      throw new ProviderError(mismatch.isOver ? 'refused' : 'unknown', `${name}: create: ${mismatch.text}`)
    },
    async check(txid, { onBehalfOf } = {}) {
      if (!api.isTxid(txid)) return 'absent'
      const deadline = startDeadline(timings.checkDeadlineMs, onBehalfOf)
      const found = await calls.find(api.getCharge(txid, false), { operation: 'check', deadline })
      const charge = await (found === 'absent' ? api.checkAbsent(txid, deadline) : api.withPayments(found, deadline))
      if (charge !== 'absent') reportUnreadRefunds(adapter.reportUnread, charge.payments)
      return charge
    },
    async cancel(txid, { onBehalfOf } = {}) {
      if (!api.isTxid(txid)) return 'absent'
      const operation = 'cancel'
      const deadline = startDeadline(timings.cancelDeadlineMs, onBehalfOf)
      const lookUp = () => calls.read(api.getCharge(txid, false), { operation: 'check', deadline, timeoutMs })
      return calls.write<Cancelled>({
        operation,
        deadline,
        put: () => calls.once(api.cancel(txid), { operation, deadline, timeoutMs }),
        settle: (reply, inDoubt) => api.settleCancel(reply, inDoubt, lookUp),
      })
    },
    async findPayment(endToEndId) {
      if (!END_TO_END_ID.test(endToEndId)) return 'absent'
      const operation = 'findPayment'
      const deadline = startDeadline(timings.checkDeadlineMs)
      const found = await calls.find(api.getPayment(endToEndId), { operation, deadline })
      if (found === 'absent') return 'absent'
      if (found.unread.length > 0) throw unreadError(name, operation, found.unread)
      reportUnreadRefunds(adapter.reportUnread, found.payments)
      return found.payments[0] ?? 'absent'
    },
    listReceived: (window, onUnread) =>
      listPages({
        ...adapter,
        maxPages: timings.maxPages,
        readPage: (position) =>
          calls.readOrThrow(api.getPage(window, position), {
            operation: 'listReceived',
            deadline: startDeadline(timings.listDeadlineMs),
          }),
        onUnread,
      }),
    async refund(request) {
      if (!api.isRefund(request)) throw new Error('not ids of a Pix and of a refund')
      const deadline = startDeadline(timings.refundDeadlineMs, request.onBehalfOf)
      const made = await make('refund', deadline, api.refund(request), () =>
        calls.read(api.getRefund(request), { operation: 'checkRefund', deadline, timeoutMs }),
      )
      if (made.amountCents !== request.amountCents)
        throw new ProviderError('refused', `${name}: refund: a refund of another amount has this id`)
      return made
    },
    async checkRefund(ids) {
      if (!api.isRefund(ids)) return 'absent'
      const deadline = startDeadline(timings.checkDeadlineMs)
      return calls.find(api.getRefund(ids), { operation: 'checkRefund', deadline })
    },
    registerNotifications: (url) => api.registerNotifications(url),
    readNotification: (request) => api.readNotification(request),
    hasRoomFor: (account) => calls.hasRoom('create', startDeadline(timings.createDeadlineMs, account)),
    isCallable: calls.isCallable,
    health: calls.health,
    close: calls.close,
  }
}
