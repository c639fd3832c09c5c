import type { FaultCode } from '../../base/fault.ts'

type Meaning = [status: number, text: string]

/** The only place that maps a code of the domain to an HTTP status. The texts are those of the documentation. */
const DOMAIN_ERRORS: Record<FaultCode, Meaning> = {
  bad_request: [400, 'A field, a parameter or the request itself is wrong. The text says which.'],
  body_invalid: [400, 'The body is not JSON, or has text that cannot be stored.'],
  field_invalid: [400, 'A field of the body, the query or the headers breaks its rule. The text names it.'],
  value_too_small: [400, 'The value is below the minimum of the account.'],
  value_too_large: [400, 'The value is above the maximum of the account, or above what its balance can still hold.'],
  value_not_above_fee: [400, 'The fee would take the whole value.'],
  url_not_allowed: [400, 'A webhook cannot be sent to this URL. The text says why.'],
  password_length: [400, 'Dashboard only: the password is too short or too long.'],
  password_too_common: [400, 'Dashboard only: many people use this password.'],
  password_too_simple: [400, 'Dashboard only: this password is easy to guess.'],
  password_personal: [400, 'Dashboard only: this password contains the name or e-mail of its owner.'],
  password_wrong: [400, 'Dashboard only: the password is wrong.'],
  terms_invalid: [400, 'The fee and the limits contradict each other.'],
  window_invalid: [400, 'The period is empty or too long.'],
  provider_unknown: [400, 'No provider of this name is configured.'],
  resolution_invalid: [400, 'An exception of this kind cannot be resolved this way.'],
  key_missing: [401, 'The request carries no API key.'],
  key_invalid: [401, 'The API key is unknown, revoked or expired.'],
  not_signed_in: [401, 'Dashboard only: there is no session.'],
  reauthentication_required: [403, 'Dashboard only: enter the password again.'],
  second_factor_required: [403, 'Dashboard only: turn on the second factor first.'],
  foreign_origin: [403, 'Dashboard only: the request comes from another site.'],
  scope_missing: [403, 'The API key lacks the scope of this operation, or the role of the member does.'],
  account_suspended: [403, 'The operator suspended the account. Deposits and balance stay readable.'],
  not_enabled: [403, 'The operator has not enabled this.'],
  mail_not_set_up: [403, 'Dashboard only: this service cannot send e-mail.'],
  signature_wrong: [403, 'Provider callbacks only: the signature does not match.'],
  not_found: [404, 'It does not exist, or it belongs to another account.'],
  email_taken: [409, 'An account or an operator has this e-mail address.'],
  external_id_taken: [
    409,
    'Another deposit that is PENDING or COMPLETED has this `externalId`. The text and `Location` name it.',
  ],
  order_paid: [409, 'The order was paid, by another deposit or with another value. `Location` names the deposit.'],
  key_limit: [409, 'The account has as many active API keys as it can have.'],
  webhook_limit: [409, 'The account has as many webhooks as it can have.'],
  member_limit: [409, 'Dashboard only: the account has as many members and open invitations as it can have.'],
  already_member: [409, 'Dashboard only: this person is a member of the account.'],
  last_owner: [409, 'Dashboard only: the account would have no owner.'],
  passkey_refused: [409, 'Dashboard only: the passkey is no valid answer to a challenge of this service.'],
  passkey_limit: [409, 'Dashboard only: the person has as many passkeys as they can have.'],
  account_switched: [409, 'Dashboard only: another tab chose another account. Load the page again.'],
  invitation_used: [409, 'Dashboard only: the invitation was used or revoked.'],
  invitation_expired: [409, 'Dashboard only: the invitation has expired.'],
  invitation_other_email: [409, 'Dashboard only: the invitation is for another e-mail address.'],
  not_cancelable: [409, 'The charge was paid or has expired.'],
  history_changed: [
    409,
    'The position is not in the history: the service was restored from a backup that lacks it, and events may be missing. Read again from `after=0`; ids of events that you have stay the same.',
  ],
  payment_held: [409, 'The charge received another amount. The operator decides on it.'],
  not_refundable: [409, 'The charge is not COMPLETED.'],
  already_refunded: [409, 'Nothing is left to refund.'],
  refund_too_large: [409, 'The value is more than is left to refund.'],
  balance_too_small: [409, 'The balance does not cover the amount.'],
  payout_limit: [409, 'The account has as many payouts that are REQUESTED as it can have.'],
  payout_ended: [409, 'The payout is already PAID or REJECTED. The text says how.'],
  refund_ended: [409, 'The refund has ended.'],
  refund_not_sent: [409, 'The refund was never sent to the provider, so it can only be ended as failed.'],
  refund_in_progress: [409, 'The provider may still make this refund. End it later.'],
  exception_resolved: [409, 'The exception is already resolved.'],
  exception_resolving: [409, 'A refund of this exception is in progress.'],
  payment_rest_held: [409, 'The rest of this payment is in suspense. Resolve that exception first.'],
  payment_not_credited: [409, 'No account was credited with this payment. Write it off.'],
  payment_returned: [409, 'The provider already returned the whole payment. Write it off.'],
  payment_refunded: [409, 'A part of the payment was already refunded.'],
  payment_below_fee: [409, 'The payment does not cover the fee of the charge.'],
  charge_not_named: [409, 'The payment names no charge that it could complete.'],
  charge_completed: [409, 'Another payment completed the charge.'],
  in_flight: [
    409,
    'A request with the same `Idempotency-Key` or `externalId` is in progress. Repeat it after `Retry-After`.',
  ],
  idempotency_mismatch: [422, 'The `Idempotency-Key` was used with another request.'],
  rate_limited: [429, 'There were too many requests, or too many charges are PENDING. Wait for `Retry-After`.'],
  provider_refused: [502, 'The payment provider refused.'],
  provider_unavailable: [503, 'The payment provider did not answer. Repeat after `Retry-After`.'],
  code_altered: [
    503,
    'The stored code of the charge is not the one that its provider made, so it is not shown. Tell the operator.',
  ],
  unavailable: [503, 'The service is overloaded or restarting. Repeat after `Retry-After`.'],
}

/** What HTTP itself refuses. */
const HTTP_ERRORS = {
  request_timeout: [408, 'The request took too long to arrive.'],
  method_not_allowed: [405, 'The path exists, but not with this method. `Allow` lists the methods.'],
  body_too_large: [413, 'The body is larger than 16 KiB.'],
  unsupported_type: [415, 'The body is not sent as `application/json`.'],
  expectation_failed: [417, 'The `Expect` header is not supported.'],
  headers_too_large: [431, 'The headers are larger than 16 KiB.'],
  internal: [500, 'The service failed. The text shows no internals; quote `X-Request-Id` to the operator.'],
} satisfies Record<string, Meaning>

export type ErrorCode = FaultCode | keyof typeof HTTP_ERRORS

/** The values of `Guiche-Error`: the status that each comes with, and what it means. */
export const ERRORS: Readonly<Record<ErrorCode, Meaning>> = { ...DOMAIN_ERRORS, ...HTTP_ERRORS }
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[]
