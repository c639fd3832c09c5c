import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import type { UnreadEntry } from '../../domain/ports/provider.ts'

/** An entry that cannot be read, and when it was, where it says so. */
export type Unread = UnreadEntry & { occurredAt: Date | null }

export type TellUnread = (entry: UnreadEntry) => void

// Past this many the log has said enough, and repeats itself.
const MAX_TOLD = 1_000

/**
 * Tells operators of entries that may be money and cannot be read, in the log and the metric. Each once, although every sweep and every closing meets it
 * again.
 */
export function makeTellUnread(options: { name: string; log: Log; metrics?: Metrics | undefined }): TellUnread {
  const { name, log, metrics } = options
  const told = new Set<string>()
  return (entry) => {
    const key = unreadKey(entry)
    if (told.has(key)) return
    if (told.size === MAX_TOLD) told.clear()
    told.add(key)
    const { endToEndId, text } = entry
    metrics?.unread.inc({ provider: name })
    log.error({ provider: name, endToEndId, text }, 'a transaction that may be money cannot be read: ask the provider')
  }
}

export function unreadKey({ endToEndId, text }: UnreadEntry): string {
  return `${endToEndId} ${text}`
}

// Enough to find the entry at the provider.
const MAX_SHOWN = 60

/** An id that is none, as far as it helps to find the entry. */
export function showOdd(id: unknown): string {
  if (typeof id !== 'string' || id === '') return ''
  return ` (its id is ${id.replaceAll(/\p{C}/gu, '\u{fffd}').slice(0, MAX_SHOWN)})`
}
