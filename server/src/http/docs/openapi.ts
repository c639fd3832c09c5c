import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { VERSION } from '../../base/version.ts'
import { finishDocument } from './openapi-postprocess.ts'

/** Listens to the routes that are registered after it, and makes the document from their schemas. */
export async function describeRoutes(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'guiche',
        version: VERSION,
        description: INTRODUCTION,
        contact: { name: 'The operator of this service' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      // Relative, so that the document is right wherever it is served from.
      servers: [{ url: '/', description: 'The service that serves this document.' }],
      tags: [
        { name: 'Deposits', description: 'Create deposits and follow them.' },
        { name: 'Codes', description: 'Codes that can be paid again and again, such as one for each customer.' },
        { name: 'Orders', description: 'Ask for the deposit of an order, by your own reference.' },
        { name: 'Refunds', description: 'Return deposits to their payers, whole or in part.' },
        { name: 'Disputes', description: 'Payments that their payers contest, and evidence against it.' },
        { name: 'Payouts', description: 'Ask the operator to pay out a part of the balance.' },
        { name: 'Balance', description: 'Read the balance of the account and every line behind it.' },
        { name: 'Webhooks', description: 'Manage the URLs that events are sent to.' },
        { name: 'Events', description: 'Read events and their deliveries, and send them again.' },
        { name: 'Operator', description: 'For operators of the service, with an operator’s API key.' },
        { name: 'Payers', description: 'Public: what payers see.' },
      ],
      components: { securitySchemes: SECURITY_SCHEMES },
      security: [{ bearer: [] }, { header: [] }, { query: [] }],
    },
    transform: (input) => {
      const { schema, url } = transform(input)
      const scope = input.route.config?.scope
      return { schema: scope === undefined ? schema : { ...schema, 'x-scope': scope }, url }
    },
    transformObject: (document) =>
      finishDocument(jsonSchemaTransformObject(document)) as object as ReturnType<typeof jsonSchemaTransformObject>,
  })
}

const transform = createJsonSchemaTransform({})

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      '`Authorization: Bearer <key>`: recommended. If a request carries several keys, this one counts, even if it is invalid.',
  },
  header: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: '`X-API-Key: <key>`: counts if there is no `Authorization` header.',
  },
  query: {
    type: 'apiKey',
    in: 'query',
    name: 'api_key',
    description: '`?api_key=<key>`: counts last. Proxies and browsers write URLs to their logs, so prefer a header.',
  },
} as const

const INTRODUCTION = `Take deposits by Pix: create a charge, let the payer pay it, and see your balance credited.

**Amounts** are integers in cents of Brazilian reais. **Times** are ISO 8601 in UTC.

**Responses** are always \`{ "success": true, … }\` or \`{ "success": false, "error": "…" }\`. Branch on the status and the header \`Guiche-Error\`; error texts are for humans and may change.

**Repeating** a request is safe, except for creating a deposit or a refund. Send an \`Idempotency-Key\` with these, and they are safe to repeat too.

**Limits**: the headers \`RateLimit\` and \`RateLimit-Policy\` say how much is left. On 429 and 503, \`Retry-After\` says how long to wait.

**Help**: every answer carries \`X-Request-Id\`. Quote it when you ask the operator about a request, or send one of your own.

**Changes**: unknown fields of a body are ignored, and the header \`Guiche-Ignored\` names them. Answers may gain fields. Only the charge of \`POST /api/deposit\` and of \`GET /api/deposit/{paymentLinkId}\` has exactly the fields below.`
