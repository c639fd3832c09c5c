/** Programs branch on the code; the text is for people. `detail` is the value that the text mentions. */
export type Reason = { code: ReasonCode; text: string; detail: string | null }

/** The dashboard has a text for each; codes.test.ts compares. */
export const REASON_CODES = [
  // The URL, as written or by what it resolves to.
  'url_too_long',
  'url_characters',
  'url_without_host',
  'url_invalid',
  'url_password',
  'url_port',
  'url_notation',
  'host_invalid',
  'name_internal',
  'http_not_allowed',
  'address_invalid',
  'address_not_allowed',
  'name_unresolved',
  'name_servers_silent',
  'too_many_addresses',
  // The connection.
  'connection_refused',
  'address_silent',
  'address_unreachable',
  'no_connection',
  'connection_unwanted',
  'proxy_unreachable',
  'proxy_refused',
  'tls_name',
  'tls_self_signed',
  'tls_issuer_unknown',
  'tls_expired',
  'tls_not_yet_valid',
  'tls_revoked',
  'tls_invalid',
  'tls_failed',
  // The exchange.
  'closed_before_answer',
  'broken_answer',
  'endless_answer',
  'answer_not_http',
  'answer_headers_too_large',
  'answer_length_wrong',
  'no_answer',
  'no_complete_answer',
  'request_invalid',
  'delivery_failed',
  // Our own side.
  'too_many_connections',
  'queue_full',
  'stopping',
  'secrets_unreadable',
  // A webhook that is disabled.
  'receiver_gone',
  'failed_for_days',
  'disabled_by_account',
  'disabled_by_operator',
  'deleted',
  'seed_example',
] as const
export type ReasonCode = (typeof REASON_CODES)[number]

export function makeReason(code: ReasonCode, text: string, detail: string | null = null): Reason {
  return { code, text, detail }
}
