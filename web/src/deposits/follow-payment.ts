import type { PaymentData, PaymentTexts } from '../contract/types.ts'

// Follows one payment as the payment page does: by server-sent events, and by asking where no stream comes through.

const WATCH_MS = 5_000
// The stream says something every 15 seconds. A longer silence is a dead connection, or a device that slept.
const SILENCE_MS = 20_000
const RECONNECT_MS = 30_000
const ANSWER_WITHIN_MS = 15_000

export type Answer = { payment: PaymentData; texts: PaymentTexts }
export type Listener = {
  told(answer: Answer): void
  /** The service has no such payment. */
  missing(): void
  /** No answer, or none that can be read. It is asked again. */
  failed(): void
}
export type Following = { look(): Promise<void>; stop(): void }

/** Until the payment has ended, or until it is stopped. `link` is the address of the payment page. */
export function followPayment(link: string, lang: string, listener: Listener): Following {
  const stopped = new AbortController()
  const { signal } = stopped
  let known: PaymentData | undefined
  let stream: EventSource | undefined
  let [heardAt, connectedAt] = [0, 0]
  let [isLooking, isStale, hasFailed] = [false, false, false]

  async function look(): Promise<void> {
    if (signal.aborted || (document.hidden && known)) return
    // A question that is under way may bring an older state.
    isStale = isLooking
    if (isLooking) return
    isLooking = true
    const answer = await ask(`${link}/data?lang=${encodeURIComponent(lang)}`, signal)
    isLooking = false
    if (signal.aborted) return
    hasFailed = answer === undefined
    if (answer === undefined) listener.failed()
    else if (answer === 'missing') end(listener.missing)
    else {
      known = answer.payment
      if (known.status !== 'PENDING') stop()
      listener.told(answer)
    }
    if (isStale) await look()
  }

  function listen(): void {
    if (signal.aborted || document.hidden || typeof EventSource === 'undefined') return
    hush()
    connectedAt = Date.now()
    stream = new EventSource(`${link}/events`)
    stream.addEventListener('message', ({ data }: MessageEvent<string>) => {
      heardAt = Date.now()
      const { status, heldValue = 0, keptValue = 0 } = JSON.parse(data) as Partial<PaymentData>
      const before = known ?? FRESH
      if (before.status !== status || before.heldValue !== heldValue || before.keptValue !== keptValue) void look()
    })
  }

  function hush(): void {
    stream?.close()
    stream = undefined
  }

  function refresh(): void {
    // A browser allows six connections per host, so a hidden page has none.
    if (document.hidden) return hush()
    void look()
    listen()
  }

  const watching = setInterval(() => {
    const now = Date.now()
    if (known && !hasFailed && now - heardAt <= SILENCE_MS) return
    void look()
    if (now - connectedAt > RECONNECT_MS) listen()
  }, WATCH_MS)

  function stop(): void {
    clearInterval(watching)
    hush()
    stopped.abort()
  }

  function end(tell: () => void): void {
    stop()
    tell()
  }

  document.addEventListener('visibilitychange', refresh, { signal })
  addEventListener('online', refresh, { signal })
  void look()
  listen()
  return { look, stop }
}

/** Taken for what the first question under way will answer. */
const FRESH = { status: 'PENDING', heldValue: 0, keptValue: 0 }

async function ask(url: string, stopped: AbortSignal): Promise<Answer | 'missing' | undefined> {
  const asking = new AbortController()
  const abort = () => asking.abort()
  const patience = setTimeout(abort, ANSWER_WITHIN_MS)
  stopped.addEventListener('abort', abort)
  try {
    const answer = await fetch(url, { signal: asking.signal, cache: 'no-store', credentials: 'omit' })
    if (answer.status === 404) return 'missing'
    return answer.ok ? ((await answer.json()) as Answer) : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(patience)
    stopped.removeEventListener('abort', abort)
  }
}
