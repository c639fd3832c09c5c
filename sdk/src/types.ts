// Generated from server/openapi.json: UPDATE_SDK_TYPES=1 npx vitest run sdk/test/api-types.test.ts

export type Account = {
  id: string
  email: string
  /** The name that payers see. */
  name: string
  createdAt: string
  /** In cents. */
  balance: number
  /** What it owes for reversals, in cents. */
  owed: number
  /** When it was suspended. Null if it is not. */
  suspendedAt: string | null
  suspendedReason: string | null
}

export type AccountCounts = {
  pending: number
  completed: number
  expired: number
  canceled: number
  /** True if only the newest 100 000 charges were counted. */
  isCut: boolean
  activeKeys: number
  webhooks: number
}

export type AccountTerms = {
  /** The account’s own terms. null: the default applies. */
  own: {
    feeBps: number | null
    feeFixed: number | null
    feeMin: number | null
    feeMax: number | null
    feeBearer: 'account' | 'payer' | null
    valueMin: number | null
    valueMax: number | null
    reversalPolicy: 'charge' | 'operator' | null
  }
  /** The terms of new deposits. Existing charges keep theirs. */
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
  /** Newest first, at most 100. */
  history: Array<{
    validFrom: string
    /** The account’s own terms. null: the default applies. */
    own: {
      feeBps: number | null
      feeFixed: number | null
      feeMin: number | null
      feeMax: number | null
      feeBearer: 'account' | 'payer' | null
      valueMin: number | null
      valueMax: number | null
      reversalPolicy: 'charge' | 'operator' | null
    }
    /** Who set them, for humans. */
    setBy: string
    reason: string
  }>
}

/** Its deposits of today and of the last 30 days, in its time zone. */
export type AccountVolume = {
  today: {
    created: number
    paid: number
    paidValue: number
    fees: number
  }
  last30: {
    created: number
    paid: number
    paidValue: number
    fees: number
  }
}

export type AuditLogEntry = {
  id: string
  at: string
  actorKind: 'operator' | 'account' | 'console' | 'system'
  /** Who did it: an e-mail, or a user of the server’s terminal. */
  actor: string
  /** The API key used, if any. */
  keyId: string | null
  action: string
  /** What was changed: its kind and id. */
  subject: string
  /** The account concerned, if any. */
  accountId: string | null
  reason: string | null
  /** What changed, before and after. Never a secret. */
  details: Record<string, unknown>
}

export type Charge = {
  /** The id of the charge, 32 hexadecimal digits. Events call it `transactionId`. */
  id: string
  /**
   * The copy-and-paste code for banking apps. The QR code contains the same text. Empty if a COMPLETED charge
   * was paid before its code was known, or by a lasting code.
   */
  emv: string
  /** URL of the QR code as PNG. `?size=` takes 128 to 1024 pixels. */
  qrCodeLink: string
  /** UUID to query the charge with. */
  paymentLinkId: string
  /** Payment page to send the payer to. */
  paymentLinkUrl: string
  /** What the payer pays, in cents. */
  value: number
  /** What you asked for, in cents. Differs from `value` only if the payer bears the fee. */
  originalValue: number
  /** The fee, in cents. `value` minus `fee` is credited to your balance. */
  fee: number
  /**
   * PENDING: not paid yet. COMPLETED: the payment is confirmed. EXPIRED: not paid in time. CANCELED: you
   * canceled it.
   */
  status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
  /** When the charge was created. */
  createdAt: string
}

export type Closing = {
  provider: string
  /** A day in Brasília time, such as 2026-01-31. */
  day: string
  from: string
  to: string
  /** Pix received according to the provider. */
  providerCount: number
  providerTotal: number
  /** Pix in the ledger, credited or in suspense. */
  ledgerCount: number
  ledgerTotal: number
  differenceCount: number
  /** The first hundred. */
  differences: Array<{
    kind: string
    endToEndId: string
    text: string
  }>
  /** How many times the day was closed. Only the latest is shown. */
  revision: number
  closedAt: string
}

export type Code = {
  /** 32 hexadecimal digits. */
  id: string
  /** Your own reference. Deposits and events call it `code`. */
  externalId: string
  /** OPEN: payments become deposits. CLOSED: payments are held. */
  status: 'OPEN' | 'CLOSED'
  /** Shown to payers, and the description of each deposit. */
  description: string | null
  /** The least that a payer may pay, in cents. */
  minValue: number | null
  /** The most that a payer may pay, in cents. */
  maxValue: number | null
  /** Each payment of the code carries it, also in the bank’s own list. */
  txid: string
  /** The copy-and-paste code. The QR code contains the same text. */
  emv: string
  /** URL of the QR code as PNG; with `.svg` in place of `.png`, as SVG. */
  qrCodeLink: string
  /** Page to send payers to. */
  codeUrl: string
  /** Money that arrived by this code and was not taken, in cents. It is held until the operator decides. */
  heldValue: number
  /** Held money that the operator did not refund, in cents: credited to a balance or written off. */
  keptValue: number
  createdAt: string
  /** When it was closed. Null while it is OPEN. */
  closedAt: string | null
}

export type DayComparison = {
  provider: string
  /** A day in Brasília time, such as 2026-01-31. */
  day: string
  from: string
  to: string
  /** Pix received according to the provider. */
  providerCount: number
  providerTotal: number
  /** Pix in the ledger, credited or in suspense. */
  ledgerCount: number
  ledgerTotal: number
  differenceCount: number
  /** The first hundred. */
  differences: Array<{
    kind: string
    endToEndId: string
    text: string
  }>
  /** How many of these were missing in the ledger and are booked now. */
  settledCount: number
  settledTotal: number
  /** Payments for which the provider reports no refunds, so that only the refunds known to guiche were checked. */
  refundsNotCompared: number
  /** Revision of the closing, if the window covered the whole day and the day is over. */
  revision: number | null
}

export type DeliveryAttempt = {
  webhookId: string
  /** Counts from 1, and from 1 again after a resend. */
  number: number
  at: string
  /** The status of the receiver’s response. Null if there was none. */
  status: number | null
  /** Why there was no response, for humans. */
  error: string | null
  /** The same as a code, for programs. */
  errorCode: string | null
  /** What the code refers to, such as an address or a time. */
  errorDetail: string | null
  latencyMs: number
  /** The first 2 kB of the response; empty if it came from a private network. */
  excerpt: string
}

