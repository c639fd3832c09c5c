import { createHash } from 'node:crypto'
import type { Log } from './log.ts'

/** False also if the service does not answer. */
export type IsBreached = (password: string) => Promise<boolean>

const WITHIN_MS = 2_000
// A range has some 2,000 lines of 40 characters.
const MAX_ANSWER_BYTES = 1024 * 1024
const PREFIX_LENGTH = 5

/**
 * Asks a service that speaks the range API of Have I Been Pwned. It gets five digits of the password's SHA-1, so it
 * learns neither the password nor its hash.
 */
export function makeIsBreached(url: string, log: Pick<Log, 'warn'>): IsBreached {
  return async (password) => {
    const hash = createHash('sha1').update(password).digest('hex').toUpperCase()
    try {
      const range = await readRange(`${url.replace(/\/$/, '')}/${hash.slice(0, PREFIX_LENGTH)}`)
      // Lines with a count of 0 are padding, which hides how many lines the range has.
      const rest = hash.slice(PREFIX_LENGTH)
      return range.split(/\r?\n/).some((line) => line.startsWith(`${rest}:`) && !/:0*$/.test(line.trim()))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.warn({ reason }, 'a new password was not compared with breached ones: BREACHED_PASSWORDS_URL does not answer')
      return false
    }
  }
}

async function readRange(url: string): Promise<string> {
  const headers = { 'add-padding': 'true', 'user-agent': 'guiche' }
  const answer = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(WITHIN_MS) })
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error('The answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('latin1')
}
