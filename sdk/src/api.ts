// Generated from server/openapi.json: UPDATE_SDK_TYPES=1 npx vitest run sdk/test/api-types.test.ts

import type {
  Account,
  AccountCounts,
  AccountTerms,
  AccountVolume,
  AuditLogEntry,
  Charge,
  Closing,
  Code,
  DayComparison,
  DeliveryAttempt,
  Deposit,
  DepositAccount,
  Dispute,
  Event,
  Exception,
  ExceptionNote,
  Found,
  FullDeposit,
  HealthLine,
  HistoryEntry,
  HistoryPlace,
  LedgerTransfer,
  NewCharge,
  OperatorDeposit,
  OperatorDispute,
  OperatorPayout,
  OperatorRefund,
  OperatorRequest,
  Payout,
  ProviderHealth,
  Refund,
  Reversal,
  ReversalRate,
  Shop,
  StatementLine,
  StatementTotals,
  Webhook,
  WebhookStats,
  WebhookTest,
  WebhookWaiting,
} from './types.ts'

/** Method and path of each operation. `key` marks those that take an `Idempotency-Key`. */
export const OPERATIONS = {
  createDeposit: ['POST', '/api/deposit', 'key'],
  getDeposit: ['GET', '/api/deposit/{paymentLinkId}'],
  cancelDeposit: ['POST', '/api/deposit/{paymentLinkId}/cancel'],
  retrieveDeposit: ['GET', '/api/deposits/{paymentLinkId}'],
  listDeposits: ['GET', '/api/deposits'],
  ensureDeposit: ['PUT', '/api/orders/{externalId}/deposit'],
  getOrder: ['GET', '/api/orders/{externalId}'],
  ensureCode: ['PUT', '/api/codes/{externalId}'],
  closeCode: ['DELETE', '/api/codes/{externalId}'],
  getCode: ['GET', '/api/codes/{externalId}'],
  listCodes: ['GET', '/api/codes'],
  getShop: ['GET', '/api/shop'],
  refundDeposit: ['POST', '/api/deposit/{paymentLinkId}/refund', 'key'],
  listRefunds: ['GET', '/api/deposit/{paymentLinkId}/refunds'],
  listDisputes: ['GET', '/api/disputes'],
  getDispute: ['GET', '/api/disputes/{disputeId}'],
  giveEvidence: ['POST', '/api/disputes/{disputeId}/evidence'],
  requestPayout: ['POST', '/api/payouts', 'key'],
  listPayouts: ['GET', '/api/payouts'],
  getPayout: ['GET', '/api/payouts/{payoutId}'],
  getBalance: ['GET', '/api/balance'],
  getStatement: ['GET', '/api/statement'],
  listWebhooks: ['GET', '/api/webhooks'],
  createWebhook: ['POST', '/api/webhooks'],
  getWebhook: ['GET', '/api/webhooks/{webhookId}'],
  updateWebhook: ['PATCH', '/api/webhooks/{webhookId}'],
  deleteWebhook: ['DELETE', '/api/webhooks/{webhookId}'],
  testWebhook: ['POST', '/api/webhooks/{webhookId}/test'],
  rotateWebhookSecret: ['POST', '/api/webhooks/{webhookId}/rotate-secret'],
  getWebhookStats: ['GET', '/api/webhooks/{webhookId}/stats'],
  retryWebhook: ['POST', '/api/webhooks/{webhookId}/retry'],
  listEvents: ['GET', '/api/events'],
  getEvent: ['GET', '/api/events/{eventId}'],
  resendEvent: ['POST', '/api/events/{eventId}/resend'],
  resendEvents: ['POST', '/api/events/resend'],
  getHead: ['GET', '/api/events/head'],
  getReceipt: ['GET', '/api/events/{eventId}/receipt', 'text'],
  listAccounts: ['GET', '/api/operator/accounts'],
  getAccount: ['GET', '/api/operator/accounts/{accountId}'],
  getAccountHistory: ['GET', '/api/operator/accounts/{accountId}/history'],
  setAccountTerms: ['PATCH', '/api/operator/accounts/{accountId}/terms'],
  suspendAccount: ['POST', '/api/operator/accounts/{accountId}/suspend'],
  resumeAccount: ['POST', '/api/operator/accounts/{accountId}/resume'],
  signOutAccount: ['POST', '/api/operator/accounts/{accountId}/sign-out'],
  searchAll: ['GET', '/api/operator/search'],
  listAllDeposits: ['GET', '/api/operator/deposits'],
  getAnyDeposit: ['GET', '/api/operator/deposits/{paymentLinkId}'],
  listExceptions: ['GET', '/api/operator/exceptions'],
  getException: ['GET', '/api/operator/exceptions/{exceptionId}'],
  noteException: ['POST', '/api/operator/exceptions/{exceptionId}/notes'],
  resolveException: ['POST', '/api/operator/exceptions/{exceptionId}/resolve'],
  resolveExceptions: ['POST', '/api/operator/exceptions/resolve'],
  listAllRefunds: ['GET', '/api/operator/refunds'],
  refundAnyDeposit: ['POST', '/api/operator/deposits/{paymentLinkId}/refund', 'key'],
  endRefund: ['POST', '/api/operator/refunds/{refundId}/end'],
  listAllDisputes: ['GET', '/api/operator/disputes'],
  listOpenDisputes: ['GET', '/api/operator/disputes/open'],
  getAnyDispute: ['GET', '/api/operator/disputes/{disputeId}'],
  giveEvidenceFor: ['POST', '/api/operator/disputes/{disputeId}/evidence'],
  listAllPayouts: ['GET', '/api/operator/payouts'],
  requestPayoutFor: ['POST', '/api/operator/payouts', 'key'],
  payPayout: ['POST', '/api/operator/payouts/{payoutId}/pay'],
  rejectPayout: ['POST', '/api/operator/payouts/{payoutId}/reject'],
  listReversals: ['GET', '/api/operator/reversals'],
  getReversalRates: ['GET', '/api/operator/reversals/rates'],
  listClosings: ['GET', '/api/operator/closings'],
  reconcile: ['POST', '/api/operator/reconcile'],
  listAuditLog: ['GET', '/api/operator/audit-log'],
  findRequest: ['GET', '/api/operator/requests/{requestId}'],
  listProviders: ['GET', '/api/operator/providers'],
  getHealth: ['GET', '/api/operator/health'],
} as const