export type Deposit = {
  /** The id of the charge, 32 hexadecimal digits. Events call it `transactionId`. */
  id: string
  /**
   * The copy-and-paste code for banking apps. The QR code contains the same text. Empty if a COMPLETED charge
   * was paid before its code was known, or by a lasting code.
   */
  emv: string
  /** URL of the QR code as PNG. `?size=` takes 128 to 1024 pixels. */
  qrCodeLink: string
  /** UUID to query the charge with. */
  paymentLinkId: string
  /** Payment page to send the payer to. */
  paymentLinkUrl: string
  /** What the payer pays, in cents. */
  value: number
  /** What you asked for, in cents. Differs from `value` only if the payer bears the fee. */
  originalValue: number
  /** The fee, in cents. `value` minus `fee` is credited to your balance. */
  fee: number
  /**
   * PENDING: not paid yet. COMPLETED: the payment is confirmed. EXPIRED: not paid in time. CANCELED: you
   * canceled it.
   */
  status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
  /** When the charge was created. */
  createdAt: string
  /**
   * When the charge expires. It stays PENDING for about a minute longer, because a payment of the last moment
   * may still be on its way.
   */
  expiresAt: string
  /** When the payer paid, according to the provider. */
  paidAt: string | null
  /** What the payer paid, in cents, if the operator accepted an amount other than `value`. */
  receivedValue: number | null
  /** What was credited to your balance, in cents. Null unless COMPLETED. */
  creditedValue: number | null
  /** Total of the refunds that are DONE, in cents. */
  refundedValue: number
  /**
   * Money received for this charge that did not complete it, in cents: a wrong amount or a second payment. It
   * is held until the operator decides. Do not ask the payer to pay again meanwhile.
   */
  heldValue: number
  /** Held money that the operator did not refund, in cents: it was credited to a balance or written off. */
  keptValue: number
  /** Id of the payment in the Pix system, also on the payer’s receipt. */
  endToEndId: string | null
  /** True if it was paid after it had expired or been canceled. */
  paidLate: boolean
  /** Your own reference. */
  externalId: string | null
  /** The description shown to the payer. */
  description: string | null
  /** Where the payment page leads back to. */
  returnUrl: string | null
  /** Your own data about the deposit. */
  metadata: Record<string, string> | null
  /** The `externalId` of the code that the payer paid by. Null for a charge that you asked for. */
  code: string | null
  /** The person who is to pay. */
  payer: {
    /** Its last two digits: `***.***.***-09`. The rest is not kept. */
    taxId: string
    policy: 'verify' | 'require'
  } | null
  /**
   * matched: that person paid. mismatched: another one did. unknown: the provider has not said. Null when
   * nobody asked, because nobody paid or `payer` is null.
   */
  payerMatch: 'matched' | 'mismatched' | 'unknown' | null
}

export type DepositAccount = {
  id: string
  name: string
  email: string
}

export type DepositAssetSuccessEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_ASSET_SUCCESS'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** What the payer pays, in cents. */
    value: number
    /** What you asked for, in cents. Differs from `value` only if the payer bears the fee. */
    originalValue: number
    /** The fee, in cents. `value` minus `fee` is credited to your balance. */
    fee: number
    /** What was credited to your balance, in cents. */
    creditedValue: number
    /** The status of the charge. */
    status: 'COMPLETED'
    /** True if it was paid after it had expired or been canceled. */
    paidLate: boolean
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /** When the payer paid. */
    paidAt: string
    code: string | null
    /**
     * Whether the person that the deposit names paid it, as far as it was known then: `DEPOSIT_PAYER_CHECKED`
     * tells the rest. Null if the deposit names nobody.
     */
    payerMatch: 'matched' | 'unknown' | null
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
  }
}

export type DepositCanceledEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_CANCELED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** What the payer pays, in cents. */
    value: number
    /**
     * When the charge expires. It stays PENDING for about a minute longer, because a payment of the last moment
     * may still be on its way.
     */
    expiresAt: string
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
    /** The status of the charge. */
    status: 'CANCELED'
  }
}

export type DepositExpiredEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_EXPIRED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** What the payer pays, in cents. */
    value: number
    /**
     * When the charge expires. It stays PENDING for about a minute longer, because a payment of the last moment
     * may still be on its way.
     */
    expiresAt: string
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
    /** The status of the charge. */
    status: 'EXPIRED'
  }
}

export type DepositHeldEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_HELD'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. Null for a payment of a code, and for one that named nothing. */
    transactionId: string | null
    /** Null for a payment of a code, and for one that named nothing. */
    paymentLinkId: string | null
    /** Your own reference. */
    externalId: string | null
    value: number | null
    /** What arrived, and is held, in cents. */
    receivedValue: number
    /**
     * Why it does not complete the charge. `second_payment`: the charge, or its order by another charge, was
     * paid before. `refunded_payment`: the bank had refunded it, or part of it. `wrong_provider`: it arrived at
     * another provider than that of the charge. `payer_unconfirmed`: the provider is asked whether the person
     * that the deposit requires paid; nobody has to decide. `code_closed`: its code was closed. `code_limits`:
     * it was outside of the limits of its code or yours, or not above its fee.
     */
    reason:
      | 'wrong_amount'
      | 'second_payment'
      | 'wrong_provider'
      | 'refunded_payment'
      | 'payer_unconfirmed'
      | 'code_closed'
      | 'code_limits'
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /** When the payer paid. */
    paidAt: string
    code: string | null
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
  }
}

export type DepositPayerCheckedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_PAYER_CHECKED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /**
     * Whether the person that the deposit names made this payment. `mismatched` with the policy `require`: the
     * payer gets the money back.
     */
    payerMatch: 'matched' | 'mismatched'
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
  }
}

export type DepositRefundedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_REFUNDED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** The `id` of the refund. */
    refundId: string
    /** What this refund gave back, in cents. */
    refundedValue: number
    /** What all refunds of the charge gave back, in cents. */
    totalRefundedValue: number
    /** The value of the charge, in cents. */
    value: number
    /** What you got back of the fee, in cents. */
    returnedFee: number
    /** The status of the charge. */
    status: 'COMPLETED'
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /** When the provider confirmed the refund. */
    refundedAt: string
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
  }
}

