// Answers of /dashboard/api/operator. Amounts are cents, times are ISO 8601.

export type Account = {
  id: string
  email: string
  name: string
  createdAt: string
  balance: number
  suspendedAt: string | null
  suspendedReason: string | null
}

export type AccountCounts = {
  pending: number
  completed: number
  expired: number
  canceled: number
  /** Only the newest 100 000 were counted. */
  isCut: boolean
  activeKeys: number
  webhooks: number
}

type Bearer = 'account' | 'payer'

/** Null: as the deployment says. */
export type OwnTerms = {
  feeBps: number | null
  feeFixed: number | null
  feeMin: number | null
  feeMax: number | null
  feeBearer: Bearer | null
  valueMin: number | null
  valueMax: number | null
}

export type Terms = {
  own: OwnTerms
  effective: OwnTerms
  history: { validFrom: string; own: OwnTerms; setBy: string; reason: string }[]
}

export type Invitation = {
  id: string
  email: string | null
  madeBy: string
  createdAt: string
  expiresAt: string
  usedAt: string | null
  revokedAt: string | null
}

export const EXCEPTION_KINDS = [
  'wrong_amount',
  'second_payment',
  'unknown_charge',
  'wrong_provider',
  'foreign_refund',
  'undone_refund',
] as const
export type ExceptionKind = (typeof EXCEPTION_KINDS)[number]
export const EXCEPTION_STATES = ['open', 'resolving', 'resolved'] as const
export type ExceptionState = (typeof EXCEPTION_STATES)[number]
export type Way = 'match' | 'credit' | 'refund' | 'write_off' | 'charge_account'

export type Exception = {
  id: string
  kind: ExceptionKind
  state: ExceptionState
  provider: string
  endToEndId: string
  txid: string | null
  value: number
  occurredAt: string
  openedAt: string
  charge: {
    id: string
    paymentLinkId: string
    accountId: string
    email: string
    status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
    value: number
    fee: number
  } | null
  resolution: { how: Way; accountId: string | null; by: string; reason: string } | null
  resolvedAt: string | null
  refund: {
    id: string
    status: 'PROCESSING' | 'DONE' | 'FAILED'
    failure: string | null
    providerRefundId: string
  } | null
}

export type Compared = {
  provider: string
  day: string
  from: string
  to: string
  providerCount: number
  providerTotal: number
  ledgerCount: number
  ledgerTotal: number
  differenceCount: number
  /** The first hundred. */
  differences: { kind: string; endToEndId: string; text: string }[]
}

export type Closing = Compared & { revision: number; closedAt: string }
export type Statement = Compared & { settledCount: number; settledTotal: number; revision: number | null }

export type Provider = {
  name: string
  breaker: 'closed' | 'open' | 'half-open'
  lastError: string | null
  lastSuccessAt: string | null
}

export type TroubledWebhook = {
  endpointId: string
  accountId: string
  accountEmail: string
  name: string
  /** The host alone. */
  url: string
  failingSince: string | null
  disabledAt: string | null
  disabledReason: string | null
  disabledCode: string | null
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  waiting: number
}

export type LogEntry = {
  id: string
  at: string
  actorKind: 'operator' | 'account' | 'console' | 'system'
  actor: string
  keyId: string | null
  action: string
  subject: string
  accountId: string | null
  reason: string | null
  details: Record<string, unknown>
}

export type Overview = {
  accounts: number
  openExceptions: number
  failingWebhooks: number
  suspenseCents: number
  missingCents: number
  today: { created: number; paid: number; paidValue: number; creditedValue: number; fees: number }
  days: { day: string; created: number; paid: number; paidValue: number; creditedValue: number }[]
  providers: Provider[]
  lastClosing: Closing | null
}
