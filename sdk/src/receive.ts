import { WebhookVerificationError, type WebhookHeaders } from './delivery.ts'
import type { GuicheEvent } from './events.ts'
import { verifyAsync } from './verify-async.ts'

// Shared by the adapters for Express, Fastify, Next and Hono.

export type Receiver = {
  /** The `whsec_…` of the webhook. With a list, any one of them is enough. */
  secret: string | readonly string[]
  /**
   * Store the event under `event.id`, once, and work later: guiche waits 15 seconds. What it throws becomes a 500, and
   * the event is sent again.
   */
  onEvent(event: GuicheEvent): void | Promise<void>
  /** How far the time of signing may lie from this machine's clock: 300 unless told. */
  toleranceSeconds?: number
}

/** `text` says why it was refused, and is empty otherwise. */
export type Verdict = { status: 204 | 400 | 413; text: string }

/** Events have about 500 bytes. Anybody can post to a webhook, and the signature is checked after the last byte. */
export const MAX_BODY_BYTES = 64 * 1024

/** `payload` is undefined if the body was too large. */
export async function receive(
  { secret, onEvent, toleranceSeconds }: Receiver,
  payload: string | Uint8Array | undefined,
  headers: WebhookHeaders,
): Promise<Verdict> {
  if (payload === undefined) return { status: 413, text: 'the body is too large' }
  let event: GuicheEvent
  try {
    event = await verifyAsync(payload, headers, secret, toleranceSeconds === undefined ? {} : { toleranceSeconds })
  } catch (error) {
    // A wrong secret is the receiver's own mistake, and a 400 would hide it.
    if (!(error instanceof WebhookVerificationError) || error.reason === 'bad_secret') throw error
    return { status: 400, text: error.message }
  }
  await onEvent(event)
  return { status: 204, text: '' }
}

export async function receiveRequest(receiver: Receiver, request: Request): Promise<Response> {
  const { status, text } = await receive(receiver, await readBody(chunksOf(request.body)), request.headers)
  return new Response(text || null, { status })
}

/** The bytes as they came, or undefined if there are too many. */
export async function readBody(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const body = new Uint8Array(MAX_BODY_BYTES)
  let length = 0
  for await (const chunk of chunks) {
    if (length + chunk.length > MAX_BODY_BYTES) return undefined
    body.set(chunk, length)
    length += chunk.length
  }
  return body.subarray(0, length)
}

/** Not every runtime can go through a stream by `for await`. */
async function* chunksOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = stream?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}
