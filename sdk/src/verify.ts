import { acceptDelivery, openDelivery, type Payload, type VerifyOptions, type WebhookHeaders } from './delivery.ts'
import type { GuicheEvent } from './events.ts'

export {
  WebhookVerificationError,
  type VerificationReason,
  type VerifyOptions,
  type WebhookHeaders,
} from './delivery.ts'
export type { EventOf, GuicheEvent, OtherEvent, OtherKind } from './events.ts'

/**
 * Returns the event if it comes from the guiche that holds one of the secrets, and was signed just now; throws a
 * `WebhookVerificationError` otherwise.
 *
 * `payload` must be the body as it came over the wire. The signature is over bytes: a body that was parsed and made
 * into JSON again differs in a space, an escape or the writing of a number, and a genuine message then looks forged.
 * With several secrets, any one of them is enough.
 *
 * It needs `node:crypto`, which Node, Bun and Deno have. `verifyAsync` does the same everywhere.
 *
 * What the signature cannot tell is whether the message came before: remember `webhook-id`, and do each only once.
 */
export function verify(
  payload: Payload,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): GuicheEvent {
  const { createHmac } = loadCrypto()
  const delivery = openDelivery(payload, headers, secret, options)
  const digests = delivery.keys.map((key) => createHmac('sha256', key).update(delivery.signed).digest('base64'))
  return acceptDelivery(payload, delivery, digests)
}

type Hmac = { update(data: Uint8Array): Hmac; digest(encoding: 'base64'): string }
type Crypto = { createHmac(algorithm: 'sha256', key: Uint8Array): Hmac }

/** At the first use and not by an import, with which the whole package could not be loaded at the edge. */
function loadCrypto(): Crypto {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } }
  const crypto = process?.getBuiltinModule?.('node:crypto')
  if (crypto === undefined) throw new Error('this runtime has no node:crypto: use verifyAsync, with the same arguments')
  return crypto as Crypto
}
