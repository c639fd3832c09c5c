import { makeReceiveRequest, type Receiver } from './receive.ts'

export type { Receiver } from './receive.ts'

/**
 * A handler of Hono.
 *
 *     app.post('/webhooks', receiveWebhooks({ secret, onEvent: store }))
 */
export function receiveWebhooks(receiver: Receiver): (context: { req: { raw: Request } }) => Promise<Response> {
  const receive = makeReceiveRequest(receiver)
  return ({ req }) => receive(req.raw)
}
