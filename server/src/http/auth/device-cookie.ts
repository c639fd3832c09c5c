import { createHmac, randomBytes } from 'node:crypto'
import type { Settings } from '../../domain/core/settings.ts'
import { cookieNamed, cookieNames, cookieRules, isSame } from './session-cookie.ts'

// A browser in which somebody has signed in keeps a cookie that says so, for that e-mail alone. It opens nothing: it only gives that browser
// tries of its own, so that a stranger who uses up the tries for an e-mail does not keep its owner out. OWASP calls it a device cookie.

// Browsers keep a cookie for 400 days at most.
const MAX_AGE_SECONDS = 365 * 24 * 3600

/** Which known device of this person sends the request; undefined for all others. */
export function deviceOf(settings: Settings, header: string | undefined, email: string): string | undefined {
  const value = cookieNamed(header, cookieNames(settings.publicUrl).device)
  const [device, signature] = value?.split('.') ?? []
  if (!device || !signature) return undefined
  const isOurs = settings.signIn.secrets().some((secret) => isSame(signature, signatureOf(device, email, secret)))
  return isOurs ? device : undefined
}

/** The Set-Cookie line that makes a browser a known device of this person. */
export function deviceCookie(settings: Settings, email: string): string {
  const device = randomBytes(16).toString('base64url')
  const value = `${device}.${signatureOf(device, email, settings.signIn.secrets()[0]!)}`
  const secure = cookieRules(settings.publicUrl).isSecure ? '; Secure' : ''
  const name = cookieNames(settings.publicUrl).device
  return `${name}=${value}; Max-Age=${MAX_AGE_SECONDS}; Path=/; HttpOnly${secure}; SameSite=Lax`
}

function signatureOf(device: string, email: string, secret: string): string {
  return createHmac('sha256', secret).update(`device ${device} ${email.trim().toLowerCase()}`).digest('base64url')
}
