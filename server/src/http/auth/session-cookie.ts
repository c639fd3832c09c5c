import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { SessionToken } from '../../domain/accounts/sessions.ts'
import type { Settings } from '../../domain/core/settings.ts'
import { SECOND_STEP_SECONDS } from '../../domain/users/verifications.ts'

// The only reader and writer of our cookies. A second reader might find another session in the same header.

/**
 * `__Host-`: no other host and no plain http page can set or shadow such a cookie. Browsers accept it on https and on
 * localhost; a service reached by plain http over a network goes without the prefix.
 */
function cookieRules(publicUrl: string): { prefix: '__Host-' | ''; isSecure: boolean } {
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
    device: `${prefix}guiche_device`,
  }
}

/** The secret that signs cookies. Older ones only recognize devices. */
export function cookieSecret({ signIn }: Pick<Settings, 'signIn'>): string {
  return signIn.secrets()[0]!
}

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

export function isSame(given: string, expected: string): boolean {
  const [first, second] = [Buffer.from(given), Buffer.from(expected)]
  return first.length === second.length && timingSafeEqual(first, second)
}

function signatureOf(token: string, secret: string): string {
  return createHmac('sha256', secret).update(token).digest('base64')
}

// ---- Set-Cookie lines ----

export function sessionCookie(settings: Settings, session: SessionToken, now: Date): string {
  const { token, expiresAt, isUntilClosed } = session
  const value = encodeURIComponent(signToken(token, cookieSecret(settings)))
  const seconds = Math.round((expiresAt.getTime() - now.getTime()) / 1000)
  return cookieLine(settings, 'session', value, isUntilClosed ? undefined : seconds)
}

export function secondStepCookie(settings: Settings, challenge: string): string {
  const value = encodeURIComponent(signToken(challenge, cookieSecret(settings)))
  return cookieLine(settings, 'secondStep', value, SECOND_STEP_SECONDS)
}

export function endedCookie(settings: Settings, cookie: 'session' | 'secondStep'): string {
  return cookieLine(settings, cookie, '', 0)
}

/** Without a time it ends with the browser. */
function cookieLine(
  { publicUrl }: Settings,
  cookie: keyof ReturnType<typeof cookieNames>,
  value: string,
  seconds: number | undefined,
): string {
  const age = seconds === undefined ? '' : ` Max-Age=${seconds};`
  const secure = cookieRules(publicUrl).isSecure ? ' Secure;' : ''
  return `${cookieNames(publicUrl)[cookie]}=${value};${age} Path=/; HttpOnly;${secure} SameSite=Lax`
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
  return cookieLine(settings, 'device', value, MAX_AGE_SECONDS)
}

function deviceSignature(device: string, email: string, secret: string): string {
  return createHmac('sha256', secret).update(`device ${device} ${email.trim().toLowerCase()}`).digest('base64url')
}
