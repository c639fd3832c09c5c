import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * `__Host-`: no other host and no plain http page can set or shadow it. Browsers keep such cookies on https and on the machine itself; where a
 * service is reached by plain http over a network, which nobody should do with real money, the name goes without.
 */
export function cookieRules(publicUrl: string): { prefix: '__Host-' | ''; isSecure: boolean } {
  const { protocol, hostname } = new URL(publicUrl)
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
  const isSecure = protocol === 'https:' || isLocal
  return { prefix: isSecure ? '__Host-' : '', isSecure }
}

export function sessionCookieName(publicUrl: string): string {
  return `${cookieRules(publicUrl).prefix}guiche_session`
}

/** The value as better-auth writes it: the token and its signature. */
export function signToken(token: string, secret: string): string {
  return `${token}.${signatureOf(token, secret)}`
}

/** The token of a session, if the cookie is there and the signature is ours. */
export function readSessionCookie(header: string | undefined, name: string, secret: string): string | undefined {
  const value = cookieNamed(header, name)
  if (value === undefined) return undefined
  const dot = value.lastIndexOf('.')
  const [token, signature] = [value.slice(0, dot), value.slice(dot + 1)]
  const [given, right] = [Buffer.from(signature), Buffer.from(signatureOf(token, secret))]
  return dot > 0 && given.length === right.length && timingSafeEqual(given, right) ? token : undefined
}

function cookieNamed(header: string | undefined, name: string): string | undefined {
  const part = header
    ?.split(';')
    .map((one) => one.trim())
    .find((one) => one.startsWith(`${name}=`))
  if (part === undefined) return undefined
  try {
    return decodeURIComponent(part.slice(name.length + 1))
  } catch {
    return undefined
  }
}

function signatureOf(token: string, secret: string): string {
  return createHmac('sha256', secret).update(token).digest('base64')
}