export type DepositReleasedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_RELEASED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. Null for a payment of a code, and for one that named nothing. */
    transactionId: string | null
    /** Null for a payment of a code, and for one that named nothing. */
    paymentLinkId: string | null
    /** Your own reference. */
    externalId: string | null
    /**
     * `completed`: it paid the charge after all. `credited`: your balance got what was left of it, without a
     * fee. `credited_elsewhere`: it was meant for another account. `refunded`: the payer has it again.
     * `written_off`: the operator keeps it.
     */
    outcome: 'completed' | 'credited' | 'credited_elsewhere' | 'refunded' | 'written_off'
    /** What had arrived, in cents. */
    receivedValue: number
    /** What was credited to your balance, in cents. */
    creditedValue: number
    /** What the payer got back, in cents. */
    returnedValue: number
    /** Whether the charge could still be paid then. */
    stillPayable: boolean
    /** The number of the payment in the Pix system. */
    endToEndId: string
    code: string | null
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
  }
}

export type DepositReversedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DEPOSIT_REVERSED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** The `id` of the refund. */
    refundId: string
    /**
     * `fraud`: the payer reported a fraud to the bank. `operational`: a mistake of the payer’s bank.
     * `automatic`: a recurring payment that should not have been made. `other`: any other reason, or the bank
     * gives none.
     */
    nature: 'fraud' | 'operational' | 'automatic' | 'other'
    /** What went back to the payer, in cents. */
    reversedValue: number
    chargedValue: number | null
    owedValue: number | null
    /** What all refunds of the charge gave back, in cents. */
    totalRefundedValue: number
    /** The value of the charge, in cents. */
    value: number
    /** The status of the charge. */
    status: 'COMPLETED'
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /** When guiche learned of it. */
    reversedAt: string
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
  }
}

export type Dispute = {
  /** 32 hexadecimal digits. Events and the statement call it `disputeId`. */
  id: string
  /**
   * OPEN: not decided yet. ACCEPTED: the payer got the money. REJECTED: the account keeps it. CANCELED: the
   * payer gave up.
   */
  status: 'OPEN' | 'ACCEPTED' | 'REJECTED' | 'CANCELED'
  /** What the payer wants back, in cents. */
  value: number
  /**
   * What was set aside for it, in cents: at most what was available. It stays set aside while the dispute is
   * OPEN.
   */
  held: number
  /** Why, in the words of the payer or the bank. */
  reason: string | null
  /** The deposit that it is about. */
  paymentLinkId: string | null
  externalId: string | null
  /** The id of the payment in Pix. */
  endToEndId: string
  openedAt: string
  /** Seven days after it was opened: by the rules of Pix the bank decides until then. */
  deadlineAt: string
  /** When we learned that it ended. */
  endedAt: string | null
  evidence: Array<{
    id: string
    fileName: string
    fileType: 'application/pdf' | 'image/png' | 'image/jpeg'
    fileBytes: number
    /** Of the file, in hexadecimal. Its bytes are kept only until it was sent. */
    sha256: string
    description: string | null
    /** SENDING: on its way. SENT: the bank took it. REFUSED: it did not, and `failure` says why. */
    status: 'SENDING' | 'SENT' | 'REFUSED'
    failure: string | null
    givenAt: string
    /** When it was sent or refused. */
    endedAt: string | null
    givenBy: 'account' | 'operator'
  }>
}

export type DisputeEndedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DISPUTE_ENDED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the dispute. */
    disputeId: string
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** What the payer wants back, in cents. */
    disputedValue: number
    /** What was set aside of your balance for it, in cents. */
    heldValue: number
    disputeReason: string | null
    /** When the payer contested the payment. */
    openedAt: string
    /** Until when your evidence counts. */
    deadlineAt: string
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /**
     * `ACCEPTED`: the payer got the money. `REJECTED`: you keep it. `CANCELED`: the payer gave up, and you keep
     * it.
     */
    status: 'ACCEPTED' | 'REJECTED' | 'CANCELED'
    /** When we learned that it ended. */
    endedAt: string
  }
}

export type DisputeOpenedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'DISPUTE_OPENED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the dispute. */
    disputeId: string
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** What the payer wants back, in cents. */
    disputedValue: number
    /** What was set aside of your balance for it, in cents. */
    heldValue: number
    disputeReason: string | null
    /** When the payer contested the payment. */
    openedAt: string
    /** Until when your evidence counts. */
    deadlineAt: string
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /** The status of the dispute. */
    status: 'OPEN'
  }
}

export type Event = {
  /** `evt_…`. Receivers also get it as `webhook-id`. */
  id: string
  /** The kind of event. */
  event: string
  createdAt: string
  /** The data as delivered. */
  data: Record<string, unknown>
  /** One for each webhook that the event was meant for, including deleted ones. */
  deliveries: Array<{
    webhookId: string
    /**
     * pending: waiting for the first attempt. retrying: the last attempt failed, and the next is at
     * `nextAttemptAt`. failed: given up.
     */
    state: 'pending' | 'retrying' | 'delivered' | 'failed'
    /** Attempts since it was last queued. */
    attempts: number
    /** Null unless pending or retrying. */
    nextAttemptAt: string | null
    /** When it was delivered or given up. */
    endedAt: string | null
  }>
}

export type Exception = {
  /** 32 hexadecimal digits. */
  id: string
  kind:
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
  state: 'open' | 'resolving' | 'resolved'
  provider: string
  /** Null for an unnamed_payment. */
  endToEndId: string | null
  txid: string | null
  /**
   * The amount received, in cents. Of a foreign_refund, the amount refunded; of an undone_refund, the amount
   * that came back; of an unnamed_payment, the value of the charge.
   */
  value: number
  /** When the payer paid. Null for an unnamed_payment. */
  occurredAt: string | null
  openedAt: string
  /** How it can be resolved. Empty unless it is open. */
  ways: Array<'credit' | 'refund' | 'write_off' | 'charge_account' | 'match'>
  /**
   * The charge that the payment names, if it is one of ours. Of an unnamed_payment, the charge that the
   * provider calls paid.
   */
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
  /** The lasting code that the payment names, if no charge was made by it. */
  code: {
    externalId: string
    accountId: string
    email: string
    txid: string
  } | null
  /** The decision. While its refund is in progress, it is not carried out yet. */
  resolution: {
    how: 'credit' | 'refund' | 'write_off' | 'charge_account' | 'match'
    /** The account that was credited or charged. */
    accountId: string | null
    by: string
    reason: string
  } | null
  resolvedAt: string | null
  /**
   * Of a payment of a deposit with `payer`: whether that person paid. A payer_unconfirmed is resolved by
   * itself as soon as it is known.
   */
  payerMatch: 'matched' | 'mismatched' | 'unknown' | null
  refund: {
    id: string
    status: 'PROCESSING' | 'DONE' | 'FAILED'
    failure: string | null
    providerRefundId: string
  } | null
}

