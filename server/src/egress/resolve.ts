import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP, type LookupFunction } from 'node:net'
import { makeReason } from '../domain/ports/delivery-reasons.ts'
import { codeOf, EgressError } from './reason.ts'
import { isLocalhost, LOOPBACK } from './url.ts'

/** All addresses of a host, unchecked. Rejects with an EgressError when there are none. */
export type Resolve = (host: string) => Promise<string[]>

export function makeResolve(options: {
  /** For tests: replaces the hosts file and the name servers. */
  lookup?: LookupFunction
  /** For tests: other than the system's. */
  nameServers?: string[]
}): Resolve {
  const { lookup, nameServers } = options
  const ask = lookup ? (name: string) => askLookup(lookup, name) : makeAskNameServers(nameServers)
  const inFlight = new Map<string, Promise<string[]>>()

  return async (host) => {
    if (isIP(host)) return [host]
    if (isLocalhost(host)) return LOOPBACK
    // A burst of deliveries opens many connections to one host. They share one query.
    const answer = inFlight.get(host) ?? ask(host).finally(() => inFlight.delete(host))
    inFlight.set(host, answer)
    return answer
  }
}

const UNRESOLVED = makeReason('name_unresolved', 'the name does not resolve')

const QUERY_MS = 2_000
const QUERY_TRIES = 2

/**
 * Asks the name servers directly. dns.lookup() would block a thread until the system gives up, and libuv has two for
 * it: two hosts with silent name servers would block all deliveries. The hosts file has what else the system knows.
 */
function makeAskNameServers(nameServers?: string[]): Resolve {
  const makeResolver = () => {
    const made = new Resolver({ timeout: QUERY_MS, tries: QUERY_TRIES })
    if (nameServers) made.setServers(nameServers)
    return made
  }
  let resolver = makeResolver()

  return async (name) => {
    const listed = addressesInHosts(await readFile('/etc/hosts', 'utf8').catch(() => ''), name)
    if (listed.length > 0) return listed
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    const codes = answers.flatMap((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : []))
    const trouble = codes.find((code) => code !== 'ENOTFOUND' && code !== 'ENODATA')
    if (trouble === undefined) throw new EgressError(UNRESOLVED)
    // A resolver reads the system's name servers once, and they may have changed.
    resolver = makeResolver()
    const text = `the name does not resolve: its name servers do not answer (${trouble})`
    throw new EgressError(makeReason('name_servers_silent', text, trouble))
  }
}

/** Exported for its test. */
export function addressesInHosts(hosts: string, name: string): string[] {
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return names.includes(name) ? address : []
  })
}

function askLookup(lookup: LookupFunction, name: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, found) => {
      if (error) return reject(new EgressError(UNRESOLVED, { cause: error }))
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address)
      if (addresses.length === 0) return reject(new EgressError(UNRESOLVED))
      resolve(addresses)
    })
  })
}
