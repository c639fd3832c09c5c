import { existsSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { VERSION } from '../../base/version.ts'
import { DASHBOARD } from '../dashboard/static.ts'
import { makeServedDocument } from '../server/served-document.ts'

// An update of guiche reaches every checkout within minutes, and a phone asks once for several payments.
const CURRENT = 'public, max-age=300'
// For those who pin the script by its hash. It changes with the version alone.
const OF_ONE_VERSION = 'public, max-age=31536000, immutable'

/** The script of the element `<guiche-pix>`, for pages of any origin. web/src/element is its source. */
export function elementRoutes(app: FastifyInstance, folder = DASHBOARD): void {
  const file = `${folder}elements/guiche-pix.js`
  // The dashboard says that nothing was built, and how to build it.
  if (!existsSync(file)) return
  for (const [name, cacheControl] of [
    ['guiche-pix', CURRENT],
    [`guiche-pix-${VERSION}`, OF_ONE_VERSION],
  ] as const) {
    const serve = makeServedDocument(() => ({
      headers: {
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': cacheControl,
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
      },
      text: readFileSync(file, 'utf8'),
    }))
    app.get(`/elements/${name}.js`, { schema: { hide: true } }, serve)
  }
}