export type ExceptionNote = {
  /** From 1 on, in the order in which they were written. */
  number: number
  text: string
  notedAt: string
  by: string
}

export type Found = {
  kind: 'account' | 'deposit' | 'payment' | 'refund' | 'exception' | 'payout' | 'event'
  /** As the API names it. Of a payment, its endToEndId. */
  id: string
  /** What a person calls it, or its shortened id. */
  title: string
  /** Of an exception, its kind. */
  detail: string | null
  accountId: string | null
  accountName: string | null
  /** Of an exception, its state. */
  status: string | null
  value: number | null
  at: string
  /** The deposit that it is about. Of a payment, the one that it completed. */
  paymentLinkId: string | null
  exceptionId: string | null
}

export type FullDeposit = {
  /** The id of the charge, 32 hexadecimal digits. Events call it `transactionId`. */
  id: string
  /**
   * The copy-and-paste code for banking apps. The QR code contains the same text. Empty if a COMPLETED charge
   * was paid before its code was known, or by a lasting code.
   */
  emv: string
  /** URL of the QR code as PNG. `?size=` takes 128 to 1024 pixels. */
  qrCodeLink: string
  /** UUID to query the charge with. */
  paymentLinkId: string
  /** Payment page to send the payer to. */
  paymentLinkUrl: string
  /** What the payer pays, in cents. */
  value: number
  /** What you asked for, in cents. Differs from `value` only if the payer bears the fee. */
  originalValue: number
  /** The fee, in cents. `value` minus `fee` is credited to your balance. */
  fee: number
  /**
   * PENDING: not paid yet. COMPLETED: the payment is confirmed. EXPIRED: not paid in time. CANCELED: you
   * canceled it.
   */
  status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
  /** When the charge was created. */
  createdAt: string
  /**
   * When the charge expires. It stays PENDING for about a minute longer, because a payment of the last moment
   * may still be on its way.
   */
  expiresAt: string
  /** When the payer paid, according to the provider. */
  paidAt: string | null
  /** What the payer paid, in cents, if the operator accepted an amount other than `value`. */
  receivedValue: number | null
  /** What was credited to your balance, in cents. Null unless COMPLETED. */
  creditedValue: number | null
  /** Total of the refunds that are DONE, in cents. */
  refundedValue: number
  /**
   * Money received for this charge that did not complete it, in cents: a wrong amount or a second payment. It
   * is held until the operator decides. Do not ask the payer to pay again meanwhile.
   */
  heldValue: number
  /** Held money that the operator did not refund, in cents: it was credited to a balance or written off. */
  keptValue: number
  /** Id of the payment in the Pix system, also on the payer’s receipt. */
  endToEndId: string | null
  /** True if it was paid after it had expired or been canceled. */
  paidLate: boolean
  /** Your own reference. */
  externalId: string | null
  /** The description shown to the payer. */
  description: string | null
  /** Where the payment page leads back to. */
  returnUrl: string | null
  /** Your own data about the deposit. */
  metadata: Record<string, string> | null
  /** The `externalId` of the code that the payer paid by. Null for a charge that you asked for. */
  code: string | null
  /** The person who is to pay. */
  payer: {
    /** Its last two digits: `***.***.***-09`. The rest is not kept. */
    taxId: string
    policy: 'verify' | 'require'
  } | null
  /**
   * matched: that person paid. mismatched: another one did. unknown: the provider has not said. Null when
   * nobody asked, because nobody paid or `payer` is null.
   */
  payerMatch: 'matched' | 'mismatched' | 'unknown' | null
  /** Payments for this charge that were held, oldest first, at most 100: also those decided by now. */
  heldPayments: HeldPayment[]
  /** Its refunds, newest first, at most 100. */
  refunds: Refund[]
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
  /** The provider, queue, worker or step that it is about. */
  subject: string | null
  /** red: somebody must act now. yellow: it waits for the morning. As the alerts for Prometheus say. */
  level: 'green' | 'yellow' | 'red'
  /** Null: nothing is known. */
  value: number | null
  /** state: 1 is right, and 0 is wrong. */
  unit: 'count' | 'cents' | 'seconds' | 'bytes' | 'share' | 'state'
  /** The bound that the value passed, or would pass first. */
  bound: number | null
  /** How many, where the value is the age of the oldest. */
  count: number | null
  /** The alert rule with this bound. */
  alert: string | null
  /** The last error of a provider that fails. */
  detail: string | null
}

export type HeldPayment = {
  /** Id of the payment in the Pix system. */
  endToEndId: string
  /** What the payer paid, in cents. */
  value: number
  /** When the payer paid, according to the provider. */
  paidAt: string
  /** Since when it is held. */
  heldAt: string
  /**
   * wrong_amount: it was not the `value`. second_payment: another payment had completed the charge, or another
   * deposit of its order. wrong_provider: it came by another provider than the charge’s. refunded_payment: the
   * provider had already given it back. unknown_charge: the provider first did not say which charge it was
   * for. payer_unconfirmed: the provider had to say first who paid.
   */
  reason:
    | 'wrong_amount'
    | 'second_payment'
    | 'wrong_provider'
    | 'refunded_payment'
    | 'unknown_charge'
    | 'payer_unconfirmed'
  /**
   * What became of it, null while it is held. completed: it completed the charge. credited: to your balance.
   * credited_elsewhere: to another account. refunded: the payer has it back. written_off: the operator kept
   * it.
   */
  decision: 'completed' | 'credited' | 'credited_elsewhere' | 'refunded' | 'written_off' | null
  /** When it was decided. */
  decidedAt: string | null
}

export type HistoryEntry = {
  /** Its place in the history of the account. */
  position: number
  event: string
  id: string
  at: string
  /** The reference or the payment link of what it is about. */
  title: string | null
}

export type HistoryPage = {
  success: true
  /** Oldest first. */
  events: Array<{
    id: string
    event: string
    createdAt: string
    data: Record<string, unknown>
    /** Its place in the history of the account: 1, 2, 3 … without a gap. */
    position: number
  }>
  /** Send it as `after` to read on. */
  next: string
  /** There was nothing more. */
  done: boolean
  /** Positions belong to it. It changes only when the service was restored from a backup that lacks events. */
  historyId: string
}

export type HistoryPlace = {
  /** Null while the event has no position yet. */
  position: number | null
  event: string
  id: string
  at: string
}

