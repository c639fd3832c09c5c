import { NextResponse } from 'next/server'

/** Next.js puts the nonce of this policy into its own scripts. The element needs its origin, and nothing else. */
export function proxy(request) {
  const nonce = btoa(crypto.randomUUID())
  const service = process.env['GUICHE_URL']
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}' ${service}`,
    "style-src 'self'",
    `connect-src 'self' ${service}`,
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy)
  const response = NextResponse.next({ request: { headers } })
  response.headers.set('content-security-policy', policy)
  return response
}
