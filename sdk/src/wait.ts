import { GuicheError } from './errors.ts'
import { pauseMs, sleep } from './pause.ts'
import { followPayment, type Open, type PaymentStream } from './payment-stream.ts'
import type { FullDeposit } from './types.ts'

export type WaitOptions = {
  /** Ends the waiting. The promise then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** How long to wait at most. By default, until the charge expires. */
  timeoutMs?: number | undefined
  /**
   * The pause before the second question, if the stream of the payment page cannot be followed. Defaults to 1,000.
   * Later pauses grow to 15 seconds.
   */
  intervalMs?: number | undefined
}

/** Yields the states of one deposit as they become known, until the signal aborts. */
export type Watch = (paymentLinkId: string, signal: AbortSignal) => AsyncIterable<FullDeposit>

/** No charge lives longer than a day; the hour is for clocks that differ. A timer also takes no more than 24 days. */
const LONGEST_MS = 25 * 3_600_000
/** A payer who waits at the counter should see it within seconds, also after minutes. */
const MAX_INTERVAL_MS = 15_000
const INTERVAL_MS = 1_000
const FACTOR = 1.3

/** Does not know how the states arrive. */
export async function waitUntilPaid(
  watch: Watch,
  paymentLinkId: string,
  { signal, timeoutMs = LONGEST_MS }: WaitOptions,
): Promise<FullDeposit> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), Math.min(timeoutMs, LONGEST_MS))
  const either = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal
  try {
    for await (const deposit of watch(paymentLinkId, either)) {
      const { status, heldValue } = deposit
      if (status === 'COMPLETED') return deposit
      if (heldValue > 0 && !isPayerAsked(deposit))
        throw new GuicheError('payment_held', `${heldValue} cents were paid and are held`, { deposit })
      if (status !== 'PENDING') throw new GuicheError('not_paid', `the charge is ${status}`, { deposit })
    }
    throw new Error('the source of the states ended before the charge did')
  } catch (error) {
    signal?.throwIfAborted()
    if (limit.signal.aborted) throw new GuicheError('timeout', `the charge was not paid within ${timeoutMs} ms`)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Its bank is asked who paid: it completes, or is canceled, without a decision. */
function isPayerAsked({ payer, payerMatch }: FullDeposit): boolean {
  return payer?.policy === 'require' && payerMatch !== null
}

type Source = {
  read(paymentLinkId: string, signal: AbortSignal): Promise<FullDeposit>
  open: Open
}

/**
 * Asks at once, and again when the stream of the payment page tells of a change. In between it asks ever less often:
 * the stream may fail, and only a question makes the server ask the provider. Retries transient errors.
 */
export function watchWith({ read, open }: Source, firstMs = INTERVAL_MS): Watch {
  return async function* watch(paymentLinkId, signal) {
    const left = new AbortController()
    const until = AbortSignal.any([signal, left.signal])
    let stream: PaymentStream | undefined = followPayment(open, paymentLinkId, until)
    try {
      for (let turn = 0; ; turn++) {
        let retryAfterMs = 0
        try {
          yield await read(paymentLinkId, until)
        } catch (error) {
          if (!(error instanceof GuicheError && error.isTransient)) throw error
          retryAfterMs = (error.retryAfterSeconds ?? 0) * 1000
        }
        const nextMs = pauseMs({ firstMs, factor: FACTOR, maxMs: MAX_INTERVAL_MS }, turn)
        const pollMs = Math.max(stream?.isOpen ? MAX_INTERVAL_MS : nextMs, retryAfterMs)
        const hasChanged: boolean = await pause(pollMs, until, stream?.changed)
        // After a change comes a question, and only after another pause the next stream: it would say the same again.
        if (hasChanged) stream = undefined
        else if (!stream || stream.isOver) stream = followPayment(open, paymentLinkId, until)
      }
    } finally {
      left.abort()
    }
  }
}

/** True if the change came before the time was over. */
async function pause(ms: number, signal: AbortSignal, changed?: Promise<void>): Promise<boolean> {
  const over = new AbortController()
  const asleep = sleep(ms, AbortSignal.any([signal, over.signal])).then(() => false)
  try {
    return await Promise.race(changed ? [asleep, changed.then(() => true)] : [asleep])
  } finally {
    // Else its timer would keep the process alive.
    over.abort()
  }
}
