import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { transact } from '../../db/tx.ts'
import type { Session } from '../../domain/accounts/sessions.ts'
import type { Context } from '../../domain/context.ts'
import { addPasskey, beginPasskey, listPasskeys, removePasskey } from '../../domain/users/passkeys.ts'
import { nameField, response, time, toApi, type Api } from '../server/schemas.ts'
import { AUTH_PATH, HIDDEN, NOT_FRESH } from './sign-in-refusals.ts'

type Door = {
  signedIn: (request: FastifyRequest) => Promise<void>
  /** Asks for a code, as the other changes of how somebody signs in do. */
  prove: (session: Session, proof: { code: string }) => Promise<void>
}

/** A person's own passkeys. */
export function passkeyRoutes(app: Api, ctx: Context, { signedIn: onRequest, prove }: Door): void {
  const path = `${AUTH_PATH}/passkeys`
  const fresh = { config: { fresh: true }, onRequest }

  app.get(path, { schema: listRoute, onRequest, exposeHeadRoute: false }, async ({ session }) => ({
    success: true as const,
    passkeys: (await listPasskeys(ctx, session.userId)).map(toApi),
  }))

  app.post(`${path}/begin`, { schema: beginRoute, ...fresh }, async ({ session, body }) => {
    await prove(session, body)
    return { ...(await beginPasskey(ctx, { userId: session.userId, email: session.caller.email })) }
  })

  // The challenge was made for this person after the password and the code.
  app.post(path, { schema: addRoute, config: NOT_FRESH, onRequest }, async ({ session, body }) => {
    await addPasskey(ctx, { userId: session.userId, ...body })
    return { success: true as const }
  })

  app.post(`${path}/remove`, { schema: removeRoute, ...fresh }, async ({ session, body }) => {
    await prove(session, body)
    await transact(ctx.pool, (tx) => removePasskey(tx, ctx.now(), session.userId, body.id))
    return { success: true as const }
  })
}

// Answers of browsers have some kilobytes. What they hold is checked by the package that reads them.
const isAnswer = (value: unknown) => typeof (value as { id?: unknown } | null)?.id === 'string'
const ANSWER_ERROR = 'response must be the answer of a passkey'
export const authenticationResponse = z.custom<AuthenticationResponseJSON>(isAnswer, ANSWER_ERROR)
const registrationResponse = z.custom<RegistrationResponseJSON>(isAnswer, ANSWER_ERROR)

const code = z.string('code must be a text').default('')
const done = { response: { 200: response('', {}) } }
const passkeySchema = z.object({ id: z.string(), name: z.string(), createdAt: time, lastUsedAt: time.nullable() })
const listRoute = { ...HIDDEN, response: { 200: response('', { passkeys: passkeySchema.array() }) } }
const beginRoute = { ...HIDDEN, body: z.object({ code }) }
const addRoute = { ...HIDDEN, body: z.object({ name: nameField, response: registrationResponse }), ...done }
const removeRoute = { ...HIDDEN, body: z.object({ id: z.string('id must be a text'), code }), ...done }
