import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'

/**
 * What guiche needs of a payment provider. Adapters in providers/ implement it; nothing else in the house knows how a bank speaks.
 * Every call has its own deadline, budget and breaker inside the adapter. `onBehalfOf` names the account whose caller waits for the
 * answer: accounts take turns where capacity is short. Without it a call is work in the background, which has a share of its own.
 */
export type Provider = {
  readonly name: string
  /**
   * Makes the charge, or finds that an earlier call with this txid made it. Throws ProviderError when there is none that can be paid, or when
   * nobody knows: its `outcome` tells which.
   */
  create(request: ProviderChargeRequest): Promise<ProviderCharge>
  /** The provider's own word on a charge, asked now. */
  check(
    txid: string,
    options?: { deadlineMs?: number; onBehalfOf?: string | undefined },
  ): Promise<ProviderCharge | 'absent'>
  /** 'not_active' says that it cannot be withdrawn any more (paid, or withdrawn before): check() tells which. */
  cancel(txid: string, options?: { onBehalfOf?: string | undefined }): Promise<'withdrawn' | 'not_active' | 'absent'>
  findPayment(endToEndId: string): Promise<ReceivedPayment | 'absent'>
  /**
   * All Pix received in [from, to), a page at a time. Entries that cannot be read are told, so that they do not hold up the others; where nobody listens,
   * the list ends in an error instead of passing for a whole one. Throws ListTooLong when a shorter window must be asked for.
   */
  listReceived(
    window: { from: Date; to: Date },
    onUnread?: (entry: UnreadEntry) => void,
  ): AsyncIterable<ReceivedPayment[]>
  /** Safe to repeat with the same refundId (at most 35 letters and digits). */
  refund(request: ProviderRefundRequest): Promise<ProviderRefund>
  /** The provider's own word on a refund, asked now. */
  checkRefund(request: { endToEndId: string; refundId: string }): Promise<ProviderRefund | 'absent'>
  /** Asks the provider to post to this URL when a Pix arrives. */
  registerNotifications(url: string): Promise<void>
  /**
   * What a notification of this provider is about; 'refused' when it is surely not from it. Nothing in it is believed beyond that. Throws
   * Fault('bad_request') for a body that this provider would never send.
   */
  readNotification(request: NotificationRequest): Promise<Hint[] | 'refused'>
  /** False when create() on behalf of this account would be refused at once, because the account uses up its share of the budget. */
  hasRoomFor(accountId: string): boolean
  health(): ProviderHealth
  close(): Promise<void>
}

export type ProviderChargeRequest = {
  txid: string
  valueCents: Cents
  expiresInSeconds: number
  description: string | null
  onBehalfOf?: string | undefined
}

export type ProviderRefundRequest = {
  endToEndId: string
  refundId: string
  amountCents: Cents
  onBehalfOf?: string | undefined
}

export type ProviderCharge = {
  txid: string
  status: 'active' | 'paid' | 'withdrawn'
  emv: string
  valueCents: Cents
  expiresAt: Date
  payments: ReceivedPayment[]
}

export type ReceivedPayment = {
  provider: string
  endToEndId: string
  /** Absent when the payer typed our key by hand. */
  txid: string | null
  amountCents: Cents
  occurredAt: Date
  /** What was given back of it, by whomever, and [] for nothing; absent where the provider does not list it. */
  refunds?: ProviderRefund[]
  /** How much of it was given back, from a provider that says this instead; absent where it does not say that either. */
  givenBack?: 'nothing' | 'part' | 'all'
}

/** An entry of a provider's list that may be a Pix received and cannot be read. */
export type UnreadEntry = {
  endToEndId: string | null
  /** It says that it is a Pix received; else, what it is is unknown too. */
  isMoney: boolean
  text: string
}

export type ProviderRefund = {
  refundId: string
  amountCents: Cents
  status: 'processing' | 'done' | 'failed'
  reason: string | null
}

/** As it arrived: signatures are over the bytes. Names of headers are in lower case. */
export type NotificationRequest = { headers: Record<string, string | string[] | undefined>; body: Buffer }

/** Which charge or which Pix to ask about. */
export type Hint = { txid: string | null; endToEndId: string | null }

export type ProviderHealth = {
  breaker: 'closed' | 'open' | 'half-open'
  lastError: string | null
  lastSuccessAt: Date | null
}

/**
 * refused: the provider understood and said no. unreachable: it surely did nothing (never sent, breaker open, budget spent). unknown: it may or may not have
 * done it, and asking did not help.
 */
export class ProviderError extends Error {
  override name = 'ProviderError'
  readonly outcome: 'refused' | 'unreachable' | 'unknown'
  /** Never sent, because our own budget for this provider is spent. The provider may be well. */
  readonly isOverloaded: boolean

  constructor(
    outcome: 'refused' | 'unreachable' | 'unknown',
    text: string,
    options: { cause?: unknown; isOverloaded?: boolean } = {},
  ) {
    super(text, options)
    this.outcome = outcome
    this.isOverloaded = options.isOverloaded ?? false
  }
}

/** The window holds more than an adapter reads of one list. A shorter one can be read. */
export class ListTooLong extends ProviderError {
  override name = 'ListTooLong'

  constructor(text: string) {
    super('unknown', text)
  }
}

export function providerNamed({ providers }: { providers: Provider[] }, name: string): Provider {
  const provider = providers.find((candidate) => candidate.name === name)
  // A charge outlives the configuration that made it.
  if (!provider) throw new Fault('provider_unavailable', 'The payment provider of this charge is not configured')
  return provider
}
