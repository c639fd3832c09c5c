import { isIP, isIPv4, isIPv6 } from 'node:net'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'
import type { Networks } from './address.ts'

/** Why a URL cannot be a webhook, for the user who typed it. */
export type UrlRefusal = { reason: Reason }

export type Target = { origin: string; path: string }

const MAX_URL_LENGTH = 2_048
const MAX_NAME_LENGTH = 253

const TOO_LONG = makeReason(
  'url_too_long',
  `the URL is longer than ${MAX_URL_LENGTH} characters`,
  String(MAX_URL_LENGTH),
)

/**
 * Checks a URL without DNS, so that users learn of mistakes at once. The security does not rest on it: resolved
 * addresses and connections are checked again.
 */
export function readUrl(text: string, networks: Networks): Target | UrlRefusal {
  if (text.length > MAX_URL_LENGTH) return { reason: TOO_LONG }
  // The URL parser silently drops or replaces these, so the URL would not be what a person reads.
  if (/[\p{Cc}\p{Cf}\s\\]/u.test(text))
    return refuse('url_characters', 'the URL holds spaces, invisible characters or backslashes')
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
  if (authority === undefined) return refuse('url_without_host', 'the URL does not begin with https:// and a host')
  if (!URL.canParse(text)) return refuse('url_invalid', 'the URL is not valid')
  const url = new URL(text)
  if (url.href.length > MAX_URL_LENGTH) return { reason: TOO_LONG }
  if (authority.includes('@')) return refuse('url_password', 'the URL holds a user name or password')
  if (BAD_PORTS.has(Number(url.port || -1)))
    return refuse('url_port', `the port ${url.port} belongs to another service`, url.port)

  const plain = url.protocol === 'http:'
  const host = url.hostname.replaceAll(/^\[|\]$/g, '')
  const reason = isIP(host)
    ? (networks.refusal(host, { plain }) ?? oddNotation(host, authority))
    : refusalOfName(host, { plain, networks })
  return reason === undefined ? { origin: url.origin, path: url.pathname + url.search } : { reason }
}

/** RFC 6761: these mean this machine, whatever DNS says. */
export function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

export const LOOPBACK = ['127.0.0.1', '::1']

// The parser has turned octal, hexadecimal, short and full-width forms into the plain one, which was checked. They are
// still refused, so that nothing depends on corner cases of the parser.
function oddNotation(address: string, authority: string): Reason | undefined {
  const typed = authority.replace(/:\d*$/, '')
  const isPlain = isIPv4(typed) || (typed.startsWith('[') && isIPv6(typed.slice(1, -1)))
  return isPlain ? undefined : makeReason('url_notation', `write the address as ${address}`, address)
}

function refusalOfName(name: string, rules: { plain: boolean; networks: Networks }): Reason | undefined {
  const { plain, networks } = rules
  if (name.length > MAX_NAME_LENGTH || !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name)) {
    return makeReason('host_invalid', 'the host is not a valid name')
  }
  if (isLocalhost(name)) {
    const reasons = LOOPBACK.map((address) => networks.refusal(address, { plain }))
    return reasons.includes(undefined) ? undefined : reasons[0]
  }
  // If private networks are allowed, only the resolved addresses can tell.
  if (networks.allowsSome) return undefined
  if (!name.includes('.') || INTERNAL_NAME.test(name))
    return makeReason('name_internal', `the name ${name} belongs to an internal network`, name)
  // Any public address shows whether plain http is allowed.
  return networks.refusal('1.1.1.1', { plain })
}

const INTERNAL_NAME = /\.(local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa)$/

// The "bad ports" of the fetch standard: mail, chat and file servers may read a POST as commands.
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
  113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
  554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665,
  6666, 6667, 6668, 6669, 6679, 6697, 10080,
]) // prettier-ignore

function refuse(...reason: Parameters<typeof makeReason>): UrlRefusal {
  return { reason: makeReason(...reason) }
}
