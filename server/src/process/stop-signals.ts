/** npm forwards the signal that the terminal sent us too: a second one this soon is the same. */
const ECHO_MS = 1_000

/** Calls `stop` at the first SIGINT or SIGTERM, and `insist` at a later one. Returns what removes the handlers. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void, insist: () => void): () => void {
  let firstAt: number | undefined
  const handle = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (firstAt === undefined) {
      firstAt = now
      stop(signal)
    } else if (now - firstAt > ECHO_MS) insist()
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, handle)
  return () => {
    for (const signal of signals) process.off(signal, handle)
  }
}
