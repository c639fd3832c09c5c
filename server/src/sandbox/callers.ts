import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Answer } from './answer.ts'
import { refusal } from './bank.ts'
import { problem } from './problem.ts'
import type { Side } from './routes.ts'

// The bank serves no pages, so a browser that calls it does so for a page of somebody else, without its user's will.
// Whoever else reaches the port may act as the payer.

// Why this caller gets no answer, if so.
export function refuseCaller(headers: IncomingHttpHeaders, side: Side, ownHost: string): Answer | undefined {
  // Browsers send Origin with every request that changes something, and no program does.
  if (headers.origin !== undefined) {
    return side === 'bank'
      ? refusal(403, 'web pages may not use the bank: the request has an Origin')
      : problem('AcessoNegado', 'Páginas da web não podem usar o banco.')
  }
  // By DNS rebinding a page gives its own name an address of this machine, and then reads without an Origin.
  if (side === 'bank' && !isTrustedHost(headers.host ?? '', ownHost)) {
    return refusal(403, 'use the address of the bank, or a name that only your own network knows')
  }
  return undefined
}

// Forms and scripts of other sites can send text without asking first, but no JSON.
export const isJson = (headers: IncomingHttpHeaders): boolean =>
  /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')

// Top-level domains that nobody can register: RFC 6761, RFC 6762, and ICANN's reservation for private networks.
const PRIVATE_NAMES = /\.(localhost|local|internal|test)$/

// An address cannot be rebound, and a name without a dot is not in public DNS.
function isTrustedHost(header: string, ownHost: string): boolean {
  const [, name = ''] = /^(\[[^\]]+\]|[^:]+)(?::\d+)?$/.exec(header.toLowerCase()) ?? []
  if (name === '') return false
  const isAddress = isIP(name.replaceAll(/[[\]]/g, '')) !== 0
  return isAddress || !name.includes('.') || PRIVATE_NAMES.test(name) || name === ownHost.toLowerCase()
}
