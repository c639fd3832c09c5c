import { createHmac } from 'node:crypto'

// RFC 6238 as authenticator apps speak it: SHA-1, six digits, a new code every 30 seconds.

const STEP_MS = 30_000
// Clocks of phones are a little off, so better-auth takes the neighbouring steps too. One more, because the next step may begin before it looks.
const NEIGHBOURS = [0, -1, 1, 2]

/** The time step that a code belongs to; undefined for a code that belongs to none that could be accepted. */
export function totpStepOf(secret: string, code: string, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / STEP_MS)
  return NEIGHBOURS.map((distance) => now + distance).find((step) => codeOf(secret, step) === code)
}

function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const number = mac.readUInt32BE(mac.at(-1)! & 0xf) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}
