import { makeReason, type Reason, type ReasonCode } from '../domain/ports/delivery-reasons.ts'

/** Its code tells it from undici's own errors, some of which undici retries. */
export class EgressError extends Error {
  override name = 'EgressError'
  readonly code = 'EGRESS'
  readonly reason: Reason

  constructor(reason: Reason, options: { cause?: unknown } = {}) {
    super(reason.text, options)
    this.reason = reason
  }
}

export type Stage = 'before' | 'answering'

/** Messages of other errors may quote the response, so only the code is shown. */
export function reasonOf(error: unknown, stage: Stage): Reason {
  if (error instanceof EgressError) return error.reason
  // All addresses failed; the first error stands for them.
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0], stage)
  const code = codeOf(error)
  const known = KNOWN[code]
  if (known) return makeReason(...known)
  const fault = CERTIFICATE_FAULTS[code]
  if (fault) return makeReason(fault[0], `The TLS certificate is not valid: ${fault[1]}`)
  if (/^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|.*_CERT|INVALID_(CA|PURPOSE))/.test(code))
    return makeReason('tls_invalid', `The TLS certificate is not valid: ${code}`, code)
  if (code === 'EPROTO' || /^ERR_(SSL|TLS)_/.test(code))
    return makeReason('tls_failed', `The TLS handshake failed (${code})`, code)
  if (code.startsWith('HPE_') || code === 'HTTPParserError')
    return makeReason('answer_not_http', 'The answer is not HTTP')
  if (BROKEN.has(code)) {
    return stage === 'before' ? CLOSED : makeReason('broken_answer', 'The connection broke in the middle of the answer')
  }
  return makeReason('delivery_failed', `The delivery failed (${code})`, code)
}

export const CLOSED = makeReason('closed_before_answer', 'The connection was closed before the answer')
export const STOPPING = makeReason('stopping', 'The service is stopping')

export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** 15 000 → "15 s", 250 → "250 ms". */
export function duration(ms: number): string {
  return ms >= 1_000 ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms)} ms`
}

const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET', 'UND_ERR_ABORTED'])

type Known = [code: ReasonCode, text: string]

const UNREACHABLE: Known = ['address_unreachable', 'The address cannot be reached']

const KNOWN: Record<string, Known> = {
  ECONNREFUSED: ['connection_refused', 'The connection was refused'],
  ETIMEDOUT: ['address_silent', 'The address does not answer'],
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  EACCES: UNREACHABLE,
  EMFILE: ['too_many_connections', 'This server has too many open connections'],
  UND_ERR_HEADERS_OVERFLOW: ['answer_headers_too_large', 'The headers of the answer are too large'],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ['answer_length_wrong', 'The answer is not as long as it says'],
  UND_ERR_INVALID_ARG: ['request_invalid', 'The request cannot be sent: a header is not valid'],
  UND_ERR_DESTROYED: ['stopping', STOPPING.text],
  UND_ERR_CLOSED: ['stopping', STOPPING.text],
}

const UNKNOWN_ISSUER: Known = ['tls_issuer_unknown', 'its issuer is not known']

const CERTIFICATE_FAULTS: Record<string, Known> = {
  ERR_TLS_CERT_ALTNAME_INVALID: ['tls_name', 'it is for another name'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['tls_self_signed', 'it is self-signed'],
  SELF_SIGNED_CERT_IN_CHAIN: ['tls_issuer_unknown', 'it is signed by an issuer that is not known'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['tls_issuer_unknown', `${UNKNOWN_ISSUER[1]}, or the chain is incomplete`],
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  CERT_HAS_EXPIRED: ['tls_expired', 'it has expired'],
  CERT_NOT_YET_VALID: ['tls_not_yet_valid', 'it is not valid yet'],
  CERT_REVOKED: ['tls_revoked', 'it has been revoked'],
}
