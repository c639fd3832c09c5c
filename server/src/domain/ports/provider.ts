import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import type { TaxId } from '../../base/tax-id.ts'
import type { PayerMatch } from '../core/payers.ts'

/**
 * What guiche needs of a payment provider. Adapters in providers/ implement it; nothing else knows a bank's protocol.
 * Every call has its own deadline, budget and breaker inside the adapter. `onBehalfOf` is the account whose caller
 * waits: accounts take turns where capacity is short. Calls without it are background work, with a share of its own.
 */
export type Provider = {
  readonly name: string
  /** What its rate limit allows; 0: no limit. */
  readonly callsPerSecond: number
  /** Of the certificate that the provider knows us by, if there is one and it can be read. */
  readonly certificateExpiresAt?: Date | undefined
  /** Creates the charge, or finds the one that an earlier call with this txid created. Else throws ProviderError. */
  create(request: ProviderChargeRequest): Promise<ProviderCharge>
  /**
   * A code for any number of payments of any amount, each of which carries this txid. Safe to repeat with the same
   * txid. Undefined if the provider has no such codes.
   */
  createCode?(request: ProviderCodeRequest): Promise<{ emv: string }>
  check(txid: string, options?: { onBehalfOf?: string | undefined }): Promise<ProviderCharge | 'absent'>
  /** 'not_active': it was paid or withdrawn before; check() tells which. */
  cancel(txid: string, options?: { onBehalfOf?: string | undefined }): Promise<'withdrawn' | 'not_active' | 'absent'>
  findPayment(endToEndId: string): Promise<ReceivedPayment | 'absent'>
  /**
   * Whether this person paid. 'unknown': the provider cannot say yet. A list that lags looks as if another one did, so
   * whoever asks believes 'mismatched' only after some time. Undefined if the provider does not tell who paid.
   */
  checkPayer?(request: PayerRequest): Promise<PayerMatch>
  /**
   * All Pix received in [from, to), a page at a time, and whatever else the provider lists for it: a Pix that it dates
   * outside the window is money too. Unreadable entries go to `onUnread` and do not block the others; without it they
   * end the list with an error. Throws ListTooLong when the window must be shorter.
   */
  listReceived(
    window: { from: Date; to: Date },
    onUnread?: (entry: UnreadEntry) => void,
  ): AsyncIterable<ReceivedPayment[]>
  /** Safe to repeat with the same refundId (at most 35 letters and digits). */
  refund(request: ProviderRefundRequest): Promise<ProviderRefund>
  checkRefund(request: { endToEndId: string; refundId: string }): Promise<ProviderRefund | 'absent'>
  /** What payers contest. Undefined if the provider does not tell. */
  readonly disputes?: ProviderDisputes
  /** Asks the provider to post to this URL when a Pix arrives, or when a payer contests one. */
  registerNotifications(url: string): Promise<void>
  /** What to ask about. 'refused': surely not from this provider. Throws for a body that it would never send. */
  readNotification(request: NotificationRequest): Promise<Hint[] | 'refused'>
  /** False when create() for this account would be refused at once, because its share of the budget is used up. */
  hasRoomFor(accountId: string): boolean
  /** False while the breaker lets no call through, so that every call would fail at once. */
  isCallable(): boolean
  health(): ProviderHealth
  /** What is wrong with our access although calls succeed, with what to do. */
  accessProblem?(): string | undefined
  close(): Promise<void>
}

export type ProviderChargeRequest = {
  txid: string
  valueCents: Cents
  expiresInSeconds: number
  description: string | null
  /** Nobody else may pay it. */
  onlyPayer?: TaxId | undefined
  onBehalfOf?: string | undefined
}

export type PayerRequest = { payer: TaxId; txid: string; endToEndId: string; occurredAt: Date }

/** `name` is what the provider calls it in its own pages, if it has such. */
export type ProviderCodeRequest = { txid: string; name: string; onBehalfOf: string }

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
  /** Null when the payer typed our Pix key by hand. */
  txid: string | null
  amountCents: Cents
  occurredAt: Date
  /** Its refunds, also those made without us; absent where the provider does not list them. */
  refunds?: ProviderRefund[]
  /** Refunds that the provider lists and that cannot be read; absent if there are none. */
  unreadRefunds?: UnreadRefund[]
  /** How much was refunded, from a provider that tells only this; absent where it does not tell even that. */
  givenBack?: 'nothing' | 'part' | 'all'
}

