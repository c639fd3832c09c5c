import { Fault } from '../../base/fault.ts'
import type { Actor } from '../core/audit-log.ts'
import type { TermsOverrides } from './pricing.ts'

export type Scope = 'deposits:write' | 'deposits:read' | 'balance:read' | 'webhooks:write'

export const SCOPES: readonly Scope[] = ['deposits:write', 'deposits:read', 'balance:read', 'webhooks:write']

/** What an operator's key has, and no account's ever has. */
export const OPERATOR_SCOPE = 'operator'
/** What a monitoring system's key has: it reads /metrics and does nothing else. Operators' keys may read it too. */
export const METRICS_SCOPE = 'metrics:read'
export type OperatorScope = typeof OPERATOR_SCOPE | typeof METRICS_SCOPE
export const OPERATOR_SCOPES: readonly OperatorScope[] = [OPERATOR_SCOPE, METRICS_SCOPE]

export function isOperatorScope(scope: string): scope is OperatorScope {
  return OPERATOR_SCOPES.some((one) => one === scope)
}

/** An account holder who is calling, as the key tells, or the session. */
export type Caller = {
  kind: 'account'
  /** Null: in the dashboard. */
  keyId: string | null
  accountId: string
  accountName: string
  email: string
  suspendedAt: Date | null
  scopes: Scope[]
  overrides: TermsOverrides
}

/** An operator who is calling. Operators have no account: nothing that asks for a Caller takes one of these. */
export type OperatorCaller = {
  kind: 'operator'
  keyId: string | null
  operatorId: string
  email: string
  scope: OperatorScope
}

export function requireAccount(caller: Caller | OperatorCaller): Caller {
  if (caller.kind === 'account') return caller
  throw new Fault(
    'scope_missing',
    'This is an operator’s API key, which belongs to no account: use a key of the account',
  )
}

export function requireOperator(caller: Caller | OperatorCaller, scope: OperatorScope): OperatorCaller {
  if (caller.kind === 'operator' && (caller.scope === OPERATOR_SCOPE || caller.scope === scope)) return caller
  throw new Fault('scope_missing', `This API key lacks the scope ${scope}: only operators’ keys have it`, {
    details: { scope },
  })
}

// What was done before is not hidden from an account that may do nothing more.
const WHILE_SUSPENDED: readonly Scope[] = ['deposits:read', 'balance:read']

export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.includes(scope))
    throw new Fault('scope_missing', `This API key lacks the scope ${scope}`, { details: { scope } })
  if (caller.suspendedAt && !WHILE_SUSPENDED.includes(scope))
    throw new Fault('account_suspended', 'This account is suspended')
}

/** As the audit log names who is calling. */
export function actorOf(caller: Caller | OperatorCaller): Actor {
  return { kind: caller.kind, name: caller.email, ...(caller.keyId !== null && { keyId: caller.keyId }) }
}
