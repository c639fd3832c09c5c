import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { makeReason, type Reason } from '../domain/ports/delivery-reasons.ts'

export type UrlRefusal = { reason: Reason }

export type Target = { origin: string; path: string }

const MAX_URL_LENGTH = 2_048
const MAX_NAME_LENGTH = 253

const TOO_LONG = makeReason(
  'url_too_long',
  `The URL is longer than ${MAX_URL_LENGTH} characters`,
  String(MAX_URL_LENGTH),
)

/** Checks a URL without DNS, so that users learn of mistakes at once. Resolved addresses are checked again. */
export function readUrl(text: string, networks: Networks): Target | UrlRefusal {
  if (text.length > MAX_URL_LENGTH) return { reason: TOO_LONG }
  // The URL parser silently drops or replaces these.
  if (/[\p{Cc}\p{Cf}\s\\]/u.test(text))
    return refuse('url_characters', 'The URL holds spaces, invisible characters or backslashes')
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
  if (authority === undefined) return refuse('url_without_host', 'The URL does not begin with https:// and a host')
  if (!URL.canParse(text)) return refuse('url_invalid', 'The URL is not valid')
  const url = new URL(text)
  if (url.href.length > MAX_URL_LENGTH) return { reason: TOO_LONG }
  if (authority.includes('@')) return refuse('url_password', 'The URL holds a user name or password')
  if (BAD_PORTS.has(Number(url.port || -1)))
    return refuse('url_port', `The port ${url.port} belongs to another service`, url.port)

  const plain = url.protocol === 'http:'
  const host = url.hostname.replaceAll(/^\[|\]$/g, '')
  const reason = isIP(host)
    ? (networks.refusal(host, { plain }) ?? oddNotation(host, authority))
    : refusalOfName(host, { plain, networks })
  return reason === undefined ? { origin: url.origin, path: url.pathname + url.search } : { reason }
}

export function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

export const LOOPBACK = ['127.0.0.1', '::1']

// Octal, hexadecimal, short and full-width forms are refused, so that nothing depends on the parser.
function oddNotation(address: string, authority: string): Reason | undefined {
  const typed = authority.replace(/:\d*$/, '')
  const isPlain = isIPv4(typed) || (typed.startsWith('[') && isIPv6(typed.slice(1, -1)))
  return isPlain ? undefined : makeReason('url_notation', `Write the address as ${address}`, address)
}

function refusalOfName(name: string, rules: { plain: boolean; networks: Networks }): Reason | undefined {
  const { plain, networks } = rules
  if (name.length > MAX_NAME_LENGTH || !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name)) {
    return makeReason('host_invalid', 'The host is not a valid name')
  }
  if (isLocalhost(name)) {
    const reasons = LOOPBACK.map((address) => networks.refusal(address, { plain }))
    return reasons.includes(undefined) ? undefined : reasons[0]
  }
  // Only the resolved addresses can tell.
  if (networks.allowsSome) return undefined
  if (!name.includes('.') || INTERNAL_NAME.test(name))
    return makeReason('name_internal', `The name ${name} belongs to an internal network`, name)
  return networks.refusal('1.1.1.1', { plain })
}

const INTERNAL_NAME = /\.(local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa)$/

// The "bad ports" of the fetch standard: other servers may read a POST as commands.
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
  113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
  554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665,
  6666, 6667, 6668, 6669, 6679, 6697, 10080,
]) // prettier-ignore

function refuse(...reason: Parameters<typeof makeReason>): UrlRefusal {
  return { reason: makeReason(...reason) }
}

/** Which addresses may be connected to. */
export type Networks = {
  /** Undefined if it is allowed. `plain`: without TLS. */
  refusal(address: string, options: { plain: boolean }): Reason | undefined
  /** True for a private address, whether or not it is allowed. */
  isPrivate(address: string): boolean
  /** Internal names and plain http may be right. */
  allowsSome: boolean
}

