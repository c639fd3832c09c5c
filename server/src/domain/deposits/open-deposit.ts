import { Fault, invalidField } from '../../base/fault.ts'
import { newSecretUuid7 } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { describeSpan } from '../../base/tracing.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Caller } from '../accounts/callers.ts'
import { returnUrlFault } from '../accounts/return-urls.ts'
import type { Context } from '../context.ts'
import { byOwnField, type OwnFields } from '../core/charge-facts.ts'
import type { Core } from '../core/core.ts'
import { payerText, policyOf, type Payer, type PayerPolicy } from '../core/payers.ts'
import { priceDeposit, termsFor, type Price } from '../core/terms.ts'
import { ProviderError, providerNamed, type Provider, type ProviderChargeRequest } from '../ports/provider.ts'
import { withGenuineCodes } from './charge-codes.ts'
import { admitDeposit, overloaded } from './admission.ts'
import { isVisible, readCharge, type Charge, type StoredCharge } from './charge-reads.ts'
import { readPayerNumber } from './payer-numbers.ts'
import {
  claimIntent,
  findKeyHolder,
  hashRequest,
  holdIntent,
  INTENT_TIMEOUT_MS,
  isKeyUsed,
  ownsIntent,
  type Idempotency,
  type KeyUsed,
  type NameHolder,
} from './intents.ts'

export type DepositRequest = Omit<OwnFields, 'payer'> & {
  valueCents: Cents
  expiresInSeconds: number | null
  payer?: Payer | null
}

export type OpenedDeposit = { charge: Charge; replayed: boolean }

// A code that can be paid for less than this is of no use to a payer.
const RESUME_MIN_MS = 60_000
// A charge becomes visible within a day or never, because its day is counted for good soon after: see
// reports/daily-totals.ts.
const RESUME_WITHIN_MS = 24 * 3_600_000

// Made once: to capture the stacks of these errors took a sixth of the time of a refusal.
const NO_PROVIDER = new ProviderError('unreachable', 'no provider can be called', { isDown: true })
const REFUSED = unreachable(NO_PROVIDER)
const UNDECIDED = notConfirmed(NO_PROVIDER)

/** After a crash at any point, a request with the same idempotency key continues with the same txid. */
export async function openDeposit(
  ctx: Context,
  caller: Caller,
  request: DepositRequest,
  idempotencyKey: string | null,
): Promise<OpenedDeposit> {
  const { accountId } = caller
  const price = tryPrice(ctx, caller, request.valueCents)
  if (price instanceof Fault) return replay(ctx, accountId, { key: idempotencyKey, request, refusal: price })
  const refusal =
    expiryFault(ctx, request) ?? payerFault(ctx, request) ?? (await returnUrlFault(ctx, accountId, request.returnUrl))
  if (refusal) return replay(ctx, accountId, { key: idempotencyKey, request, refusal })
  const provider = preferredProvider(ctx, request.payer?.policy)
  // Before anything is stored: while no provider can be called, a refusal must cost less than a deposit.
  if (!provider) return replay(ctx, accountId, { key: idempotencyKey, request, refusal: REFUSED })
  const charge = newCharge(ctx, caller, request, { price, provider: provider.name })
  const intent = {
    charge,
    idempotency: idempotencyKey === null ? null : idempotencyOf(ctx, accountId, { key: idempotencyKey, request }),
    payerNumber: request.payer ? ctx.settings.secretBox.seal(request.payer.number, charge.id) : null,
  }
  await admitDeposit(ctx, accountId, { valueCents: price.valueCents, idempotencyKey })
  return holdIntent(ctx, charge.id, async () => {
    const result = await ctx.intents.add(intent)
    switch (result.kind) {
      case 'external_id_taken':
        throw nameTaken(ctx, result.holder)
      case 'opened':
        return {
          charge: await createAtProvider(ctx, provider, charge, { hasKey: intent.idempotency !== null }),
          replayed: false,
        }
      case 'key_used':
        return resume(ctx, result)
    }
  })
}

