import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { OPERATOR_SCOPE, actorOf } from '../../domain/accounts/callers.ts'
import { endSessions } from '../../domain/accounts/sessions.ts'
import type { Api } from '../server/typed-app.ts'
import { accountParams, reasonBody } from './operator-schemas.ts'
import { answer, bodyErrors, commonErrors, errorAnswer } from '../server/schemas.ts'

/** For an account holder who has lost a device, or who should not be in any more. */
export function operatorSessionRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE, fresh: true } as const
  app.post('/api/operator/accounts/:accountId/sign-out', { schema: signOutSchema, config }, async (request) => ({
    success: true as const,
    ended: await endSessions(ctx, actorOf(request.operator), request.params.accountId, request.body.reason),
  }))
}

const signOutSchema = {
  tags: ['Operator'],
  operationId: 'signOutAccount',
  summary: 'End the sessions of an account holder',
  description:
    'Everybody who is signed in to the dashboard with this account must sign in again, and links to choose a new password stop working. API keys go on working. Needs an operator’s key.',
  params: accountParams,
  body: reasonBody,
  response: {
    200: answer('How many sessions there were.', { ended: z.int().meta({ description: 'Sessions that were ended.' }) }),
    ...bodyErrors,
    404: errorAnswer('`Account not found`: unknown or malformed.'),
    ...commonErrors,
  },
}
