/**
 * A refused request. The code is what programs branch on; the text is for the caller's eyes and never holds internals.
 * The domain names no HTTP status: http/envelope.ts maps each code to one.
 */
export class Fault extends Error {
  override name = 'Fault'
  readonly code: FaultCode
  readonly retryAfterSeconds: number | undefined

  constructor(code: FaultCode, text: string, options: { retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(text, { cause: options.cause })
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

export type FaultCode =
  | 'bad_request'
  | 'key_missing'
  | 'key_invalid'
  | 'not_signed_in'
  | 'reauthentication_required'
  | 'foreign_origin'
  | 'password_too_common'
  | 'password_too_simple'
  | 'password_personal'
  | 'mail_not_set_up'
  | 'second_factor_required'
  | 'scope_missing'
  | 'account_suspended'
  | 'not_enabled'
  | 'signature_wrong'
  | 'not_found'
  | 'conflict'
  | 'in_flight'
  | 'idempotency_mismatch'
  | 'rate_limited'
  | 'unavailable'
  | 'provider_refused'
  | 'provider_unavailable'
