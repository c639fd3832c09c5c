import { ListTooLong, ProviderError, type ReceivedPayment, type UnreadEntry } from '../../domain/ports/provider.ts'
import { readError, type ApiPixCalls } from './calls.ts'
import { isEndToEndId, readPayment, readReceivedPage, type ReceivedPage } from './messages.ts'
import { startDeadline } from '../http/deadline.ts'
import { saysAbsent } from '../http/retry.ts'
import { unreadKey, type TellUnread } from '../http/unread.ts'

// Where API Pix tells of money received: one Pix by its id, and the list.

type Reader = {
  name: string
  calls: ApiPixCalls
  timings: { checkDeadlineMs: number; listDeadlineMs: number; pageSize: number; maxPages: number }
  tellUnread: TellUnread
}

type Window = { from: Date; to: Date }

export async function findPayment(reader: Reader, endToEndId: string): Promise<ReceivedPayment | 'absent'> {
  if (!isEndToEndId(endToEndId)) return 'absent'
  const { calls, timings, name } = reader
  const deadline = startDeadline(timings.checkDeadlineMs)
  const reply = await calls.repeat.read(deadline, () =>
    calls.call({
      operation: 'findPayment',
      method: 'GET',
      path: `/pix/${endToEndId}`,
      deadline,
      read: (json) => readPayment(json, { endToEndId, provider: name }),
    }),
  )
  if (reply.kind === 'ok') {
    const { payments, unread } = reply.body
    if (payments[0]) return payments[0]
    throw unreadError(reader, 'findPayment', unread)
  }
  if (saysAbsent(reply)) return 'absent'
  throw readError(calls, 'findPayment', reply)
}

export async function* listReceived(
  reader: Reader,
  window: Window,
  onUnread?: (entry: UnreadEntry) => void,
): AsyncGenerator<ReceivedPayment[]> {
  const { maxPages } = reader.timings
  // Pix that arrive while we turn the pages push others to a later page, where they are met again.
  const seen = new Set<string>()
  const unread = new Map<string, UnreadEntry>()
  for (let page = 0; ; page++) {
    if (page >= maxPages) {
      throw new ListTooLong(`${reader.name}: listReceived: more than ${maxPages} pages, ask for less time`)
    }
    const received = await askPage(reader, window, page)
    const before = seen.size
    const fresh = received.payments.filter(({ endToEndId }) => !seen.has(endToEndId))
    for (const { endToEndId } of fresh) seen.add(endToEndId)
    for (const { occurredAt, ...entry } of received.unread) {
      const key = unreadKey(entry)
      seen.add(key)
      // One that does not say when it was may be of this time.
      if (occurredAt === null || isInside(window, occurredAt)) unread.set(key, entry)
    }
    const inside = fresh.filter((payment) => isInside(window, payment.occurredAt))
    if (inside.length > 0) yield inside
    // A PSP that does not tell the number of pages is asked until one brings nothing new.
    const isLast = received.pages === undefined ? seen.size === before : page + 1 >= received.pages
    if (isLast) break
  }
  // Last, because the others must not wait for these.
  const entries = [...unread.values()]
  entries.forEach(reader.tellUnread)
  if (entries.length > 0 && !onUnread) throw unreadError(reader, 'listReceived', entries)
  for (const entry of entries) onUnread?.(entry)
}

async function askPage(reader: Reader, window: Window, page: number): Promise<ReceivedPage> {
  const { calls, timings, name } = reader
  const deadline = startDeadline(timings.listDeadlineMs)
  const query = new URLSearchParams({
    inicio: wholeSeconds(window.from, Math.floor),
    fim: wholeSeconds(window.to, Math.ceil),
    'paginacao.paginaAtual': String(page),
    'paginacao.itensPorPagina': String(timings.pageSize),
  })
  const reply = await calls.repeat.read(deadline, () =>
    calls.call({
      operation: 'listReceived',
      method: 'GET',
      path: `/pix?${query.toString()}`,
      deadline,
      read: (json) => readReceivedPage(json, { page, provider: name }),
    }),
  )
  if (reply.kind === 'ok') return reply.body
  throw readError(calls, 'listReceived', reply)
}

// They may be money, so an answer without them does not pass for a whole one. No failure of the provider: its breaker has seen a good answer.
function unreadError({ name }: Reader, operation: string, unread: UnreadEntry[]): ProviderError {
  const [first] = unread
  return new ProviderError('unknown', `${name}: ${operation}: ${unread.length} Pix cannot be read (${first?.text})`)
}

// Asked in whole seconds and outwards, because a PSP that cuts the fraction off would leave out the rest of a second at either end; cut to size here.
function wholeSeconds(at: Date, round: (seconds: number) => number): string {
  return new Date(round(at.getTime() / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}

// A time without a fraction may be one that was cut off, and then it can lie before `from` although the Pix does not. Such a one is given
// twice rather than never: whoever settles it knows it by its id.
function isInside(window: Window, at: Date): boolean {
  const atMs = at.getTime()
  const fromMs = window.from.getTime()
  const startMs = atMs % 1000 === 0 ? fromMs - (fromMs % 1000) : fromMs
  return atMs >= startMs && atMs < window.to.getTime()
}
