import { ApiError, post } from '../../base/api.ts'
import type { NewCharge } from '../../contract/types.ts'
import { changeSale, replaceSale, type AskedSale, type MadeSale, type ShownCharge, type Till } from './till.ts'

// Requests of the counter that may be lost on the way. Each is repeated until its outcome is known, and repeating does
// no harm: a deposit has an idempotency key, and canceling twice is canceling once.

/** A dead connection is given up, and the request repeated. */
const ANSWER_WITHIN_MS = 15_000
/** Between two tries. Somebody stands at the counter and waits. */
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 8_000
/** The server keeps a key for a day. Whoever wanted to pay is gone long before. */
const ASK_WITHIN_MS = 3_600_000

export type Trouble = { error: ApiError; isOver: boolean }

/** Asks for a deposit until it is known. Returns what stops it. `tell` hears of each try without a clear answer. */
export function askFor(till: Till, sale: AskedSale, tell: (trouble: Trouble) => void): () => void {
  let { mayExist } = sale
  return repeat(async (signal) => {
    if (Date.now() - sale.askedMs > ASK_WITHIN_MS) {
      tell({ error: new ApiError(0, 'unreachable', 'Nothing answered'), isOver: true })
      return 'done'
    }
    try {
      const options = { idempotencyKey: sale.key, timeoutMs: ANSWER_WITHIN_MS, signal }
      const { charge } = await post<{ charge: NewCharge }>('/deposit', sale.body, options)
      replaceSale(till, sale, made(charge, { isNew: true, isPaid: false }))
      return 'done'
    } catch (error) {
      if (signal.aborted) return 'done'
      if (!(error instanceof ApiError)) throw error
      const isOver = isRefusal(error, mayExist)
      if (!isOver && !mayExist) changeSale(till, sale, { mayExist: (mayExist = true) })
      tell({ error, isOver })
      return isOver ? 'done' : waitOf(error)
    }
  })
}

export function made(charge: ShownCharge, known: Pick<MadeSale, 'isNew' | 'isPaid'>): MadeSale {
  const { paymentLinkId, paymentLinkUrl, value, emv } = charge
  return {
    step: 'made',
    charge: { paymentLinkId, paymentLinkUrl, value, emv },
    isCanceling: false,
    ...known,
  }
}

type CancelTold = { trouble: () => void; canceled: () => void; refused: (error: ApiError) => Promise<void> }

/** Cancels until the server has decided: canceling again is always safe. */
export function keepCanceling({ charge }: MadeSale, told: CancelTold): () => void {
  return repeat(async (signal) => {
    try {
      await post(`/deposit/${charge.paymentLinkId}/cancel`, undefined, { timeoutMs: ANSWER_WITHIN_MS, signal })
      told.canceled()
      return 'done'
    } catch (error) {
      if (signal.aborted) return 'done'
      if (!(error instanceof ApiError)) throw error
      if (isUnknown(error)) {
        told.trouble()
        return waitOf(error)
      }
      await told.refused(error)
      return 'done'
    }
  })
}

/** Nothing was made, and repeating would change nothing. */
function isRefusal(error: ApiError, mayExist: boolean): boolean {
  if (isUnknown(error)) return false
  // These are answered after the server has looked for an earlier request with the key, so there was none. Others, such
  // as a lost role, are answered before.
  return !mayExist || error.status === 400 || error.code === 'provider_refused'
}

function isUnknown({ status, code }: ApiError): boolean {
  if (code === 'provider_refused') return false
  return status === 0 || status >= 500 || status === 429 || code === 'in_flight'
}

function waitOf({ retryAfterSeconds = 0 }: ApiError): number {
  return Math.min(retryAfterSeconds * 1000, MAX_PAUSE_MS)
}

/** Tries until it is done, with longer and longer pauses, and at once when the network is back. */
function repeat(attempt: (signal: AbortSignal) => Promise<'done' | number>): () => void {
  const stopped = new AbortController()
  const { signal } = stopped
  let timer: ReturnType<typeof setTimeout> | undefined
  let isTrying = false
  let pauseMs = FIRST_PAUSE_MS

  async function run(): Promise<void> {
    clearTimeout(timer)
    if (isTrying || signal.aborted) return
    isTrying = true
    const atLeastMs = await attempt(signal)
    isTrying = false
    if (atLeastMs === 'done') return stopped.abort()
    timer = setTimeout(() => void run(), Math.max(pauseMs, atLeastMs))
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
  }

  addEventListener('online', () => void run(), { signal })
  void run()
  return () => {
    clearTimeout(timer)
    stopped.abort()
  }
}
