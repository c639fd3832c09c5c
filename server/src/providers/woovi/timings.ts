import type { ExchangeBounds } from '../http/exchange.ts'
import type { GuardBounds } from '../http/guard.ts'
import type { HttpBounds } from '../http/client.ts'
import type { RepeatBounds } from '../http/retry.ts'
import type { SignatureBounds } from './signature.ts'

export type WooviTimings = GuardBounds &
  RepeatBounds &
  HttpBounds &
  ExchangeBounds &
  SignatureBounds & {
    createDeadlineMs: number
    writeTimeoutMs: number
    checkDeadlineMs: number
    cancelDeadlineMs: number
    listDeadlineMs: number
    refundDeadlineMs: number
    registerDeadlineMs: number
    keysDeadlineMs: number
    pageSize: number
    maxPages: number
    windowMarginMs: number
  }

/** Every bound of this adapter, with the reason for its number. Tests hand in smaller ones. */
export const WOOVI_TIMINGS: WooviTimings = {
  // Someone waits for the QR code: longer than this and he asks again.
  createDeadlineMs: 8_000,
  // For one call of the above, so that after a hang there is as much left to ask what became of it.
  writeTimeoutMs: 4_000,
  // Someone waits for a query's answer; after this it is given from the database.
  checkDeadlineMs: 3_000,
  cancelDeadlineMs: 8_000,
  // Nobody waits for a page of a sweep.
  listDeadlineMs: 20_000,
  refundDeadlineMs: 15_000,
  // Woovi calls the new address before it answers.
  registerDeadlineMs: 20_000,
  // Woovi waits for our answer to its notification meanwhile.
  keysDeadlineMs: 3_000,
  // The most that Woovi gives at once.
  pageSize: 100,
  // Half a million Pix in one window: a sweep that meets more must ask for shorter windows.
  maxPages: 5_000,
  // Woovi does not say by which of its times a window is cut. Those of one Pix lie seconds apart.
  windowMarginMs: 60_000,
  // As Woovi asks: it announces a new key longer than this before the old one goes.
  keysFreshMs: 3_600_000,
  // Forged notifications make us ask for the keys this often and no more.
  keysPauseMs: 60_000,
  // One failure in three, say, still leaves 96 % of reads and writes to succeed.
  readAttempts: 3,
  writeAttempts: 3,
  backoffBaseMs: 100,
  backoffCapMs: 1_000,
  // Ten in a row is no bad luck any more; five seconds is about a restart on the far side.
  breakerFaults: 10,
  breakerCoolDownMs: 5_000,
  // A call that ran out of less time than this says nothing about the provider.
  fairMs: 1_000,
  // At Woovi's 10 calls a second these wait longer than any deadline anyway.
  budgetMaxWaiting: 200,
  // What a 429 without Retry-After asks for.
  defaultRetryAfterMs: 1_000,
  // At 200 ms a call these carry many times what Woovi allows.
  connections: 16,
  maxPending: 1_000,
  // A page of a hundred transactions is about 300 kB.
  maxAnswerBytes: 4 * 1024 * 1024,
  connectTimeoutMs: 5_000,
}
