import { verify, type KeyObject } from 'node:crypto'
import { ProviderError, type Hint, type NotificationRequest } from '../../domain/ports/provider.ts'
import { get, startDeadline, type Call, type Deadline } from '../http/call.ts'
import { bodyOf, readOrThrow, type Adapter } from '../http/provider.ts'
import { readHints, readPublicKeys, readWebhooks } from './messages.ts'

// The events of charges repeat the first, and each would cost two calls. A webhook of Woovi has one event.
const EVENTS = [
  'OPENPIX:TRANSACTION_RECEIVED',
  'OPENPIX:DISPUTE_CREATED',
  'OPENPIX:DISPUTE_ACCEPTED',
  'OPENPIX:DISPUTE_REJECTED',
  'OPENPIX:DISPUTE_CANCELED',
]
// In case Woovi ignores the filter by URL.
const MAX_WEBHOOK_PAGES = 10
const OPERATION = 'registerNotifications'

/** Looks for our webhooks first. Two processes at once may create some twice, which is harmless. */
export async function registerNotifications(adapter: Adapter, url: string): Promise<void> {
  const bounds = { operation: OPERATION, deadline: startDeadline(adapter.timings.registerDeadlineMs) }
  for (const event of await findMissing(adapter, url, bounds.deadline)) {
    const body = { webhook: { name: 'guiche', event, url, isActive: true } }
    const call: Call<void> = { method: 'POST', path: '/api/v1/webhook', body, read: () => undefined, secrets: [url] }
    bodyOf(adapter, bounds, await adapter.calls.once(call, bounds))
  }
}

async function findMissing(adapter: Adapter, url: string, deadline: Deadline): Promise<Set<string>> {
  const missing = new Set(EVENTS)
  for (let page = 0, skip = 0; page < MAX_WEBHOOK_PAGES; page++) {
    const query = new URLSearchParams({ url, skip: String(skip), limit: String(adapter.timings.pageSize) })
    const { webhooks, hasNext } = await readOrThrow(
      adapter,
      { ...get(`/api/v1/webhook?${query.toString()}`, readWebhooks), secrets: [url, encodeURIComponent(url)] },
      { operation: OPERATION, deadline },
    )
    for (const webhook of webhooks) if (webhook.url === url && webhook.isActive) missing.delete(webhook.event)
    if (missing.size === 0 || !hasNext || webhooks.length === 0) return missing
    skip += webhooks.length
  }
  throw new ProviderError('refused', `${adapter.name}: ${OPERATION}: too many webhooks to find ours`)
}

const SIGNATURE_HEADER = 'x-webhook-signature'

/**
 * Woovi tests a new URL before we know its keys, so a notification without hints needs no signature. If the keys cannot
 * be fetched, the notification is accepted: a hint credits nothing, it only makes us query the charge.
 */
export async function readNotification(
  signatures: Signatures,
  { headers, body }: NotificationRequest,
): Promise<Hint[] | 'refused'> {
  const hints = readHints(body)
  if (hints.length === 0) return hints
  const signature = headers[SIGNATURE_HEADER]
  if (typeof signature !== 'string') return 'refused'
  return (await signatures.verify(body, signature)) === 'bad' ? 'refused' : hints
}

export async function fetchPublicKeys(
  adapter: Adapter & { timings: { keysDeadlineMs: number } },
): Promise<KeyObject[] | undefined> {
  const reply = await adapter.calls.read(get('/api/v1/webhook/public-keys', readPublicKeys), {
    operation: 'readNotification',
    deadline: startDeadline(adapter.timings.keysDeadlineMs),
  })
  return reply.kind === 'ok' ? reply.body : undefined
}

type Signatures = ReturnType<typeof makeSignatures>

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
