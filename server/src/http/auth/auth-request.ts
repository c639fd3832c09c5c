import type { FastifyRequest } from 'fastify'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { findSession, type Session } from '../../domain/accounts/sessions.ts'
import { ADDRESS_HEADER, AUTH_PATH } from './better-auth.ts'
import { isUnattended } from './session.ts'
import { cookieNames, readSignedCookie, signToken } from './session-cookie.ts'

/** Who sends a request, as our own reading of its cookies says. better-auth is told this and nothing else. */
export type Judged = {
  /** One that stands: not expired, not idle for too long, not of a disabled operator. */
  session: Session | undefined
  token: string | undefined
  /** A sign-in that waits for its second step. */
  challenge: string | undefined
  isUntilClosed: boolean
}

export async function judgeCookies(ctx: Context, request: FastifyRequest): Promise<Judged> {
  const { cookie } = request.headers
  if (cookie === undefined) return { session: undefined, token: undefined, challenge: undefined, isUntilClosed: false }
  const names = cookieNames(ctx.settings.publicUrl)
  const secret = ctx.settings.signIn.secrets()[0]!
  const token = readSignedCookie(cookie, names.session, secret)
  const session =
    token === undefined ? undefined : await findSession(ctx, token, { isUnattended: isUnattended(request) })
  return {
    session,
    token: session && token,
    challenge: readSignedCookie(cookie, names.secondStep, secret),
    isUntilClosed: readSignedCookie(cookie, names.untilClosed, secret) !== undefined,
  }
}

// A browser's name for itself is shown in the list of sessions, and needs no more room than this.
const MAX_USER_AGENT = 200

/** The request as better-auth gets it. Its cookies are written anew, so that it cannot find another session in them than the one that was judged. */
export function authRequest(
  ctx: Context,
  request: FastifyRequest,
  { url, fields, judged }: { url: string; fields: Fields; judged: Judged },
): Request {
  const { origin } = new URL(ctx.settings.publicUrl)
  const isGet = request.method === 'GET'
  const query = isGet ? `?${new URLSearchParams(fields as Record<string, string>).toString()}` : ''
  const { 'user-agent': userAgent, 'accept-language': language } = request.headers
  const cookie = cookieHeader(ctx, judged)
  return new Request(`${origin}${AUTH_PATH}${url}${query}`, {
    method: request.method,
    headers: {
      // The caller's was checked already, and may be another name of ours.
      origin,
      [ADDRESS_HEADER]: request.ip,
      ...(cookie !== '' && { cookie }),
      ...(userAgent !== undefined && { 'user-agent': userAgent.slice(0, MAX_USER_AGENT) }),
      ...(language !== undefined && { 'accept-language': language }),
      ...(!isGet && { 'content-type': 'application/json' }),
    },
    ...(!isGet && { body: JSON.stringify(fields) }),
  })
}

function cookieHeader({ settings }: Context, { token, challenge, isUntilClosed }: Judged): string {
  const names = cookieNames(settings.publicUrl)
  const secret = settings.signIn.secrets()[0]!
  const parts = { [names.session]: token, [names.secondStep]: challenge, [names.untilClosed]: isUntilClosed && 'true' }
  return Object.entries(parts)
    .flatMap(([name, value]) => (value ? [`${name}=${encodeURIComponent(signToken(value, secret))}`] : []))
    .join('; ')
}

export type Fields = Record<string, unknown>

/** The named fields of what was sent. Texts that PostgreSQL cannot keep are refused here, since better-auth would fail on them. */
export function pickFields(sent: Fields | null | undefined, names: string[]): Fields {
  const fields = Object.fromEntries(names.flatMap((name) => (sent?.[name] === undefined ? [] : [[name, sent[name]]])))
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string' && /\0|\p{Cs}/u.test(value))
      throw new Fault('bad_request', `${name} must not hold NUL or half of a character`)
  return fields
}
