import { verify, type KeyObject } from 'node:crypto'

export type Signatures = ReturnType<typeof makeSignatures>

export type SignatureBounds = { keysFreshMs: number; keysPauseMs: number }

/** Verifies that Woovi signed a notification. It signs those of all merchants with the same keys. */
export function makeSignatures(options: {
  fetchKeys: () => Promise<KeyObject[] | undefined>
  bounds: SignatureBounds
  now: () => Date
}) {
  const { bounds } = options
  let keys: KeyObject[] = []
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let askedAtMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined

  // A clock that is set back must not keep old keys.
  const isOlderThan = (ms: number, sinceMs: number) => Math.abs(options.now().getTime() - sinceMs) >= ms

  async function fetchKeys() {
    askedAtMs = options.now().getTime()
    const fetched = await options.fetchKeys()
    if (!fetched) return
    keys = fetched
    fetchedAtMs = askedAtMs
  }

  /** Callers share one request. */
  async function refresh() {
    if (!fetching && !isOlderThan(bounds.keysPauseMs, askedAtMs)) return
    fetching ??= fetchKeys().finally(() => {
      fetching = undefined
    })
    await fetching
  }

  return {
    /** 'unknown' when the keys could not be fetched. */
    async verify(body: Buffer, signature: string): Promise<'good' | 'bad' | 'unknown'> {
      const bytes = Buffer.from(signature, 'base64')
      const isSigned = () => keys.some((key) => verify('RSA-SHA256', body, key, bytes))
      if (isOlderThan(bounds.keysFreshMs, fetchedAtMs)) await refresh()
      if (isSigned()) return 'good'
      await refresh()
      if (isSigned()) return 'good'
      // Only current keys can prove a signature wrong.
      return fetchedAtMs === askedAtMs && keys.length > 0 ? 'bad' : 'unknown'
    },
  }
}
