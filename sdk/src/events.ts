/** What a webhook carries. `event` tells which; in a `switch` over it, `data` has the type that belongs to the kind. */
export type GuicheEvent = DepositEvent | RefundEvent | TestEvent | OtherEvent

/** A charge was paid, and the account credited. */
export type DepositEvent = Envelope<'DEPOSIT_ASSET_SUCCESS', DepositData>

/** Money of a completed charge went back to its payer, whole or in part. */
export type RefundEvent = Envelope<'DEPOSIT_REFUNDED', RefundData>

/** Sent when a webhook is added or its URL changes, and on request. It means nothing for the books. */
export type TestEvent = Envelope<'WEBHOOK_TEST', { message: string }>

/** A kind that this version does not know. It is as genuine as the others: answer 2xx, or it is sent again. */
export type OtherEvent = Envelope<OtherKind, Record<string, unknown>>

/** All amounts are whole cents. */
export type DepositData = {
  /** The charge's `id`. */
  transactionId: string
  paymentLinkId: string
  /** The reference that you gave the charge. */
  externalId: string | null
  value: number
  originalValue: number
  fee: number
  /** What the balance grew by: `value` less `fee`. */
  creditedValue: number
  status: 'COMPLETED'
  /** The payment came after the charge had expired or was canceled. It is credited all the same. */
  paidLate: boolean
  /** The bank's own number of the Pix. */
  endToEndId: string
  /** ISO 8601. */
  paidAt: string
}

/** All amounts are whole cents. */
export type RefundData = {
  /** The charge's `id`. */
  transactionId: string
  paymentLinkId: string
  externalId: string | null
  refundId: string
  /** What this refund sent back. */
  refundedValue: number
  /** What has gone back of the charge in all. */
  totalRefundedValue: number
  /** The charge's amount. */
  value: number
  /** What of the fee came back to the balance. */
  returnedFee: number
  /** The charge stays what it is. */
  status: 'COMPLETED'
  endToEndId: string
  /** ISO 8601. */
  refundedAt: string
}

type Envelope<Kind extends string, Data> = {
  /** The same in every delivery of this event. */
  id: string
  event: Kind
  /** ISO 8601. */
  createdAt: string
  data: Data
}

/**
 * In truth any other string. TypeScript cannot say "every string but these", and a plain `string` would stay in every
 * branch of a `switch` and blur each `data`; so this is a pattern that no known kind fits. Compare with a kind newer
 * than this package as `String(event.event) === 'NEW_KIND'`.
 */
export type OtherKind = `another kind: ${string}`
