import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

export type ServedDocument = { headers: Record<string, string>; text: string }

/** A large text that does not change while the process runs: made and compressed once, on first use. */
export function makeServedDocument(
  make: () => ServedDocument,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  let made: Promise<Forms> | undefined
  return async (request, reply) => {
    const { bodies, headers } = await (made ??= formsOf(make()))
    reply.headers(headers)
    if (isKnown(request.headers['if-none-match'], headers.etag)) return reply.code(304).send()
    const encoding = bestEncoding(request.headers['accept-encoding'])
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.send(bodies[encoding])
  }
}

type Encoding = 'br' | 'gzip' | 'identity'
type Forms = { bodies: Record<Encoding, Buffer>; headers: Record<string, string> & { etag: string } }

// A tenth of the time of the best quality, for a tenth more bytes: the first visitor waits for it.
const BROTLI_QUALITY = 9

async function formsOf({ headers, text }: ServedDocument): Promise<Forms> {
  const identity = Buffer.from(text)
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    promisify(gzip)(identity),
  ])
  // Weak, because all encodings share one tag.
  const etag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`
  return {
    bodies: { br, gzip: gzipped, identity },
    headers: { vary: 'accept-encoding', 'cache-control': 'no-cache', ...headers, etag },
  }
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const plain = (tag: string) => tag.trim().replace(/^W\//, '')
  return ifNoneMatch?.split(',').some((tag) => tag.trim() === '*' || plain(tag) === plain(etag)) ?? false
}

function bestEncoding(accepted: string | string[] | undefined): Encoding {
  const offers = String(accepted ?? '')
    .toLowerCase()
    .split(',')
    .map((offer) => offer.trim())
  const takes = (name: string) =>
    offers.some((offer) => new RegExp(`^${name}(?:\\s*;\\s*q=(?!0(?:\\.0*)?$).*)?$`).test(offer))
  return takes('br') ? 'br' : takes('gzip') ? 'gzip' : 'identity'
}
