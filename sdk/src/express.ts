import type { WebhookHeaders } from './delivery.ts'
import { makeReceive, readBody, type Receive, type Receiver } from './receive.ts'

export type { Receiver } from './receive.ts'

type ExpressRequest = AsyncIterable<Uint8Array> & { headers: WebhookHeaders; body?: unknown }
type ExpressResponse = { status(code: number): { send(text: string): unknown } }

/**
 * An Express handler. Put it before any `app.use(express.json())`: it reads the body itself, and also takes what
 * `express.raw` left. It refuses a parsed body with an answer that says so.
 *
 *     app.post('/webhooks', receiveWebhooks({ secret, onEvent: store }))
 */
export function receiveWebhooks(
  receiver: Receiver,
): (request: ExpressRequest, response: ExpressResponse, next: (error: unknown) => void) => void {
  const receive = makeReceive(receiver)
  return (request, response, next) => {
    answer(receive, request, response).catch(next)
  }
}

async function answer(receive: Receive, request: ExpressRequest, response: ExpressResponse): Promise<void> {
  // A parsed body is not bytes. Verification refuses it with a message that says what to do.
  const body = (request.body ?? (await readBody(request))) as Uint8Array | undefined
  const { status, text } = await receive(body, request.headers)
  response.status(status).send(text)
}
