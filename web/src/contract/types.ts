// Generated from the server’s schemas: UPDATE_CONTRACT=1 npx vitest run server/test/contract.test.ts

import type {
  DepositStatus,
  Role,
  EventKind,
  PayoutStatus,
  DisputeStatus,
  ExceptionKind,
  ExceptionState,
} from './codes.ts'

export type Me = {
  kind: 'account' | 'operator'
  email: string
  name: string
  accountId: string | null
  accounts: { accountId: string; name: string; role: Role }[]
  role: Role | null
  scopes: (
    | 'deposits:write'
    | 'deposits:read'
    | 'refunds:write'
    | 'balance:read'
    | 'payouts:write'
    | 'payouts:read'
    | 'events:read'
    | 'webhooks:write'
    | 'deposits:today'
    | 'webhooks:read'
    | 'keys:read'
    | 'keys:write'
    | 'members:read'
    | 'members:write'
    | 'shop:write'
  )[]
  mustSetUpSecondFactor: boolean
  suspendedReason: string | null
  isTwoFactor: boolean
  isFresh: boolean
  timeZone: string
  cursor: string | null
}
export type Service = {
  mode: 'test' | 'live'
  publicUrl: string
  signup: 'open' | 'invite' | 'closed'
  sendsMail: boolean
  accountsMayRefund: boolean
  refundsReturnFee: boolean
  chargeExpiresSeconds: number
  chargeMaxExpiresSeconds: number
}
export type Session = { me: Me | null; service: Service }
export type RefundStatus = 'PROCESSING' | 'DONE' | 'FAILED'
export type TimelineEntry =
  | { at: string; kind: 'created'; provider: string; value: number; fee: number }
  | { at: string; kind: 'paid'; endToEndId: string; value: number; timing: 'in_time' | 'after_expiry' | 'after_cancel' }
  | { at: string; kind: 'confirmed'; provider: string }
  | { at: string; kind: 'credited'; value: number; fee: number; balanceAfter: number }
  | {
      at: string
      kind: 'payment_held'
      endToEndId: string
      value: number
      why:
        | 'unknown_charge'
        | 'wrong_provider'
        | 'wrong_amount'
        | 'second_payment'
        | 'refunded_payment'
        | 'payer_unconfirmed'
    }
  | {
      at: string
      kind: 'payment_released'
      endToEndId: string
      value: number
      how: 'credit' | 'refund' | 'write_off' | 'match'
      isOwn: boolean
    }
  | { at: string; kind: 'expired' | 'canceled' }
  | {
      at: string
      kind: 'refund_requested' | 'refund_done' | 'refund_failed'
      refundId: string
      value: number
      reason: string | null
    }
  | {
      at: string
      kind: 'reversed'
      refundId: string
      value: number
      nature: 'fraud' | 'operational' | 'automatic' | 'other' | null
    }
  | { at: string; kind: 'event'; eventId: string; event: string }
  | {
      at: string
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
  | { at: string; kind: 'next_check'; attempts: number }
export type DepositHistory = { deposit: Deposit; refunds: Refund[]; timeline: TimelineEntry[] }
export type Statement = {
  lines: StatementLine[]
  nextCursor: string | null
  timeZone?: string
  openingBalance?: number
  closingBalance?: number
  totals?: StatementTotals[]
}
export type Period = { created: number; paid: number; paidValue: number; creditedValue: number; fees: number }
export type Day = { day: string; created: number; paid: number; paidValue: number; creditedValue: number }
export type Attention = {
  kind:
    | 'account_suspended'
    | 'payment_held'
    | 'code_payment_held'
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
  available: number
  reserved: number
  held: number
  owed: number
  today: Period
  yesterdaySoFar: number
  last30: Period
  previous30: Period
  days: Day[]
  latest: Deposit[]
  attention: Attention[]
}
export type CounterTotals = {
  paid: number
  paidValue: number
  refunded: number
  refundedValue: number
  pending: number
  pendingValue: number
  expired: number
  canceled: number
}
export type CounterDeposit = {
  paymentLinkId: string
  paymentLinkUrl: string
  value: number
  status: DepositStatus
  createdAt: string
  paidAt: string | null
  refundedValue: number
  heldValue: number
  description: string | null
  till: string
}
export type Takings = {
  day: string
  valueMin: number
  valueMax: number
  today: CounterTotals
  shift: CounterTotals | null
  deposits: CounterDeposit[]
  isComplete: boolean
}
export type Key = {
  keyId: string
  name: string
  prefix: string
  scopes: string[]
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  madeBy: string | null
}
export type Member = {
  userId: string
  email: string
  name: string
  role: Role
  addedAt: string
  hasSecondFactor: boolean
}
export type MemberInvitation = {
  id: string
  email: string
  role: Role
  invitedBy: string
  createdAt: string
  expiresAt: string
}
export type Members = { members: Member[]; invitations: MemberInvitation[]; requiresSecondFactor: boolean }
export type Notice = {
  number: number
  kind:
    | 'money_held'
    | 'refund_failed'
    | 'deposit_reversed'
    | 'balance_owed'
    | 'webhook_failing'
    | 'webhook_disabled'
    | 'payout_paid'
    | 'payout_rejected'
    | 'dispute_open'
    | 'key_created'
    | 'new_sign_in'
    | 'exception_open'
    | 'reversal'
    | 'account_owes'
    | 'dispute_waits'
    | 'provider_down'
    | 'closing_differs'
    | 'certificate_ends'
    | 'backup_old'
  what: 'news' | 'began' | 'ended'
  text: string
  path: string
  happenedAt: string
  isSeen: boolean
}
export type NoticeChoice = {
  kind:
    | 'money_held'
    | 'refund_failed'
    | 'deposit_reversed'
    | 'balance_owed'
    | 'webhook_failing'
    | 'webhook_disabled'
    | 'payout_paid'
    | 'payout_rejected'
    | 'dispute_open'
    | 'key_created'
    | 'new_sign_in'
    | 'exception_open'
    | 'reversal'
    | 'account_owes'
    | 'dispute_waits'
    | 'provider_down'
    | 'closing_differs'
    | 'certificate_ends'
    | 'backup_old'
  name: string
  byEmail: boolean
}
export type NoticeChoices = { choices: NoticeChoice[]; emailLanguage: 'dashboard' | 'pt-BR' | 'en' }
export type DeliveryState = 'pending' | 'retrying' | 'delivered' | 'failed'
export type Delivery = {
  eventId: string
  event: string
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
export type DeliveryAttempt = {
  number: number
  at: string
  status: number | null
  error: string | null
  errorCode: string | null
  errorDetail: string | null
  latencyMs: number
  excerpt: string
}
export type DeliveryDetails = {
  delivery: Delivery
  request: { url: string; headers: Record<string, string>; body: string }
  attempts: DeliveryAttempt[]
}
export type OwnTerms = {
  feeBps: number | null
  feeFixed: number | null
  feeMin: number | null
  feeMax: number | null
  feeBearer: 'account' | 'payer' | null
  valueMin: number | null
  valueMax: number | null
  reversalPolicy: 'charge' | 'operator' | null
}
export type AccountDetails = {
  account: Account
  terms: AccountTerms
  counts: AccountCounts
  volume: AccountVolume
  keys: {
    name: string
    prefix: string
    scopes: string[]
    createdAt: string
    expiresAt: string | null
    revokedAt: string | null
    lastUsedAt: string | null
  }[]
  webhooks: { name: string; host: string; state: 'working' | 'failing' | 'disabled'; failingSince: string | null }[]
  members: { email: string; role: Role; hasSecondFactor: boolean; lastSignInAt: string | null }[]
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
export type OperatorDepositRecord = {
  deposit: Deposit
  account: DepositAccount
  provider: string
  refunds: Refund[]
  timeline: TimelineEntry[]
  ledger: LedgerTransfer[]
  history: HistoryPlace[]
  exceptions: string[]
}
export type Resolution = 'credit' | 'refund' | 'write_off' | 'charge_account' | 'match'
export type ExceptionRecord = {
  exception: Exception
  notes: ExceptionNote[]
  queue: { position: number | null; count: number; nextId: string | null }
}
export type ResolveResult = {
  id: string
  result: 'resolved' | 'resolving' | 'refused'
  code: string | null
  error: string | null
  exception: Exception | null
}
export type FailingWebhook = {
  webhookId: string
  accountId: string
  accountEmail: string
  name: string
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
export type OperatorOverview = {
  accounts: number
  suspenseCents: number
  missingCents: number
  today: Period
  days: Day[]
  providers: ProviderHealth[]
  lastClosing: Closing | null
}
export type Health = {
  level: 'green' | 'yellow' | 'red'
  at: string
  lines: HealthLine[]
  processes: {
    role: string
    host: string
    version: string
    startedAt: string
    pool: { max: number; inUse: number; idle: number; waiting: number } | null
  }[]
}
export type OpenItem = {
  kind: 'health' | 'exception' | 'payout' | 'dispute' | 'webhook_failing' | 'webhook_disabled'
  id: string
  what: string | null
  email: string | null
  value: number | null
  since: string | null
}
export type OpenWork = {
  counts: { exceptions: number; payouts: number; disputes: number; webhooks: number; health: number }
  items: OpenItem[]
}
export type PaymentData = {
  paymentLinkId: string
  status: DepositStatus
  state: 'PENDING' | 'CLOSING' | 'HELD' | 'KEPT' | 'COMPLETED' | 'REFUNDED' | 'EXPIRED' | 'CANCELED'
  value: number
  shownValue: number
  refundedValue: number
  heldValue: number
  keptValue: number
  payee: string
  description: string | null
  emv: string | null
  qr: { size: number; modules: string } | null
  paidAt: string | null
  expiresAt: string
  serverNow: string
  isSandbox: boolean
}
export type PaymentTexts = {
  language: 'pt-BR' | 'en' | 'es'
  name: string
  state: string
  amount: string
  payTo: string
  notes: string[]
  sandbox: string | null
  timeLeft: string
  qrLabel: string
  codeLabel: string
  copy: string
  copied: string
  notCopied: string
}
export type Deposit = {
  id: string
  emv: string
  qrCodeLink: string
  paymentLinkId: string
  paymentLinkUrl: string
  value: number
  originalValue: number
  fee: number
  status: DepositStatus
  createdAt: string
  expiresAt: string
  paidAt: string | null
  receivedValue: number | null
  creditedValue: number | null
  refundedValue: number
  heldValue: number
  keptValue: number
  endToEndId: string | null
  paidLate: boolean
  externalId: string | null
  description: string | null
  returnUrl: string | null
  metadata: Record<string, string> | null
  code: string | null
  payer: { taxId: string; policy: 'verify' | 'require' } | null
  payerMatch: 'matched' | 'mismatched' | 'unknown' | null
}
export type Refund = {
  id: string
  value: number
  returnedFee: number
  status: RefundStatus
  reason: string | null
  nature: 'fraud' | 'operational' | 'automatic' | 'other' | null
  madeBy: 'account' | 'operator' | 'provider'
  createdAt: string
  endedAt: string | null
  undoneAt: string | null
}
export type StatementLine = {
  id: string
  kind: string
  amount: number
  balance: number
  chargeId: string | null
  paymentLinkId: string | null
  refundId: string | null
  nature: 'fraud' | 'operational' | 'automatic' | 'other' | null
  payoutId: string | null
  disputeId: string | null
  payout: { status: PayoutStatus; reference: string | null; paidAt: string | null } | null
  occurredAt: string
  recordedAt: string
  gross: number
  fee: number
  net: number
  externalId: string | null
  description: string | null
  endToEndId: string | null
}
export type StatementTotals = { kind: string; count: number; gross: number; fee: number; net: number }
export type Account = {
  id: string
  email: string
  name: string
  createdAt: string
  balance: number
  owed: number
  suspendedAt: string | null
  suspendedReason: string | null
}
export type AccountTerms = {
  own: OwnTerms
  effective: {
    feeBps: number
    feeFixed: number
    feeMin: number | null
    feeMax: number | null
    feeBearer: 'account' | 'payer'
    valueMin: number
    valueMax: number
    reversalPolicy: 'charge' | 'operator'
  }
  history: { validFrom: string; own: OwnTerms; setBy: string; reason: string }[]
}
export type AccountCounts = {
  pending: number
  completed: number
  expired: number
  canceled: number
  isCut: boolean
  activeKeys: number
  webhooks: number
}
export type AccountVolume = {
  today: { created: number; paid: number; paidValue: number; fees: number }
  last30: { created: number; paid: number; paidValue: number; fees: number }
}
export type DepositAccount = { id: string; name: string; email: string }
export type LedgerTransfer = {
  transferId: string
  at: string
  kind: string
  debit: string
  credit: string
  value: number
  balanceAfter: number | null
}
export type HistoryPlace = { position: number | null; event: string; id: string; at: string }
export type Exception = {
  id: string
  kind: ExceptionKind
  state: ExceptionState
  provider: string
  endToEndId: string | null
  txid: string | null
  value: number
  occurredAt: string | null
  openedAt: string
  ways: Resolution[]
  charge: {
    id: string
    paymentLinkId: string
    accountId: string
    email: string
    externalId: string | null
    description: string | null
    status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED' | 'OPENING' | 'FAILED'
    value: number
    fee: number
  } | null
  code: { externalId: string; accountId: string; email: string; txid: string } | null
  resolution: { how: Resolution; accountId: string | null; by: string; reason: string } | null
  resolvedAt: string | null
  payerMatch: 'matched' | 'mismatched' | 'unknown' | null
  refund: { id: string; status: RefundStatus; failure: string | null; providerRefundId: string } | null
}
export type ExceptionNote = { number: number; text: string; notedAt: string; by: string }
export type ProviderHealth = {
  name: string
  breaker: 'closed' | 'open' | 'half-open'
  lastError: string | null
  lastSuccessAt: string | null
}
export type Closing = {
  provider: string
  day: string
  from: string
  to: string
  providerCount: number
  providerTotal: number
  ledgerCount: number
  ledgerTotal: number
  differenceCount: number
  differences: { kind: string; endToEndId: string; text: string }[]
  revision: number
  closedAt: string
}
export type HealthLine = {
  area: 'money' | 'providers' | 'queues' | 'workers' | 'database' | 'history' | 'processes'
  check:
    | 'money_missing'
    | 'exceptions_open'
    | 'closing_differences'
    | 'closing_age'
    | 'provider_breaker'
    | 'provider_success'
    | 'provider_errors'
    | 'provider_latency'
    | 'provider_certificate'
    | 'list_read'
    | 'notifications_missing'
    | 'queue'
    | 'refunds_in_doubt'
    | 'webhooks_failing'
    | 'workers'
    | 'worker_round'
    | 'purge_failing'
    | 'database_answers'
    | 'database_writable'
    | 'pool_waiting'
    | 'oldest_transaction'
    | 'replication_lag'
    | 'database_size'
    | 'disk_free'
    | 'backup_age'
    | 'head_unsigned'
    | 'head_unwitnessed'
    | 'processes'
    | 'clock_offset'
    | 'versions'
  subject: string | null
  level: 'green' | 'yellow' | 'red'
  value: number | null
  unit: 'count' | 'cents' | 'seconds' | 'bytes' | 'share' | 'state'
  bound: number | null
  count: number | null
  alert: string | null
  detail: string | null
}
export type Found = {
  kind: 'account' | 'deposit' | 'payment' | 'refund' | 'exception' | 'payout' | 'event'
  id: string
  title: string
  detail: string | null
  accountId: string | null
  accountName: string | null
  status: string | null
  value: number | null
  at: string
  paymentLinkId: string | null
  exceptionId: string | null
}
export type OperatorDeposit = {
  id: string
  emv: string
  qrCodeLink: string
  paymentLinkId: string
  paymentLinkUrl: string
  value: number
  originalValue: number
  fee: number
  status: DepositStatus
  createdAt: string
  expiresAt: string
  paidAt: string | null
  receivedValue: number | null
  creditedValue: number | null
  refundedValue: number
  heldValue: number
  keptValue: number
  endToEndId: string | null
  paidLate: boolean
  externalId: string | null
  description: string | null
  returnUrl: string | null
  metadata: Record<string, string> | null
  code: string | null
  payer: { taxId: string; policy: 'verify' | 'require' } | null
  payerMatch: 'matched' | 'mismatched' | 'unknown' | null
  account: DepositAccount
}
export type HistoryEntry = { position: number; event: string; id: string; at: string; title: string | null }
export type NewCharge = {
  id: string
  emv: string
  qrCodeLink: string
  paymentLinkId: string
  paymentLinkUrl: string
  value: number
  originalValue: number
  fee: number
  status: DepositStatus
}
export type Payout = {
  id: string
  value: number
  note: string | null
  status: PayoutStatus
  requestedAt: string
  endedAt: string | null
  reference: string | null
  paidAt: string | null
  reason: string | null
  requestedBy: 'account' | 'operator'
}
export type Dispute = {
  id: string
  status: DisputeStatus
  value: number
  held: number
  reason: string | null
  paymentLinkId: string | null
  externalId: string | null
  endToEndId: string
  openedAt: string
  deadlineAt: string
  endedAt: string | null
  evidence: {
    id: string
    fileName: string
    fileType: 'application/pdf' | 'image/png' | 'image/jpeg'
    fileBytes: number
    sha256: string
    description: string | null
    status: 'SENDING' | 'SENT' | 'REFUSED'
    failure: string | null
    givenAt: string
    endedAt: string | null
    givenBy: 'account' | 'operator'
  }[]
}
export type OperatorDispute = {
  id: string
  status: DisputeStatus
  value: number
  held: number
  reason: string | null
  paymentLinkId: string | null
  externalId: string | null
  endToEndId: string
  openedAt: string
  deadlineAt: string
  endedAt: string | null
  provider: string
  accountId: string | null
  email: string | null
  evidence: {
    id: string
    fileName: string
    fileType: 'application/pdf' | 'image/png' | 'image/jpeg'
    fileBytes: number
    sha256: string
    description: string | null
    status: 'SENDING' | 'SENT' | 'REFUSED'
    failure: string | null
    givenAt: string
    endedAt: string | null
    givenBy: string
  }[]
}
export type Code = {
  id: string
  externalId: string
  status: 'OPEN' | 'CLOSED'
  description: string | null
  minValue: number | null
  maxValue: number | null
  txid: string
  emv: string
  qrCodeLink: string
  codeUrl: string
  heldValue: number
  keptValue: number
  createdAt: string
  closedAt: string | null
}
export type Shop = {
  version: number
  name: string
  logoUrl: string | null
  displayName: string | null
  color: string | null
  cnpj: string | null
  supportEmail: string | null
  supportPhone: string | null
  supportUrl: string | null
  defaultDescription: string | null
  defaultExpiresIn: number | null
  language: 'pt-BR' | 'en' | 'es'
  returnOrigins: string[]
}
export type OperatorPayout = {
  id: string
  value: number
  note: string | null
  status: PayoutStatus
  requestedAt: string
  endedAt: string | null
  reference: string | null
  paidAt: string | null
  reason: string | null
  accountId: string
  email: string
  requestedBy: string
  endedBy: string | null
}
export type Reversal = {
  id: string
  at: string
  nature: 'fraud' | 'operational' | 'automatic' | 'other'
  accountId: string
  email: string
  paymentLinkId: string
  externalId: string | null
  provider: string
  providerRefundId: string
  endToEndId: string
  value: number
  charged: number | null
  owed: number | null
  exceptionId: string | null
  state: ExceptionState | null
}
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
export type WebhookStats = {
  sampledSince: string | null
  day: { attempts: number; delivered: number; latencyP50Ms: number | null; latencyP95Ms: number | null }
  week: { attempts: number; delivered: number; latencyP50Ms: number | null; latencyP95Ms: number | null }
  hours: { hour: string; delivered: number; failed: number }[]
}
export type WebhookWaiting = {
  count: number
  isMore: boolean
  nextAttemptAt: string | null
  lastFailure: {
    at: string
    status: number | null
    error: string | null
    errorCode: string | null
    errorDetail: string | null
  } | null
}
export type Event = {
  id: string
  event: string
  createdAt: string
  data: Record<string, unknown>
  deliveries: {
    webhookId: string
    state: DeliveryState
    attempts: number
    nextAttemptAt: string | null
    endedAt: string | null
  }[]
}
export type ApiRequest = {
  requestId: string
  at: string
  method: string
  route: string
  path: string
  parameters: string[]
  status: number
  errorCode: string | null
  error: string | null
  ms: number
  keyId: string
  keyName: string | null
  keyPrefix: string | null
  hasIdempotencyKey: boolean
  network: string
  paymentLinkId: string | null
}
export type DayComparison = {
  provider: string
  day: string
  from: string
  to: string
  providerCount: number
  providerTotal: number
  ledgerCount: number
  ledgerTotal: number
  differenceCount: number
  differences: { kind: string; endToEndId: string; text: string }[]
  settledCount: number
  settledTotal: number
  refundsNotCompared: number
  revision: number | null
}
export type AuditLogEntry = {
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
