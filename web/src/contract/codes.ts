// Generated from the server’s schemas: UPDATE_CONTRACT=1 npx vitest run server/test/contract.test.ts

export const DEPOSIT_STATUSES = ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED'] as const
export type DepositStatus = (typeof DEPOSIT_STATUSES)[number]

export const SCOPES = [
  'deposits:write', 'deposits:read', 'refunds:write', 'balance:read', 'payouts:write', 'payouts:read', 'events:read',
  'webhooks:write',
] as const
export type Scope = (typeof SCOPES)[number]

export const ROLES = ['owner', 'finance', 'developer', 'cashier', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export const EVENTS = [
  'DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_EXPIRED', 'DEPOSIT_CANCELED', 'DEPOSIT_HELD', 'DEPOSIT_RELEASED',
  'DEPOSIT_PAYER_CHECKED', 'DEPOSIT_REFUNDED', 'DEPOSIT_REVERSED', 'REFUND_FAILED', 'PAYOUT_PAID', 'PAYOUT_REJECTED',
  'DISPUTE_OPENED', 'DISPUTE_ENDED', 'WEBHOOK_DISABLED', 'KEY_CREATED', 'KEY_REVOKED',
] as const
export type EventKind = (typeof EVENTS)[number]

export const PAYOUT_STATUSES = ['REQUESTED', 'PAID', 'REJECTED'] as const
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number]

export const DISPUTE_STATUSES = ['OPEN', 'ACCEPTED', 'REJECTED', 'CANCELED'] as const
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number]

export const EXCEPTION_KINDS = [
  'unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'refunded_payment', 'unnamed_payment',
  'foreign_refund', 'undone_refund', 'code_closed', 'code_limits', 'payer_unconfirmed',
] as const
export type ExceptionKind = (typeof EXCEPTION_KINDS)[number]

export const EXCEPTION_STATES = ['open', 'resolving', 'resolved'] as const
export type ExceptionState = (typeof EXCEPTION_STATES)[number]

export const ERROR_CODES = [
  'bad_request', 'body_invalid', 'field_invalid', 'value_too_small', 'value_too_large', 'value_not_above_fee',
  'return_url_not_allowed', 'logo_refused', 'url_not_allowed', 'password_length', 'password_too_common',
  'password_too_simple', 'password_personal', 'password_wrong', 'terms_invalid', 'window_invalid', 'provider_unknown',
  'search_too_slow', 'resolution_invalid', 'key_missing', 'key_invalid', 'not_signed_in', 'reauthentication_required',
  'second_factor_required', 'foreign_origin', 'scope_missing', 'account_suspended', 'not_enabled', 'mail_not_set_up',
  'signature_wrong', 'not_found', 'email_taken', 'external_id_taken', 'order_paid', 'key_limit', 'webhook_limit',
  'member_limit', 'already_member', 'last_owner', 'passkey_refused', 'passkey_limit', 'account_switched',
  'invitation_used', 'invitation_expired', 'invitation_other_email', 'shop_changed', 'not_cancelable',
  'history_changed', 'payment_held', 'not_refundable', 'already_refunded', 'refund_too_large', 'refund_too_old',
  'balance_too_small', 'code_limit', 'payer_unconfirmable', 'payer_mismatched', 'codes_not_offered', 'payout_limit',
  'payout_ended', 'dispute_ended', 'evidence_limit', 'refund_ended', 'refund_not_sent', 'refund_in_progress',
  'note_limit', 'exception_resolved', 'exception_resolving', 'payment_rest_held', 'payment_not_credited',
  'payment_returned', 'payment_refunded', 'payment_below_fee', 'charge_not_named', 'charge_completed', 'in_flight',
  'idempotency_mismatch', 'rate_limited', 'provider_refused', 'provider_unavailable', 'code_altered', 'unavailable',
  'request_timeout', 'method_not_allowed', 'body_too_large', 'unsupported_type', 'expectation_failed',
  'headers_too_large', 'internal',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

export const REASON_CODES = [
  'url_too_long', 'url_characters', 'url_without_host', 'url_invalid', 'url_password', 'url_port', 'url_notation',
  'host_invalid', 'name_internal', 'http_not_allowed', 'address_invalid', 'address_not_allowed', 'name_unresolved',
  'name_servers_silent', 'too_many_addresses', 'connection_refused', 'address_silent', 'address_unreachable',
  'no_connection', 'connection_unwanted', 'proxy_unreachable', 'proxy_refused', 'tls_name', 'tls_self_signed',
  'tls_issuer_unknown', 'tls_expired', 'tls_not_yet_valid', 'tls_revoked', 'tls_invalid', 'tls_failed',
  'closed_before_answer', 'broken_answer', 'endless_answer', 'answer_not_http', 'answer_headers_too_large',
  'answer_length_wrong', 'no_answer', 'no_complete_answer', 'request_invalid', 'delivery_failed',
  'too_many_connections', 'queue_full', 'stopping', 'secrets_unreadable', 'receiver_gone', 'failed_for_days',
  'disabled_by_account', 'disabled_by_operator', 'deleted', 'seed_example',
] as const
export type ReasonCode = (typeof REASON_CODES)[number]

export const AUDIT_ACTIONS = [
  'account.created', 'account.suspended', 'account.resumed', 'account.terms_changed', 'account.time_zone_changed',
  'account.brand_changed', 'account.charges_canceled', 'account.erased', 'account.second_factor_demanded',
  'member.invited', 'member.uninvited', 'member.joined', 'member.role_changed', 'member.removed', 'passkey.added',
  'passkey.removed', 'exception.opened', 'exception.noted', 'exception.resolved', 'exception.reopened',
  'refund.requested', 'refund.ended', 'payout.requested', 'payout.paid', 'payout.rejected', 'dispute.opened',
  'dispute.ended', 'dispute.evidence_given', 'code.created', 'code.changed', 'code.closed', 'reconcile.started',
  'reconcile.began', 'day.closed', 'history.seeded', 'history.began', 'history.sealed', 'key.created', 'key.revoked',
  'webhook.created', 'webhook.changed', 'webhook.deleted', 'webhook.disabled', 'webhook.secret_rotated',
  'operator.created', 'operator.enabled', 'operator.disabled', 'session.opened', 'sessions.ended', 'password.changed',
  'password.reset', 'password.set', 'email.confirmed', 'second_factor.enabled', 'second_factor.disabled',
  'second_factor.locked', 'recovery_codes.made', 'recovery_code.used', 'invitation.created', 'invitation.revoked',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]
