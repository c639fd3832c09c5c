import { PERSON_SCOPES, SCOPES, type Scope } from './callers.ts'

// What a member of an account may do.

const READING = ['deposits:read', 'balance:read', 'events:read'] as const

export const ROLES = {
  owner: [...SCOPES, ...PERSON_SCOPES],
  finance: [...READING, 'refunds:write', 'payouts:read', 'payouts:write'],
  developer: [...READING, 'deposits:write', 'webhooks:read', 'webhooks:write', 'keys:read', 'keys:write'],
  cashier: ['deposits:today'],
  viewer: [...READING, 'payouts:read', 'webhooks:read', 'keys:read', 'members:read'],
} satisfies Record<string, readonly Scope[]>

export type Role = keyof typeof ROLES
export const ROLE_NAMES = Object.keys(ROLES) as Role[]
