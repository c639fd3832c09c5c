import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** A caller's own id is taken over, so that one id follows a request through both houses; anything odd could forge log lines. */
export function requestId(raw: IncomingMessage): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

/**
 * On every answer of the server. The policies are the strictest there are; a page that needs more replaces its policy with a wider
 * one, so a new route is closed until somebody opens it.
 */
export function everywhereHeaders(settings: {
  publicUrl: string
  hstsIncludesSubdomains: boolean
}): Record<string, string> {
  return {
    'content-security-policy': contentSecurityPolicy({}),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    // An API key may stand in a query, and a page's address is a payment link: neither is another site's business.
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(settings.publicUrl.startsWith('https:') ? { 'strict-transport-security': transportSecurity(settings) } : {}),
  }
}

// A year, and only where the operator said that the world reaches us by https. Other names below ours are not ours to decide on.
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
