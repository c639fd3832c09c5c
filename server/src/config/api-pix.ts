import type { ClientCertificate } from '../base/client-certificate.ts'
import {
  LOGINS,
  UNKNOWN_BANK,
  type Access,
  type BankEnvironment,
  type BankProfile,
} from '../providers/api-pix/banks/bank-profile.ts'
import { BANK_NAMES, BANK_PROFILES } from '../providers/api-pix/banks/bank-profiles.ts'
import { loadAuthorities, loadTls } from './certificates.ts'
import { integer, oneOf, refusal, secret, secretText, text, url, type Env } from './variables.ts'

export const CALLS_PER_SECOND = { min: 0, max: 100_000 }
const TOKEN_SECONDS = { min: 1, max: 86_400 }
// The standard allows no more.
const PAGE_SIZE = { min: 1, max: 1_000 }
const DEFAULT_ENVIRONMENT = 'live'

type Bank = BankEnvironment & { profile: BankProfile; environment: 'live' | 'test' }

/** A profile fills in what the bank is known to want. Each part is also a variable, which wins. */
export function loadApiPix(env: Env, prefix: string, name: string) {
  const isSandbox = name === 'sandbox'
  const sandboxText = isSandbox ? 'sandbox' : undefined
  const bank = loadBank(env, prefix)
  const baseUrl = knownUrl(env, `${prefix}_URL`, bank, bank?.url)
  const noBankToken = isSandbox && !bank ? `${baseUrl}/oauth/token` : undefined
  const access = loadAccess(env, prefix, bank?.profile)
  const tls = loadTls(env, prefix)
  if (bank) requireWanted(prefix, { bank, access, tls })
  const ca = env[`${prefix}_CA`]
  return {
    kind: 'api-pix' as const,
    name,
    bank: bank?.profile.title,
    signsCertificates: bank?.profile.signsCertificates ?? false,
    url: baseUrl,
    tokenUrl: knownUrl(env, `${prefix}_TOKEN_URL`, bank, bank ? bank.tokenUrl : noBankToken),
    clientId: secretText(env, `${prefix}_CLIENT_ID`, sandboxText),
    clientSecret: access.auth === 'certificate' ? '' : secretText(env, `${prefix}_CLIENT_SECRET`, sandboxText),
    pixKey: text(env, `${prefix}_PIX_KEY`, isSandbox ? 'sandbox@guiche.example' : undefined),
    merchant: {
      name: text(env, `${prefix}_MERCHANT_NAME`, 'guiche'),
      city: text(env, `${prefix}_MERCHANT_CITY`, 'SAO PAULO'),
    },
    access,
    tls,
    caPem: ca ? loadAuthorities(`${prefix}_CA`, ca) : undefined,
    callsPerSecond: integer(env, `${prefix}_CALLS_PER_SECOND`, isSandbox ? 0 : access.callsPerSecond, CALLS_PER_SECOND),
  }
}

function loadBank(env: Env, prefix: string): Bank | undefined {
  const environment = oneOf(env, `${prefix}_ENVIRONMENT`, ['live', 'test'], DEFAULT_ENVIRONMENT)
  if (!env[`${prefix}_BANK`]) return undefined
  const profile: BankProfile = BANK_PROFILES[oneOf(env, `${prefix}_BANK`, BANK_NAMES)]
  return { ...profile[environment], profile, environment }
}

/** An address that is not known for certain is asked for. */
function knownUrl(env: Env, variable: string, bank: Bank | undefined, fallback: string | undefined): string {
  if (bank && !env[variable] && fallback === undefined) {
    const { profile, environment } = bank
    throw refusal(variable, `must be set: which address ${profile.title} has for it (${environment}) is not known here`)
  }
  return url(env, variable, fallback)
}

function loadAccess(env: Env, prefix: string, standard: Access = UNKNOWN_BANK): Access {
  return {
    auth: oneOf(env, `${prefix}_AUTH`, [...LOGINS], standard.auth),
    scope: text(env, `${prefix}_SCOPE`, standard.scope || 'none').replace(/^none$/, ''),
    tokenQuery: standard.tokenQuery,
    tokenSeconds: integer(env, `${prefix}_TOKEN_SECONDS`, standard.tokenSeconds, TOKEN_SECONDS),
    headers: loadPairs(env, `${prefix}_HEADERS`, standard.headers),
    query: loadPairs(env, `${prefix}_QUERY`, standard.query),
    webhookHeaders: standard.webhookHeaders,
    pageSize: integer(env, `${prefix}_PAGE_SIZE`, standard.pageSize, PAGE_SIZE),
    callsPerSecond: standard.callsPerSecond,
  }
}

// A token of HTTP (RFC 9110), and what may stand behind it in a header.
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
const VALUE = /^[\x20-\x7e]*$/
const OURS = new Set(['authorization', 'host', 'accept', 'content-type', 'content-length', 'connection'])

/** name=value&name=value, as in a URL. They join those of the profile; an empty value takes one away. */
function loadPairs(env: Env, variable: string, standard: Access['headers']): Access['headers'] {
  const given = secret(env, variable)
  const pairs = new Map(Object.entries(standard))
  for (const [name, value] of new URLSearchParams(given)) {
    if (!NAME.test(name) || !VALUE.test(value) || OURS.has(name.toLowerCase()))
      throw refusal(variable, 'must look like name=value&name=value, and must not name what guiche itself sets')
    for (const known of pairs.keys()) if (known.toLowerCase() === name.toLowerCase()) pairs.delete(known)
    if (value !== '') pairs.set(name, value)
  }
  return Object.fromEntries(pairs)
}

type Wanted = { bank: Bank; access: Access; tls: ClientCertificate | undefined }

/** What the bank refuses every call without. */
function requireWanted(prefix: string, { bank, access, tls }: Wanted): void {
  const { title } = bank.profile
  if (bank.needsCertificate && !tls)
    throw refusal(`${prefix}_PFX`, `or ${prefix}_CERT must be set: ${title} knows its customers by a certificate`)
  const { asksQuery } = bank
  if (asksQuery && !access.query[asksQuery])
    throw refusal(`${prefix}_QUERY`, `must hold ${asksQuery}=<key>, which ${title} gives to each application`)
}
