import { Fault } from '../../base/fault.ts'
import { newSecretUuid7 } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { hashRequest } from '../../base/request-hash.ts'
import type { Caller } from '../accounts/callers.ts'
import { priceDeposit, type Price } from '../accounts/pricing.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import { byOwnField, type OwnFields } from '../core/own-fields.ts'
import { termsFor } from '../core/terms.ts'
import { ProviderError, providerNamed } from '../ports/provider.ts'
import { admitDeposit } from './admission.ts'
import { isVisible, type Charge, type StoredCharge } from './charge-reads.ts'
import { createAtProvider, notConfirmed, preferredProvider, unreachable, withCode } from './failover.ts'
import { claimIntent, holdIntent } from './intent-lease.ts'
import {
  findKeyHolder,
  INTENT_TIMEOUT_MS,
  isKeyUsed,
  type Idempotency,
  type KeyUsed,
  type NameHolder,
} from './intents.ts'

export type DepositRequest = OwnFields & { valueCents: Cents; expiresInSeconds: number | null }

export type OpenedDeposit = { charge: Charge; replayed: boolean }

// A code that can be paid for less than this is of no use to a payer.
const RESUME_MIN_MS = 60_000

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
  const provider = preferredProvider(ctx)
  // Before anything is stored: while no provider can be called, a refusal must cost less than a deposit.
  if (!provider) return replay(ctx, accountId, { key: idempotencyKey, request, refusal: REFUSED })
  const charge = newCharge(ctx, caller, request, { price, provider: provider.name })
  const intent = { charge, idempotency: idempotencyKey === null ? null : idempotencyOf(idempotencyKey, request) }
  await admitDeposit(ctx, accountId, { valueCents: price.valueCents, idempotencyKey })
  return holdIntent(ctx, charge.id, async () => {
    const result = await ctx.intents.add(intent)
    switch (result.kind) {
      case 'external_id_taken':
        throw nameTaken(ctx, result.holder)
      case 'opened':
        return { charge: await createAtProvider(ctx, provider, charge, { isResumed: false }), replayed: false }
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

/** Answers a deposit that was opened before, although terms changed or no provider can be called. */
async function replay(
  ctx: Context,
  accountId: string,
  { key, request, refusal }: { key: string | null; request: DepositRequest; refusal: Fault },
): Promise<OpenedDeposit> {
  const isRepeated = key !== null && (await isKeyUsed(ctx, accountId, key))
  const earlier = isRepeated && (await findKeyHolder(ctx, accountId, idempotencyOf(key, request)))
  // The caller of an attempt that failed was told so, and its key is free again.
  if (!earlier || (earlier.isSameRequest && earlier.charge.status === 'FAILED')) throw refusal
  return resume(ctx, earlier)
}

function idempotencyOf(key: string, request: DepositRequest): Idempotency {
  return { key, requestHash: hashRequest(request) }
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
    originalValueCents: price.originalValueCents,
    valueCents: price.valueCents,
    feeCents: price.feeCents,
    ...byOwnField((name) => request[name] ?? null),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + lifetimeSeconds * 1000),
    openingInstance: core.instance,
    endToEndId: null,
    paidAt: null,
    paidLate: false,
    receivedCents: null,
    refundedCents: 0,
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
  if (isVisible(charge)) return { charge: await withCode(ctx, charge), replayed: true }
  const provider = providerNamed(ctx, charge.provider)
  // It stays there: without its provider nobody can tell whether the charge was made.
  if (!ctx.heldIntents.has(charge.id) && !provider.isCallable()) throw UNDECIDED
  const hasTime = charge.expiresAt.getTime() - ctx.now().getTime() >= RESUME_MIN_MS
  // The worker withdraws an intent that is about to expire and frees its key. This makes its check due now.
  if (!hasTime) await ctx.hints.add({ provider: charge.provider, hints: [{ txid: charge.id, endToEndId: null }] })
  const resumed =
    charge.status === 'OPENING' &&
    hasTime &&
    (await claimIntent(ctx, charge, () => createAtProvider(ctx, provider, charge, { isResumed: true })))
  if (!resumed) {
    throw new Fault('in_flight', 'A request with this Idempotency-Key is still in progress', { retryAfterSeconds: 1 })
  }
  return { charge: resumed, replayed: false }
}