export type KeyCreatedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'KEY_CREATED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the key. */
    keyId: string
    /** How the key begins. The key itself is in no event. */
    prefix: string
    /** What it may do. */
    scopes: string[]
    expiresAt: string | null
  }
}

export type KeyRevokedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'KEY_REVOKED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the key. */
    keyId: string
    /** How the key begins. The key itself is in no event. */
    prefix: string
    /** What it may do. */
    scopes: string[]
  }
}

export type LedgerTransfer = {
  transferId: string
  at: string
  kind: string
  /** A ledger account: its kind, and of `cash` its provider, as `cash:main`. */
  debit: string
  credit: string
  value: number
  /** The available balance after it, if it moves that. */
  balanceAfter: number | null
}

export type NewCharge = {
  /** The id of the charge, 32 hexadecimal digits. Events call it `transactionId`. */
  id: string
  /** The copy-and-paste code for banking apps. The QR code contains the same text. */
  emv: string
  /** URL of the QR code as PNG. `?size=` takes 128 to 1024 pixels. */
  qrCodeLink: string
  /** UUID to query the charge with. */
  paymentLinkId: string
  /** Payment page to send the payer to. */
  paymentLinkUrl: string
  /** What the payer pays, in cents. */
  value: number
  /** What you asked for, in cents. Differs from `value` only if the payer bears the fee. */
  originalValue: number
  /** The fee, in cents. `value` minus `fee` is credited to your balance. */
  fee: number
  /**
   * PENDING: not paid yet. COMPLETED: the payment is confirmed. EXPIRED: not paid in time. CANCELED: you
   * canceled it.
   */
  status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
}

export type OperatorDeposit = {
  /** The id of the charge, 32 hexadecimal digits. Events call it `transactionId`. */
  id: string
  /**
   * The copy-and-paste code for banking apps. The QR code contains the same text. Empty if a COMPLETED charge
   * was paid before its code was known, or by a lasting code.
   */
  emv: string
  /** URL of the QR code as PNG. `?size=` takes 128 to 1024 pixels. */
  qrCodeLink: string
  /** UUID to query the charge with. */
  paymentLinkId: string
  /** Payment page to send the payer to. */
  paymentLinkUrl: string
  /** What the payer pays, in cents. */
  value: number
  /** What you asked for, in cents. Differs from `value` only if the payer bears the fee. */
  originalValue: number
  /** The fee, in cents. `value` minus `fee` is credited to your balance. */
  fee: number
  /**
   * PENDING: not paid yet. COMPLETED: the payment is confirmed. EXPIRED: not paid in time. CANCELED: you
   * canceled it.
   */
  status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
  /** When the charge was created. */
  createdAt: string
  /**
   * When the charge expires. It stays PENDING for about a minute longer, because a payment of the last moment
   * may still be on its way.
   */
  expiresAt: string
  /** When the payer paid, according to the provider. */
  paidAt: string | null
  /** What the payer paid, in cents, if the operator accepted an amount other than `value`. */
  receivedValue: number | null
  /** What was credited to your balance, in cents. Null unless COMPLETED. */
  creditedValue: number | null
  /** Total of the refunds that are DONE, in cents. */
  refundedValue: number
  /**
   * Money received for this charge that did not complete it, in cents: a wrong amount or a second payment. It
   * is held until the operator decides. Do not ask the payer to pay again meanwhile.
   */
  heldValue: number
  /** Held money that the operator did not refund, in cents: it was credited to a balance or written off. */
  keptValue: number
  /** Id of the payment in the Pix system, also on the payer’s receipt. */
  endToEndId: string | null
  /** True if it was paid after it had expired or been canceled. */
  paidLate: boolean
  /** Your own reference. */
  externalId: string | null
  /** The description shown to the payer. */
  description: string | null
  /** Where the payment page leads back to. */
  returnUrl: string | null
  /** Your own data about the deposit. */
  metadata: Record<string, string> | null
  /** The `externalId` of the code that the payer paid by. Null for a charge that you asked for. */
  code: string | null
  /** The person who is to pay. */
  payer: {
    /** Its last two digits: `***.***.***-09`. The rest is not kept. */
    taxId: string
    policy: 'verify' | 'require'
  } | null
  /**
   * matched: that person paid. mismatched: another one did. unknown: the provider has not said. Null when
   * nobody asked, because nobody paid or `payer` is null.
   */
  payerMatch: 'matched' | 'mismatched' | 'unknown' | null
  account: DepositAccount
}

export type OperatorDispute = {
  /** 32 hexadecimal digits. Events and the statement call it `disputeId`. */
  id: string
  /**
   * OPEN: not decided yet. ACCEPTED: the payer got the money. REJECTED: the account keeps it. CANCELED: the
   * payer gave up.
   */
  status: 'OPEN' | 'ACCEPTED' | 'REJECTED' | 'CANCELED'
  /** What the payer wants back, in cents. */
  value: number
  /**
   * What was set aside for it, in cents: at most what was available. It stays set aside while the dispute is
   * OPEN.
   */
  held: number
  /** Why, in the words of the payer or the bank. */
  reason: string | null
  /** The deposit that it is about. */
  paymentLinkId: string | null
  externalId: string | null
  /** The id of the payment in Pix. */
  endToEndId: string
  openedAt: string
  /** Seven days after it was opened: by the rules of Pix the bank decides until then. */
  deadlineAt: string
  /** When we learned that it ended. */
  endedAt: string | null
  provider: string
  /** Null: the payment was in suspense. */
  accountId: string | null
  /** Of the account. */
  email: string | null
  evidence: Array<{
    id: string
    fileName: string
    fileType: 'application/pdf' | 'image/png' | 'image/jpeg'
    fileBytes: number
    /** Of the file, in hexadecimal. Its bytes are kept only until it was sent. */
    sha256: string
    description: string | null
    /** SENDING: on its way. SENT: the bank took it. REFUSED: it did not, and `failure` says why. */
    status: 'SENDING' | 'SENT' | 'REFUSED'
    failure: string | null
    givenAt: string
    /** When it was sent or refused. */
    endedAt: string | null
    /** Who gave it. */
    givenBy: string
  }>
}

export type OperatorPayout = {
  /** 32 hexadecimal digits. Events and the statement call it `payoutId`. */
  id: string
  /** In cents. */
  value: number
  note: string | null
  /**
   * REQUESTED: set aside until the operator pays it. PAID: the operator paid it. REJECTED: the money is
   * available again.
   */
  status: 'REQUESTED' | 'PAID' | 'REJECTED'
  requestedAt: string
  /** When it was marked PAID or REJECTED. */
  endedAt: string | null
  /** By which the bank knows the transfer. Only if it is PAID. */
  reference: string | null
  /** The business day on which it was paid. Only if it is PAID. */
  paidAt: string | null
  /** Why it was rejected. Only if it is REJECTED. */
  reason: string | null
  accountId: string
  /** Of the account. */
  email: string
  /** Who asked for it. */
  requestedBy: string
  /** The operator who paid or rejected it. */
  endedBy: string | null
}

