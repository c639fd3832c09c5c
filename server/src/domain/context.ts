import { makeBatcher, type Batcher } from '../base/batcher.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import { makeSharedCall, type SharedCall } from '../base/shared-call.ts'
import type { Clock } from '../db/clock.ts'
import type { Pool } from '../db/pool.ts'
import { transact } from '../db/tx.ts'
import { isDelivered, judge, recordDelivered, recordTroubled, type Attempt } from './attempts.ts'
import { markPending, type StoredCharge } from './charges.ts'
import { makeChargeWatch, type ChargeWatch } from './charge-watch.ts'
import type { ChargeSeal } from './charge-seal.ts'
import type { Courier } from './courier.ts'
import type { Terms } from './fees.ts'
import { makeKeyCache, type KeyCache } from './key-cache.ts'
import type { Mailer } from './mailer.ts'
import { insertOpenings, type Opening, type OpeningResult } from './openings.ts'
import { makePendingLimit, type PendingLimit } from './pending-limit.ts'
import type { Provider, ReceivedPayment } from './provider.ts'
import { noteReportedRefunds } from './reported-refunds.ts'
import type { SecretBox } from './secret-box.ts'
import { settle, type Settled } from './settle.ts'

/** Who may do what is in the first argument: a function that takes the Context may call providers and open transactions. */
export type Context = {
  pool: Pool
  clock: Clock
  /** The database's time, see db/clock.ts. */
  now: () => Date
  log: Log
  meters: Meters
  settings: Settings
  /** In order of preference. */
  providers: Provider[]
  courier: Courier
  mailer: Mailer
  /** This process's number among those that share the database, see db/presence.ts. */
  instance: number
  keys: KeyCache
  pendingLimit: PendingLimit
  openings: Batcher<Opening, OpeningResult>
  /** Charges that this process is asking a provider to make, or clearing up, at this moment. */
  openingNow: Set<string>
  acceptances: Batcher<{ chargeId: string; emv: string }, void>
  settlements: Batcher<ReceivedPayment[], void>
  attempts: Batcher<Attempt, void>
  /** Questions to providers about a charge, shared by all who ask at once. */
  checkCalls: SharedCall<StoredCharge>
  /** Tells open payment pages that their charge has ended. */
  chargeWatch: ChargeWatch
  /** Set by the worker that does checks: look again now, something is due. */
  wakeChecks: () => void
  /** Set by the worker that delivers webhooks. */
  wakeDeliveries: () => void
}

export type Settings = {
  mode: 'test' | 'live'
  publicUrl: string
  /** The payer's side of the sandbox, for the button that pays a charge; null where money is real. */
  sandboxBankUrl: string | null
  terms: Terms
  chargeExpiresSeconds: number
  /** How often each provider's list of received Pix is read; 0 is never. */
  reconcileSeconds: number
  /** Charges that an account may have PENDING at a time, see pending-limit.ts; 0 is no limit. */
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

// A batch is one transaction: large enough that a busy moment shares one fsync, small enough to hold its locks for milliseconds.
const MAX_BATCH = 200
// What is written down of deliveries takes no lock that anybody waits for, and nobody waits for it.
const ATTEMPTS = { maxBatch: 500, paceMs: 20 }
// At this many waiting the database is seconds behind, and a refusal is kinder than a longer queue.
const MAX_WAITING = 5_000

export function makeContext(parts: {
  pool: Pool
  clock: Clock
  log: Log
  meters: Meters
  settings: Settings
  providers: Provider[]
  courier: Courier
  mailer: Mailer
  instance: number
}): Context {
  const full = () => new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds: 1 })
  // Many callers share one trip to the database; what it made due is looked at as soon as it is committed.
  const batched = <Item, Result = void>(
    work: (items: Item[]) => Promise<Result[] | void>,
    {
      afterwards,
      maxBatch = MAX_BATCH,
      paceMs = 0,
    }: { afterwards?: () => void; maxBatch?: number; paceMs?: number } = {},
  ) =>
    makeBatcher<Item, Result>({
      async work(items) {
        const results = await work(items)
        afterwards?.()
        return results ?? items.map(() => undefined as Result)
      },
      maxBatch,
      paceMs,
      maxWaiting: MAX_WAITING,
      full,
      isNobodysFault: (error) => error instanceof Fault && error.code === 'unavailable',
    })
  const { pool, meters } = parts
  const { now } = parts.clock
  const delivered = batched<Attempt>((attempts) => recordDelivered(pool, now(), attempts), ATTEMPTS)
  const troubled = batched<Attempt>((attempts) =>
    transact(pool, (tx) => recordTroubled(tx, now(), attempts, Math.random)),
  )
  const ctx: Context = {
    ...parts,
    now,
    keys: makeKeyCache(),
    pendingLimit: makePendingLimit({ pool, now, max: parts.settings.pendingMaxPerAccount }),
    openings: batched((openings) => transact(pool, (tx) => insertOpenings(tx, now(), openings))),
    openingNow: new Set(),
    acceptances: batched(async (accepted) => {
      const opened = await transact(pool, (tx) => markPending(tx, ctx.instance, accepted))
      meters.deposits.inc({ state: 'opened' }, opened)
    }),
    settlements: batched(
      async (payments) => {
        const settled = await transact(pool, (tx) => settle(tx, now(), payments.flat()))
        countSettled(meters, settled)
        for (const duplicate of settled.duplicates) parts.log.warn(duplicate, DUPLICATE)
        ctx.chargeWatch.announce(settled.completed, 'COMPLETED')
        await noteReportedRefunds(ctx, payments.flat())
      },
      { afterwards: () => ctx.wakeDeliveries() },
    ),
    attempts: {
      add(attempt) {
        const labels = { outcome: judge(attempt, 0).kind }
        meters.webhookSeconds.observe(labels, (attempt.answer?.latencyMs ?? 0) / 1000)
        return (isDelivered(attempt) ? delivered : troubled).add(attempt)
      },
      async drained() {
        await Promise.all([delivered.drained(), troubled.drained()])
      },
    },
    checkCalls: makeSharedCall(),
    chargeWatch: makeChargeWatch(pool, parts.log),
    wakeChecks: () => {},
    wakeDeliveries: () => {},
  }
  return ctx
}

const DUPLICATE =
  'a payment was reported by two providers and is booked once: are both the same bank account? See PROVIDERS'

function countSettled(meters: Meters, { completed, matched, excepted, duplicates }: Settled): void {
  meters.deposits.inc({ state: 'completed' }, completed.length)
  meters.payments.inc({ outcome: 'credited' }, completed.length - matched)
  meters.payments.inc({ outcome: 'suspense' }, excepted.length)
  for (const { kind } of excepted) meters.exceptionsOpened.inc({ kind })
  for (const { provider } of duplicates) meters.paymentsDuplicate.inc({ provider })
}

export function providerNamed(ctx: Context, name: string): Provider {
  const provider = ctx.providers.find((candidate) => candidate.name === name)
  // A charge outlives the configuration that made it.
  if (!provider) throw new Fault('provider_unavailable', 'The payment provider of this charge is not configured')
  return provider
}
