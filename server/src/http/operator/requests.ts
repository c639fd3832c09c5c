import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import { findRequests } from '../../domain/accounts/read-requests.ts'
import type { Core } from '../../domain/core/core.ts'
import { presentRequest, requestIdParams, requestShape } from '../api/request-records.ts'
import { describeOperations, response, type Api } from '../server/schemas.ts'

/** What an account holder calls about, with the id from an error. */
export function operatorRequestRoutes(app: Api, core: Core): void {
  const config = { scope: OPERATOR_SCOPE } as const
  app.get('/api/operator/requests/:requestId', { schema: routes.findRequest, config }, async (request) => {
    const found = await findRequests(core, null, request.params.requestId)
    if (found.length === 0) throw new Fault('not_found', 'Request not found')
    const requests = found.map((one) => ({
      ...presentRequest(one),
      accountId: one.accountId,
      email: one.accountEmail,
    }))
    return { success: true as const, requests }
  })
}

const requestSchema = z
  .object({
    ...requestShape,
    accountId: z.string(),
    email: z.string().nullable().meta({ description: 'Of the account.' }),
  })
  .meta({ id: 'OperatorRequest' })

const routes = describeOperations('Operator', {
  findRequest: {
    summary: 'Find a request by its id',
    description:
      'The requests by API keys of all accounts whose answer had this `X-Request-Id`, newest first. Usually one: callers may send the same id again. Kept for `RETAIN_REQUESTS_DAYS`. Needs an operator’s key.',
    params: requestIdParams,
    response: { 200: response('The requests, at most 20.', { requests: requestSchema.array() }) },
    errors: { 404: '`Request not found`: unknown, too old, or not recorded.' },
  },
})
