/**
 * Remembers keys for at least `forMs`, in two generations of at most `max` keys: the older one is dropped as a whole.
 */
export function makeRecent<Value>({ forMs, max }: { forMs: number; max: number }) {
  let young = new Map<string, Value>()
  let old = young
  let youngSinceMs = -Infinity
  return {
    get: (key: string): Value | undefined => young.get(key) ?? old.get(key),
    set(key: string, value: Value, nowMs: number) {
      // A clock that was set back must not keep a generation for ever.
      const isOver = nowMs - youngSinceMs >= forMs || nowMs < youngSinceMs
      if (isOver || young.size >= max) {
        old = young
        young = new Map()
        youngSinceMs = nowMs
      }
      young.set(key, value)
    },
  }
}
