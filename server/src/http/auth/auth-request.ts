import type { FastifyRequest } from 'fastify'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { addressOf } from '../server/client-address.ts'
import { ADDRESS_HEADER, AUTH_PATH } from './better-auth.ts'
import { cookieNames, cookieSecret, signToken } from './session-cookie.ts'
import type { Visitor } from './session.ts'

// Browsers send longer ones, but the list of sessions needs no more.
const MAX_USER_AGENT = 200

export type Fields = Record<string, unknown>

/** The request for better-auth. Its cookies are built from the visitor, so it cannot find another session in them. */
export function authRequest(
  ctx: Context,
  request: FastifyRequest,
  { url, fields, visitor }: { url: string; fields: Fields; visitor: Visitor },
): Request {
  const { origin } = new URL(ctx.settings.publicUrl)
  const isGet = request.method === 'GET'
  const query = isGet ? `?${new URLSearchParams(fields as Record<string, string>).toString()}` : ''
  const { 'user-agent': userAgent, 'accept-language': language } = request.headers
  const cookie = cookieHeader(ctx, visitor)
  return new Request(`${origin}${AUTH_PATH}${url}${query}`, {
    method: request.method,
    headers: {
      // The caller's own origin was checked before, and may be another name of this service.
      origin,
      [ADDRESS_HEADER]: addressOf(request),
      ...(cookie !== '' && { cookie }),
      ...(userAgent !== undefined && { 'user-agent': userAgent.slice(0, MAX_USER_AGENT) }),
      ...(language !== undefined && { 'accept-language': language }),
      ...(!isGet && { 'content-type': 'application/json' }),
    },
    ...(!isGet && { body: JSON.stringify(fields) }),
  })
}

function cookieHeader({ settings }: Context, { token, challenge, isUntilClosed }: Visitor): string {
  const names = cookieNames(settings.publicUrl)
  const secret = cookieSecret(settings)
  const parts = { [names.session]: token, [names.secondStep]: challenge, [names.untilClosed]: isUntilClosed && 'true' }
  return Object.entries(parts)
    .flatMap(([name, value]) => (value ? [`${name}=${encodeURIComponent(signToken(value, secret))}`] : []))
    .join('; ')
}

/** The named fields of a request. Refuses text that PostgreSQL cannot store, on which better-auth would fail. */
export function pickFields(sent: Fields | null | undefined, names: string[]): Fields {
  const fields = Object.fromEntries(names.flatMap((name) => (sent?.[name] === undefined ? [] : [[name, sent[name]]])))
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string' && /\0|\p{Cs}/u.test(value))
      throw new Fault('field_invalid', `${name} must not contain NUL characters or lone surrogates`, {
        details: { field: name },
      })
  return fields
}
