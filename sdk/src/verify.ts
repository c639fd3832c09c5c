import { acceptDelivery, openDelivery, type Payload, type VerifyOptions, type WebhookHeaders } from './delivery.ts'
import type { GuicheEvent } from './events.ts'
import { nodeCrypto } from './node-crypto.ts'

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
 * `payload` must be the body as it came over the wire. The signature is over bytes. A body that was parsed and made
 * into JSON again differs in a space, an escape or the form of a number, so a genuine message looks forged. With
 * several secrets, any one of them is enough.
 *
 * It needs `node:crypto`, which Node, Bun and Deno have. `verifyAsync` does the same everywhere.
 *
 * The signature cannot tell whether the message came before: remember `webhook-id`, and process each only once.
 */
export function verify(
  payload: Payload,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): GuicheEvent {
  const { createHmac } = nodeCrypto('use verifyAsync, with the same arguments')
  const delivery = openDelivery(payload, headers, secret, options)
  const digests = delivery.keys.map((key) => createHmac('sha256', key).update(delivery.signed).digest('base64'))
  return acceptDelivery(payload, delivery, digests, options)
}
