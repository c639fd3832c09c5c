import type { SpanContext } from '@opentelemetry/api'
import { Fault } from '../../../base/fault.ts'
import { hexIdOf } from '../../../base/ids.ts'
import { makeRecent } from '../../../base/recent.ts'
import { withTimeLimit } from '../../../base/time-limit.ts'
import { prepared } from '../../../db/prepared.ts'
import { query } from '../../../db/tx.ts'
import { wholeSecond } from '../../core/business-days.ts'
import type { Core } from '../../core/core.ts'
import { ProviderError, type Provider, type ReceivedPayment } from '../../ports/provider.ts'
import type { Settlements } from '../settlements.ts'
import type { Check } from './check-queue.ts'

export type Answer = 'ended' | 'booked' | 'alone'

/** A check that waits for a list. */
export type Question = {
  check: Check
  /** Where the list must begin. */
  since: Date
  txid: string | null
  /** Payments that the list must show; empty: all payments of the txid. */
  missing: Set<string>
  answer(answer: Answer): void
  fail(error: unknown): void
  /** The span that waits for the answer. */
  cause: SpanContext | undefined
}

/** What reading a list came to. `repeated` payments were in an earlier list already. */
export type Reading = { pages: number; repeated: number; error: unknown }

export type ListReader = {
  /** Answers every question, and never rejects. */
  read(questions: Question[]): Promise<Reading>
  /** What this check is about was in a list, and is in the books. */
  hasAnswered(question: Pick<Question, 'check' | 'txid' | 'missing'>): boolean
}

// A provider's clock may be ahead of ours.
const AHEAD_MS = 60_000
// A list may take as many pages as it answers questions: past that, asking one by one is cheaper. The first questions
// of a flood do not tell how many follow.
const MIN_PAGES = 16
// A page takes a second or two. Those who wait have seconds, and are asked about alone when a list hangs.
const PAGE_PATIENCE_MS = 5_000
// Two of each payment. So many in this time are more than one process books.
const MAX_REMEMBERED = 40_000
const REMEMBERED_FOR_MS = 30_000

/** A list that is being read. */
type Round = {
  open: Set<Question>
  byEndToEndId: Map<string, Question[]>
  begunMs: number
  repeated: number
  /** Our txids, of all payments. */
  txids: Set<string>
  /** endToEndIds of payments that could not be booked. */
  failed: Set<string>
}

