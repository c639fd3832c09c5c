import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../base/fault.ts'

/** Reads JSON and nothing else. No body at all is left to the route, which knows what it misses. */
export function readJsonOnly(app: FastifyInstance, options: { limitBytes: number }): void {
  app.removeAllContentTypeParsers()
  const parse = (request: FastifyRequest, body: string | Buffer) => Promise.resolve(parseJson(request, body as Buffer))
  const parserOptions = { parseAs: 'buffer', bodyLimit: options.limitBytes } as const
  app.addContentTypeParser('application/json', parserOptions, parse)
  app.addContentTypeParser('*', parserOptions, (request: FastifyRequest, body: string | Buffer) => {
    // `curl -X POST` and many clients name a type although they send nothing.
    if (body.length > 0) return Promise.reject(new UnsupportedType(SEND_JSON))
    return parse(request, body)
  })
}

/** Hands the bytes to the route, whatever type they claim to be; none at all are an empty buffer, or undefined without a type. */
export function readBytes(app: FastifyInstance, options: { limitBytes: number }): void {
  app.removeAllContentTypeParsers()
  const parserOptions = { parseAs: 'buffer', bodyLimit: options.limitBytes } as const
  app.addContentTypeParser('*', parserOptions, async (request: FastifyRequest, body: string | Buffer) => {
    refuseEncoded(request)
    return body
  })
}

export const SEND_JSON = 'Send the body as JSON, with Content-Type: application/json'

/** HTTP's own refusal, which the domain has no code for. */
export class UnsupportedType extends Error {
  override name = 'UnsupportedType'
}

// A body that is not UTF-8 is not JSON; without `fatal` its broken characters would be stored as question marks.
const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(request: FastifyRequest, body: Buffer): unknown {
  refuseEncoded(request)
  if (body.length === 0) return undefined
  try {
    return JSON.parse(utf8.decode(body))
  } catch {
    throw new Fault('bad_request', 'Request body is not valid JSON')
  }
}

function refuseEncoded(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new UnsupportedType('Send the body without Content-Encoding')
  }
}
