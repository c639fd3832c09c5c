import type { KeyObject } from 'node:crypto'
import { ProviderError, type Hint, type NotificationRequest } from '../../domain/ports/provider.ts'
import { startDeadline, type Deadline } from '../http/deadline.ts'
import type { WooviAdapter } from './calls.ts'
import { readHints, readPublicKeys, readWebhooks, type Webhook } from './messages.ts'
import type { Signatures } from './signature.ts'

// Sent for every Pix, with a charge or without. The events of charges tell of the same money once more, and each would cost us two calls.
const EVENT = 'OPENPIX:TRANSACTION_RECEIVED'
// As many pages of a hundred as any account has webhooks, in case the filter by address is not heeded.
const MAX_WEBHOOK_PAGES = 10

/**
 * Woovi keeps any number of webhooks, so ours is looked for first. Two processes that look at the same time may make two: then each Pix is told twice, which
 * does no harm. One for an address that is ours no longer, after a change of PUBLIC_URL or SECRET_KEY, is for the operator to delete there.
 */
export async function registerNotifications(adapter: WooviAdapter, url: string): Promise<void> {
  const { calls, timings } = adapter
  const deadline = startDeadline(timings.registerDeadlineMs)
  if (await isRegistered(adapter, url, deadline)) return
  const webhook = { name: 'guiche', event: EVENT, url, isActive: true }
  const reply = await calls.call({
    operation: 'registerNotifications',
    method: 'POST',
    path: '/api/v1/webhook',
    body: { webhook },
    deadline,
    read: () => undefined,
    secrets: [url],
  })
  // Not repeated here: if it was made and its answer lost, the next round finds it.
  if (reply.kind !== 'ok') throw calls.repeat.errorOf('registerNotifications', reply)
}

async function isRegistered(adapter: WooviAdapter, url: string, deadline: Deadline): Promise<boolean> {
  const isOurs = (webhook: Webhook) => webhook.url === url && webhook.event === EVENT && webhook.isActive
  for (let page = 0, skip = 0; page < MAX_WEBHOOK_PAGES; page++) {
    const { webhooks, hasNext } = await askWebhooks(adapter, { url, skip, deadline })
    if (webhooks.some(isOurs)) return true
    if (!hasNext || webhooks.length === 0) return false
    skip += webhooks.length
  }
  throw new ProviderError('refused', `${adapter.name}: registerNotifications: too many webhooks to find ours among`)
}

async function askWebhooks(adapter: WooviAdapter, question: { url: string; skip: number; deadline: Deadline }) {
  const { calls, timings } = adapter
  const { url, skip, deadline } = question
  const query = new URLSearchParams({ url, skip: String(skip), limit: String(timings.pageSize) })
  const reply = await calls.repeat.read(deadline, () =>
    calls.call({
      operation: 'registerNotifications',
      method: 'GET',
      path: `/api/v1/webhook?${query.toString()}`,
      deadline,
      read: readWebhooks,
      // Whoever knows the address can knock at it.
      secrets: [url, encodeURIComponent(url)],
    }),
  )
  if (reply.kind === 'ok') return reply.body
  throw calls.repeat.errorOf('registerNotifications', reply)
}

const SIGNATURE_HEADER = 'x-webhook-signature'

/**
 * A notification that asks for nothing needs no signature: Woovi's test of a new address must be answered before we can know its keys. One that cannot be judged,
 * because Woovi's keys are out of reach, is taken: it came to an address that is secret, and all that it can do is make us ask.
 */
export async function readNotification(
  signatures: Signatures,
  { headers, body }: NotificationRequest,
): Promise<Hint[] | 'refused'> {
  const hints = readHints(body)
  if (hints.length === 0) return hints
  const signature = headers[SIGNATURE_HEADER]
  if (typeof signature !== 'string') return 'refused'
  return (await signatures.judge(body, signature)) === 'bad' ? 'refused' : hints
}

export async function fetchPublicKeys({ calls, timings }: WooviAdapter): Promise<KeyObject[] | undefined> {
  const deadline = startDeadline(timings.keysDeadlineMs)
  const reply = await calls.repeat.read(deadline, () =>
    calls.call({
      operation: 'readNotification',
      method: 'GET',
      path: '/api/v1/webhook/public-keys',
      deadline,
      read: readPublicKeys,
    }),
  )
  return reply.kind === 'ok' ? reply.body : undefined
}
