import { createHmac } from 'node:crypto'

// RFC 6238 as authenticator apps use it: SHA-1, six digits, a new code every 30 seconds.

const STEP_MS = 30_000
// Phone clocks are a little off, so the neighbouring steps are accepted, as by better-auth.
const NEIGHBOURS = [0, -1, 1]

/** The time step of a code; undefined if no acceptable step has it. */
export function totpStepOf(secret: string, code: string, nowMs: number): number | undefined {
  return stepAmong(NEIGHBOURS, secret, code, nowMs)
}

/** As totpStepOf(), for a code that better-auth checks after us: the next step may begin before it does. */
export function totpStepSoon(secret: string, code: string, nowMs: number): number | undefined {
  return stepAmong([...NEIGHBOURS, 2], secret, code, nowMs)
}

function stepAmong(distances: number[], secret: string, code: string, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / STEP_MS)
  return distances.map((distance) => now + distance).find((step) => codeOf(secret, step) === code)
}

function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const number = mac.readUInt32BE(mac.at(-1)! & 0xf) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}
