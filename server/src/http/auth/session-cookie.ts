import { createHmac, timingSafeEqual } from 'node:crypto'

// The only reader of the Cookie header. What it accepts is what everything else sees: better-auth gets a header that is built anew from it
// (http/auth-request.ts), because a second parser may find another session in the same text.

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

export function cookieNames(publicUrl: string) {
  const { prefix } = cookieRules(publicUrl)
  return {
    session: `${prefix}guiche_session`,
    /** A sign-in that waits for the code of the second factor. */
    secondStep: `${prefix}guiche_second_step`,
    /** The session ends with the browser. */
    untilClosed: `${prefix}guiche_until_closed`,
    /** A browser in which somebody has signed in before, see http/device-cookie.ts. */
    device: `${prefix}guiche_device`,
  }
}

export function sessionCookieName(publicUrl: string): string {
  return cookieNames(publicUrl).session
}

/** The value as better-auth writes it: the token and its signature. */
export function signToken(token: string, secret: string): string {
  return `${token}.${signatureOf(token, secret)}`
}

/** What a cookie of ours says, if it is there and the signature is ours. */
export function readSignedCookie(header: string | undefined, name: string, secret: string): string | undefined {
  const value = cookieNamed(header, name)
  if (value === undefined) return undefined
  const dot = value.lastIndexOf('.')
  const [token, signature] = [value.slice(0, dot), value.slice(dot + 1)]
  return dot > 0 && isSame(signature, signatureOf(token, secret)) ? token : undefined
}

/**
 * The first cookie of exactly this name; later ones do not count. A name with a space, a tab or quotes around it is another name, and a value that
 * is not plain URL-encoded text is none.
 */
export function cookieNamed(header: string | undefined, name: string): string | undefined {
  const part = header
    ?.split(';')
    .map((one) => one.replace(/^[ \t]+/, ''))
    .find((one) => one.startsWith(`${name}=`))
  const value = part?.slice(name.length + 1).replace(/[ \t]+$/, '')
  if (value === undefined || !/^[\w.~!*'()%+/=-]+$/.test(value)) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}

export function isSame(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}

function signatureOf(token: string, secret: string): string {
  return createHmac('sha256', secret).update(token).digest('base64')
}
