import type { ErrorCode } from '../server/error-codes.ts'

/** Which codes an operation answers with a status. */
export function errorCodesOf(operationId: string | undefined, status: string): ErrorCode[] {
  return [...(OF_EVERY_OPERATION[status] ?? []), ...(OF_OPERATION[`${operationId} ${status}`] ?? [])]
}

const OF_EVERY_OPERATION: Record<string, ErrorCode[]> = {
  400: ['bad_request', 'body_invalid', 'field_invalid'],
  401: ['key_missing', 'key_invalid'],
  403: ['scope_missing', 'account_suspended'],
  404: ['not_found'],
  413: ['body_too_large'],
  415: ['unsupported_type'],
  422: ['idempotency_mismatch'],
  429: ['rate_limited'],
  500: ['internal'],
  502: ['provider_refused'],
  503: ['unavailable'],
}

const REFUND_CONFLICTS: ErrorCode[] = [
  'not_refundable',
  'already_refunded',
  'refund_too_large',
  'refund_too_old',
  'balance_too_small',
]

const OF_OPERATION: Record<string, ErrorCode[]> = {
  'createDeposit 400': ['value_too_small', 'value_too_large', 'value_not_above_fee'],
  'createDeposit 409': ['external_id_taken', 'payer_unconfirmable', 'in_flight'],
  'createDeposit 503': ['provider_unavailable'],
  'getDeposit 503': ['code_altered'],
  'retrieveDeposit 503': ['code_altered'],
  'cancelDeposit 409': ['not_cancelable', 'payment_held'],
  'cancelDeposit 503': ['provider_unavailable'],
  'ensureDeposit 400': ['value_too_small', 'value_too_large', 'value_not_above_fee'],
  'ensureDeposit 409': ['order_paid', 'payment_held', 'payer_unconfirmable', 'in_flight'],
  'ensureDeposit 503': ['provider_unavailable'],
  'ensureCode 409': ['codes_not_offered', 'code_limit', 'in_flight'],
  'ensureCode 503': ['provider_unavailable', 'code_altered'],
  'getCode 503': ['code_altered'],
  'closeCode 503': ['code_altered'],
  'listEvents 409': ['history_changed'],
  'streamEvents 409': ['history_changed'],
  'getReceipt 409': ['in_flight'],
  'refundDeposit 403': ['not_enabled'],
  'refundDeposit 409': REFUND_CONFLICTS,
  'refundAnyDeposit 409': REFUND_CONFLICTS,
  'requestPayout 409': ['balance_too_small', 'payout_limit'],
  'requestPayoutFor 409': ['balance_too_small', 'payout_limit'],
  'payPayout 409': ['payout_ended'],
  'rejectPayout 409': ['payout_ended'],
  'giveEvidence 409': ['dispute_ended', 'evidence_limit'],
  'giveEvidenceFor 409': ['dispute_ended', 'evidence_limit'],
  'createWebhook 400': ['url_not_allowed'],
  'createWebhook 409': ['webhook_limit'],
  'updateWebhook 400': ['url_not_allowed'],
  'resolveException 409': [
    'exception_resolved',
    'exception_resolving',
    'payment_rest_held',
    'payment_not_credited',
    'payment_returned',
    'payment_refunded',
    'payment_below_fee',
    'charge_not_named',
    'charge_completed',
    'payer_mismatched',
    'order_paid',
    'balance_too_small',
    'not_cancelable',
    'payment_held',
  ],
  'noteException 409': ['note_limit'],
  'resolveException 503': ['provider_unavailable'],
  'endRefund 409': ['refund_ended', 'refund_not_sent', 'refund_in_progress'],
  'reconcile 503': ['provider_unavailable'],
}
