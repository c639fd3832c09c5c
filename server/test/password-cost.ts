import { onTestFinished } from 'vitest'
import { ARGON2 } from '../src/domain/users/users.ts'

// Hashing is slow on purpose, and tests hash a thousand passwords and recovery codes. So it is quick in this process.
// Tests of the cost itself call hashAsTheService().

declare global {
  /** Kept here, because this module may be loaded again in a worker whose hashing is quick already. */
  var argonOfService: typeof ARGON2 | undefined
}

const SERVICE = (globalThis.argonOfService ??= { ...ARGON2 })
const QUICK = { memoryCost: 64, timeCost: 1 }

Object.assign(ARGON2, QUICK)

export function hashAsTheService(): void {
  Object.assign(ARGON2, SERVICE)
  onTestFinished(() => void Object.assign(ARGON2, QUICK))
}