/** What each operation takes and answers. */
export type Operations = {
  /** Create a deposit. */
  createDeposit: {
    body: CreateDepositBody
    answer: {
      charge: NewCharge
    }
  }
  /** Get the status of a deposit. */
  getDeposit: {
    path: { paymentLinkId: string }
    answer: {
      charge: Charge
    }
  }
  /** Cancel a deposit. */
  cancelDeposit: {
    path: { paymentLinkId: string }
    answer: {
      charge: Deposit
    }
  }
  /** Get a deposit in full. */
  retrieveDeposit: {
    path: { paymentLinkId: string }
    answer: {
      deposit: FullDeposit
    }
  }
  /** List deposits. */
  listDeposits: {
    query?: ListDepositsQuery
    answer: {
      deposits: Deposit[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Ensure the deposit of an order. */
  ensureDeposit: {
    path: { externalId: string }
    body: EnsureDepositBody
    answer: {
      deposit: Deposit
    }
  }
  /** List the deposits of an order. */
  getOrder: {
    path: { externalId: string }
    query?: GetOrderQuery
    answer: {
      deposits: Deposit[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Ensure a lasting code. */
  ensureCode: {
    path: { externalId: string }
    body: EnsureCodeBody
    answer: {
      code: Code
    }
  }
  /** Close a code. */
  closeCode: {
    path: { externalId: string }
    answer: {
      code: Code
    }
  }
  /** Get a code. */
  getCode: {
    path: { externalId: string }
    answer: {
      code: Code
    }
  }
  /** List codes. */
  listCodes: {
    query?: ListCodesQuery
    answer: {
      codes: Code[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get the shop. */
  getShop: {
    answer: {
      shop: Shop
    }
  }
  /** Refund a deposit. */
  refundDeposit: {
    path: { paymentLinkId: string }
    body?: RefundDepositBody
    answer: {
      refund: Refund
    }
  }
  /** List the refunds of a deposit. */
  listRefunds: {
    path: { paymentLinkId: string }
    query?: ListRefundsQuery
    answer: {
      refunds: Refund[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** List disputes. */
  listDisputes: {
    query?: ListDisputesQuery
    answer: {
      disputes: Dispute[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get a dispute. */
  getDispute: {
    path: { disputeId: string }
    answer: {
      dispute: Dispute
    }
  }
  /** Give evidence in a dispute. */
  giveEvidence: {
    path: { disputeId: string }
    body: GiveEvidenceBody
    answer: {
      dispute: Dispute
    }
  }
  /** Ask for a payout. */
  requestPayout: {
    body: RequestPayoutBody
    answer: {
      payout: Payout
    }
  }
  /** List payouts. */
  listPayouts: {
    query?: ListPayoutsQuery
    answer: {
      payouts: Payout[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get a payout. */
  getPayout: {
    path: { payoutId: string }
    answer: {
      payout: Payout
    }
  }
  /** Get the balance. */
  getBalance: {
    answer: {
      /** What you are owed, in cents: `available`, `reserved` and `held`. */
      balance: number
      /** What you can refund or ask to be paid out, in cents. */
      available: number
      /** What is set aside for payouts that are REQUESTED, in cents. */
      reserved: number
      /** What is set aside while payers contest payments, in cents. */
      held: number
      /**
       * What you owe, in cents, because the bank returned deposits and the balance was too small. The next money
       * that comes in pays it first.
       */
      owed: number
      currency: 'BRL'
    }
  }
  /** Get the statement. */
  getStatement: {
    query?: GetStatementQuery
    answer: {
      lines: StatementLine[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
      /** The time zone in which days begin, of the account. On the first page, with `from` or `to`. */
      timeZone?: string
      /** The balance before the first line of the period, in cents. On the first page, with `from` or `to`. */
      openingBalance?: number
      /** The balance after its last line, in cents. On the first page, with `from` or `to`. */
      closingBalance?: number
      /**
       * The sums of the period, by kind: of the lines between `minValue` and `maxValue`, if given. Left out of a
       * period with more than 100000 lines. On the first page, with `from` or `to`.
       */
      totals?: StatementTotals[]
    }
  }
  /** List webhooks. */
  listWebhooks: {
    answer: {
      webhooks: Webhook[]
    }
  }
  /** Create a webhook. */
  createWebhook: {
    body: CreateWebhookBody
    answer: {
      webhook: Webhook
      /** The signing secret, `whsec_…`. Shown only once. */
      secret: string
      test: WebhookTest
    }
  }
  /** Get a webhook. */
  getWebhook: {
    path: { webhookId: string }
    answer: {
      webhook: Webhook
    }
  }
  /** Update a webhook. */
  updateWebhook: {
    path: { webhookId: string }
    body: UpdateWebhookBody
    answer: {
      webhook: Webhook
      test: WebhookTest | null
    }
  }
  /** Delete a webhook. */
  deleteWebhook: { path: { webhookId: string }; answer: Record<string, unknown> }
  /** Send a test event. */
  testWebhook: {
    path: { webhookId: string }
    body?: TestWebhookBody
    answer: {
      test: WebhookTest
    }
  }
  /** Rotate the signing secret. */
  rotateWebhookSecret: {
    path: { webhookId: string }
    body?: RotateWebhookSecretBody
    answer: {
      webhook: Webhook
      /** The signing secret, `whsec_…`. Shown only once. */
      secret: string
    }
  }
  /** Get how a webhook fares. */
  getWebhookStats: {
    path: { webhookId: string }
    answer: {
      stats: WebhookStats
      waiting: WebhookWaiting
    }
  }
  /** Retry waiting deliveries now. */
  retryWebhook: {
    path: { webhookId: string }
    body?: RetryWebhookBody
    answer: {
      /** Deliveries that were waiting, and are due now. */
      queued: number
    }
  }
  /** List events. */
  listEvents: {
    query?: ListEventsQuery
    answer: {
      events: Event[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get an event. */
  getEvent: {
    path: { eventId: string }
    answer: {
      event: Event
      attempts: DeliveryAttempt[]
    }
  }
  /** Resend an event. */
  resendEvent: {
    path: { eventId: string }
    body?: ResendEventBody
    answer: {
      /**
       * Number of deliveries queued. 0 if no enabled webhook subscribes to these events. A `WEBHOOK_TEST` is never
       * resent.
       */
      queued: number
    }
  }
  /** Resend many events. */
  resendEvents: {
    body: ResendEventsBody
    answer: {
      /**
       * Number of deliveries queued. 0 if no enabled webhook subscribes to these events. A `WEBHOOK_TEST` is never
       * resent.
       */
      queued: number
    }
  }
  /** Get the head of the log. */
  getHead: {
    query?: GetHeadQuery
    answer: {
      /** Positions belong to it. It changes only when the service was restored from a backup that lacks events. */
      historyId: string
      /** The last position of the account’s history; 0 if there is none. */
      position: number
      /** The name of the log. */
      origin: string
      /** The verifier keys of the log, as C2SP signed notes name them. */
      keys: string[]
      /** How many leaves the tree has. */
      size: number
      /** The root of the tree, in base64. */
      root: string
      /** The signed head: a C2SP tlog-checkpoint. */
      checkpoint: string
      consistency?: string[]
    }
  }
  /** Get the receipt of an event. */
  getReceipt: { path: { eventId: string }; answer: string }
  /** List accounts. */
  listAccounts: {
    query?: ListAccountsQuery
    answer: {
      accounts: Account[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get an account. */
  getAccount: {
    path: { accountId: string }
    answer: {
      account: Account
      terms: AccountTerms
      counts: AccountCounts
      volume: AccountVolume
      /** Its API keys, active ones first, at most 500. A key itself is stored nowhere. */
      keys: Array<{
        name: string
        prefix: string
        scopes: string[]
        createdAt: string
        expiresAt: string | null
        revokedAt: string | null
        lastUsedAt: string | null
      }>
      webhooks: Array<{
        name: string
        /** Of its URL. The rest is the account’s own. */
        host: string
        state: 'working' | 'failing' | 'disabled'
        failingSince: string | null
      }>
      members: Array<{
        email: string
        role: 'owner' | 'finance' | 'developer' | 'cashier' | 'viewer'
        hasSecondFactor: boolean
        /** Null if it was longer ago than records of sign-ins are kept. */
        lastSignInAt: string | null
      }>
    }
  }
  /** List the history of an account. */
  getAccountHistory: {
    path: { accountId: string }
    query?: GetAccountHistoryQuery
    answer: {
      events: HistoryEntry[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Set fee and limits of an account. */
  setAccountTerms: {
    path: { accountId: string }
    body: SetAccountTermsBody
    answer: {
      terms: AccountTerms
    }
  }
  /** Suspend an account. */
  suspendAccount: {
    path: { accountId: string }
    body: SuspendAccountBody
    answer: {
      account: Account
    }
  }
  /** Resume an account. */
  resumeAccount: {
    path: { accountId: string }
    body: ResumeAccountBody
    answer: {
      account: Account
    }
  }
  /** End the sessions of an account holder. */
  signOutAccount: {
    path: { accountId: string }
    body: SignOutAccountBody
    answer: {
      /** Number of ended sessions. */
      ended: number
    }
  }
  /** Search everything. */
  searchAll: {
    query?: SearchAllQuery
    answer: {
      results: Found[]
    }
  }
  /** List deposits of all accounts. */
  listAllDeposits: {
    query?: ListAllDepositsQuery
    answer: {
      deposits: OperatorDeposit[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get a deposit of any account. */
  getAnyDeposit: {
    path: { paymentLinkId: string }
    answer: {
      deposit: Deposit
      account: DepositAccount
      provider: string
      refunds: Refund[]
      /** What happened, oldest first. */
      timeline: unknown[]
      /** Oldest first, at most 1 000. */
      ledger: LedgerTransfer[]
      /** The events about it, oldest first, at most 100. */
      history: HistoryPlace[]
      /** The ids of its exceptions, oldest first. */
      exceptions: string[]
    }
  }
  /** List exceptions. */
  listExceptions: {
    query?: ListExceptionsQuery
    answer: {
      exceptions: Exception[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get an exception. */
  getException: {
    path: { exceptionId: string }
    answer: {
      exception: Exception
      notes: ExceptionNote[]
      queue: {
        /** Its place among the open ones, newest first; null if it is not open. */
        position: number | null
        /** Open ones, counted up to 1000. */
        count: number
        /** The open one that follows it, or after the last one the first. */
        nextId: string | null
      }
    }
  }
  /** Write a note on an exception. */
  noteException: {
    path: { exceptionId: string }
    body: NoteExceptionBody
    answer: {
      note: ExceptionNote
    }
  }
  /** Resolve an exception. */
  resolveException: {
    path: { exceptionId: string }
    body: ResolveExceptionBody
    answer: {
      exception: Exception
    }
  }
  /** Resolve several exceptions alike. */
  resolveExceptions: {
    body: ResolveExceptionsBody
    answer: {
      results: Array<{
        id: string
        /** resolving: its refund is in progress. */
        result: 'resolved' | 'resolving' | 'refused'
        /** Of a refusal, its error code. */
        code: string | null
        /** Of a refusal, why, for humans. */
        error: string | null
        /** As it is now; null if the id is unknown. */
        exception: Exception | null
      }>
    }
  }
  /** List refunds. */
  listAllRefunds: {
    query?: ListAllRefundsQuery
    answer: {
      refunds: OperatorRefund[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Refund a deposit of any account. */
  refundAnyDeposit: {
    path: { paymentLinkId: string }
    body: RefundAnyDepositBody
    answer: {
      refund: OperatorRefund
    }
  }
  /** End a refund in doubt. */
  endRefund: {
    path: { refundId: string }
    body: EndRefundBody
    answer: {
      refund: OperatorRefund
    }
  }
  /** List disputes of all accounts. */
  listAllDisputes: {
    query?: ListAllDisputesQuery
    answer: {
      disputes: OperatorDispute[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** List open disputes by their deadline. */
  listOpenDisputes: {
    answer: {
      disputes: OperatorDispute[]
    }
  }
  /** Get a dispute of any account. */
  getAnyDispute: {
    path: { disputeId: string }
    answer: {
      dispute: OperatorDispute
    }
  }
  /** Give evidence in a dispute of an account. */
  giveEvidenceFor: {
    path: { disputeId: string }
    body: GiveEvidenceForBody
    answer: {
      dispute: OperatorDispute
    }
  }
  /** List payouts of all accounts. */
  listAllPayouts: {
    query?: ListAllPayoutsQuery
    answer: {
      payouts: OperatorPayout[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Ask for a payout of an account. */
  requestPayoutFor: {
    body: RequestPayoutForBody
    answer: {
      payout: OperatorPayout
    }
  }
  /** Mark a payout as PAID. */
  payPayout: {
    path: { payoutId: string }
    body: PayPayoutBody
    answer: {
      payout: OperatorPayout
    }
  }
  /** Reject a payout. */
  rejectPayout: {
    path: { payoutId: string }
    body: RejectPayoutBody
    answer: {
      payout: OperatorPayout
    }
  }
  /** List reversals. */
  listReversals: {
    query?: ListReversalsQuery
    answer: {
      reversals: Reversal[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Get the rates of reversals. */
  getReversalRates: {
    query?: GetReversalRatesQuery
    answer: {
      rates: ReversalRate[]
    }
  }
  /** List closings. */
  listClosings: {
    query?: ListClosingsQuery
    answer: {
      closings: Closing[]
    }
  }
  /** Reconcile with the providers. */
  reconcile: {
    body: ReconcileBody
    answer: {
      comparisons: DayComparison[]
      differenceCount: number
    }
  }
  /** List the audit log. */
  listAuditLog: {
    query?: ListAuditLogQuery
    answer: {
      entries: AuditLogEntry[]
      /** Send it as `cursor` to get the next page. Null on the last page. */
      nextCursor: string | null
    }
  }
  /** Find a request by its id. */
  findRequest: {
    path: { requestId: string }
    answer: {
      requests: OperatorRequest[]
    }
  }
  /** Get the health of the payment providers. */
  listProviders: {
    answer: {
      providers: ProviderHealth[]
    }
  }
  /** Is everything in order?. */
  getHealth: {
    answer: {
      /** red: somebody must act now. yellow: it waits for the morning. As the alerts for Prometheus say. */
      level: 'green' | 'yellow' | 'red'
      at: string
      lines: HealthLine[]
      processes: Array<{
        role: string
        host: string
        version: string
        startedAt: string
        /** Its connections to the database; null if it told nothing yet. */
        pool: {
          max: number
          inUse: number
          idle: number
          waiting: number
        } | null
      }>
    }
  }
}

export type CreateDepositBody = {
  /** The amount in cents: 5000 is R$ 50.00. */
  value: number
  /**
   * Your own reference. It must be unique among your PENDING and COMPLETED charges: a second deposit for the
   * same order gets 409.
   */
  externalId?: string | null
  /** Shown to the payer on the payment page and in the banking app. */
  description?: string | null
  /**
   * Where the payment page leads back to once the charge is paid, on an origin that your account lists under
   * My shop. It gets `paymentLinkId` and `status` as parameters. Anybody can write such a link, so it proves
   * no payment.
   */
  returnUrl?: string | null
  /** Your own data about the deposit: at most 20 texts, and 4096 bytes as JSON. The payer does not see it. */
  metadata?: Record<string, string> | null
  /**
   * The person who is to pay. `taxId` is a CPF or CNPJ, with or without punctuation. `policy` `verify`: the
   * deposit is credited, and `payerMatch` says whether that person paid. `require`: nothing is credited before
   * the provider has confirmed it, and money of anybody else goes back to its payer. Only a keyed hash and the
   * last two digits are kept.
   */
  payer?: {
    taxId: string
    policy?: 'verify' | 'require'
  } | null
  /** Seconds until the charge expires, up to 30 days. The default is one hour, unless the operator changed it. */
  expiresIn?: number | null
}

export type ListDepositsQuery = {
  /** Only charges with this status. */
  status?: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
  /** Only charges with this reference of yours. */
  externalId?: string
  /** Only charges that payments of this code made, by its `externalId`. */
  code?: string
  /**
   * Only charges that match this text: part of `externalId` or `description` (3 characters or more, in any
   * case, with or without accents), the beginning of `id` or `paymentLinkId`, an amount (`199,90` or
   * `199.90`), the `endToEndId`, or a part of `id` or `endToEndId` with 7 or more of its last 11 characters. A
   * shorter part of an `endToEndId` (5 characters or more) finds newer charges; narrow the period for older
   * ones.
   */
  search?: string
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type EnsureDepositBody = {
  /** The amount in cents: 5000 is R$ 50.00. */
  value: number
  /** Shown to the payer on the payment page and in the banking app. */
  description?: string | null
  /**
   * Where the payment page leads back to once the charge is paid, on an origin that your account lists under
   * My shop. It gets `paymentLinkId` and `status` as parameters. Anybody can write such a link, so it proves
   * no payment.
   */
  returnUrl?: string | null
  /** Your own data about the deposit: at most 20 texts, and 4096 bytes as JSON. The payer does not see it. */
  metadata?: Record<string, string> | null
  /**
   * The person who is to pay. `taxId` is a CPF or CNPJ, with or without punctuation. `policy` `verify`: the
   * deposit is credited, and `payerMatch` says whether that person paid. `require`: nothing is credited before
   * the provider has confirmed it, and money of anybody else goes back to its payer. Only a keyed hash and the
   * last two digits are kept.
   */
  payer?: {
    taxId: string
    policy?: 'verify' | 'require'
  } | null
  /** Seconds until the charge expires, up to 30 days. The default is one hour, unless the operator changed it. */
  expiresIn?: number | null
}

export type GetOrderQuery = {
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type EnsureCodeBody = {
  /** Shown to payers. */
  description?: string | null
  /** The least that a payer may pay, in cents. Without it, any amount. */
  minValue?: number | null
  /** The most that a payer may pay, in cents. Without it, any amount. */
  maxValue?: number | null
}

export type ListCodesQuery = {
  /** Only codes with this status. */
  status?: 'OPEN' | 'CLOSED'
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type RefundDepositBody = {
  /** How much to refund, in cents. The default is all that is left. */
  value?: number | null
  /** A note for yourself. The payer does not see it. */
  reason?: string | null
}

export type ListRefundsQuery = {
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type ListDisputesQuery = {
  /** Only disputes with this status. */
  status?: 'OPEN' | 'ACCEPTED' | 'REJECTED' | 'CANCELED'
  /** Only disputes about this deposit. */
  paymentLinkId?: string
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type GiveEvidenceBody = {
  /** Its name, for yourself. */
  fileName: string
  /** A PDF, PNG or JPEG file of at most 3 MiB, in Base64. */
  content: string
  /** What it shows. The bank reads it. */
  description?: string | null
}

export type RequestPayoutBody = {
  /** How much to pay out, in cents. */
  value: number
  /** A note, which account holder and operator both see. */
  note?: string | null
}

export type ListPayoutsQuery = {
  /** Only payouts with this status. */
  status?: 'REQUESTED' | 'PAID' | 'REJECTED'
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type GetStatementQuery = {
  /** Only lines from this day on, in the time zone of the account; or from this time on. */
  from?: string
  /** Only lines up to this day, inclusive; or before this time. */
  to?: string
  /** Only lines whose `gross`, without its sign, is at least this, in cents. Needs `from` or `to`. */
  minValue?: number
  /** Only lines whose `gross`, without its sign, is at most this, in cents. Needs `from` or `to`. */
  maxValue?: number
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type CreateWebhookBody = {
  /** Where to post events: an https URL on a public address. */
  url: string
  /** A label for lists. The default is the host of the URL. */
  name?: string
  /** Which kinds of events to send. The default is `DEPOSIT_ASSET_SUCCESS` only. */
  events?: Array<
    | 'DEPOSIT_ASSET_SUCCESS'
    | 'DEPOSIT_EXPIRED'
    | 'DEPOSIT_CANCELED'
    | 'DEPOSIT_HELD'
    | 'DEPOSIT_RELEASED'
    | 'DEPOSIT_PAYER_CHECKED'
    | 'DEPOSIT_REFUNDED'
    | 'DEPOSIT_REVERSED'
    | 'REFUND_FAILED'
    | 'PAYOUT_PAID'
    | 'PAYOUT_REJECTED'
    | 'DISPUTE_OPENED'
    | 'DISPUTE_ENDED'
    | 'WEBHOOK_DISABLED'
    | 'KEY_CREATED'
    | 'KEY_REVOKED'
  >
  /** Sent as the `Authorization` header of each delivery. */
  authorization?: string | null
}

export type UpdateWebhookBody = {
  name?: string
  url?: string
  events?: Array<
    | 'DEPOSIT_ASSET_SUCCESS'
    | 'DEPOSIT_EXPIRED'
    | 'DEPOSIT_CANCELED'
    | 'DEPOSIT_HELD'
    | 'DEPOSIT_RELEASED'
    | 'DEPOSIT_PAYER_CHECKED'
    | 'DEPOSIT_REFUNDED'
    | 'DEPOSIT_REVERSED'
    | 'REFUND_FAILED'
    | 'PAYOUT_PAID'
    | 'PAYOUT_REJECTED'
    | 'DISPUTE_OPENED'
    | 'DISPUTE_ENDED'
    | 'WEBHOOK_DISABLED'
    | 'KEY_CREATED'
    | 'KEY_REVOKED'
  >
  /** null removes it. */
  authorization?: string | null
  /** Enabling resets the record of failures. */
  enabled?: boolean
}

export type TestWebhookBody = {
  /**
   * Sends the example of this kind instead. It is marked as a test: `event` is `TEST_` and the kind, `id`
   * begins with `evt_test_`, `test` is true, and the header `Guiche-Test` is set. Nothing happened, and it is
   * in no history.
   */
  event?:
    | 'DEPOSIT_ASSET_SUCCESS'
    | 'DEPOSIT_EXPIRED'
    | 'DEPOSIT_CANCELED'
    | 'DEPOSIT_HELD'
    | 'DEPOSIT_RELEASED'
    | 'DEPOSIT_PAYER_CHECKED'
    | 'DEPOSIT_REFUNDED'
    | 'DEPOSIT_REVERSED'
    | 'REFUND_FAILED'
    | 'PAYOUT_PAID'
    | 'PAYOUT_REJECTED'
    | 'DISPUTE_OPENED'
    | 'DISPUTE_ENDED'
    | 'WEBHOOK_DISABLED'
    | 'KEY_CREATED'
    | 'KEY_REVOKED'
}

export type RotateWebhookSecretBody = {
  /** How long the old secret signs too. Send 0 if the old secret has leaked. */
  overlapSeconds?: number
}

export type RetryWebhookBody = {
  /** Only the delivery of this event. */
  eventId?: string
}

export type ListEventsQuery = {
  /** Only events of this kind. */
  event?:
    | 'DEPOSIT_ASSET_SUCCESS'
    | 'DEPOSIT_EXPIRED'
    | 'DEPOSIT_CANCELED'
    | 'DEPOSIT_HELD'
    | 'DEPOSIT_RELEASED'
    | 'DEPOSIT_PAYER_CHECKED'
    | 'DEPOSIT_REFUNDED'
    | 'DEPOSIT_REVERSED'
    | 'REFUND_FAILED'
    | 'PAYOUT_PAID'
    | 'PAYOUT_REJECTED'
    | 'DISPUTE_OPENED'
    | 'DISPUTE_ENDED'
    | 'WEBHOOK_DISABLED'
    | 'KEY_CREATED'
    | 'KEY_REVOKED'
    | 'WEBHOOK_TEST'
  /**
   * Only events with a delivery in this state. pending: not tried yet. retrying: failed, and will be tried
   * again. failed: given up.
   */
  state?: 'pending' | 'retrying' | 'delivered' | 'failed'
  /** Only events with a delivery to this webhook. */
  webhookId?: string
  /**
   * Events after this position, oldest first, without their deliveries: `0`, a position, or the `next` of an
   * earlier answer. Only `limit` and `wait` go with it.
   */
  after?: string
  /** With `after`: how many seconds to wait for an event, if there is none yet. */
  wait?: number
  /** `desc`: newest first, the default. `asc`: oldest first, to catch up from a time on. */
  order?: 'desc' | 'asc'
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type ResendEventBody = {
  /** Only to this webhook. */
  webhookId?: string
}

export type ResendEventsBody = {
  /** All deliveries that failed, given up or still being retried. */
  failed?: true
  /** All events from this time on. */
  since?: string
  /** Only to this webhook. */
  webhookId?: string
}

export type GetHeadQuery = {
  /** The size of an earlier head. */
  since?: number
}

export type ListAccountsQuery = {
  /** Part of the e-mail or the name, case-insensitive. */
  search?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type GetAccountHistoryQuery = {
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

/** Changes only the fields given. null restores the default. */
export type SetAccountTermsBody = {
  /** Fee in basis points of the value: 100 is 1 %. */
  feeBps?: number | null
  /** Fixed fee added to that, in cents. */
  feeFixed?: number | null
  /** Minimum fee, in cents. */
  feeMin?: number | null
  /** Maximum fee, in cents. */
  feeMax?: number | null
  /** Who bears the fee: account or payer. */
  feeBearer?: 'account' | 'payer' | null
  /** Minimum deposit, in cents. */
  valueMin?: number | null
  /** Maximum deposit, in cents. */
  valueMax?: number | null
  /**
   * What the bank returned without a request: charge takes it from the balance, operator leaves the decision
   * to you.
   */
  reversalPolicy?: 'charge' | 'operator' | null
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type SuspendAccountBody = {
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type ResumeAccountBody = {
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type SignOutAccountBody = {
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type SearchAllQuery = {
  /** What was typed or pasted. */
  q?: string
  /** Maximum number of each kind. */
  limit?: number
}

export type ListAllDepositsQuery = {
  /** Only charges with this status. */
  status?: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
  /**
   * Only charges that match this text: part of `externalId` or `description` (3 characters or more, in any
   * case, with or without accents), the beginning of `id` or `paymentLinkId`, an amount (`199,90` or
   * `199.90`), the `endToEndId`, or a part of `id` or `endToEndId` with 7 or more of its last 11 characters. A
   * shorter part of an `endToEndId` (5 characters or more) finds newer charges; narrow the period for older
   * ones.
   */
  search?: string
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
  /** Only deposits of this account. */
  accountId?: string
}

export type ListExceptionsQuery = {
  /** resolving: its refund is in progress. */
  state?: 'open' | 'resolving' | 'resolved'
  /** Only exceptions of this kind. */
  kind?:
    | 'unknown_charge'
    | 'wrong_provider'
    | 'wrong_amount'
    | 'second_payment'
    | 'refunded_payment'
    | 'unnamed_payment'
    | 'foreign_refund'
    | 'undone_refund'
    | 'code_closed'
    | 'code_limits'
    | 'payer_unconfirmed'
  /** Only exceptions of this provider. */
  provider?: string
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type NoteExceptionBody = {
  /** For operators. No account holder and no payer reads it. */
  text: string
}

export type ResolveExceptionBody = {
  /**
   * credit: the whole amount to an account, without a fee. refund: back to the payer. write_off: the operator
   * keeps it, or bears the loss. charge_account: the credited account bears a refund that was made outside
   * guiche. match: the payment completes the charge that it names although its amount differs; the account is
   * credited with the amount less the fee.
   */
  how: 'credit' | 'refund' | 'write_off' | 'charge_account' | 'match'
  /** The account to credit. For `credit` only. */
  accountId?: string
  /**
   * What happens to the PENDING charge that the payment names. For `credit`, `refund` and `write_off` only.
   * keep (default): it can still be paid. close: it is canceled at the provider first; if it was paid
   * meanwhile, the response is 409 and nothing is resolved.
   */
  charge?: 'keep' | 'close'
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type ResolveExceptionsBody = {
  ids: string[]
  /**
   * As for one exception. credit: each to the account of the charge that its payment names; without one it is
   * refused.
   */
  how: 'credit' | 'refund' | 'write_off' | 'match'
  /**
   * Not with `match`. close: the charges that are still PENDING are canceled at the provider first. keep
   * (default): they can still be paid.
   */
  charge?: 'keep' | 'close'
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type ListAllRefundsQuery = {
  /** Only refunds with this status. */
  status?: 'PROCESSING' | 'DONE' | 'FAILED'
  /** Only refunds of deposits of this account. */
  accountId?: string
  /** Only refunds of this deposit. */
  paymentLinkId?: string
  /** true: only refunds whose outcome at the provider is unknown. */
  inDoubt?: 'true' | 'false'
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type RefundAnyDepositBody = {
  /** How much to refund, in cents. The default is all that is left. */
  value?: number | null
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type EndRefundBody = {
  /**
   * done: the provider made it, and the payer has the money. failed: it did not, and the money returns to
   * where it came from.
   */
  outcome: 'done' | 'failed'
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type ListAllDisputesQuery = {
  /** Only disputes with this status. */
  status?: 'OPEN' | 'ACCEPTED' | 'REJECTED' | 'CANCELED'
  /** Only disputes about this deposit. */
  paymentLinkId?: string
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
  /** Only disputes of this account. */
  accountId?: string
}

export type GiveEvidenceForBody = {
  /** Its name, for yourself. */
  fileName: string
  /** A PDF, PNG or JPEG file of at most 3 MiB, in Base64. */
  content: string
  /** What it shows. The bank reads it. */
  description?: string | null
}

export type ListAllPayoutsQuery = {
  /** Only payouts with this status. */
  status?: 'REQUESTED' | 'PAID' | 'REJECTED'
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
  /** Only payouts of this account. */
  accountId?: string
}

export type RequestPayoutForBody = {
  accountId: string
  /** How much to pay out, in cents. */
  value: number
  /** A note, which account holder and operator both see. */
  note?: string | null
}

export type PayPayoutBody = {
  /** By which the bank knows the transfer, such as the endToEndId of a Pix. */
  reference: string
  /** The business day on which you paid it: not before the request, not in the future. Today. */
  paidAt?: string
}

export type RejectPayoutBody = {
  /** Why you do this. Kept in the audit log. */
  reason: string
}

export type ListReversalsQuery = {
  /** Only of this nature. */
  nature?: 'fraud' | 'operational' | 'automatic' | 'other'
  /** Only this account. */
  accountId?: string
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}

export type GetReversalRatesQuery = {
  /** Only this account. */
  accountId?: string
  /** Of the last days, today included. */
  days?: number
}

export type ListClosingsQuery = {
  /** Only closings of this provider. */
  provider?: string
  /** The first day, in Brasília time. */
  from?: string
  /** The last day. To page back, give the day before the oldest one returned. */
  to?: string
  /** Maximum number of items. */
  limit?: number
}

export type ReconcileBody = {
  /** Start of the window. */
  from: string
  /** End of the window, at most 25 hours later. */
  to: string
  /** Only this provider. The default is all of them. */
  provider?: string
}

export type ListAuditLogQuery = {
  /** Only entries about this account. */
  accountId?: string
  /** Only entries by this actor: an e-mail, or a user of the server’s terminal. */
  actor?: string
  /** Only this action. */
  action?: string
  /** Only items from this time on (inclusive). */
  from?: string
  /** Only items before this time (exclusive). */
  to?: string
  /** The `nextCursor` of the previous page. */
  cursor?: string
  /** Maximum number of items. */
  limit?: number
}
