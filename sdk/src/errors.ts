import type { ErrorCode, FullDeposit } from './types.ts'

/**
 * Codes that only the client sets. `network`: no answer came. `timeout`: none came in time. `unexpected_answer`: the
 * answer is not from guiche, perhaps from a proxy. `not_paid`: the charge that was waited for expired or was canceled.
 */
export type ClientErrorCode = 'network' | 'timeout' | 'unexpected_answer' | 'not_paid'

/** Any string is allowed, because a newer server may send a code that this version does not know. */
export type GuicheErrorCode = ErrorCode | ClientErrorCode | (string & {})

export type ErrorDetails = {
  status?: number | undefined
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  attempts?: number | undefined
  idempotencyKey?: string | undefined
  paymentLinkId?: string | undefined
  deposit?: FullDeposit | undefined
  cause?: unknown
}

/** Branch on `code`; `message` is for people and may change. Neither holds the key, so both may be logged. */
export class GuicheError extends Error {
  override name = 'GuicheError'
  readonly code: GuicheErrorCode
  /** The HTTP status, if an answer came. */
  readonly status: number | undefined
  /** Quote it when you ask the operator about the request. */
  readonly requestId: string | undefined
  /** How long the server asks to wait before the next attempt. */
  readonly retryAfterSeconds: number | undefined
  /** How often the request was sent. */
  readonly attempts: number
  /**
   * The key with which the request was sent, if it creates something. Give it to the next call: if this request took
   * effect although no answer came, that call returns what it created.
   */
  readonly idempotencyKey: string | undefined
  /** With `external_id_taken` and `order_paid`: the deposit of that order. */
  readonly paymentLinkId: string | undefined
  /** With `not_paid` and `payment_held` of `waitUntilPaid`: the deposit, as it was last seen. */
  readonly deposit: FullDeposit | undefined

  constructor(code: GuicheErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.status = details.status
    this.requestId = details.requestId
    this.retryAfterSeconds = details.retryAfterSeconds
    this.attempts = details.attempts ?? 1
    this.idempotencyKey = details.idempotencyKey
    this.paymentLinkId = details.paymentLinkId
    this.deposit = details.deposit
  }

  /** True if the same request may succeed later. */
  get isTransient(): boolean {
    const { code, status = 0 } = this
    // The provider's refusal comes as 502 and is final. A proxy's 502 has no code.
    if (code === 'provider_refused') return false
    return code === 'network' || code === 'timeout' || code === 'in_flight' || TRANSIENT.has(status) || status >= 500
  }
}

/** Request time-out, and too many requests. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 429])
