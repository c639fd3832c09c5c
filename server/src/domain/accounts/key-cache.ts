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
  known(hash: string, nowMs: number): StoredKey | undefined
  /** `nowMs` is the time before the read: a revocation that commits during the read may be missing from it. */
  set(hash: string, nowMs: number, reading: Promise<StoredKey | undefined>): void
  /** An operator's key as it was last read, within the last hours: for /metrics while the database is away. */
  lastRead(hash: string, nowMs: number): StoredKey | undefined
  /** Whether the key was valid at any time that is still remembered. Guesses cannot displace such keys. */
  wasValid(hash: string): boolean
  markValid(hash: string): void
}

// A revoked key must fail everywhere within 2 s. The other second is for the read itself.
const FRESH_MS = 1_000
// About 5 MB. A key in use is read again every second anyway, so evicting one costs a read.
const MAX_ENTRIES = 10_000
// Outlasts an outage that begins in the evening. A key that is revoked meanwhile shows metrics and nothing else.
const LAST_READ_MS = 12 * 3_600_000
// Operators' keys are made by hand, one for each program that scrapes.
const MAX_LAST_READ = 100

type Entry = { reading: Promise<StoredKey | undefined>; key: StoredKey | undefined; readAtMs: number }

export function makeKeyCache(): KeyCache {
  const entries = new Map<string, Entry>()
  const valid = new Set<string>()
  const lastReads = new Map<string, { key: StoredKey; readAtMs: number }>()

  function fresh(hash: string, nowMs: number): Entry | undefined {
    const entry = entries.get(hash)
    // A clock that steps back must not keep a revoked key alive, hence the absolute value.
    return entry && Math.abs(nowMs - entry.readAtMs) < FRESH_MS ? entry : undefined
  }

  function keepLastRead(hash: string, key: StoredKey | undefined, readAtMs: number): void {
    lastReads.delete(hash)
    if (key?.caller.kind !== 'operator') return
    lastReads.set(hash, { key, readAtMs })
    if (lastReads.size > MAX_LAST_READ) lastReads.delete(lastReads.keys().next().value!)
  }

  return {
    get: (hash, nowMs) => fresh(hash, nowMs)?.reading,
    known: (hash, nowMs) => fresh(hash, nowMs)?.key,
    set(hash, nowMs, reading) {
      const entry: Entry = { reading, key: undefined, readAtMs: nowMs }
      entries.delete(hash)
      entries.set(hash, entry)
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!)
      reading.then(
        (key) => {
          entry.key = key
          keepLastRead(hash, key, nowMs)
        },
        // A failed read does not tell whether the key is valid.
        () => entries.get(hash) === entry && entries.delete(hash),
      )
    },
    lastRead(hash, nowMs) {
      const last = lastReads.get(hash)
      return last && Math.abs(nowMs - last.readAtMs) < LAST_READ_MS ? last.key : undefined
    },
    wasValid: (hash) => valid.has(hash),
    markValid(hash) {
      valid.delete(hash)
      valid.add(hash)
      if (valid.size > MAX_ENTRIES) valid.delete(valid.values().next().value!)
    },
  }
}