function tryPrice(core: Core, caller: Caller, valueCents: Cents): Price | Fault {
  try {
    return priceDeposit(termsFor(core.settings.terms, caller.overrides), valueCents)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

/** The API knows the bounds of all services, and this is that of the providers here. */
function expiryFault({ settings }: Core, { expiresInSeconds }: DepositRequest): Fault | undefined {
  const max = settings.chargeMaxExpiresSeconds
  if (expiresInSeconds === null || expiresInSeconds <= max) return undefined
  return invalidField('expiresIn', `expiresIn can be at most ${max} (seconds) on this service`)
}

/** A deposit that waits for an answer that nobody can give would wait for ever. */
function payerFault({ providers }: Context, { payer }: DepositRequest): Fault | undefined {
  if (payer?.policy !== 'require' || providers.some(({ checkPayer }) => checkPayer)) return undefined
  const text = 'No payment provider of this service can confirm who paid: leave out payer, or use the policy verify'
  return new Fault('payer_unconfirmable', text)
}

/** Answers a deposit that was opened before, although terms changed or no provider can be called. */
async function replay(
  ctx: Context,
  accountId: string,
  { key, request, refusal }: { key: string | null; request: DepositRequest; refusal: Fault },
): Promise<OpenedDeposit> {
  const isRepeated = key !== null && (await isKeyUsed(ctx, accountId, key))
  const earlier = isRepeated && (await findKeyHolder(ctx, accountId, idempotencyOf(ctx, accountId, { key, request })))
  // The caller of an attempt that failed was told so, and its key is free again.
  if (!earlier || (earlier.isSameRequest && earlier.charge.status === 'FAILED')) throw refusal
  return resume(ctx, earlier)
}

function idempotencyOf(
  core: Core,
  accountId: string,
  { key, request }: { key: string; request: DepositRequest },
): Idempotency {
  return { key, requestHash: hashRequest({ ...request, payer: payerOf(core, accountId, request) }) }
}

function payerOf({ settings }: Core, accountId: string, { payer }: DepositRequest): string | null {
  return payer ? payerText(settings.secretBox, accountId, payer) : null
}

/** As it will stand in the database, so that nothing is read back. */
function newCharge(
  core: Core,
  { accountId, accountName }: Caller,
  request: DepositRequest,
  { price, provider }: { price: Price; provider: string },
): StoredCharge {
  const createdAt = core.now()
  const lifetimeSeconds = request.expiresInSeconds ?? core.settings.chargeExpiresSeconds
  const charge: StoredCharge = {
    id: '',
    // Must not be guessable: whoever has the link can open the payment page.
    paymentLinkId: newSecretUuid7(createdAt),
    accountId,
    accountName,
    provider,
    status: 'OPENING',
    emv: '',
    codeSeal: null,
    originalValueCents: price.originalValueCents,
    valueCents: price.valueCents,
    feeCents: price.feeCents,
    ...byOwnField((name) => (name === 'payer' ? payerOf(core, accountId, request) : (request[name] ?? null))),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + lifetimeSeconds * 1000),
    openingInstance: core.instance,
    endToEndId: null,
    paidAt: null,
    paidLate: false,
    receivedCents: null,
    refundedCents: 0,
    code: null,
    payerMatch: null,
  }
  charge.id = core.settings.chargeSeal.newId(createdAt, charge)
  return charge
}

/** A deposit that is being created may come to nothing, and nobody was shown it. */
function nameTaken(core: Core, { paymentLinkId, status, createdAt, openingInstance }: NameHolder): Fault {
  if (status !== 'OPENING') {
    const text = `externalId is already used by the deposit ${paymentLinkId}`
    return new Fault('external_id_taken', text, { details: { paymentLinkId } })
  }
  // If no process works on it, it ends when it is repeated, or when its check is due.
  const endsMs = openingInstance === null ? createdAt.getTime() + INTENT_TIMEOUT_MS - core.now().getTime() : 0
  const text = 'Another deposit with this externalId is being created: repeat it with its Idempotency-Key, or try later'
  return new Fault('in_flight', text, { retryAfterSeconds: Math.max(1, endsMs / 1000) })
}

async function resume(ctx: Context, { isSameRequest, charge }: KeyUsed): Promise<OpenedDeposit> {
  if (!isSameRequest) {
    throw new Fault('idempotency_mismatch', 'Idempotency-Key was already used with a different request')
  }
  if (isVisible(charge)) {
    const [genuine] = await withGenuineCodes(ctx, [charge])
    return { charge: await withCode(ctx, genuine!), replayed: true }
  }
  const busyText = 'A request with this Idempotency-Key is still in progress'
  const resumed = await resumeIntent(ctx, charge, { hasKey: true, busyText })
  return { charge: resumed, replayed: false }
}

/**
 * Continues with an intent whose outcome is unknown. `hasKey`: it was requested with an idempotency key. `busyText`:
 * somebody else works on it, or it ends.
 */
export async function resumeIntent(
  ctx: Context,
  charge: StoredCharge,
  { hasKey, busyText }: { hasKey: boolean; busyText: string },
): Promise<Charge> {
  const provider = providerNamed(ctx, charge.provider)
  // It stays there: without its provider nobody can tell whether the charge was made.
  if (!ctx.heldIntents.has(charge.id) && !provider.isCallable()) throw UNDECIDED
  const nowMs = ctx.now().getTime()
  const isRecent = nowMs - charge.createdAt.getTime() < RESUME_WITHIN_MS
  const hasTime = isRecent && charge.expiresAt.getTime() - nowMs >= RESUME_MIN_MS
  // The worker withdraws an intent that is about to expire, or is old, and frees its key. This makes its check due now.
  if (!hasTime) await ctx.hints.add({ provider: charge.provider, hints: [{ txid: charge.id, endToEndId: null }] })
  const resumed =
    charge.status === 'OPENING' &&
    hasTime &&
    (await claimIntent(ctx, charge, () => createAtProvider(ctx, provider, charge, { hasKey, isResumed: true })))
  if (!resumed) throw new Fault('in_flight', busyText, { retryAfterSeconds: 1 })
  return resumed
}

// ---- At the provider, or the next one ----

// The caller waits for the QR code. A provider that used up this much time leaves none to try another.
export const FAILOVER_WITHIN_MS = 12_000

/** The most preferred provider that can be called now and keep the policy; with `after`, of those behind it. */
function preferredProvider(
  ctx: Context,
  policy: PayerPolicy | null | undefined,
  after?: Provider,
): Provider | undefined {
  const candidates = after ? ctx.providers.slice(ctx.providers.indexOf(after) + 1) : ctx.providers
  return candidates.find((provider) => provider.isCallable() && (policy !== 'require' || provider.checkPayer))
}

/** `hasKey`: the request had an idempotency key. `isResumed`: an earlier attempt may have made the charge already. */
type AttemptOptions = { hasKey: boolean; isResumed?: boolean }

/** Makes the charge at this provider or the next. */
async function createAtProvider(
  ctx: Context,
  first: Provider,
  intent: StoredCharge,
  options: AttemptOptions,
): Promise<Charge> {
  describeSpan({ 'guiche.charge_id': intent.id })
  const accepted = await createWithFailover(ctx, first, intent, options)
  if (accepted) return accepted
  // Another process claimed the intent, and accepts the charge or withdraws it.
  const charge = await readCharge(ctx, intent.id)
  if (!isVisible(charge)) throw notConfirmed()
  return withCode(ctx, charge)
}

/**
 * Asks for the code of a charge that was paid before we learned it, or whose code was altered. It is not stored: see
 * daily-totals.ts.
 */
async function withCode(ctx: Context, charge: Charge): Promise<Charge> {
  if (charge.emv !== '') return charge
  const { id, accountId, provider } = charge
  try {
    const answer = await providerNamed(ctx, provider).check(id, { onBehalfOf: accountId })
    if (answer !== 'absent' && answer.emv !== '') return { ...charge, emv: answer.emv }
    throw codeUnknown()
  } catch (error) {
    throw error instanceof ProviderError ? codeUnknown(error) : error
  }
}

/** Moves on only when the provider surely has no charge that could be paid: a deposit never has two codes. */
async function createWithFailover(
  ctx: Context,
  first: Provider,
  intent: StoredCharge,
  { hasKey, isResumed = false }: AttemptOptions,
): Promise<Charge | undefined> {
  const chargeId = intent.id
  const startedAtMs = ctx.now().getTime()
  let provider = first
  let mayExist = isResumed
  const policy = policyOf(intent)
  const onlyPayer = policy === 'require' ? await readPayerNumber(ctx, chargeId) : undefined
  for (;;) {
    try {
      const { emv } = await provider.create({ ...requestOf(intent, ctx.now()), onlyPayer })
      const isAccepted = await ctx.acceptances.add({ chargeId, provider: provider.name, emv, hasKey })
      if (!isAccepted) return undefined
      ctx.accountWatch.announce(intent.accountId, chargeId)
      return { ...intent, provider: provider.name, status: 'PENDING', emv }
    } catch (caught) {
      const error = mayExist ? asUnknown(caught) : caught
      const next = preferredProvider(ctx, policy, provider)
      const mayMove =
        error instanceof ProviderError &&
        next &&
        ctx.now().getTime() - startedAtMs < FAILOVER_WITHIN_MS &&
        (await ownsIntent(ctx, chargeId)) &&
        (await isSurelyNotPayable(provider, intent, error))
      if (!mayMove) throw await intentFault(ctx, chargeId, error)
      const move = { chargeId, from: provider.name, to: next.name }
      ctx.log.warn({ err: error, ...move }, 'deposit moved to the next provider')
      const mayStillBeMade = error.outcome === 'unknown'
      await transact(ctx.pool, (tx) => moveIntent(tx, ctx.now(), { ...move, instance: ctx.instance, mayStillBeMade }))
      provider = next
      mayExist = false
    }
  }
}

// A failure of this attempt says nothing about an earlier one whose answer was lost.
function asUnknown(error: unknown): unknown {
  return error instanceof ProviderError ? new ProviderError('unknown', error.message, { cause: error }) : error
}

// The time that is left, so that a charge made on a second attempt expires there when it expires here.
function requestOf(intent: StoredCharge, now: Date): ProviderChargeRequest {
  const { id, accountId, valueCents, description, expiresAt } = intent
  const expiresInSeconds = Math.max(1, Math.round((expiresAt.getTime() - now.getTime()) / 1000))
  return { txid: id, valueCents, expiresInSeconds, description, onBehalfOf: accountId }
}

/** Withdraws a charge that may exist. False if it cannot be withdrawn, or nobody knows whether it was. */
async function isSurelyNotPayable(
  provider: Provider,
  { id, accountId }: StoredCharge,
  error: ProviderError,
): Promise<boolean> {
  if (error.outcome !== 'unknown') return true
  try {
    return (await provider.cancel(id, { onBehalfOf: accountId })) !== 'not_active'
  } catch {
    return false
  }
}

type ProviderMove = { chargeId: string; instance: number; from: string; to: string; mayStillBeMade: boolean }

async function moveIntent(tx: Tx, now: Date, move: ProviderMove): Promise<void> {
  const { chargeId, instance, from, to, mayStillBeMade } = move
  const dueAt = new Date(now.getTime() + INTENT_TIMEOUT_MS)
  const [moved] = await tx.rows<{ accountId: string }>(
    `update charges set provider = $3 where id = $1 and provider = $2 and status = 'OPENING' and opening_instance = $4
     returning account_id as "accountId"`,
    [chargeId, from, to, instance],
  )
  // Another process claimed it at the last moment.
  if (!moved) throw notConfirmed()
  // A request that was in flight when we withdrew may still arrive, so the check withdraws the charge once more.
  const oldCheck = mayStillBeMade
    ? `update checks set kind = 'withdrawal', due_at = $3, claim = null where provider = $1 and subject = $2`
    : 'delete from checks where provider = $1 and subject = $2'
  await tx.run(oldCheck, mayStillBeMade ? [from, chargeId, dueAt] : [from, chargeId])
  await insertRow(tx, 'checks', {
    provider: to,
    subject: chargeId,
    kind: 'charge',
    account_id: moved.accountId,
    due_at: dueAt,
  })
}

async function intentFault(ctx: Context, chargeId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof ProviderError)) {
    // The first failure is the one to report.
    await ctx.endedIntents.add({ chargeId, outcome: 'unknown' }).catch(() => {})
    return error
  }
  ctx.log.warn({ err: error, chargeId }, 'provider did not create a charge')
  await ctx.endedIntents.add({ chargeId, outcome: error.outcome === 'unknown' ? 'unknown' : 'failed' })
  if (error.outcome === 'unknown') return notConfirmed(error)
  if (error.isOverloaded) return overloaded(error)
  return error.outcome === 'refused'
    ? new Fault('provider_refused', 'The payment provider refused the charge', { cause: error })
    : unreachable(error)
}

function notConfirmed(cause?: ProviderError): Fault {
  return unavailable('The payment provider did not confirm the charge, please try again', cause)
}

function unreachable(cause: ProviderError): Fault {
  return unavailable('The payment provider cannot be reached, please try again', cause)
}

function codeUnknown(cause?: ProviderError): Fault {
  return unavailable('The payment provider did not tell the code of the charge, please try again', cause)
}

function unavailable(text: string, cause?: ProviderError): Fault {
  return new Fault('provider_unavailable', text, { retryAfterSeconds: 2, cause })
}
