import type { WebhookAnswer } from '../domain/ports/webhook-sender.ts'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import type { Dispatcher } from 'undici'
import { duration, reasonOf } from './reason.ts'

/** One request and its answer, from the wait for a connection to the last byte, under one timer. */
export type Exchange = {
  /** Goes on a connection; what undici is to tell. */
  start(line: Line): Dispatcher.DispatchHandler
  giveUp(reason: Reason): void
  isOver(): boolean
}

export type Line = {
  /** undici's own abort() makes another connection in place of the one that it destroys, for nobody. */
  destroy(): void
  /** undici has let go of the request, which may be after it is over. */
  released(): void
}

const MAX_BODY_BYTES = 16 * 1024
const EXCERPT_BYTES = 2 * 1024

export function makeExchange(options: {
  deadlineMs: number
  now: () => Date
  done: (answer: WebhookAnswer) => void
}): Exchange {
  const startedAt = performance.now()
  let line: Line | undefined
  let over = false
  let status = 0

  const latencyMs = () => Math.round(performance.now() - startedAt)
  const finish = (answer: WebhookAnswer) => {
    if (over) return
    over = true
    clearTimeout(timer)
    options.done(answer)
  }
  const fail = (reason: Reason) => finish({ kind: 'failed', latencyMs: latencyMs(), reason })
  const giveUp = (reason: Reason) => {
    fail(reason)
    line?.destroy()
  }
  const timer = setTimeout(() => {
    const time = duration(options.deadlineMs)
    if (status === 0) giveUp(makeReason('no_answer', `no answer within ${time}`, time))
    else giveUp(makeReason('no_complete_answer', `no complete answer within ${time}`, time))
  }, options.deadlineMs)

  function start(onLine: Line): Dispatcher.DispatchHandler {
    line = onLine
    let retryAfterMs: number | null = null
    let bytes = 0
    let excerpt = Buffer.alloc(0)
    const succeed = () =>
      finish({ kind: 'answered', status, latencyMs: latencyMs(), retryAfterMs, excerpt: harmlessText(excerpt) })

    return {
      // undici takes a handler without this one for a handler of its older kind.
      onRequestStart() {},
      onResponseStart(_controller, statusCode, headers) {
        // Hints such as 103 come before the answer and are none.
        if (statusCode < 200) return
        status = statusCode
        retryAfterMs = readRetryAfter(headers['retry-after'], options.now)
      },
      onResponseData(_controller, chunk) {
        // Copied, because the chunk is a view into a buffer of undici's.
        const wanted = chunk.subarray(0, EXCERPT_BYTES - excerpt.length)
        if (wanted.length > 0) excerpt = Buffer.concat([excerpt, wanted])
        bytes += chunk.length
        if (bytes <= MAX_BODY_BYTES) return
        // The status has been said, and nobody wants the rest.
        succeed()
        onLine.destroy()
      },
      onResponseEnd() {
        succeed()
        onLine.released()
      },
      onResponseError(_controller, error) {
        fail(reasonOf(error, status === 0 ? 'before' : 'answering'))
        onLine.released()
      },
    }
  }

  return { start, giveUp, isOver: () => over }
}

function readRetryAfter(header: string | string[] | undefined, now: () => Date): number | null {
  const text = (Array.isArray(header) ? header[0] : header)?.trim()
  if (!text) return null
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1_000
  // Date.parse takes almost anything; only the form that HTTP prescribes is meant.
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now().getTime())
}

// A character that was cut in two at the end is left out. NUL cannot be stored in PostgreSQL; escape sequences,
// right-to-left overrides and invisible characters would play tricks on whoever reads it.
function harmlessText(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = bytes.toString('utf8')
  const whole = bytes.length === EXCERPT_BYTES ? text.replace(/\u{fffd}$/u, '') : text
  return whole.replaceAll('\r\n', '\n').replaceAll(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}
