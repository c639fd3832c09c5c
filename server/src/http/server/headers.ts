import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/**
 * Keeps the caller's id, so that one id traces a request through both systems. Other characters could forge log lines.
 */
export function requestId(raw: IncomingMessage): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

/** On every response. The policies are the strictest possible; a page that needs more sets a wider one of its own. */
export function everywhereHeaders(settings: {
  publicUrl: string
  hstsIncludesSubdomains: boolean
}): Record<string, string> {
  return {
    'content-security-policy': contentSecurityPolicy({}),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    // A URL may contain an API key or be a payment link. Other sites must see neither.
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(settings.publicUrl.startsWith('https:') ? { 'strict-transport-security': transportSecurity(settings) } : {}),
  }
}

// A year, and only if PUBLIC_URL is https. Subdomains are included only if the operator says so.
function transportSecurity({ hstsIncludesSubdomains }: { hstsIncludesSubdomains: boolean }): string {
  return `max-age=31536000${hstsIncludesSubdomains ? '; includeSubDomains' : ''}`
}

export function contentSecurityPolicy(sources: Record<string, string>): string {
  const directives = {
    'default-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...sources,
  }
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')
}

/** Allows one inline style or script by its content, so that an injected one does not run. */
export function sourceHash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
