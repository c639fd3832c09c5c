import { acceptDelivery, openDelivery, type Payload, type VerifyOptions, type WebhookHeaders } from './delivery.ts'
import type { GuicheEvent } from './events.ts'

const HMAC = { name: 'HMAC', hash: 'SHA-256' }

/** `verify` for every runtime: by WebCrypto, which answers with a promise. */
export async function verifyAsync(
  payload: Payload,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<GuicheEvent> {
  const delivery = openDelivery(payload, headers, secret, options)
  const digests = await Promise.all(delivery.keys.map((key) => digest(key, delivery.signed)))
  return acceptDelivery(payload, delivery, digests)
}

async function digest(key: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const imported = await crypto.subtle.importKey('raw', key, HMAC, false, ['sign'])
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.sign('HMAC', imported, signed))))
}
