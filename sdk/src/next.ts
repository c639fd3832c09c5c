import { makeReceiveRequest, type Receiver } from './receive.ts'

export type { Receiver } from './receive.ts'

/**
 * A route handler of Next.js, in `app/webhooks/route.ts`. It is a plain Fetch handler, and so serves Bun, Deno and
 * Workers too.
 *
 *     export const POST = receiveWebhooks({ secret, onEvent: store })
 */
export function receiveWebhooks(receiver: Receiver): (request: Request) => Promise<Response> {
  return makeReceiveRequest(receiver)
}