/** An entry of a provider's list that may be a received Pix and cannot be read. */
export type UnreadEntry = {
  endToEndId: string | null
  /** It claims to be a received Pix; otherwise even that is unknown. */
  isMoney: boolean
  occurredAt: Date | null
  text: string
}

/** Our name for the refund of a whole payment whose own id the provider does not tell. No id of theirs has a hyphen. */
export const WHOLE_REFUND = 'whole-payment'

/** That refund, as a provider tells of it that says only how much it refunded; undefined where it says less. */
export function wholeRefundOf({ givenBack, amountCents }: ReceivedPayment): ProviderRefund | undefined {
  if (givenBack !== 'all' && givenBack !== 'nothing') return undefined
  return { refundId: WHOLE_REFUND, amountCents, status: givenBack === 'all' ? 'done' : 'failed', reason: null }
}

export type UnreadRefund = { refundId: string | null; text: string }

/** Adapters may ask for this much more than a window on either side, because providers round times. */
export const LIST_MARGIN_MS = 60_000

export type ProviderRefund = {
  refundId: string
  amountCents: Cents
  status: 'processing' | 'done' | 'failed'
  reason: string | null
  /** Absent where the provider does not tell. */
  nature?: Nature
}

/**
 * Why money went back. fraud: the payer reported a fraud. operational: a mistake of the payer's bank. automatic: of a
 * recurring payment. other: an ordinary refund, or a word that we do not know.
 */
export const NATURES = ['fraud', 'operational', 'automatic', 'other'] as const
export type Nature = (typeof NATURES)[number]

/** As it arrived, because signatures cover the bytes. Header names are in lower case. */
export type NotificationRequest = { headers: Record<string, string | string[] | undefined>; body: Buffer }

export type Hint = {
  txid: string | null
  endToEndId: string | null
  /** The time of the Pix as the notification claims. It only chooses where to look for the Pix. */
  occurredAt?: Date | undefined
  /** The notification tells of refunds of the Pix, so it is worth a question although the Pix is in the books. */
  mentionsRefunds?: boolean
  /** The notification tells of a dispute about the Pix, and not of the Pix. */
  isDispute?: boolean
}

export type ProviderDisputes = {
  /** By the Pix that the payer contests. */
  find(endToEndId: string): Promise<ProviderDispute | 'absent'>
  /** Of a window of time. Like a notification it only says about which to ask: unreadable entries are left out. */
  list(window: { from: Date; to: Date }): Promise<Pick<ProviderDispute, 'endToEndId' | 'status'>[]>
  /** The provider fetches the file from the URL before it answers. Nobody can ask afterwards whether it did. */
  sendEvidence(evidence: ProviderEvidence): Promise<void>
}

export type ProviderDispute = {
  id: string
  endToEndId: string
  status: 'open' | 'accepted' | 'rejected' | 'canceled'
  /** Null: the provider does not say, and means the whole payment. */
  amountCents: Cents | null
  reason: string | null
  /** Null: the provider does not say. */
  openedAt: Date | null
}

export type ProviderEvidence = { disputeId: string; evidenceId: string; url: string; description: string | null }

export type ProviderHealth = {
  breaker: 'closed' | 'open' | 'half-open'
  lastError: string | null
  lastErrorAt: Date | null
  lastSuccessAt: Date | null
}

/**
 * refused: the provider understood and said no. unreachable: it surely did nothing (never sent, breaker open, budget
 * spent). unknown: it may have done it, and asking did not help.
 */
export class ProviderError extends Error {
  override name = 'ProviderError'
  readonly outcome: 'refused' | 'unreachable' | 'unknown'
  /** Never sent, because our own budget for this provider is spent. The provider itself may be fine. */
  readonly isOverloaded: boolean
  /** Never sent, because the breaker let no call through. */
  readonly isDown: boolean

  constructor(
    outcome: 'refused' | 'unreachable' | 'unknown',
    text: string,
    options: { cause?: unknown; isOverloaded?: boolean; isDown?: boolean } = {},
  ) {
    super(text, options)
    this.outcome = outcome
    this.isOverloaded = options.isOverloaded ?? false
    this.isDown = options.isDown ?? false
  }
}

/** The window holds more than an adapter reads of one list. A shorter window works. */
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
