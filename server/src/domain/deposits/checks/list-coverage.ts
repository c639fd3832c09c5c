import { makeRecent } from '../../../base/recent.ts'
import type { ReceivedPayment } from '../../ports/provider.ts'

/** About a PENDING charge. `beganAt` is before the charge was read. */
export type Query = { txid: string; createdAt: Date; beganAt: Date }

/**
 * Which queries the lists of one provider answer. Lists that were read one after another, and whose payments are all
 * booked, cover a time without a gap. A charge that was unpaid at some moment of this time has a payment only if a list
 * since then shows it. So the next list, from the end of what is covered to now, decides about all such charges.
 *
 * A query reads its charge before it waits for a list. An earlier list may have shown its payment, and may book it only
 * after that read; the query's own list begins later and does not show it again. So the txids that lists showed are
 * remembered, and a query of one of them reads its charge again (`wasShown`). Lists are read one at a time, and each
 * ends when its payments are booked, so the memory is complete for every query that began after
 * `shown.forgottenUntilMs()`.
 *
 * All of this holds if the list is as fresh as the provider's charges, which is learnt: a payment that a question about
 * one charge has found must be in the next list.
 */
export type ListCoverage = {
  /** 'alone': a list does not answer it. 'stale': it does, but nobody has asked about this charge for a minute. */
  judge(query: Query, nowMs: number): 'list' | 'stale' | 'alone'
  /** Where a list must begin that answers queries. */
  untilMs(): number
  /** A list from here on was begun then, read whole, and booked. */
  read(fromMs: number, begunMs: number): void
  /** The provider, asked about this charge alone at that time, called it unpaid. */
  unpaid(txid: string, askedMs: number): void
  /**
   * Payments that the provider named when it was asked about one charge or one Pix. False if a list should have shown
   * one of them before: it is of a time that lists cover.
   */
  found(payments: ReceivedPayment[], nowMs: number): boolean
  /** endToEndIds of those that a list of this time, begun now, must show. */
  mustShow(fromMs: number, toMs: number): Set<string>
  /** A list did not show what it must. Queries are asked alone for some minutes. */
  distrust(nowMs: number): void
  isTrusted(nowMs: number): boolean
  show(txid: string, nowMs: number): void
  wasShown(txid: string): boolean
}

// Clocks differ by less than this, and a Pix appears in a list within this of its time.
const SLACK_MS = 3_000
// A list does not tell that the provider withdrew a charge, so each polled charge is asked about this often. After as
// long without a list, nothing that is known of any charge is of use, and what is covered begins anew.
const ASK_ALONE_EVERY_MS = 60_000
const DISTRUST_MS = 10 * 60_000
// Charges of a minute, and payments of half a minute at several hundred a second. Past it they are forgotten earlier,
// and more queries are asked alone.
const MAX_REMEMBERED = 20_000
const SHOWN_FOR_MS = 30_000
const MAX_FOUND = 1_000

export function makeListCoverage(): ListCoverage {
  const unpaid = makeRecent<number>({ forMs: ASK_ALONE_EVERY_MS, max: MAX_REMEMBERED })
  const shown = makeRecent<true>({ forMs: SHOWN_FOR_MS, max: MAX_REMEMBERED })
  const found = new Map<string, number>()
  let [coveredFromMs, coveredUntilMs] = [Infinity, -Infinity]
  let distrustedUntilMs = -Infinity

  const isTrusted = (nowMs: number) => nowMs >= distrustedUntilMs

  /** What is covered ended less than a minute ago. */
  function isUsed(nowMs: number): boolean {
    const gapMs = nowMs - coveredUntilMs
    return gapMs >= 0 && gapMs <= ASK_ALONE_EVERY_MS
  }

  /** Lists covered this time, and the memory of what they showed reaches back to it. */
  function isCovered(atMs: number): boolean {
    return atMs >= coveredFromMs && atMs < coveredUntilMs && atMs > shown.forgottenUntilMs()
  }

  return {
    judge({ txid, createdAt, beganAt }, nowMs) {
      if (!isTrusted(nowMs)) return 'alone'
      if (!isUsed(nowMs)) coveredFromMs = coveredUntilMs = nowMs - SLACK_MS
      const unpaidMs = Math.max(createdAt.getTime(), unpaid.get(txid) ?? -Infinity)
      if (unpaidMs < coveredFromMs + SLACK_MS || beganAt.getTime() <= shown.forgottenUntilMs()) return 'alone'
      return nowMs - unpaidMs > ASK_ALONE_EVERY_MS ? 'stale' : 'list'
    },
    untilMs: () => coveredUntilMs,
    read(fromMs, begunMs) {
      if (fromMs <= coveredUntilMs) coveredUntilMs = Math.max(coveredUntilMs, begunMs - SLACK_MS)
    },
    unpaid: (txid, askedMs) => unpaid.set(txid, askedMs, askedMs),
    found(payments, nowMs) {
      for (const { endToEndId, occurredAt } of payments) found.set(endToEndId, occurredAt.getTime())
      // The first are the oldest, more or less.
      for (const [endToEndId, atMs] of found) {
        if (found.size <= MAX_FOUND && atMs >= nowMs - ASK_ALONE_EVERY_MS) break
        found.delete(endToEndId)
      }
      return !payments.some(
        ({ txid, occurredAt }) => txid !== null && !shown.get(txid) && isCovered(occurredAt.getTime()),
      )
    },
    mustShow(fromMs, toMs) {
      const expected = [...found].filter(([, atMs]) => atMs >= fromMs && atMs < toMs)
      for (const [endToEndId] of expected) found.delete(endToEndId)
      return new Set(expected.map(([endToEndId]) => endToEndId))
    },
    isTrusted,
    distrust: (nowMs) => void (distrustedUntilMs = nowMs + DISTRUST_MS),
    show(txid, nowMs) {
      // Only queries need this memory, and coverage begins with the first query.
      if (isUsed(nowMs)) shown.set(txid, true, nowMs)
    },
    wasShown: (txid) => shown.get(txid) === true,
  }
}
