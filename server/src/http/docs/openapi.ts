import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { contentSecurityPolicy } from '../server/headers.ts'
import { finishDocument } from './openapi-postprocess.ts'
import { makeServedDocument } from '../server/served-document.ts'

/** Listens to the routes that are registered after it, and makes the document from their schemas. */
export async function describeRoutes(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'guiche', version: '0.1.0', description: INTRODUCTION },
      // No servers: then the document is right wherever it is served from.
      tags: [
        { name: 'Deposits', description: 'Ask for deposits and follow them.' },
        { name: 'Refunds', description: 'Give deposits back to their payers.' },
        { name: 'Balance', description: 'What the deposits came to.' },
        { name: 'Webhooks', description: 'Where to be told of events.' },
        { name: 'Events', description: 'What was told, and having it told again.' },
        { name: 'Operator', description: 'For those who run the service, with keys of their own.' },
        { name: 'Payers', description: 'Public: what payers get to see.' },
      ],
      components: { securitySchemes: SECURITY_SCHEMES },
      security: [{ bearer: [] }, { header: [] }, { query: [] }],
    },
    transform: createJsonSchemaTransform({}),
    transformObject: (document) =>
      finishDocument(jsonSchemaTransformObject(document)) as ReturnType<typeof jsonSchemaTransformObject>,
  })
}

/** /openapi.json for programs and /docs for people, both from the same document. */
export async function docsRoutes(app: FastifyInstance): Promise<void> {
  const send = makeServedDocument(() => app.swagger())
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) => {
    // Public knowledge, so that other sites' tools may read it.
    reply.headers({
      'cache-control': 'no-cache',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    })
    return send(request, reply)
  })

  await app.register(async (scope) => {
    // The page asks for the document here, and the plugin would write it anew for each reader.
    scope.addHook('onRequest', async (request, reply) => {
      if (request.routeOptions.url === '/docs/json') return send(request, reply)
      return undefined
    })
    // The page that comes with the plugin does not say that it fits a phone, and phones believe it.
    scope.addHook('onSend', async (_request, reply, payload) => {
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html')
      return isPage && typeof payload === 'string'
        ? payload.replace('<meta charset="UTF-8">', `<meta charset="UTF-8">${VIEWPORT}`)
        : payload
    })
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: POLICY,
      uiConfig: {
        layout: 'BaseLayout',
        docExpansion: 'list',
        defaultModelsExpandDepth: 0,
        displayRequestDuration: true,
        tryItOutEnabled: true,
      },
      theme: {
        title: 'guiche: API',
        css: [{ filename: 'guiche.css', content: STYLE }],
        js: [{ filename: 'guiche.js', content: FOLLOW_COLOR_SCHEME }],
        favicon: [],
      },
    })
  })
}

const VIEWPORT =
  '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" type="image/svg+xml" href="/icon.svg">'

// The interface draws its symbols from data: addresses; all its scripts and styles are files of ours.
const POLICY = contentSecurityPolicy({
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
})

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'Recommended. `Authorization: Bearer <key>`. When several are sent, this one decides, even if it is bad.',
  },
  header: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'Decides when there is no `Authorization` header.',
  },
  query: {
    type: 'apiKey',
    in: 'query',
    name: 'api_key',
    description: 'Last in order. Addresses end up in the logs of proxies and browsers, so prefer a header.',
  },
} as const

const INTRODUCTION = `Deposits by Pix: ask for one, let the payer pay it, and see it credited.

**Amounts** are integers in cents, of Brazilian reais. **Times** are ISO 8601 in UTC.

**Answers** are always \`{ "success": true, … }\` or \`{ "success": false, "error": "…" }\`. Decide by the status; the text is for people.

**Repeating** a request is safe for all but creating a deposit or a refund, and for these too with an \`Idempotency-Key\`.

**Limits**: the headers \`RateLimit\` and \`RateLimit-Policy\` tell how much is left; on 429 and 503, \`Retry-After\` tells when to come again.

**Help**: every answer carries \`X-Request-Id\`. Name it when you ask the operator about a request, or send one of your own.

Unknown fields of a body are ignored, and answers may gain fields, except the charge of \`POST /api/deposit\` and of \`GET /api/deposit/{paymentLinkId}\`, which have exactly the fields below.`

// The interface has a dark mode and no way to ask the reader's system for it.
const FOLLOW_COLOR_SCHEME = `
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
`

const STYLE = `
.swagger-ui .info { margin: 24px 0 }
.swagger-ui .scheme-container { box-shadow: none; padding: 8px 0 }
@media (max-width: 640px) {
  .swagger-ui .wrapper, .swagger-ui .opblock .opblock-section-header { padding: 8px 12px }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100% }
  .swagger-ui .opblock .opblock-summary-description { flex-basis: 100%; padding: 4px 0 0 }
  .swagger-ui .table-container, .swagger-ui .responses-inner, .swagger-ui .opblock-description-wrapper { padding: 8px }
  .swagger-ui table.responses-table > tbody > tr, .swagger-ui table.parameters > tbody > tr { display: block; padding: 8px 0 }
  .swagger-ui table.responses-table > tbody > tr > td, .swagger-ui table.parameters > tbody > tr > td { display: block; max-width: 100%; padding: 2px 0 }
  .swagger-ui table.responses-table > tbody > tr > td.response-col_links { display: none }
  .swagger-ui table.responses-table > thead, .swagger-ui table.parameters > thead { display: none }
  .swagger-ui .parameters-col_description input, .swagger-ui .parameters-col_description select { max-width: 100%; width: 100% }
  .swagger-ui table.headers { table-layout: fixed; word-break: break-word }
}
`