export type OperatorRefund = {
  /** 32 hexadecimal digits. */
  id: string
  /**
   * Who pays for it. balance: the account. suspense: the money of an exception. provider: made at the provider
   * outside guiche, and not charged to anyone yet.
   */
  source: 'balance' | 'suspense' | 'provider'
  /** What goes back to the payer, in cents. */
  value: number
  /** The part of the fee that the account gets back, in cents. */
  returnedFee: number
  status: 'PROCESSING' | 'DONE' | 'FAILED'
  /**
   * Why the bank made it, of a refund that nobody here asked for. fraud: the payer reported a fraud.
   * operational: a mistake of the payer’s bank. automatic: a recurring payment that should not have been made.
   * other: any other reason, or the bank gives none.
   */
  nature: 'fraud' | 'operational' | 'automatic' | 'other' | null
  /** Why it failed, as the provider says. */
  failure: string | null
  reason: string | null
  /** Who requested it. */
  by: string
  provider: string
  providerRefundId: string
  endToEndId: string
  chargeId: string | null
  paymentLinkId: string | null
  accountId: string | null
  exceptionId: string | null
  createdAt: string
  /** When it was first sent to the provider. Null: not yet. */
  sentAt: string | null
  /**
   * True while the outcome of a request to the provider is unknown. It ends when the provider reports an
   * outcome, when the provider has not known the refund for hours, or by `end`.
   */
  inDoubt: boolean
  /** Since when it is in doubt. */
  doubtedAt: string | null
  /** Since when the provider says that it does not know the refund. */
  absentSince: string | null
  /** Why the last attempt was inconclusive, while it is PROCESSING. */
  attention: string | null
  endedAt: string | null
  /** The operator who ended it, if one did. */
  endedBy: string | null
  /** The reason that the operator gave. */
  endedReason: string | null
  /** When the provider reversed it after it was DONE: see the exception of kind undone_refund. */
  undoneAt: string | null
}

export type OperatorRequest = {
  /** The `X-Request-Id`, as the caller sent it, or as guiche made it. */
  requestId: string
  /** When it was answered. */
  at: string
  method: string
  route: string
  /** The path, with its ids. A key or a secret in it is cut. */
  path: string
  /** The names of the parameters. Their values are not kept. */
  parameters: string[]
  status: number
  /** The `Guiche-Error` of the answer. */
  errorCode: string | null
  /** The `error` of the answer. */
  error: string | null
  /** From the first byte of the request to the end of the answer. */
  ms: number
  keyId: string
  keyName: string | null
  /** How the key begins. */
  keyPrefix: string | null
  hasIdempotencyKey: boolean
  /** Where it came from: the address without its last part. */
  network: string
  /** Of the deposit that the path names. */
  paymentLinkId: string | null
  accountId: string
  /** Of the account. */
  email: string | null
}

export type Payout = {
  /** 32 hexadecimal digits. Events and the statement call it `payoutId`. */
  id: string
  /** In cents. */
  value: number
  note: string | null
  /**
   * REQUESTED: set aside until the operator pays it. PAID: the operator paid it. REJECTED: the money is
   * available again.
   */
  status: 'REQUESTED' | 'PAID' | 'REJECTED'
  requestedAt: string
  /** When it was marked PAID or REJECTED. */
  endedAt: string | null
  /** By which the bank knows the transfer. Only if it is PAID. */
  reference: string | null
  /** The business day on which it was paid. Only if it is PAID. */
  paidAt: string | null
  /** Why it was rejected. Only if it is REJECTED. */
  reason: string | null
  requestedBy: 'account' | 'operator'
}

export type PayoutPaidEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'PAYOUT_PAID'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the payout. */
    payoutId: string
    /** What you asked for, in cents. */
    value: number
    note: string | null
    /** When you asked for it. */
    requestedAt: string
    /** The status of the payout. */
    status: 'PAID'
    /** By which the bank knows the transfer, as the operator wrote it down. */
    reference: string
    /** The business day on which it was paid. */
    paidAt: string
  }
}

export type PayoutRejectedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'PAYOUT_REJECTED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the payout. */
    payoutId: string
    /** What you asked for, in cents. */
    value: number
    note: string | null
    /** When you asked for it. */
    requestedAt: string
    /** The status of the payout. */
    status: 'REJECTED'
    /** Why, in the words of the operator. */
    reason: string
  }
}

export type ProviderHealth = {
  name: string
  /** open: it failed repeatedly and is not called for a while. */
  breaker: 'closed' | 'open' | 'half-open'
  lastError: string | null
  /** Null: no call has succeeded since this process started. */
  lastSuccessAt: string | null
}

export type Refund = {
  /** 32 hexadecimal digits. Events and the statement call it `refundId`. */
  id: string
  /** What goes back to the payer, in cents. */
  value: number
  /** The part of the fee that you get back, in cents. 0 if the operator keeps it. */
  returnedFee: number
  /**
   * PROCESSING: on its way. DONE: confirmed by the payment provider. FAILED: not made, and your balance has
   * the money again.
   */
  status: 'PROCESSING' | 'DONE' | 'FAILED'
  reason: string | null
  /**
   * Why the bank made it, of a refund that nobody here asked for. fraud: the payer reported a fraud.
   * operational: a mistake of the payer’s bank. automatic: a recurring payment that should not have been made.
   * other: any other reason, or the bank gives none.
   */
  nature: 'fraud' | 'operational' | 'automatic' | 'other' | null
  /**
   * `account`: you. `operator`: the operator of this service. `provider`: made at the payment provider,
   * without your request. Your balance pays for it, unless it was agreed that the operator decides.
   */
  madeBy: 'account' | 'operator' | 'provider'
  createdAt: string
  /** When it became DONE or FAILED. */
  endedAt: string | null
  /**
   * When the payment provider reversed a DONE refund: the payer does not have the money, and the operator
   * decides what happens to it.
   */
  undoneAt: string | null
}

