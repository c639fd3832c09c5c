import { onTestFinished } from 'vitest'
import { ARGON2 } from '../src/domain/users/users.ts'

// Hashing is slow on purpose, and tests hash a thousand passwords and recovery codes: in this process it is quick. What
// the service uses, hashAsTheService() gives to the tests of it.

const SERVICE = { ...ARGON2 }
const QUICK = { memoryCost: 64, timeCost: 1 }

Object.assign(ARGON2, QUICK)

export function hashAsTheService(): void {
  Object.assign(ARGON2, SERVICE)
  onTestFinished(() => void Object.assign(ARGON2, QUICK))
}
