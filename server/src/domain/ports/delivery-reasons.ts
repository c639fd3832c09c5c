/**
 * Why a webhook was not delivered, or is disabled. Programs go by the code; the text is for people who read English. `detail` is what the
 * text is about, if anything: an address, a time, the code of another's error.
 */
export type Reason = { code: ReasonCode; text: string; detail: string | null }

/** The web has words for each in its languages; codes.test.ts compares. */
export const REASON_CODES = [
  // An address that is refused as it is written, or by where it leads.
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
  // The way there.
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
