import { request } from 'undici'
import type { Witness } from '../domain/history/witness.ts'

// A witness checks a few hashes and writes one line.
const DEADLINE_MS = 10_000
// Signature lines of a few kilobytes.
const MAX_ANSWER_BYTES = 64 * 1024

/** `url` is the submission prefix of the witness. The operator set it, so it may be any address. */
export function makeWitness(url: string): Witness {
  return {
    async addCheckpoint(body) {
      const { statusCode, body: answer } = await request(`${url.replace(/\/$/, '')}/add-checkpoint`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        signal: AbortSignal.timeout(DEADLINE_MS),
      })
      return { status: statusCode, text: await readBounded(answer) }
    },
  }
}

async function readBounded(answer: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of answer) {
    bytes += part.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error('the answer of the witness is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
