import { z } from 'zod'
import { isUuid } from '../../base/ids.ts'
import type { RequestRecord } from '../../domain/accounts/read-requests.ts'
import { time, toApi } from '../server/schemas.ts'

export const requestIdParams = z.object({
  requestId: z.string().meta({ description: 'The `X-Request-Id` of the answer.' }),
})

export const requestShape = {
  requestId: z.string().meta({ description: 'The `X-Request-Id`, as the caller sent it, or as guiche made it.' }),
  at: time.meta({ description: 'When it was answered.' }),
  method: z.string(),
  route: z.string().meta({ examples: ['/api/deposit/:paymentLinkId'] }),
  path: z.string().meta({ description: 'The path, with its ids. A key or a secret in it is cut.' }),
  parameters: z.string().array().meta({ description: 'The names of the parameters. Their values are not kept.' }),
  status: z.int(),
  errorCode: z.string().nullable().meta({ description: 'The `Guiche-Error` of the answer.' }),
  error: z.string().nullable().meta({ description: 'The `error` of the answer.' }),
  ms: z.int().meta({ description: 'From the first byte of the request to the end of the answer.' }),
  keyId: z.string(),
  keyName: z.string().nullable(),
  keyPrefix: z.string().nullable().meta({ description: 'How the key begins.' }),
  hasIdempotencyKey: z.boolean(),
  network: z.string().meta({ description: 'Where it came from: the address without its last part.' }),
  paymentLinkId: z.string().nullable().meta({ description: 'Of the deposit that the path names.' }),
}

/** Answers leave out what their schema does not name. */
export function presentRequest(request: RequestRecord) {
  return { ...toApi(request), paymentLinkId: paymentLinkIdOf(request) }
}

function paymentLinkIdOf({ route, path }: Pick<RequestRecord, 'route' | 'path'>): string | null {
  const place = route.split('/').indexOf(':paymentLinkId')
  const id = place < 0 ? undefined : path.split('/')[place]
  return id !== undefined && isUuid(id) ? id : null
}
