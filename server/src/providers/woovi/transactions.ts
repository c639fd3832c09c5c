import { ListTooLong, ProviderError, type ReceivedPayment, type UnreadEntry } from '../../domain/ports/provider.ts'
import { startDeadline, type Deadline } from '../http/deadline.ts'
import { END_TO_END_ID } from '../http/notification.ts'
import { saysAbsent } from '../http/retry.ts'
import { unreadKey } from '../http/unread.ts'
import { askedById, readError, type WooviAdapter } from './calls.ts'
import { readTransaction, readTransactionPage, type LinkedPayment, type ReceivedPage } from './messages.ts'

// Where Woovi tells of money. A charge says only that it was paid; the Pix that paid it, with its id and amount, is a transaction.

export async function findPayment(adapter: WooviAdapter, endToEndId: string): Promise<ReceivedPayment | 'absent'> {
  if (!END_TO_END_ID.test(endToEndId)) return 'absent'
  const { calls, timings, name: provider } = adapter
  const deadline = startDeadline(timings.checkDeadlineMs)
  const reply = askedById(
    await calls.repeat.read(deadline, () =>
      calls.call({
        operation: 'findPayment',
        method: 'GET',
        path: `/api/v1/transaction/${endToEndId}`,
        deadline,
        read: (json) => readTransaction(json, { endToEndId, provider }),
      }),
    ),
  )
  if (reply.kind === 'ok') {
    const { payments, unread } = reply.body
    if (unread.length > 0) throw unreadError(adapter, 'findPayment', unread)
    return payments[0] ? unlinked(payments[0]) : 'absent'
  }
  if (saysAbsent(reply)) return 'absent'
  throw readError(adapter, 'findPayment', reply)
}

/** What paid this charge. One page is enough: it is paid once, or a few times by mistake. */
export async function findPaymentsOf(
  adapter: WooviAdapter,
  charge: { txid: string; transactionIds: string[]; deadline: Deadline },
): Promise<ReceivedPayment[]> {
  const { txid, deadline } = charge
  const page = await askPage(adapter, { operation: 'check', query: { charge: txid }, skip: 0, deadline })
  page.unread.forEach(adapter.tellUnread)
  // The filter is Woovi's. A Pix of another charge that slipped through it must not pay this one.
  const isOurs = (payment: LinkedPayment) =>
    payment.txid === txid ||
    (payment.txid === null && payment.transactionId !== null && charge.transactionIds.includes(payment.transactionId))
  const payments = page.payments.filter(isOurs).map((payment) => ({ ...unlinked(payment), txid }))
  // One that cannot be read may have paid it. Where another one can be read, that one must not wait for it.
  if (payments.length === 0 && page.unread.length > 0) throw unreadError(adapter, 'check', page.unread)
  return payments
}

export async function* listReceived(
  adapter: WooviAdapter,
  window: { from: Date; to: Date },
  onUnread?: (entry: UnreadEntry) => void,
): AsyncGenerator<ReceivedPayment[]> {
  const { timings } = adapter
  const query = {
    start: new Date(window.from.getTime() - timings.windowMarginMs).toISOString(),
    end: new Date(window.to.getTime() + timings.windowMarginMs).toISOString(),
  }
  // Pix that arrive while we turn the pages push others to a later page, where they are met again.
  const seen = new Set<string>()
  const unread = new Map<string, UnreadEntry>()
  let skip = 0
  for (let pages = 0; ; pages++) {
    if (pages >= timings.maxPages) {
      throw new ListTooLong(`${adapter.name}: listReceived: more than ${pages} pages, ask for less time`)
    }
    const deadline = startDeadline(timings.listDeadlineMs)
    const page = await askPage(adapter, { operation: 'listReceived', query, skip, deadline })
    const fresh = page.payments.filter(({ endToEndId }) => !seen.has(endToEndId))
    for (const { endToEndId } of fresh) seen.add(endToEndId)
    const isInside = (at: Date) => at >= window.from && at < window.to
    const inside = fresh.filter(({ occurredAt }) => isInside(occurredAt))
    if (inside.length > 0) yield inside.map(unlinked)
    for (const { occurredAt, ...entry } of page.unread) {
      // One that does not say when it was may be of this time.
      if (occurredAt === null || isInside(occurredAt)) unread.set(unreadKey(entry), entry)
    }
    skip += page.entries
    // Where it is not told whether there is another page, they are asked for until one is empty.
    if (!(page.hasNext ?? page.entries > 0)) break
  }
  // Last, because the others must not wait for these.
  const entries = [...unread.values()]
  entries.forEach(adapter.tellUnread)
  if (entries.length > 0 && !onUnread) throw unreadError(adapter, 'listReceived', entries)
  for (const entry of entries) onUnread?.(entry)
}

type PageQuestion = { operation: string; query: Record<string, string>; skip: number; deadline: Deadline }

async function askPage(adapter: WooviAdapter, question: PageQuestion): Promise<ReceivedPage> {
  const { calls, timings, name: provider } = adapter
  const { operation, skip, deadline } = question
  const query = new URLSearchParams({ ...question.query, skip: String(skip), limit: String(timings.pageSize) })
  const reply = await calls.repeat.read(deadline, () =>
    calls.call({
      operation,
      method: 'GET',
      path: `/api/v1/transaction?${query.toString()}`,
      deadline,
      read: (json) => readTransactionPage(json, { skip, provider }),
    }),
  )
  if (reply.kind === 'ok') return reply.body
  throw readError(adapter, operation, reply)
}

// They may be money, so a list without them does not pass for a whole one.
function unreadError(adapter: WooviAdapter, operation: string, unread: UnreadEntry[]): ProviderError {
  const text = `${unread.length} transactions cannot be read (${unread[0]!.text})`
  return new ProviderError('unknown', `${adapter.name}: ${operation}: ${text}`)
}

function unlinked(linked: LinkedPayment): ReceivedPayment {
  const { transactionId: _, ...payment } = linked
  return payment
}
