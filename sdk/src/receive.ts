import { decodeSecrets, WebhookVerificationError, type WebhookHeaders } from './delivery.ts'
import type { GuicheEvent } from './events.ts'
import { verifyAsync } from './verify-async.ts'

// Shared by the adapters for Express, Fastify, Next and Hono.

export type Receiver = {
  /**
   * The `whsec_…` of the webhook. With a list, any one of them is enough. A function is called at each delivery, for
   * secrets that do not exist yet when the program is built or loaded.
   */
  secret: Secret | (() => Secret)
  /**
   * Store the event under `event.id`, once, and work later: guiche waits 15 seconds. If it throws, the answer is 500,
   * and the event is sent again.
   */
  onEvent(event: GuicheEvent): void | Promise<void>
  /**
   * Gets the examples that people send from the dashboard, in place of `onEvent`: nothing happened. Without it they are
   * answered with 200, and ignored.
   */
  onTest?(event: GuicheEvent): void | Promise<void>
  /** Gets what `onEvent` threw, which the answer does not show. Defaults to `console.error`. */
  onError?(error: unknown): void
  /** How far the time of signing may lie from this machine's clock. Defaults to 300. */
  toleranceSeconds?: number
}
type Secret = string | readonly string[]

/** `text` says why the delivery was refused or ignored, and is empty otherwise. */
export type Verdict = { status: 200 | 204 | 400 | 413 | 500; text: string }
/** `payload` is undefined if the body was too large. */
export type Receive = (payload: string | Uint8Array | undefined, headers: WebhookHeaders) => Promise<Verdict>

/** Events have about 500 bytes. Anybody can post to a webhook, and the signature is checked after the last byte. */
export const MAX_BODY_BYTES = 64 * 1024

/** Throws if the secret is invalid: the program then fails at its start, and not at its first delivery. */
export function makeReceive({ secret, onEvent, onTest, onError = logError, toleranceSeconds }: Receiver): Receive {
  if (typeof secret !== 'function') decodeSecrets(secret)
  const options = { acceptTests: true, ...(toleranceSeconds !== undefined && { toleranceSeconds }) }
  const fail = (error: unknown): Verdict => {
    onError(error)
    return { status: 500, text: 'the event could not be stored' }
  }
  return async (payload, headers) => {
    if (payload === undefined) return { status: 413, text: 'the body is too large' }
    let event: GuicheEvent
    try {
      event = await verifyAsync(payload, headers, typeof secret === 'function' ? secret() : secret, options)
    } catch (error) {
      // A wrong secret is the receiver's own mistake, and a 400 would hide it.
      if (!(error instanceof WebhookVerificationError) || error.reason === 'bad_secret') return fail(error)
      return { status: 400, text: error.message }
    }
    if (event.test && !onTest) return { status: 200, text: 'the test is genuine, and was ignored' }
    try {
      await (event.test && onTest ? onTest(event) : onEvent(event))
      return { status: 204, text: '' }
    } catch (error) {
      return fail(error)
    }
  }
}

function logError(error: unknown): void {
  // Without `onError` there is no other place for the error, and nobody would know why events are repeated.
  // oxlint-disable-next-line no-console
  console.error('a webhook of guiche could not be received:', error)
}

/** A Fetch handler. */
export function makeReceiveRequest(receiver: Receiver): (request: Request) => Promise<Response> {
  const receive = makeReceive(receiver)
  return async (request) => {
    const { status, text } = await receive(await readBody(chunksOf(request.body)), request.headers)
    return new Response(text || null, { status })
  }
}

/** Returns the bytes as they came, or undefined if there are too many. */
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

/** Not every runtime can read a stream with `for await`. */
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
