import { z } from 'zod'
import { actorOf } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { changeTimeZone } from '../../domain/reports/change-time-zone.ts'
import { BODY_ERROR, response, type Api } from '../server/schemas.ts'

export function timeZoneRoutes(api: Api, ctx: Context): void {
  const config = { scope: 'members:write', fresh: false } as const
  api.put('/api/account/time-zone', { schema: changeRoute, config }, async ({ body, caller }) => {
    await changeTimeZone(ctx, actorOf(caller), caller.accountId, body.timeZone)
    return { success: true as const, timeZone: body.timeZone }
  })
}

const changeRoute = {
  body: z.object({ timeZone: z.string('timeZone must be a text') }, { error: BODY_ERROR }),
  response: { 200: response('', { timeZone: z.string() }) },
}
