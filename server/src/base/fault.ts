/**
 * A refused request. The code and its details are what programs branch on; the text is for the caller's eyes and never holds internals.
 * The domain names no HTTP status: http/envelope.ts maps each code to one.
 */
export class Fault extends Error {
  override name = 'Fault'
  readonly code: FaultCode
  readonly details: FaultDetails | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: FaultCode,
    text: string,
    options: { details?: FaultDetails; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(text, { cause: options.cause })
    this.code = code
    this.details = options.details
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** What a code is about, by name: amounts in cents, states. */
export type FaultDetails = Readonly<Record<string, string | number>>

/** Callers branch on them, so one is never renamed. The web has words for some; codes.test.ts compares. */
export const FAULT_CODES = [
  'bad_request',
  'value_too_small', // minCents
  'value_too_large', // maxCents
  'value_not_above_fee', // feeCents
  'url_not_allowed', // reason, detail
  'key_missing',
  'key_invalid',
  'not_signed_in',
  'reauthentication_required',
  'foreign_origin',
  'password_too_common',
  'password_too_simple',
  'password_personal',
  'password_wrong',
  'mail_not_set_up',
  'second_factor_required',
  'scope_missing',
  'account_suspended',
  'not_enabled',
  'signature_wrong',
  'not_found',
  'conflict',
  'external_id_taken',
  'not_cancelable', // status
  'payment_held', // heldCents
  'not_refundable', // status
  'already_refunded',
  'refund_too_large', // leftCents
  'balance_too_small', // balanceCents, neededCents
  'exception_resolved',
  'exception_resolving',
  'payment_rest_held',
  'payment_not_credited',
  'payment_returned',
  'payment_refunded',
  'payment_below_fee', // feeCents
  'charge_not_named',
  'charge_completed',
  'in_flight',
  'idempotency_mismatch',
  'rate_limited',
  'unavailable',
  'provider_refused',
  'provider_unavailable',
] as const
export type FaultCode = (typeof FAULT_CODES)[number]
