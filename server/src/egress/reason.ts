/**
 * A failure that we have already put into words. Its code keeps undici from taking it for one of its own, some of which
 * it retries.
 */
export class EgressError extends Error {
  override name = 'EgressError'
  readonly code = 'EGRESS'
}

export type Stage = 'before' | 'answering'

/**
 * Words for the user who looks at a failed delivery. Of foreign errors only the code is told: their messages quote what
 * the far side sent.
 */
export function reasonOf(error: unknown, stage: Stage): string {
  if (error instanceof EgressError) return error.message
  // Several addresses were tried in vain; the first is as good as any.
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0], stage)
  const code = codeOf(error)
  const words = WORDS[code]
  if (words) return words
  const fault = CERTIFICATE_FAULTS[code]
  if (fault) return `the TLS certificate is not valid: ${fault}`
  if (/^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|.*_CERT|INVALID_(CA|PURPOSE))/.test(code))
    return `the TLS certificate is not valid: ${code}`
  if (code === 'EPROTO' || /^ERR_(SSL|TLS)_/.test(code)) return `the TLS handshake failed (${code})`
  if (code.startsWith('HPE_') || code === 'HTTPParserError') return 'the answer is not HTTP'
  if (BROKEN.has(code)) {
    return stage === 'before' ? CLOSED : 'the connection broke in the middle of the answer'
  }
  return `the delivery failed (${code})`
}

export const CLOSED = 'the connection was closed before the answer'

export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** 15 000 → "15 s", 250 → "250 ms". */
export function duration(ms: number): string {
  return ms >= 1_000 ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms)} ms`
}

const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET', 'UND_ERR_ABORTED'])

const UNREACHABLE = 'the address cannot be reached'

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ETIMEDOUT: 'the address does not answer',
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  EACCES: UNREACHABLE,
  EMFILE: 'this server has too many open connections',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer is not as long as it says',
  UND_ERR_INVALID_ARG: 'the request cannot be sent: a header is not valid',
  UND_ERR_DESTROYED: 'the service is stopping',
  UND_ERR_CLOSED: 'the service is stopping',
}

const UNKNOWN_ISSUER = 'its issuer is not known'

const CERTIFICATE_FAULTS: Record<string, string> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is made out to another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'it is signed by an issuer that is not known',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${UNKNOWN_ISSUER}, or the chain is incomplete`,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  CERT_REVOKED: 'it has been revoked',
}
