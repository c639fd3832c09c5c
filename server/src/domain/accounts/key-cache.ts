import type { Caller, OperatorCaller } from './callers.ts'

export type StoredKey = {
  caller: Caller | OperatorCaller
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

/** Holds reads and not their results, so that all who ask while one is under way share it. Undefined remembers a key that does not exist. */
export type KeyCache = {
  get(hash: string, nowMs: number): Promise<StoredKey | undefined> | undefined
  /** The time is that before the read: a revocation that commits during the read may be missing from it. */
  set(hash: string, nowMs: number, key: Promise<StoredKey | undefined>): void
}

// A revoked key must fail everywhere within 2 s; the second half of that is for the read itself.
const FRESH_MS = 1_000
// About 5 MB. Keys in use are read again each second anyway, so forgetting one costs a read.
const MAX_ENTRIES = 10_000

export function makeKeyCache(): KeyCache {
  const entries = new Map<string, { key: Promise<StoredKey | undefined>; readAtMs: number }>()
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
      // A failed read tells nothing about the key.
      key.catch(() => entries.get(hash)?.key === key && entries.delete(hash))
    },
  }
}
