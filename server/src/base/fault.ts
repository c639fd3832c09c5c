/**
 * A refused request. Programs branch on the code and its details; the text is for people. http/server/envelope.ts maps
 * each code to an HTTP status.
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

export function invalidField(field: string, text: string): Fault {
  return new Fault('field_invalid', text, { details: { field } })
}

export type FaultDetails = Readonly<Record<string, string | number>>

/** A code is never renamed, because callers branch on it. The comment after a code names its details. */
export const FAULT_CODES = [
  // The request is wrong.
  'bad_request', // the request is malformed; no program can do more than report it
  'body_invalid', // the body is not JSON, or has text that cannot be stored
  'field_invalid', // field: a field of the body, the query or the headers breaks its rule
  'value_too_small', // minCents
  'value_too_large', // maxCents
  'value_not_above_fee', // feeCents
  'return_url_not_allowed', // origin
  'logo_refused', // reason: bytes (there are too many), or an ImageRefusal of base/image-file.ts
  'url_not_allowed', // reason: a code of domain/ports/delivery-reasons.ts; detail: what it is about, if anything
  'password_length', // min, max
  'password_too_common',
  'password_too_simple',
  'password_personal', // it is mostly the user's name or e-mail, or the name of the service
  'password_wrong',
  'terms_invalid', // fee and limits contradict each other
  'window_invalid', // maxHours, maxDays or maxLines, if the window is too long
  'provider_unknown', // provider
  'search_too_slow',
  'resolution_invalid', // kind; allowed: the resolutions for this kind, separated by commas
  // The caller is unknown, or may not do this.
  'key_missing',
  'key_invalid',
  'not_signed_in',
  'reauthentication_required',
  'second_factor_required',
  'foreign_origin',
  'scope_missing', // scope, if a key lacks one
  'account_suspended',
  'payer_unconfirmable', // no payment provider of the service tells who paid
  'payer_mismatched', // the payment is of another person than its charge requires
  'codes_not_offered', // no payment provider of the service has lasting codes
  'not_enabled', // the deployment does not allow it
  'mail_not_set_up',
  'signature_wrong',
  'not_found',
  // The state of something does not allow it.
  'email_taken',
  'external_id_taken', // paymentLinkId
  'order_paid', // paymentLinkId
  'key_limit', // maxKeys
  'webhook_limit', // maxWebhooks
  'member_limit', // maxMembers
  'already_member',
  'last_owner',
  'passkey_refused',
  'passkey_limit', // maxPasskeys
  'account_switched', // accountId: the account that the session acts for
  'invitation_used',
  'invitation_expired',
  'invitation_other_email',
  'shop_changed', // version
  'not_cancelable', // status
  'payment_held', // heldCents
  'history_changed', // historyId; last: the last position of it
  'not_refundable', // status
  'already_refunded',
  'refund_too_large', // leftCents
  'refund_too_old', // days: for how long after its settlement a payment can be refunded
  'balance_too_small', // balanceCents, neededCents
  'payout_limit', // maxPayouts
  'code_limit', // maxCodes
  'payout_ended', // status
  'dispute_ended', // status
  'evidence_limit', // maxFiles
  'refund_ended', // status
  'refund_not_sent',
  'refund_in_progress', // afterHours: how long after sending an operator can end it
  'note_limit', // maxNotes
  'exception_resolved',
  'exception_resolving',
  'payment_rest_held',
  'payment_not_credited',
  'payment_returned',
  'payment_refunded',
  'payment_below_fee', // feeCents
  'charge_not_named',
  'charge_completed',
  'in_flight', // another request with this Idempotency-Key or externalId is in progress
  'idempotency_mismatch',
  // Try again later.
  'rate_limited',
  'unavailable',
  'provider_refused',
  'provider_unavailable',
  'code_altered',
] as const
export type FaultCode = (typeof FAULT_CODES)[number]
