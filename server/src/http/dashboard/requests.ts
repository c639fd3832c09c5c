import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { countUnrecorded, findRequests, listRequests, STATUS_CLASS_NAMES } from '../../domain/accounts/read-requests.ts'
import type { Core } from '../../domain/core/core.ts'
import { presentRequest, requestIdParams, requestShape } from '../api/request-records.ts'
import { idField, nextCursor, oneOf, paging, response, type Api } from '../server/schemas.ts'

/** The log of requests by the account’s API keys. */
export function requestRoutes(api: Api, core: Core): void {
  const config = { scope: 'keys:read' } as const

  api.get('/api/requests', { schema: listRoute, config }, async (request) => {
    const { accountId } = request.caller
    const [{ requests, nextCursor }, unrecorded] = await Promise.all([
      listRequests(core, accountId, request.query),
      countUnrecorded(core, accountId),
    ])
    const keptDays = core.settings.retention.requestsDays
    return { success: true as const, requests: requests.map(presentRequest), nextCursor, unrecorded, keptDays }
  })

  api.get('/api/requests/:requestId', { schema: getRoute, config }, async (request) => {
    const found = await findRequests(core, request.caller.accountId, request.params.requestId)
    if (found.length === 0) throw new Fault('not_found', 'Request not found')
    return { success: true as const, requests: found.map(presentRequest) }
  })
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const listQuery = z.object({
  status: oneOf('status', STATUS_CLASS_NAMES).exactOptional(),
  method: oneOf('method', METHODS).exactOptional(),
  keyId: idField('keyId', 'an API key').exactOptional(),
  ...paging,
})

const requestSchema = z.object(requestShape).meta({ id: 'ApiRequest' })

const listRoute = {
  querystring: listQuery,
  response: {
    200: response('', { requests: requestSchema.array(), nextCursor, unrecorded: z.int(), keptDays: z.int() }),
  },
}
const getRoute = {
  params: requestIdParams,
  response: { 200: response('', { requests: requestSchema.array() }) },
}