export function makeNetworks(options: { allowNetworks: string[]; allowHttp: boolean }): Networks {
  const allowed = { 4: new BlockList(), 6: new BlockList() }
  for (const network of options.allowNetworks) {
    const { family, address, prefix } = readNetwork(network)
    allowed[family].addSubnet(address, prefix, `ipv${family}`)
  }

  return {
    allowsSome: options.allowNetworks.length > 0,
    refusal(address, { plain }) {
      const family = isIP(address)
      // A zone selects a network interface of this machine.
      if ((family !== 4 && family !== 6) || address.includes('%')) {
        const shown = address.slice(0, 64)
        return makeReason('address_invalid', `"${shown}" is not an address`, shown)
      }
      if (allowed[family].check(address, `ipv${family}`)) return undefined
      const special = specialUse(family, address)
      // Whoever types a name must not learn what it resolves to here.
      if (special) return makeReason('address_not_allowed', `A private address is not allowed: ${special}`)
      return plain && !options.allowHttp ? PLAIN_HTTP : undefined
    },
    isPrivate(address) {
      const family = isIP(address)
      return (family !== 4 && family !== 6) || specialUse(family, address) !== undefined
    },
  }
}

const PLAIN_HTTP = makeReason('http_not_allowed', 'Plain http is not allowed: use https')

type Network = { family: 4 | 6; address: string; prefix: number }

function readNetwork(text: string): Network {
  const [, address = '', digits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text.trim()) ?? []
  const family = isIP(address)
  const bits = family === 4 ? 32 : 128
  const prefix = digits === undefined ? bits : Number(digits)
  if ((family !== 4 && family !== 6) || prefix > bits) {
    throw new Error(`"${text}" is not a network: write it like 10.1.0.0/16 or fd00:1::/32`)
  }
  return { family, address, prefix }
}

function specialUse(family: 4 | 6, address: string): string | undefined {
  const type = `ipv${family}` as const
  const found = SPECIAL[family].find(({ list }) => list.check(address, type))
  if (found) return found.use
  return family === 6 && !PUBLIC_6.check(address, 'ipv6') ? 'not a public address' : undefined
}

// From IANA's registries. One list per family: a BlockList equates IPv4 addresses with their mapped IPv6 form.
const SPECIAL = {
  4: ranges('ipv4', {
    loopback: ['127.0.0.0/8'],
    'private network': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
    'link-local (cloud metadata)': ['169.254.0.0/16'],
    // Inside Azure it serves the secrets of the virtual machine.
    'cloud metadata': ['168.63.129.16/32'],
    'this network': ['0.0.0.0/8'],
    'carrier-grade NAT': ['100.64.0.0/10'],
    'reserved for protocols': ['192.0.0.0/24'],
    documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
    'internet infrastructure': ['192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.175.48.0/24'],
    'network tests': ['198.18.0.0/15'],
    multicast: ['224.0.0.0/4'],
    broadcast: ['255.255.255.255/32'],
    reserved: ['240.0.0.0/4'],
  }),
  // Everything outside 2000::/3 is refused anyway.
  6: ranges('ipv6', {
    loopback: ['::1/128'],
    'unspecified address': ['::/128'],
    'an embedded IPv4 address': ['::ffff:0:0/96', '::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16'],
    'private network': ['fc00::/7', 'fec0::/10'],
    'link-local': ['fe80::/10'],
    multicast: ['ff00::/8'],
    // Includes Teredo.
    'reserved for protocols': ['2001::/23'],
    documentation: ['2001:db8::/32', '3fff::/20'],
    'internet infrastructure': ['2620:4f:8000::/48'],
  }),
}

const PUBLIC_6 = rangeList('ipv6', ['2000::/3'])

function ranges(type: 'ipv4' | 'ipv6', uses: Record<string, string[]>): { use: string; list: BlockList }[] {
  return Object.entries(uses).map(([use, networks]) => ({ use, list: rangeList(type, networks) }))
}

function rangeList(type: 'ipv4' | 'ipv6', networks: string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const { address, prefix } = readNetwork(network)
    list.addSubnet(address, prefix, type)
  }
  return list
}
