import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Context } from '../../domain/context.ts'

/**
 * The caller's address. Some proxies write `address:port`, and addresses have many spellings; limits per address would
 * count each spelling as another caller. If a proxy sends no valid address, its own is used.
 */
export function addressOf(request: FastifyRequest): string {
  return plainAddress(request.ip) ?? plainAddress(request.raw.socket.remoteAddress ?? '') ?? 'unknown'
}

/** Logged once per process, because strangers may send these headers too. `guiche doctor` says how many came. */
export function noticeForwarded(app: FastifyInstance, { log, metrics }: Pick<Context, 'log' | 'metrics'>): void {
  let isSaid = false
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    if (headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined) {
      metrics.forwardedIgnored.inc()
      if (!isSaid) log.warn({}, FORWARDED_IGNORED)
      isSaid = true
    }
    done()
  })
}

const FORWARDED_IGNORED =
  'a request has X-Forwarded-For or Forwarded, which is ignored: set TRUST_PROXY=true if exactly one proxy is in front'

/** Without port, brackets and zone; IPv6 in its shortest form; IPv4-mapped IPv6 as IPv4. */
export function plainAddress(text: string): string | undefined {
  const bare = withoutPort(text.trim()).replace(/%.*$/, '')
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : undefined
  const groups = groupsOf(bare)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  return mapped ? [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.') : shortest(bare)
}

/** An IPv6 customer has a whole /64 of addresses. */
export function networkOf(address: string): string {
  const plain = plainAddress(address) ?? address
  if (isIP(plain) !== 6) return plain
  const network = groupsOf(plain).slice(0, 4)
  return `${network.map((group) => group.toString(16)).join(':')}::/64`
}

function withoutPort(text: string): string {
  const [, inBrackets] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? []
  const [, beforePort] = /^([\d.]+):\d{1,5}$/.exec(text) ?? []
  return inBrackets ?? beforePort ?? text
}

function shortest(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The shortest form has no dots, at most one `::`, and no leading zeros.
  const [head = '', tail] = shortest(address).split('::')
  const read = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  if (tail === undefined) return read(head)
  const [before, after] = [read(head), read(tail)]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}
