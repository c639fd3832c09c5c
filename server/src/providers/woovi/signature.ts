import { verify, type KeyObject } from 'node:crypto'

/**
 * Tells whether Woovi signed a notification. Its keys are asked for when they are first needed and kept. Every merchant's notifications are signed with the
 * same, so a good signature proves the sender and not that it is about us.
 */
export type Signatures = {
  /** 'unknown' when the keys could not be had. */
  judge(body: Buffer, signature: string): Promise<'good' | 'bad' | 'unknown'>
}

export type SignatureBounds = {
  keysFreshMs: number
  keysPauseMs: number
}

export function makeSignatures(options: {
  /** Undefined when they could not be had. */
  fetchKeys: () => Promise<KeyObject[] | undefined>
  bounds: SignatureBounds
  now: () => Date
}): Signatures {
  const { bounds } = options
  let keys: KeyObject[] = []
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let askedAtMs = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  // The distance and not the difference: a clock that was set back must not keep old keys for as long as that.
  const isOlderThan = (ms: number, sinceMs: number) => Math.abs(options.now().getTime() - sinceMs) >= ms

  async function ask() {
    askedAtMs = options.now().getTime()
    const fetched = await options.fetchKeys()
    if (!fetched) return
    keys = fetched
    fetchedAtMs = askedAtMs
  }

  /** Callers at the same time share one. Forgers must not make us ask more often than the pause allows. */
  async function refresh() {
    if (!asking && !isOlderThan(bounds.keysPauseMs, askedAtMs)) return
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await asking
  }

  return {
    async judge(body, signature) {
      const bytes = Buffer.from(signature, 'base64')
      const isSigned = () => keys.some((key) => verify('RSA-SHA256', body, key, bytes))
      if (isOlderThan(bounds.keysFreshMs, fetchedAtMs)) await refresh()
      if (isSigned()) return 'good'
      // The keys may have been exchanged since we asked.
      await refresh()
      if (isSigned()) return 'good'
      // A refusal needs keys that are current: the last attempt to get them succeeded.
      return fetchedAtMs === askedAtMs && keys.length > 0 ? 'bad' : 'unknown'
    },
  }
}
