import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { transact } from '../../db/tx.ts'
import { createKey, listAccountKeys, revokeKey } from '../../domain/accounts/api-keys.ts'
import { actorOf, refuseSuspended, requireScope, SCOPES } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { BODY_ERROR, toApi, nameField, response, time, timeField, type Api } from '../server/schemas.ts'

export function keyRoutes(api: Api, ctx: Context): void {
  const reading = { scope: 'keys:read' } as const
  const writing = { scope: 'keys:write', fresh: true } as const

  api.get('/api/keys', { schema: listKeysRoute, config: reading }, async (request) => {
    const keys = await listAccountKeys(ctx, request.caller.accountId)
    return { success: true as const, keys: keys.map(toApi) }
  })

  api.post('/api/keys', { schema: createKeyRoute, config: writing }, async (request, reply) => {
    const { accountId, email: madeBy } = request.caller
    refuseSuspended(request.caller)
    // Nobody gives a program more than their own role allows.
    for (const scope of request.body.scopes) requireScope(request.caller, { scope })
    const wanted = { ...request.body, accountId, expiresAt: request.body.expiresAt ?? null, madeBy }
    const { keyId, text } = await transact(ctx.pool, (tx) =>
      createKey(tx, ctx.now(), ctx.settings.mode, wanted, actorOf(request.caller)),
    )
    reply.code(201)
    return { success: true as const, key: await findKey(accountId, keyId), text }
  })

  api.delete('/api/keys/:keyId', { schema: revokeKeyRoute, config: writing }, async (request) => {
    const { accountId } = request.caller
    const revoked = await transact(ctx.pool, (tx) =>
      revokeKey(tx, ctx.now(), request.params.keyId, actorOf(request.caller), accountId),
    )
    return { success: true as const, key: await findKey(accountId, revoked?.keyId) }
  })

  async function findKey(accountId: string, keyId: string | undefined) {
    const [key] = keyId === undefined ? [] : await listAccountKeys(ctx, accountId, keyId)
    if (!key) throw new Fault('not_found', 'Key not found')
    return toApi(key)
  }
}

const SCOPES_ERROR = `scopes must list at least one of ${SCOPES.join(', ')}`
const newKeyBody = z.object(
  {
    name: nameField,
    scopes: z.array(z.enum(SCOPES, { error: SCOPES_ERROR }), { error: SCOPES_ERROR }).min(1, { error: SCOPES_ERROR }),
    expiresAt: timeField('expiresAt', '', ', or null').nullish(),
  },
  { error: BODY_ERROR },
)

const keySchema = z.object({
  keyId: z.string(),
  name: z.string(),
  prefix: z.string(),
  scopes: z.string().array(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  lastUsedAt: time.nullable(),
  madeBy: z.string().nullable(),
})

const listKeysRoute = { response: { 200: response('', { keys: keySchema.array() }) } }
const createKeyRoute = { body: newKeyBody, response: { 201: response('', { key: keySchema, text: z.string() }) } }
const revokeKeyRoute = {
  params: z.object({ keyId: z.string() }),
  response: { 200: response('', { key: keySchema }) },
}
