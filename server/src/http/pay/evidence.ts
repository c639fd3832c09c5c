import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { readEvidenceFile } from '../../domain/disputes/evidence.ts'
import { contentSecurityPolicy } from '../server/page-layout.ts'
import type { Api } from '../server/schemas.ts'

/** Where a provider fetches a file of a dispute, until it was sent. Only the provider knows the address. */
export function evidenceRoutes(app: Api, ctx: Context): void {
  app.get('/dispute-evidence/:access', { schema: evidenceSchema }, async (request, reply) => {
    const file = await readEvidenceFile(ctx, request.params.access)
    if (!file) throw new Fault('not_found', 'Not found')
    return reply.type(file.type).headers(HEADERS).send(file.bytes)
  })
}

const evidenceSchema = { hide: true, params: z.object({ access: z.string() }) }

const HEADERS = {
  'cache-control': 'no-store',
  'content-disposition': 'attachment',
  'content-security-policy': `${contentSecurityPolicy({})}; sandbox`,
}
