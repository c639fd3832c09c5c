import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatorError } from '../base/operator-error.ts'
import { refusal, secret, type Env } from './variables.ts'
import type { Settings } from '../domain/core/settings.ts'

const MIN_SECRET_LENGTH = 32
// 32 random hexadecimal digits have 14 different ones on average, and one key in 20 million has fewer than 8.
const MIN_DIFFERENT = 8

/**
 * SECRET_KEY, or a key that is generated in the home once. Read on first use, so that a command that needs no key
 * generates none. Processes that share a database need the same key, so a live service with DATABASE_URL gets none
 * generated.
 */
export function loadSecretKeys(
  env: Env,
  { home, isLive, isShared }: { home: string; isLive: boolean; isShared: boolean },
): () => string[] {
  const given = secret(env, 'SECRET_KEY')
    ?.split(',')
    .map((key) => key.trim())
  if (given?.some((key) => key.length < MIN_SECRET_LENGTH)) {
    throw refusal(
      'SECRET_KEY',
      `must have at least ${MIN_SECRET_LENGTH} characters, for example the output of: openssl rand -hex 32`,
    )
  }
  // Those behind the first only open what they once encrypted.
  if (isLive && given && isGuessable(given[0]!))
    throw refusal(
      'SECRET_KEY',
      'is easy to guess: put the output of "openssl rand -hex 32" first, and a comma behind it',
    )
  if (isLive && isShared && !given) throw refusal('SECRET_KEY', needsKey(home))
  return () => given ?? [generatedSecret(home)]
}

function needsKey(home: string): string {
  const why = 'must be set in live mode with DATABASE_URL, the same for all processes'
  const path = join(home, 'secret-key')
  return existsSync(path)
    ? `${why}: this machine has used the one in ${path}`
    : `${why}, for example the output of: openssl rand -hex 32`
}

function isGuessable(key: string): boolean {
  const steps = Array.from({ length: key.length - 1 }, (_, at) => key.charCodeAt(at + 1) - key.charCodeAt(at))
  if (new Set(key).size < MIN_DIFFERENT || new Set(steps).size < MIN_DIFFERENT) return true
  for (let period = 1; period <= key.length / 2; period++) if (key.startsWith(key.slice(period))) return true
  return false
}

/** Digests have one length, which a comparison in constant time needs. */
export function loadMetricsToken(env: Env): Settings['isMetricsToken'] {
  const token = secret(env, 'METRICS_TOKEN')
  if (!token) return () => false
  // Only printable ASCII passes in a header.
  if (token.length < MIN_SECRET_LENGTH || !/^[!-~]+$/.test(token)) {
    throw refusal(
      'METRICS_TOKEN',
      `must have at least ${MIN_SECRET_LENGTH} characters and no spaces, for example the output of: openssl rand -hex 32`,
    )
  }
  const digestOf = (text: string) => createHash('sha256').update(text).digest()
  const digest = digestOf(token)
  return (text) => timingSafeEqual(digestOf(text), digest)
}

export function signInSecret(secretKey: string): string {
  return Buffer.from(hkdfSync('sha256', secretKey, '', 'guiche sign-in', 32)).toString('hex')
}

/** The secret parts of the notification URL, in the order of the keys. */
export function callbackSecrets(secretKeys: () => string[]): (provider: string) => string[] {
  return (provider) => secretKeys().map((key) => createHmac('sha256', key).update(`callback ${provider}`).digest('hex'))
}

export function findSecretKey(home: string): string | undefined {
  const path = join(home, 'secret-key')
  return existsSync(path) ? generatedSecret(home) : undefined
}

function generatedSecret(home: string): string {
  const path = join(home, 'secret-key')
  mkdirSync(home, { recursive: true })
  try {
    writeFileSync(path, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const key = readFileSync(path, 'utf8').trim()
  // A process that died between creating and writing the file left it empty.
  if (key.length < MIN_SECRET_LENGTH)
    throw new OperatorError(`${path} holds no key: set SECRET_KEY, or delete the file and start again`)
  return key
}
