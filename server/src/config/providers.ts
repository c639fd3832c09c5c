import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { readChain, type ClientCertificate } from '../base/client-certificate.ts'
import { file, integer, oneOf, refusal, secret, text, url, type Env } from './variables.ts'

export type ProviderConfig =
  | { kind: 'sandbox'; name: string }
  | ReturnType<typeof loadWoovi>
  | ReturnType<typeof loadApiPix>

// Providers block callers that exceed their contract; ten is the lowest published limit.
const DEFAULT_CALLS_PER_SECOND = 10

export function loadProviders(env: Env): ProviderConfig[] {
  const names = text(env, 'PROVIDERS', 'sandbox')
    .split(',')
    .map((name) => name.trim())
  for (const name of names) checkProviderName(name)
  if (new Set(names).size !== names.length) throw refusal('PROVIDERS', 'must not name a provider twice')
  if (names.includes('sandbox') && names.length > 1)
    throw refusal(
      'PROVIDERS',
      'must not name sandbox beside other providers: its payments are invented, and would be credited as real money',
    )
  const providers = names.map((name) => loadProvider(env, name))
  refuseSameAccount(providers)
  return providers
}

export function checkProviderName(name: string): void {
  if (/^[a-z][a-z0-9-]{0,30}$/.test(name)) return
  throw refusal('PROVIDERS', `must list names of lower-case letters, digits and dashes, not ${JSON.stringify(name)}`)
}

/** Two names for one bank account would report each payment twice, and fail over from a bank to itself. */
function refuseSameAccount(providers: ProviderConfig[]): void {
  for (const [index, provider] of providers.entries()) {
    const twin = providers.slice(0, index).find((earlier) => isSameAccount(earlier, provider))
    if (twin)
      throw refusal(
        'PROVIDERS',
        `must not name one bank account twice: ${twin.name} and ${provider.name} have the same URL and the same ${provider.kind === 'woovi' ? 'app id' : 'client id or Pix key'}. Remove one`,
      )
  }
}

function isSameAccount(first: ProviderConfig, other: ProviderConfig): boolean {
  if (first.kind === 'sandbox' || other.kind === 'sandbox' || first.url !== other.url) return false
  if (first.kind === 'woovi') return other.kind === 'woovi' && first.appId === other.appId
  return other.kind === 'api-pix' && (first.clientId === other.clientId || first.pixKey === other.pixKey)
}

function loadProvider(env: Env, name: string): ProviderConfig {
  const prefix = prefixOf(name)
  if (name === 'sandbox' && !env[`${prefix}_URL`]) return { kind: 'sandbox', name }
  const obviousKind = name === 'sandbox' ? 'api-pix' : name === 'woovi' ? 'woovi' : undefined
  const kind = oneOf(env, `${prefix}_KIND`, ['api-pix', 'woovi'], obviousKind)
  return kind === 'woovi' ? loadWoovi(env, prefix, name) : loadApiPix(env, prefix, name)
}

export function urlsOf(provider: ProviderConfig): [name: string, url: string][] {
  const prefix = prefixOf(provider.name)
  if (provider.kind === 'sandbox') return []
  if (provider.kind === 'woovi') return [[`${prefix}_URL`, provider.url]]
  return [
    [`${prefix}_URL`, provider.url],
    [`${prefix}_TOKEN_URL`, provider.tokenUrl],
  ]
}

export function prefixOf(name: string): string {
  return `PROVIDER_${name.toUpperCase().replaceAll('-', '_')}`
}

function loadWoovi(env: Env, prefix: string, name: string) {
  return {
    kind: 'woovi' as const,
    name,
    url: url(env, `${prefix}_URL`, 'https://api.woovi.com'),
    appId: secretText(env, `${prefix}_APP_ID`),
    callsPerSecond: callsPerSecond(env, prefix, DEFAULT_CALLS_PER_SECOND),
  }
}

