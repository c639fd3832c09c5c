import { CALLS_PER_SECOND, loadApiPix } from './api-pix.ts'
import { integer, oneOf, refusal, secretText, text, url, type Env } from './variables.ts'

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
  const isApiPix = name === 'sandbox' || env[`${prefix}_BANK`]
  const obviousKind = isApiPix ? 'api-pix' : name === 'woovi' ? 'woovi' : undefined
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
    callsPerSecond: integer(env, `${prefix}_CALLS_PER_SECOND`, DEFAULT_CALLS_PER_SECOND, CALLS_PER_SECOND),
  }
}
