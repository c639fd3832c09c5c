/** Sends a GET without the key, and gives the answer as it comes. */
export type Open = (path: string, signal: AbortSignal) => Promise<Response>

export type PaymentStream = {
  /** The server has sent a state, so nothing on the way holds the stream back. */
  isOpen: boolean
  isOver: boolean
  /** Resolves when the charge is no longer as it was at first, or when an open stream ends. */
  changed: Promise<void>
}

/** Follows the stream of the payment page. One that does not come through, as with some proxies, stays closed. */
export function followPayment(open: Open, paymentLinkId: string, signal: AbortSignal): PaymentStream {
  let change = () => {}
  const changed = new Promise<void>((resolve) => (change = resolve))
  const stream: PaymentStream = { isOpen: false, isOver: false, changed }
  const follow = async () => {
    const { ok, body } = await open(`/payment-link/${encodeURIComponent(paymentLinkId)}/events`, signal)
    if (!ok || !body) return
    for await (const line of linesOf(body)) {
      if (!line.startsWith('data:')) continue
      stream.isOpen = true
      if (isNews(line.slice('data:'.length))) return
    }
  }
  const end = () => {
    if (stream.isOpen) change()
    stream.isOpen = false
    stream.isOver = true
  }
  // Whatever failed: those who wait ask by themselves.
  follow().then(end, end)
  return stream
}

function isNews(data: string): boolean {
  const { status, heldValue = 0 } = JSON.parse(data) as { status: string; heldValue?: number }
  return status !== 'PENDING' || heldValue > 0
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } finally {
    // Closes the connection too.
    await reader.cancel().catch(() => undefined)
  }
}
