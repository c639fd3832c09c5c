// What the server answers under /dashboard/api. Amounts are integers in cents, times are ISO 8601.

// ---- Deposits ----

export const DEPOSIT_STATUSES = ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED'] as const
export type DepositStatus = (typeof DEPOSIT_STATUSES)[number]

export type NewDeposit = {
  id: string
  emv: string
  paymentLinkId: string
  paymentLinkUrl: string
  value: number
  originalValue: number
  fee: number
  status: DepositStatus
}

export type Deposit = NewDeposit & {
  createdAt: string
  expiresAt: string
  paidAt: string | null
  /** What the payer paid, where the operator accepted another amount. */
  receivedValue: number | null
  creditedValue: number | null
  refundedValue: number
  /** Received, but the wrong amount or a second payment: held until the operator decides. */
  heldValue: number
  /** The same, after the operator credited it or wrote it off. */
  keptValue: number
  endToEndId: string | null
  paidLate: boolean
  externalId: string | null
  description: string | null
}

export type RefundStatus = 'PROCESSING' | 'DONE' | 'FAILED'

export type Refund = {
  id: string
  value: number
  returnedFee: number
  status: RefundStatus
  reason: string | null
  madeBy: 'account' | 'operator' | 'provider'
  createdAt: string
  endedAt: string | null
}

export type TimelineEntry = { at: string } & (
  | { kind: 'created'; provider: string; value: number; fee: number }
  | { kind: 'paid'; endToEndId: string; value: number }
  | { kind: 'confirmed'; provider: string }
  | { kind: 'credited'; value: number; fee: number; balanceAfter: number }
  | {
      kind: 'payment_held'
      endToEndId: string
      value: number
      why: 'wrong_amount' | 'second_payment' | 'unknown_charge' | 'wrong_provider'
    }
  | {
      kind: 'payment_released'
      endToEndId: string
      value: number
      how: 'credit' | 'refund' | 'write_off' | 'match'
      isOwn: boolean
    }
  | { kind: 'expired' | 'canceled' }
  | {
      kind: 'refund_requested' | 'refund_done' | 'refund_failed'
      refundId: string
      value: number
      reason: string | null
    }
  | { kind: 'event'; eventId: string; event: string }
  | {
      kind: 'webhook_attempt'
      eventId: string
      webhookId: string
      webhookName: string
      number: number
      status: number | null
      error: string | null
      errorCode: string | null
      errorDetail: string | null
      latencyMs: number
    }
  | { kind: 'next_check'; attempts: number }
)

export type DepositHistory = { deposit: Deposit; refunds: Refund[]; timeline: TimelineEntry[] }

// ---- Overview and statement ----

/** Created counts by creation time, paid by payment time. */
export type Period = { created: number; paid: number; paidValue: number; creditedValue: number; fees: number }
export type Day = Omit<Period, 'fees'> & { day: string }

export type Attention = {
  kind:
    | 'account_suspended'
    | 'payment_held'
    | 'webhook_disabled'
    | 'webhook_failing'
    | 'key_expiring'
    | 'no_key'
    | 'no_webhook'
    | 'no_second_factor'
  subjectId: string | null
  name: string | null
  at: string | null
  value: number | null
}

export type Overview = {
  balance: number
  today: Period
  yesterday: Period
  last30: Period
  previous30: Period
  days: Day[]
  latest: Deposit[]
  attention: Attention[]
}

export type StatementLine = {
  id: string
  kind: string
  amount: number
  balance: number
  paymentLinkId: string | null
  recordedAt: string
}

// ---- API keys, webhooks, deliveries ----

export const SCOPES = ['deposits:write', 'deposits:read', 'balance:read', 'webhooks:write'] as const
export type Scope = (typeof SCOPES)[number]

export type Key = {
  keyId: string
  name: string
  prefix: string
  scopes: Scope[]
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
}

/** What a webhook can subscribe to. */
export const EVENTS = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED'] as const
export type EventKind = (typeof EVENTS)[number]

export type Webhook = {
  id: string
  name: string
  url: string
  events: EventKind[]
  hasAuthorization: boolean
  createdAt: string
  enabled: boolean
  disabledAt: string | null
  disabledReason: string | null
  disabledCode: string | null
  failingSince: string | null
  previousSecretUntil: string | null
}

export type WebhookTest = {
  delivered: boolean
  status: number | null
  error: string | null
  errorCode: string | null
  errorDetail: string | null
  latencyMs: number
  excerpt: string
}

export type DeliveryState = 'pending' | 'retrying' | 'delivered' | 'failed'

export type Delivery = {
  eventId: string
  event: EventKind | 'WEBHOOK_TEST'
  subject: { paymentLinkId: string | null }
  webhookId: string
  webhookName: string
  status: DeliveryState
  attempts: number
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  lastAt: string | null
  nextAt: string | null
  createdAt: string
}

export type DeliveryAttempt = Omit<WebhookTest, 'delivered'> & { number: number; at: string }

export type DeliveryDetails = {
  delivery: Delivery
  request: { url: string; headers: Record<string, string>; body: string }
  attempts: DeliveryAttempt[]
}

export type EventRecord = {
  id: string
  event: string
  createdAt: string
  deliveries: { webhookId: string; state: DeliveryState }[]
}

// ---- Operator: accounts ----

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
  /** Only the newest 100,000 were counted. */
  isCut: boolean
  activeKeys: number
  webhooks: number
}

/** Null: the default applies. */
export type OwnTerms = {
  feeBps: number | null
  feeFixed: number | null
  feeMin: number | null
  feeMax: number | null
  feeBearer: 'account' | 'payer' | null
  valueMin: number | null
  valueMax: number | null
}

export type Terms = {
  own: OwnTerms
  effective: OwnTerms
  history: { validFrom: string; own: OwnTerms; setBy: string; reason: string }[]
}

export type AccountDetails = { account: Account; terms: Terms; counts: AccountCounts }

export type Invitation = {
  id: string
  email: string | null
  madeBy: string
  createdAt: string
  expiresAt: string
  usedAt: string | null
  revokedAt: string | null
}

// ---- Operator: exceptions ----

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
export type Resolution = 'match' | 'credit' | 'refund' | 'write_off' | 'charge_account'

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
    status: DepositStatus
    value: number
    fee: number
  } | null
  resolution: { how: Resolution; accountId: string | null; by: string; reason: string } | null
  resolvedAt: string | null
  refund: { id: string; status: RefundStatus; failure: string | null; providerRefundId: string } | null
}

// ---- Operator: reconciliation and providers ----

export type Comparison = {
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

export type Closing = Comparison & { revision: number; closedAt: string }
/** Revision null: the day is not over, so it was not closed. */
export type ReconciledDay = Comparison & { settledCount: number; settledTotal: number; revision: number | null }

export type Provider = {
  name: string
  breaker: 'closed' | 'open' | 'half-open'
  lastError: string | null
  lastSuccessAt: string | null
}

// ---- Operator: webhooks, audit log, overview ----

export type FailingWebhook = {
  webhookId: string
  accountId: string
  accountEmail: string
  name: string
  /** Host only. */
  url: string
  failingSince: string | null
  disabledAt: string | null
  disabledReason: string | null
  disabledCode: string | null
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  pending: number
}

export type AuditEntry = {
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

export type OperatorOverview = {
  accounts: number
  openExceptions: number
  failingWebhooks: number
  suspenseCents: number
  missingCents: number
  today: Period
  days: Day[]
  providers: Provider[]
  lastClosing: Closing | null
}
