import type { WebhookAnswer } from '../domain/ports/webhook-sender.ts'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import type { Dispatcher } from 'undici'
import { duration, reasonOf } from './reason.ts'

/** One request, from the wait for a connection to the last byte of its response, under one timer. */
export type PendingRequest = {
  /** Begins on a connection. Returns the handler for undici. */
  start(connection: RequestConnection): Dispatcher.DispatchHandler
  abort(reason: Reason): void
  isOver(): boolean
}

export type RequestConnection = {
  /** undici's abort() would open a new connection that nobody needs. */
  destroy(): void
  /** undici is done with the request, perhaps after it is over. */
  onReleased(): void
  /** It leads to an address that is not public. */
  isPrivate(): boolean
}

const MAX_BODY_BYTES = 16 * 1024
const EXCERPT_BYTES = 2 * 1024
const NO_BYTES = Buffer.alloc(0)

export function makePendingRequest(options: {
  deadlineMs: number
  now: () => Date
  /** Whether answers from addresses that are not public are shown. */
  showsPrivateAnswers: boolean
  resolve: (answer: WebhookAnswer) => void
}): PendingRequest {
  const startedAtMs = performance.now()
  let connection: RequestConnection | undefined
  let isOver = false
  let status = 0

  const latencyMs = () => Math.round(performance.now() - startedAtMs)
  const finish = (answer: WebhookAnswer) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    options.resolve(answer)
  }
  const fail = (reason: Reason) => finish({ kind: 'failed', latencyMs: latencyMs(), reason })
  const abort = (reason: Reason) => {
    fail(reason)
    connection?.destroy()
  }
  const timer = setTimeout(() => {
    const time = duration(options.deadlineMs)
    if (status === 0) abort(makeReason('no_answer', `no answer within ${time}`, time))
    else abort(makeReason('no_complete_answer', `no complete answer within ${time}`, time))
  }, options.deadlineMs)

  function start(startedOn: RequestConnection): Dispatcher.DispatchHandler {
    connection = startedOn
    let retryAfterMs: number | null = null
    let bytes = 0
    let excerpt = NO_BYTES
    const succeed = () => {
      const isShown = options.showsPrivateAnswers || !startedOn.isPrivate()
      const shown = isShown ? harmlessText(excerpt) : ''
      finish({ kind: 'answered', status, latencyMs: latencyMs(), retryAfterMs, excerpt: shown })
    }

    return {
      // Without this method undici treats the handler as one of its older kind.
      onRequestStart() {},
      onResponseStart(_controller, statusCode, headers) {
        // Informational responses such as 103 come before the response itself.
        if (statusCode < 200) return
        status = statusCode
        retryAfterMs = readRetryAfter(headers['retry-after'], options.now)
      },
      onResponseData(_controller, chunk) {
        // Copied: the chunk is a view into undici's buffer.
        const wanted = chunk.subarray(0, EXCERPT_BYTES - excerpt.length)
        if (wanted.length > 0) excerpt = Buffer.concat([excerpt, wanted])
        bytes += chunk.length
        if (bytes <= MAX_BODY_BYTES) return
        // The status is known, and the rest is not needed.
        succeed()
        startedOn.destroy()
      },
      onResponseEnd() {
        succeed()
        startedOn.onReleased()
      },
      onResponseError(_controller, error) {
        fail(reasonOf(error, status === 0 ? 'before' : 'answering'))
        startedOn.onReleased()
      },
    }
  }

  return { start, abort, isOver: () => isOver }
}

function readRetryAfter(header: string | string[] | undefined, now: () => Date): number | null {
  const text = (Array.isArray(header) ? header[0] : header)?.trim()
  if (!text) return null
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1_000
  // Date.parse accepts almost anything; only the form of HTTP counts.
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now().getTime())
}

// Drops a character that was cut in two. PostgreSQL cannot store NUL. Escape sequences, right-to-left overrides and
// invisible characters could mislead the reader.
function harmlessText(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = bytes.toString('utf8')
  const whole = bytes.length === EXCERPT_BYTES ? text.replace(/\u{fffd}$/u, '') : text
  return whole.replaceAll('\r\n', '\n').replaceAll(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}
