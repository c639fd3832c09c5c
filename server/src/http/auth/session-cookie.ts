import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Settings } from '../../domain/core/settings.ts'

// The only parser of the Cookie header. better-auth gets a header that is built from its result (auth-request.ts),
// because a second parser might find another session in the same text.

/**
 * `__Host-`: no other host and no plain http page can set or shadow such a cookie. Browsers accept it on https and on
 * localhost; a service reached by plain http over a network goes without the prefix.
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
    /** A sign-in that waits for its second factor. */
    secondStep: `${prefix}guiche_second_step`,
    /** The session ends when the browser closes. */
    untilClosed: `${prefix}guiche_until_closed`,
    device: `${prefix}guiche_device`,
  }
}

/** The secret that signs cookies. Older ones are kept only to open what they encrypted. */
export function cookieSecret({ signIn }: Pick<Settings, 'signIn'>): string {
  return signIn.secrets()[0]!
}

/** The value as better-auth writes it: the token and its signature. */
export function signToken(token: string, secret: string): string {
  return `${token}.${signatureOf(token, secret)}`
}

/** The content of one of our cookies, if it is present and we signed it. */
export function readSignedCookie(header: string, name: string, secret: string): string | undefined {
  const value = readCookie(header, name)
  if (value === undefined) return undefined
  const dot = value.lastIndexOf('.')
  const [token, signature] = [value.slice(0, dot), value.slice(dot + 1)]
  return dot > 0 && isSame(signature, signatureOf(token, secret)) ? token : undefined
}

/** Whether there was a session. It may have ended. */
export function hasSessionCookie(settings: Settings, header: string | undefined): boolean {
  if (header === undefined) return false
  return readSignedCookie(header, cookieNames(settings.publicUrl).session, cookieSecret(settings)) !== undefined
}

/**
 * The first cookie of exactly this name; later ones are ignored. A name with spaces, tabs or quotes around it is
 * another name, and a value that is not plain URL-encoded text is ignored.
 */
function readCookie(header: string, name: string): string | undefined {
  const part = header
    .split(';')
    .map((pair) => pair.replace(/^[ \t]+/, ''))
    .find((pair) => pair.startsWith(`${name}=`))
  const value = part?.slice(name.length + 1).replace(/[ \t]+$/, '')
  if (value === undefined || !/^[\w.~!*'()%+/=-]+$/.test(value)) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}

function isSame(given: string, expected: string): boolean {
  const [first, second] = [Buffer.from(given), Buffer.from(expected)]
  return first.length === second.length && timingSafeEqual(first, second)
}

function signatureOf(token: string, secret: string): string {
  return createHmac('sha256', secret).update(token).digest('base64')
}

// ---- Known devices ----

// After a sign-in the browser keeps a device cookie (OWASP's term) for that e-mail. It grants no access. It gives the
// browser a limit of its own, so that a stranger who uses up the attempts for an e-mail cannot lock its owner out.

// Browsers keep a cookie for 400 days at most.
const MAX_AGE_SECONDS = 365 * 24 * 3600

/** The known device of this person that sends the request, if it is one. */
export function deviceOf(settings: Settings, header: string | undefined, email: string): string | undefined {
  const value = header && readCookie(header, cookieNames(settings.publicUrl).device)
  const [device, signature] = value?.split('.') ?? []
  if (!device || !signature) return undefined
  const isOurs = settings.signIn.secrets().some((secret) => isSame(signature, deviceSignature(device, email, secret)))
  return isOurs ? device : undefined
}

/** The Set-Cookie line that makes a browser a known device of this person. */
export function deviceCookie(settings: Settings, email: string): string {
  const device = randomBytes(16).toString('base64url')
  const value = `${device}.${deviceSignature(device, email, cookieSecret(settings))}`
  const secure = cookieRules(settings.publicUrl).isSecure ? '; Secure' : ''
  const name = cookieNames(settings.publicUrl).device
  return `${name}=${value}; Max-Age=${MAX_AGE_SECONDS}; Path=/; HttpOnly${secure}; SameSite=Lax`
}

function deviceSignature(device: string, email: string, secret: string): string {
  return createHmac('sha256', secret).update(`device ${device} ${email.trim().toLowerCase()}`).digest('base64url')
}
