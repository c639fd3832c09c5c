import type { Cents } from '../../base/money.ts'
import type { ChargeSeal } from './charge-seal.ts'
import type { SecretBox } from './secret-box.ts'

export type Settings = {
  mode: 'test' | 'live'
  publicUrl: string
  /** The payer's side of the sandbox, for the button that pays a charge; null where money is real. */
  sandboxBankUrl: string | null
  terms: Terms
  chargeExpiresSeconds: number
  /** How often each provider's list of received Pix is read; 0 is never. */
  reconcileSeconds: number
  /** Charges that an account may have PENDING at a time, see deposits/admission.ts; 0 is no limit. */
  pendingMaxPerAccount: number
  /** Per API key; a rate of 0 is no limit. */
  rateLimit: { perSecond: number; burst: number }
  /** Per network, for what needs no key: payment pages, QR codes, documents. A rate of 0 is no limit. */
  publicRateLimit: { perSecond: number; burst: number }
  /** Whether browsers shall reach every name below that of PUBLIC_URL by https only. */
  hstsIncludesSubdomains: boolean
  /**
   * Secret parts of the path at which a provider notifies us, see http/callbacks.ts. The first is registered; all are accepted, so that no notification is
   * lost while processes with the old and the new SECRET_KEY run side by side.
   */
  callbackSecrets: (provider: string) => string[]
  secretBox: SecretBox
  chargeSeal: ChargeSeal
  signIn: SignInSettings
  /** byAccounts: account holders may refund by API. returnFee: a refund gives back its share of the fee. */
  refunds: { byAccounts: boolean; returnFee: boolean }
}

export type SignInSettings = {
  /** Who may make an account of their own: anybody, those with an invitation, or nobody. */
  signup: 'open' | 'invite' | 'closed'
  /** What cookies are signed and second factors encrypted with; the first for new ones. */
  secrets: () => string[]
  sessions: Record<'account' | 'operator', SessionLimits>
  /** Who can do nothing in the dashboard before they have turned a second factor on. */
  requireSecondFactor: 'operators' | 'off'
}

/** hours: how long a session lasts at most. idleMinutes: after how long without a request it ends; 0 is never. */
export type SessionLimits = { hours: number; idleMinutes: number }

/** What a deployment asks of every deposit; an account may have its own. Frozen on the charge when it is opened. */
export type Terms = {
  feeBps: number
  feeFixedCents: Cents
  feeMinCents: Cents | null
  feeMaxCents: Cents | null
  feeBearer: 'account' | 'payer'
  valueMinCents: Cents
  valueMaxCents: Cents
}