export function makeListReader(
  core: Core,
  { provider, settlements }: { provider: Provider; settlements: Settlements },
): ListReader {
  // By endToEndId and txid: when the last list began that showed it.
  const booked = makeRecent<number>({ forMs: REMEMBERED_FOR_MS, max: MAX_REMEMBERED })

  async function readPages(round: Round, window: { from: Date; to: Date }, maxPages: number) {
    let pages = 0
    // A page is booked while the next one is read.
    let booking: Promise<void> = Promise.resolve()
    try {
      for await (const page of inTime(provider, window)) {
        pages++
        await booking
        booking = bookPage(round, page)
        booking.catch(() => {}) // it may fail while nobody waits for it
        if (pages === maxPages) return { pages, isWhole: false }
      }
      return { pages, isWhole: true }
    } finally {
      await booking
    }
  }

  async function bookPage(round: Round, page: ReceivedPayment[]): Promise<void> {
    const [repeated, fresh]: [ReceivedPayment[], ReceivedPayment[]] = [[], []]
    for (const payment of page) (booked.get(payment.endToEndId) === undefined ? fresh : repeated).push(payment)
    round.repeated += repeated.length
    // Oldest first, so that of two payments of one charge the first completes it.
    fresh.sort((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime())
    const known = await findBooked(core, provider.name, fresh)
    await Promise.all([
      ...repeated.map((payment) => bookOne(round, payment, true)),
      ...fresh.map((payment) => bookOne(round, payment, known.has(payment.endToEndId))),
    ])
    const nowMs = core.now().getTime()
    for (const { endToEndId, txid } of page) {
      const chargeId = hexIdOf(txid)
      if (!round.failed.has(endToEndId)) booked.set(endToEndId, round.begunMs, nowMs)
      if (chargeId !== null) round.txids.add(chargeId)
    }
  }

  async function bookOne(round: Round, payment: ReceivedPayment, isKnown: boolean): Promise<void> {
    const { endToEndId } = payment
    const questions = round.byEndToEndId.get(endToEndId) ?? NOBODY
    // Of several payments that one check waits for, none alone ends it.
    const ending = questions.find(({ missing }) => missing.size === 1)
    try {
      const isEnded = (!isKnown || payment.refunds?.length) && (await settlements.addOne(payment, ending?.check))
      for (const question of questions) {
        question.missing.delete(endToEndId)
        if (question.missing.size > 0) continue
        round.open.delete(question)
        question.answer(isEnded && question === ending ? 'ended' : 'booked')
      }
    } catch (error) {
      // The database is down or overloaded, which no payment caused: going on would not help.
      if (error instanceof Fault && error.code === 'unavailable') throw error
      core.log.error({ err: error, provider: provider.name, endToEndId }, 'booking a received payment failed')
      round.failed.add(endToEndId)
      for (const question of questions) {
        round.open.delete(question)
        question.fail(error)
      }
    }
  }

  return {
    hasAnswered({ check, txid, missing }) {
      if (missing.size > 0) return [...missing].every((endToEndId) => booked.get(endToEndId) !== undefined)
      const begunMs = (txid !== null && booked.get(txid)) || -Infinity
      return begunMs >= (check.listed?.until.getTime() ?? Infinity)
    },
    async read(questions) {
      const begunMs = core.now().getTime()
      const window = { from: startOf(questions, begunMs), to: new Date(begunMs + AHEAD_MS) }
      const round = openRound(questions, begunMs)
      let [pages, isWhole, error]: [number, boolean, unknown] = [1, false, undefined]
      try {
        const reading = await readPages(round, window, Math.max(MIN_PAGES, questions.length))
        pages = Math.max(1, reading.pages)
        isWhole = reading.isWhole
      } catch (caught) {
        error = caught
      }
      const isSure = isWhole && round.failed.size === 0
      for (const txid of isSure ? round.txids : []) booked.set(txid, begunMs, core.now().getTime())
      for (const question of round.open) question.answer(isSure ? lastAnswer(round, question) : 'alone')
      return { pages, repeated: round.repeated, error }
    },
  }
}

/** Some providers give times in whole seconds. */
function startOf(questions: Question[], begunMs: number): Date {
  const firstMs = questions.reduce((first, { since }) => Math.min(first, since.getTime()), begunMs)
  return wholeSecond(new Date(firstMs))
}

function openRound(questions: Question[], begunMs: number): Round {
  const byEndToEndId = new Map<string, Question[]>()
  for (const question of questions) {
    for (const endToEndId of question.missing) {
      const others = byEndToEndId.get(endToEndId)
      if (others) others.push(question)
      else byEndToEndId.set(endToEndId, [question])
    }
  }
  return { open: new Set(questions), byEndToEndId, begunMs, repeated: 0, txids: new Set(), failed: new Set() }
}

const NOBODY: Question[] = []

/**
 * For a list that was read whole and booked. Not earlier: a charge may have several payments, and a later one may be
 * the one that completes it.
 */
function lastAnswer(round: Round, { txid, missing }: Question): Answer {
  return missing.size === 0 && txid !== null && round.txids.has(txid) ? 'booked' : 'alone'
}

async function* inTime(provider: Provider, window: { from: Date; to: Date }): AsyncGenerator<ReceivedPayment[]> {
  const pages = provider.listReceived(window)[Symbol.asyncIterator]()
  const late = () => new ProviderError('unknown', `${provider.name}: listReceived: no page in ${PAGE_PATIENCE_MS} ms`)
  try {
    for (;;) {
      const next = pages.next()
      next.catch(() => {}) // it may fail after we gave up
      const page = await withTimeLimit(next, PAGE_PATIENCE_MS, late)
      if (page.done) return
      yield page.value
    }
  } finally {
    // Not awaited: it ends after the call in flight.
    pages.return?.().catch(() => {})
  }
}

const FIND_BOOKED = prepared(`
  select end_to_end_id as "endToEndId", provider from payments where end_to_end_id = any($1) and txid is not null`)

/** The endToEndIds of those that settling would not change, which other processes booked for example. */
async function findBooked(core: Core, provider: string, payments: ReceivedPayment[]): Promise<Set<string>> {
  if (payments.length === 0) return new Set()
  const ids = payments.map(({ endToEndId }) => endToEndId)
  const rows = await query<{ endToEndId: string; provider: string }>(core.pool, FIND_BOOKED, [ids])
  return new Set(rows.filter((row) => row.provider === provider).map((row) => row.endToEndId))
}
