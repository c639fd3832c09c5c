import { createHmac, randomBytes } from 'node:crypto'
import { query, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { ARGON2, loadArgon2 } from './users.ts'

// The second factor: codes of an authenticator app (RFC 6238: SHA-1, six digits, a new one every 30 seconds), and
// recovery codes for the day on which the app is lost. Each code works once.

const STEP_MS = 30_000
// Phone clocks are a little off, so the neighbouring steps are accepted.
const NEIGHBOURS = [0, -1, 1]
const RECOVERY_CODES = 10
// Guessing one of the three valid codes at this pace takes years.
const MAX_FAILED_CODES = 10
const LOCKED_MS = 15 * 60_000

/** In SQL, of `users u`. A passkey counts as both factors. */
export const HAS_SECOND_FACTOR = '(u.two_factor_enabled or exists (select from passkeys k where k.user_id = u.id))'

/** A code that was found right. Taking it is a write that one of two callers at once wins. */
export type RightCode = { step: number } | { leftBefore: string; left: string }

export type CheckedCode = { is: 'right'; code: RightCode } | { is: 'wrong' } | { is: 'used_before' }

/** Replaces one that was not turned on yet. */
export async function createSecondFactor(core: Core, userId: string): Promise<{ secret: string; codes: string[] }> {
  const secret = randomBytes(24).toString('base64url')
  const codes = makeRecoveryCodes()
  const { secretBox } = core.settings
  await query(
    core.pool,
    `insert into second_factors (user_id, secret, recovery_codes) values ($1, $2, $3)
     on conflict (user_id) do update set secret = excluded.secret, recovery_codes = excluded.recovery_codes,
       last_step = 0`,
    [userId, secretBox.seal(secret, userId), sealCodes(core, userId, await hashRecoveryCodes(codes))],
  )
  return { secret, codes }
}

/** What an authenticator app reads from the QR code. */
export function totpUri(secret: string, email: string): string {
  const key = base32(Buffer.from(secret))
  return `otpauth://totp/guiche:${encodeURIComponent(email)}?secret=${key}&issuer=guiche&digits=6&period=30`
}

/** The old ones stop working. */
export async function replaceRecoveryCodes(core: Core, userId: string): Promise<string[]> {
  const codes = makeRecoveryCodes()
  const sealed = sealCodes(core, userId, await hashRecoveryCodes(codes))
  await query(core.pool, 'update second_factors set recovery_codes = $2 where user_id = $1', [userId, sealed])
  return codes
}

/** Uses nothing up: takeCode() does. `at` is the time by which authenticator apps make codes. */
export async function checkCode(
  core: Core,
  userId: string,
  { code, how, at }: { code: string; how: 'app_code' | 'recovery_code'; at: number },
): Promise<CheckedCode> {
  const [factor] = await query<{ secret: string; recoveryCodes: string; lastStep: number }>(
    core.pool,
    `select secret, recovery_codes as "recoveryCodes", last_step as "lastStep" from second_factors where user_id = $1`,
    [userId],
  )
  if (!factor) return { is: 'wrong' }
  const typed = code.replaceAll(/\s/g, '')
  const { secretBox } = core.settings
  if (how === 'app_code') {
    const step = totpStepOf(secretBox.open(factor.secret, userId), typed, at)
    if (step === undefined) return { is: 'wrong' }
    return step > factor.lastStep ? { is: 'right', code: { step } } : { is: 'used_before' }
  }
  const hashed = JSON.parse(secretBox.open(factor.recoveryCodes, userId)) as string[]
  const used = await hashTypedCode(hashed, typed)
  if (!hashed.includes(used)) return { is: 'wrong' }
  const left = hashed.filter((one) => one !== used)
  return { is: 'right', code: { leftBefore: factor.recoveryCodes, left: sealCodes(core, userId, left) } }
}

/** Uses a code up, and forgives earlier wrong ones. False if somebody else was first. */
export async function takeCode(tx: Tx, userId: string, code: RightCode): Promise<boolean> {
  const forgive = 'failed_codes = 0, locked_until = null'
  const taken =
    'step' in code
      ? await tx.run(`update second_factors set last_step = $2, ${forgive} where user_id = $1 and last_step < $2`, [
          userId,
          code.step,
        ])
      : await tx.run(
          `update second_factors set recovery_codes = $2, ${forgive} where user_id = $1 and recovery_codes = $3`,
          [userId, code.left, code.leftBefore],
        )
  return taken > 0
}

/** Counts a wrong code at sign-in. True if it is the one that locks the second factor. */
export async function countWrongCode(core: Core, userId: string): Promise<boolean> {
  const [counted] = await query<{ isLocked: boolean }>(
    core.pool,
    `update second_factors set failed_codes = (failed_codes + 1) % $2,
       locked_until = case when failed_codes + 1 >= $2 then $3 else locked_until end
     where user_id = $1 returning failed_codes = 0 as "isLocked"`,
    [userId, MAX_FAILED_CODES, new Date(core.now().getTime() + LOCKED_MS)],
  )
  return counted?.isLocked ?? false
}

export async function enableSecondFactor(tx: Tx, now: Date, userId: string): Promise<void> {
  await tx.run('update users set two_factor_enabled = true, updated_at = $2 where id = $1', [userId, now])
}

export async function disableSecondFactor(tx: Tx, now: Date, userId: string): Promise<void> {
  await tx.run('update users set two_factor_enabled = false, updated_at = $2 where id = $1', [userId, now])
  await tx.run('delete from second_factors where user_id = $1', [userId])
}

// ---- Codes of the app ----

/** The time step of a code; undefined if no acceptable step has it. */
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

function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? [])
    .map((part) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(part.padEnd(5, '0'), 2)])
    .join('')
}

// ---- Recovery codes ----

// A recovery code has 60 random bits, which can be searched if the hash is fast. So it is hashed as a password is. All
// codes of a person have the same salt: a code that somebody types is then hashed once and not ten times.

function makeRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const letters = base32(randomBytes(8)).toLowerCase()
    return `${letters.slice(0, 6)}-${letters.slice(6, 12)}`
  })
}

export async function hashRecoveryCodes(codes: string[]): Promise<string[]> {
  const { hash } = await loadArgon2()
  const salt = randomBytes(16)
  return Promise.all(codes.map((code) => hash(code, { ...ARGON2, salt })))
}

async function hashTypedCode([first]: string[], code: string): Promise<string> {
  if (first === undefined) return ''
  const { hash } = await loadArgon2()
  return hash(code, { ...ARGON2, salt: Buffer.from(first.split('$')[4]!, 'base64') })
}

function sealCodes({ settings }: Core, userId: string, hashed: string[]): string {
  return settings.secretBox.seal(JSON.stringify(hashed), userId)
}
