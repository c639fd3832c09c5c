import type { KeyObject } from 'node:crypto'
import { ProviderError, type Hint, type NotificationRequest } from '../../domain/ports/provider.ts'
import { get, startDeadline, type Call, type Deadline } from '../http/call.ts'
import { bodyOf, readOrThrow, type Adapter } from '../http/provider.ts'
import { readHints, readPublicKeys, readWebhooks } from './messages.ts'
import type { Signatures } from './signature.ts'

// The events of charges repeat it, and each would cost two calls.
const EVENT = 'OPENPIX:TRANSACTION_RECEIVED'
// In case Woovi ignores the filter by URL.
const MAX_WEBHOOK_PAGES = 10
const OPERATION = 'registerNotifications'

/** Looks for our webhook first. Two processes at once may create two, which is harmless. */
export async function registerNotifications(adapter: Adapter, url: string): Promise<void> {
  const bounds = { operation: OPERATION, deadline: startDeadline(adapter.timings.registerDeadlineMs) }
  if (await isRegistered(adapter, url, bounds.deadline)) return
  const body = { webhook: { name: 'guiche', event: EVENT, url, isActive: true } }
  const call: Call<void> = { method: 'POST', path: '/api/v1/webhook', body, read: () => undefined, secrets: [url] }
  bodyOf(adapter, bounds, await adapter.calls.once(call, bounds))
}

async function isRegistered(adapter: Adapter, url: string, deadline: Deadline): Promise<boolean> {
  for (let page = 0, skip = 0; page < MAX_WEBHOOK_PAGES; page++) {
    const query = new URLSearchParams({ url, skip: String(skip), limit: String(adapter.timings.pageSize) })
    const { webhooks, hasNext } = await readOrThrow(
      adapter,
      { ...get(`/api/v1/webhook?${query.toString()}`, readWebhooks), secrets: [url, encodeURIComponent(url)] },
      { operation: OPERATION, deadline },
    )
    if (webhooks.some((webhook) => webhook.url === url && webhook.event === EVENT && webhook.isActive)) return true
    if (!hasNext || webhooks.length === 0) return false
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
