import { acceptDelivery, openDelivery, type Payload, type VerifyOptions, type WebhookHeaders } from './delivery.ts'
import type { GuicheEvent } from './events.ts'

const HMAC = { name: 'HMAC', hash: 'SHA-256' }

/** Does what `verify` does, but in every runtime: by WebCrypto, which answers with a promise. */
export async function verifyAsync(
  payload: Payload,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<GuicheEvent> {
  const delivery = openDelivery(payload, headers, secret, options)
  const digests = await Promise.all(delivery.keys.map((key) => digest(key, delivery.signed)))
  return acceptDelivery(payload, delivery, digests, options)
}

async function digest(key: Uint8Array, signed: Uint8Array): Promise<string> {
  const imported = await crypto.subtle.importKey('raw', unshared(key), HMAC, false, ['sign'])
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.sign('HMAC', imported, unshared(signed)))))
}

/** Only compilers from TypeScript 5.7 on know `Uint8Array<ArrayBuffer>`, so it stays out of the declarations. */
function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>
}