export type RefundFailedEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'REFUND_FAILED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the charge. */
    transactionId: string
    /** UUID to query the charge with. */
    paymentLinkId: string
    /** Your own reference. */
    externalId: string | null
    /** The `id` of the refund. */
    refundId: string
    /**
     * `not_made`: the bank did not make it, and your balance has its money again. `undone`: the bank made it and
     * took it back. Your balance stays as it is; the operator has the money, and decides.
     */
    reason: 'not_made' | 'undone'
    /** What the payer did not get, in cents. */
    refundValue: number
    /** What the other refunds of the charge gave back, in cents. */
    totalRefundedValue: number
    /** The value of the charge, in cents. */
    value: number
    /** The status of the charge. */
    status: 'COMPLETED'
    /** The number of the payment in the Pix system. */
    endToEndId: string
    /** Your own data about the deposit. */
    metadata: Record<string, string> | null
  }
}

export type Reversal = {
  /** The id of the refund, 32 hexadecimal digits. */
  id: string
  /** When guiche learned of it. */
  at: string
  nature: 'fraud' | 'operational' | 'automatic' | 'other'
  accountId: string
  /** Of the account. */
  email: string
  paymentLinkId: string
  externalId: string | null
  provider: string
  providerRefundId: string
  endToEndId: string
  /** What went back to the payer, in cents. */
  value: number
  /** What was taken from the balance. Null: nothing was charged, or not yet. */
  charged: number | null
  /** What the balance lacked then, and the account owes or owed. */
  owed: number | null
  /** The exception of kind foreign_refund about it. */
  exceptionId: string | null
  /** The state of that exception. */
  state: 'open' | 'resolving' | 'resolved' | null
}

export type ReversalRate = {
  accountId: string
  email: string
  /** It begins in the time zone of the account. */
  day: string
  /** Deposits that were paid on that day. */
  paid: number
  paidValue: number
  /** Reversals that guiche learned of on that day. */
  reversed: number
  reversedValue: number
  /** Those of nature fraud. */
  fraud: number
  fraudValue: number
}

export type Shop = {
  /** Counts changes, from 0. */
  version: number
  /** What payers read: `displayName`, or the name of the account. */
  name: string
  /** The logo, or null. */
  logoUrl: string | null
  /** The name for payers, if it is not that of the account. */
  displayName: string | null
  /** Of buttons and links, as `#rrggbb`. Pages make it darker or lighter until it can be read. */
  color: string | null
  /** The company’s number, without punctuation. */
  cnpj: string | null
  /** Where payers ask. */
  supportEmail: string | null
  /** With country and area, as `+5511999998888`. */
  supportPhone: string | null
  /** A page or a WhatsApp link. */
  supportUrl: string | null
  /** What the dashboard’s form of a new deposit begins with. */
  defaultDescription: string | null
  /** In seconds; what that form begins with. The API uses it for nothing. */
  defaultExpiresIn: number | null
  /** Of messages to payers. */
  language: 'pt-BR' | 'en' | 'es'
  /** Origins that a `returnUrl` may have. */
  returnOrigins: string[]
}

export type StatementLine = {
  /** Lines booked later have a larger number. */
  id: string
  /**
   * `deposit`: a payment, less the fee. `matched_deposit`: a deposit whose payment was held first, because it
   * had no code or a different amount. `refund_reserved`: taken for a refund, less the part of the fee that
   * came back with it. `refund_released`: returned to you because the refund failed, less the fee that was
   * charged again. `exception_credited`: a payment that the operator assigned to you, or a refund of yours
   * that came back. `refund_charged`: a refund made at the payment provider and charged to you.
   * `reversal_charged`: a deposit that the bank returned to the payer without your request, such as after a
   * report of fraud. `debt_paid`: what the balance lacked when the bank returned a deposit, taken as soon as
   * money came in. `payout_reserved`: set aside for a payout. `payout_returned`: available again, because the
   * payout was rejected. `dispute_held`: set aside because the payer contests the payment. `dispute_released`:
   * available again, because the dispute ended.
   */
  kind: string
  /** The same as `net`. */
  amount: number
  /** Your available balance after this line, in cents. */
  balance: number
  chargeId: string | null
  paymentLinkId: string | null
  /** The refund that the line belongs to. */
  refundId: string | null
  /** Of a refund that you did not ask for: why the bank made it. */
  nature: 'fraud' | 'operational' | 'automatic' | 'other' | null
  /** The payout that the line belongs to. */
  payoutId: string | null
  /** The dispute that the line belongs to. */
  disputeId: string | null
  /** The payout as it is now. A payout that is PAID has no line of its own for that. */
  payout: {
    status: 'REQUESTED' | 'PAID' | 'REJECTED'
    reference: string | null
    paidAt: string | null
  } | null
  /** When it happened. For a deposit, when the payer paid. */
  occurredAt: string
  /** When it was booked. Periods are cut by this time. */
  recordedAt: string
  /** Before the fee, in cents: positive is a credit, negative a debit. */
  gross: number
  /** What was taken, in cents; negative if it came back. */
  fee: number
  /** `gross` less `fee`: what the balance gained or lost, in cents. */
  net: number
  /** Your reference of the deposit, or of the lasting code that it was paid by. */
  externalId: string | null
  /** The description of the deposit. */
  description: string | null
  /** The id of the payment in Pix. Null for a payout. */
  endToEndId: string | null
}

export type StatementTotals = {
  /**
   * `deposit`: a payment, less the fee. `matched_deposit`: a deposit whose payment was held first, because it
   * had no code or a different amount. `refund_reserved`: taken for a refund, less the part of the fee that
   * came back with it. `refund_released`: returned to you because the refund failed, less the fee that was
   * charged again. `exception_credited`: a payment that the operator assigned to you, or a refund of yours
   * that came back. `refund_charged`: a refund made at the payment provider and charged to you.
   * `reversal_charged`: a deposit that the bank returned to the payer without your request, such as after a
   * report of fraud. `debt_paid`: what the balance lacked when the bank returned a deposit, taken as soon as
   * money came in. `payout_reserved`: set aside for a payout. `payout_returned`: available again, because the
   * payout was rejected. `dispute_held`: set aside because the payer contests the payment. `dispute_released`:
   * available again, because the dispute ended.
   */
  kind: string
  count: number
  /** Before the fee, in cents: positive is a credit, negative a debit. */
  gross: number
  /** What was taken, in cents; negative if it came back. */
  fee: number
  /** `gross` less `fee`: what the balance gained or lost, in cents. */
  net: number
}

