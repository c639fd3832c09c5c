import type { Caller, OperatorCaller } from './callers.ts'

export type KeyCaller = (Caller | OperatorCaller) & { keyId: string }

export type StoredKey = {
  caller: KeyCaller
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

/** Holds reads, not results, so that concurrent requests share one. Undefined stands for a key that does not exist. */
export type KeyCache = {
  get(hash: string, nowMs: number): Promise<StoredKey | undefined> | undefined
  /** `nowMs` is the time before the read: a revocation that commits during the read may be missing from it. */
  set(hash: string, nowMs: number, key: Promise<StoredKey | undefined>): void
  /** Whether the key was valid at any time that is still remembered. Guesses cannot displace such keys. */
  wasValid(hash: string): boolean
  markValid(hash: string): void
}

// A revoked key must fail everywhere within 2 s. The other second is for the read itself.
const FRESH_MS = 1_000
// About 5 MB. A key in use is read again every second anyway, so evicting one costs a read.
const MAX_ENTRIES = 10_000

export function makeKeyCache(): KeyCache {
  const entries = new Map<string, { key: Promise<StoredKey | undefined>; readAtMs: number }>()
  const valid = new Set<string>()
  return {
    get(hash, nowMs) {
      const entry = entries.get(hash)
      // A clock that steps back must not keep a revoked key alive, hence the absolute value.
      return entry && Math.abs(nowMs - entry.readAtMs) < FRESH_MS ? entry.key : undefined
    },
    set(hash, nowMs, key) {
      entries.delete(hash)
      entries.set(hash, { key, readAtMs: nowMs })
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!)
      // A failed read says nothing about the key.
      key.catch(() => entries.get(hash)?.key === key && entries.delete(hash))
    },
    wasValid: (hash) => valid.has(hash),
    markValid(hash) {
      valid.delete(hash)
      valid.add(hash)
      if (valid.size > MAX_ENTRIES) valid.delete(valid.values().next().value!)
    },
  }
}
