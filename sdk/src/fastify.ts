import type { WebhookHeaders } from './delivery.ts'
import { makeReceive, MAX_BODY_BYTES, type Receiver } from './receive.ts'

export type { Receiver } from './receive.ts'

type FastifyRequest = { body: unknown; headers: WebhookHeaders }
type FastifyReply = { code(status: number): { send(text?: string): unknown } }
type FastifyApp = {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    // Fastify has an overload for each way to parse, and this is what they have in common.
    parse: (...parts: never[]) => unknown,
  ): unknown
  post(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): unknown
}

/**
 * A Fastify plugin. It leaves the body as it came on this route only; all other routes keep their parser.
 *
 *     app.register(receiveWebhooks({ path: '/webhooks', secret, onEvent: store }))
 */
export function receiveWebhooks({
  path,
  ...receiver
}: Receiver & { path: string }): (app: FastifyApp) => Promise<void> {
  const receive = makeReceive(receiver)
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, keepBytes)
    app.post(path, async ({ body, headers }, reply) => {
      const { status, text } = await receive((body ?? '') as Uint8Array, headers)
      return reply.code(status).send(text || undefined)
    })
  }
}

function keepBytes(_request: unknown, body: Uint8Array, done: (error: null, body: Uint8Array) => void): void {
  done(null, body)
}