export type Webhook = {
  id: string
  name: string
  url: string
  events: Array<
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
  /** Whether an `Authorization` value is sent. The value itself is never shown. */
  hasAuthorization: boolean
  createdAt: string
  /** False: it gets no events until you enable it again. */
  enabled: boolean
  /** When it was disabled. Resend `since` this time to catch up. */
  disabledAt: string | null
  /** Why it was disabled, for humans. */
  disabledReason: string | null
  /** The same as a code, for programs. */
  disabledCode: string | null
  /** The first failure since the last success. After 5 days of failures the webhook is disabled. */
  failingSince: string | null
  /** Until when the previous secret signs too. */
  previousSecretUntil: string | null
}

export type WebhookDisabledEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'WEBHOOK_DISABLED'
  /** When the event happened. */
  createdAt: string
  data: {
    /** The `id` of the webhook. */
    webhookId: string
    /** Its `disabledCode`, such as `failed_for_days`, `receiver_gone` or `deleted`. */
    reason: string
    /** When it was disabled. Resend `since` this time to catch up. */
    disabledAt: string
  }
}

export type WebhookStats = {
  /**
   * If the account had more than 2,000 events in the last 7 days: the oldest that was looked at. The numbers
   * are about the attempts to deliver events since then. Null: all events of the week were looked at.
   */
  sampledSince: string | null
  /** The last 24 hours. */
  day: {
    attempts: number
    /** Attempts that were answered with a 2xx status. */
    delivered: number
    /** Half of the answers came within this time. Null: none came. */
    latencyP50Ms: number | null
    /** 95 of 100 answers came within this time. */
    latencyP95Ms: number | null
  }
  /** The last 7 days. */
  week: {
    attempts: number
    /** Attempts that were answered with a 2xx status. */
    delivered: number
    /** Half of the answers came within this time. Null: none came. */
    latencyP50Ms: number | null
    /** 95 of 100 answers came within this time. */
    latencyP95Ms: number | null
  }
  /** Attempts in each of the last 24 hours, oldest first. The last hour is under way. */
  hours: Array<{
    hour: string
    delivered: number
    failed: number
  }>
}

export type WebhookTest = {
  /** True if the receiver answered with a 2xx status. */
  delivered: boolean
  /** The status of the receiver’s response. Null if there was none. */
  status: number | null
  /** Why there was no response, for humans. */
  error: string | null
  /** The same as a code, for programs. */
  errorCode: string | null
  /** What the code refers to, such as an address or a time. */
  errorDetail: string | null
  latencyMs: number
  /** The first 2 kB of the response; empty if it came from a private network. */
  excerpt: string
}

export type WebhookTestEvent = {
  /**
   * The same in every delivery of this event, and in `webhook-id`. Treat it as opaque, of at most 100
   * characters.
   */
  id: string
  event: 'WEBHOOK_TEST'
  /** When the event happened. */
  createdAt: string
  data: {
    message: string
  }
}

export type WebhookWaiting = {
  /** Deliveries that wait for an attempt, up to 10,000. */
  count: number
  /** True: there are more than `count`. */
  isMore: boolean
  /** When the first of them is due. */
  nextAttemptAt: string | null
  /** Why one of them failed last. Null: none has failed yet. */
  lastFailure: {
    at: string
    status: number | null
    error: string | null
    errorCode: string | null
    errorDetail: string | null
  } | null
}

/** The events that this version knows. */
export type KnownEvent =
  | DepositAssetSuccessEvent
  | DepositExpiredEvent
  | DepositCanceledEvent
  | DepositHeldEvent
  | DepositReleasedEvent
  | DepositPayerCheckedEvent
  | DepositRefundedEvent
  | DepositReversedEvent
  | RefundFailedEvent
  | PayoutPaidEvent
  | PayoutRejectedEvent
  | DisputeOpenedEvent
  | DisputeEndedEvent
  | WebhookDisabledEvent
  | KeyCreatedEvent
  | KeyRevokedEvent
  | WebhookTestEvent

/** The values of the header `Guiche-Error`. A newer server may send others. */
export type ErrorCode =
  | 'bad_request'
  | 'body_invalid'
  | 'field_invalid'
  | 'value_too_small'
  | 'value_too_large'
  | 'value_not_above_fee'
  | 'return_url_not_allowed'
  | 'logo_refused'
  | 'url_not_allowed'
  | 'password_length'
  | 'password_too_common'
  | 'password_too_simple'
  | 'password_personal'
  | 'password_wrong'
  | 'terms_invalid'
  | 'window_invalid'
  | 'provider_unknown'
  | 'search_too_slow'
  | 'resolution_invalid'
  | 'key_missing'
  | 'key_invalid'
  | 'not_signed_in'
  | 'reauthentication_required'
  | 'second_factor_required'
  | 'foreign_origin'
  | 'scope_missing'
  | 'account_suspended'
  | 'not_enabled'
  | 'mail_not_set_up'
  | 'signature_wrong'
  | 'not_found'
  | 'email_taken'
  | 'external_id_taken'
  | 'order_paid'
  | 'key_limit'
  | 'webhook_limit'
  | 'member_limit'
  | 'already_member'
  | 'last_owner'
  | 'passkey_refused'
  | 'passkey_limit'
  | 'account_switched'
  | 'invitation_used'
  | 'invitation_expired'
  | 'invitation_other_email'
  | 'shop_changed'
  | 'not_cancelable'
  | 'history_changed'
  | 'payment_held'
  | 'not_refundable'
  | 'already_refunded'
  | 'refund_too_large'
  | 'refund_too_old'
  | 'balance_too_small'
  | 'code_limit'
  | 'payer_unconfirmable'
  | 'payer_mismatched'
  | 'codes_not_offered'
  | 'payout_limit'
  | 'payout_ended'
  | 'dispute_ended'
  | 'evidence_limit'
  | 'refund_ended'
  | 'refund_not_sent'
  | 'refund_in_progress'
  | 'note_limit'
  | 'exception_resolved'
  | 'exception_resolving'
  | 'payment_rest_held'
  | 'payment_not_credited'
  | 'payment_returned'
  | 'payment_refunded'
  | 'payment_below_fee'
  | 'charge_not_named'
  | 'charge_completed'
  | 'in_flight'
  | 'idempotency_mismatch'
  | 'rate_limited'
  | 'provider_refused'
  | 'provider_unavailable'
  | 'code_altered'
  | 'unavailable'
  | 'request_timeout'
  | 'method_not_allowed'
  | 'body_too_large'
  | 'unsupported_type'
  | 'expectation_failed'
  | 'headers_too_large'
  | 'internal'
