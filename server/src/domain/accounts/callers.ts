import { Fault } from '../../base/fault.ts'
import type { Actor } from '../core/audit-log.ts'
import type { TermsOverrides } from '../core/terms.ts'

export type Scope = 'deposits:write' | 'deposits:read' | 'balance:read' | 'webhooks:write'

export const SCOPES: readonly Scope[] = ['deposits:write', 'deposits:read', 'balance:read', 'webhooks:write']

export const OPERATOR_SCOPE = 'operator'
/** For a monitoring system: reads /metrics and nothing else. The operator scope includes it. */
export const METRICS_SCOPE = 'metrics:read'
export type OperatorScope = typeof OPERATOR_SCOPE | typeof METRICS_SCOPE
export const OPERATOR_SCOPES: readonly OperatorScope[] = [OPERATOR_SCOPE, METRICS_SCOPE]

export function isOperatorScope(scope: string): scope is OperatorScope {
  return OPERATOR_SCOPES.some((known) => known === scope)
}

// `console` is set only by http/console.ts: the user of the terminal acts in place of the caller.

export type Caller = {
  kind: 'account'
  keyId: string | null
  accountId: string
  accountName: string
  email: string
  suspendedAt: Date | null
  scopes: Scope[]
  overrides: TermsOverrides
  console?: { actor: Actor; seesAllAccounts: boolean }
}

export type OperatorCaller = {
  kind: 'operator'
  keyId: string | null
  operatorId: string
  email: string
  scope: OperatorScope
  console?: { actor: Actor }
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

const WHILE_SUSPENDED: readonly Scope[] = ['deposits:read', 'balance:read']

export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.includes(scope))
    throw new Fault('scope_missing', `This API key lacks the scope ${scope}`, { details: { scope } })
  if (caller.suspendedAt && !WHILE_SUSPENDED.includes(scope))
    throw new Fault('account_suspended', 'This account is suspended')
}

export function actorOf(caller: Caller | OperatorCaller): Actor {
  if (caller.console) return caller.console.actor
  return { kind: caller.kind, name: caller.email, ...(caller.keyId !== null && { keyId: caller.keyId }) }
}

/** Whose webhooks and events the caller sees. Null: those of all accounts, which only the console may. */
export function accountScopeOf({ accountId, console }: Caller): string | null {
  return console?.seesAllAccounts ? null : accountId
}