function loadApiPix(env: Env, prefix: string, name: string) {
  const baseUrl = url(env, `${prefix}_URL`)
  const ca = env[`${prefix}_CA`]
  return {
    kind: 'api-pix' as const,
    name,
    url: baseUrl,
    tokenUrl: url(env, `${prefix}_TOKEN_URL`, name === 'sandbox' ? `${baseUrl}/oauth/token` : undefined),
    clientId: secretText(env, `${prefix}_CLIENT_ID`, name === 'sandbox' ? 'sandbox' : undefined),
    clientSecret: secretText(env, `${prefix}_CLIENT_SECRET`, name === 'sandbox' ? 'sandbox' : undefined),
    pixKey: text(env, `${prefix}_PIX_KEY`, name === 'sandbox' ? 'sandbox@guiche.example' : undefined),
    merchant: {
      name: text(env, `${prefix}_MERCHANT_NAME`, 'guiche'),
      city: text(env, `${prefix}_MERCHANT_CITY`, 'SAO PAULO'),
    },
    tls: loadTls(env, prefix),
    caPem: ca ? loadAuthorities(`${prefix}_CA`, ca) : undefined,
    callsPerSecond: callsPerSecond(env, prefix, name === 'sandbox' ? 0 : DEFAULT_CALLS_PER_SECOND),
  }
}

function secretText(env: Env, name: string, fallback?: string): string {
  return text({ [name]: secret(env, name) }, name, fallback)
}

function callsPerSecond(env: Env, prefix: string, fallback: number): number {
  return integer(env, `${prefix}_CALLS_PER_SECOND`, fallback, { min: 0, max: 100_000 })
}

/** The client certificate. Refuses what no connection could use, without quoting a password. */
export function loadTls(env: Env, prefix: string): ClientCertificate | undefined {
  const [cert, key, pfx] = [env[`${prefix}_CERT`], env[`${prefix}_CERT_KEY`], env[`${prefix}_PFX`]]
  if (pfx && (cert || key)) throw refusal(`${prefix}_PFX`, `and ${prefix}_CERT exclude each other: set one`)
  if (pfx) {
    const password = secret(env, `${prefix}_PFX_PASSWORD`)
    const tls = { pfx: file(`${prefix}_PFX`, pfx), ...(password === undefined ? {} : { password }) }
    requirePfx(prefix, tls)
    return tls
  }
  if (!cert && !key) return undefined
  if (!cert) throw refusal(`${prefix}_CERT`, `must be set, since ${prefix}_CERT_KEY is`)
  if (!key) throw refusal(`${prefix}_CERT_KEY`, `must be set, since ${prefix}_CERT is`)
  const tls = {
    certPem: file(`${prefix}_CERT`, cert).toString(),
    keyPem: file(`${prefix}_CERT_KEY`, key).toString(),
  }
  requirePair(prefix, tls)
  return tls
}

function loadAuthorities(name: string, path: string): string {
  const pem = file(name, path).toString()
  if (!attempt(() => readChain(pem))?.length) throw refusal(name, 'must be a file with a certificate in PEM form')
  return pem
}

function requirePfx(prefix: string, { pfx, password }: { pfx: Buffer; password?: string }): void {
  try {
    createSecureContext({ pfx, ...(password === undefined ? {} : { passphrase: password }) })
  } catch (error) {
    // OpenSSL 3 rejects the ciphers of old PFX files.
    const hint = `check ${prefix}_PFX_PASSWORD; if it is an old file, convert it to PEM`
    throw refusal(`${prefix}_PFX`, `cannot be opened (${(error as Error).message}): ${hint}`)
  }
}

function requirePair(prefix: string, { certPem, keyPem }: { certPem: string; keyPem: string }): void {
  const certificate = readCertificate(`${prefix}_CERT`, certPem)
  const key = attempt(() => createPrivateKey(keyPem))
  if (!key) throw refusal(`${prefix}_CERT_KEY`, 'must be a file with a private key in PEM form, without a password')
  if (!certificate.checkPrivateKey(key))
    throw refusal(`${prefix}_CERT_KEY`, `is not the key of the certificate in ${prefix}_CERT`)
}

export function readCertificate(name: string, pem: string): X509Certificate {
  const certificate = attempt(() => new X509Certificate(pem))
  if (!certificate) throw refusal(name, 'must be a file with a certificate in PEM form')
  return certificate
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
