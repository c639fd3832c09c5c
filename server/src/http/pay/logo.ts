import { Fault } from '../../base/fault.ts'
import { readLogo } from '../../domain/accounts/brands.ts'
import type { Context } from '../../domain/context.ts'
import { z } from 'zod'
import { contentSecurityPolicy } from '../server/page-layout.ts'
import type { Api } from '../server/schemas.ts'
import { LOGO_PATH } from './brand.ts'

/** The logos of payment pages. Opened by itself, a file is a picture and can be nothing else. */
export function logoRoutes(app: Api, ctx: Context): void {
  app.get(`${LOGO_PATH}:file`, { schema: logoSchema }, async (request, reply) => {
    const logo = await readLogo(ctx, request.params.file)
    if (!logo) throw new Fault('not_found', 'Logo not found')
    return reply.type(logo.type).headers(HEADERS).send(logo.bytes)
  })
}

const logoSchema = { hide: true, params: z.object({ file: z.string() }) }

const HEADERS = {
  // The name of a file changes with its bytes.
  'cache-control': 'public, max-age=31536000, immutable',
  'content-disposition': 'inline',
  'content-security-policy': `${contentSecurityPolicy({})}; sandbox`,
  // The preview has no origin, and checkouts of shops show the logo too.
  'cross-origin-resource-policy': 'cross-origin',
}
