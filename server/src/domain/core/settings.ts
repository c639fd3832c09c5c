import type { NoteKey } from '../../base/signed-note.ts'
import type { OutsideHeads } from './outside-heads.ts'
import type { Sealer } from '../../base/sealer.ts'
import type { ChargeSeal } from './charge-facts.ts'
import type { SecretBox } from './secret-box.ts'
import type { Terms } from './terms.ts'

export type Settings = {
  mode: 'test' | 'live'
  publicUrl: string
  /** Base URL of the sandbox's payer side, for the button that pays a charge; null in live mode. */
  sandboxBankUrl: string | null
  terms: Terms
  chargeExpiresSeconds: number
  /** What every provider takes. */
  chargeMaxExpiresSeconds: number
  /** How often each provider's list of received Pix is read; 0: never. */
  reconcileSeconds: number
  /** Charges that an account may have PENDING at a time, see deposits/admission.ts; 0 is no limit. */
  pendingMaxPerAccount: number
  /** Per API key; a rate of 0: no limit. */
  rateLimit: { perSecond: number; burst: number }
  /** Per network, for routes without a key: payment pages, QR codes, documents. A rate of 0: no limit. */
  publicRateLimit: { perSecond: number; burst: number }
  /** Whether this is METRICS_TOKEN, which opens /metrics. False for everything if it is not set. */
  isMetricsToken: (text: string) => boolean
  hstsIncludesSubdomains: boolean
  /** Secret part of the URL that a provider notifies. The first is registered; all of them are accepted. */
  callbackSecrets: (provider: string) => string[]
  secretBox: SecretBox
  chargeSeal: ChargeSeal
  /** The keys that sign heads of the history of this name, one for each SECRET_KEY. */
  headKeys: (name: string) => NoteKey[]
  outsideHeads: OutsideHeads
  /** Who countersigns heads, if anybody: WITNESS_URL and its verifier key. */
  witness: { url: string; key: string } | null
  sealer: Sealer
  signIn: SignInSettings
  /** byAccounts: account holders may refund by API. returnFee: a refund returns its share of the fee. */
  refunds: { byAccounts: boolean; returnFee: boolean }
  retention: Retention
  /** Operators are told when the newest backup is older; 0: never. isExpected: also if there never was one. */
  backups: { maxHours: number; isExpected: boolean }
}

/**
 * After how many days webhook attempts, the log of requests and records of sign-ins are deleted. requestsDays of 0:
 * none is recorded. signInsDays of 0: never.
 */
export type Retention = { attemptsDays: number; requestsDays: number; signInsDays: number }

export type SignInSettings = {
  signup: 'open' | 'invite' | 'closed'
  /** Keys that sign cookies and encrypt second factors; new ones use the first. */
  secrets: () => string[]
  sessions: Record<'account' | 'operator', SessionLimits>
  requireSecondFactor: 'operators' | 'everybody' | 'off'
}

/** hours: longest life of a session. idleMinutes: it ends after this long without a request; 0: never. */
export type SessionLimits = { hours: number; idleMinutes: number }
