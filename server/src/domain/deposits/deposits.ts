import { randomUUID } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { isUuid, uuidFromHex, uuidOfTime } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { hashRequest } from '../../base/request-hash.ts'
import { query, transact } from '../../db/tx.ts'
import { createAtProvider, notConfirmed, overloaded, preferredProvider, type ProviderRequest } from './failover.ts'
import { admitDeposit } from './admission.ts'
import { checkCharge, enqueueChecks } from './checks.ts'
import {
  CHARGE_COLUMNS,
  chargeFromRow,
  isVisible,
  markCanceled,
  type Charge,
  type ChargeRow,
  type ChargeStatus,
  type StoredCharge,
} from './charge-states.ts'
import { searchCharges } from './charge-search.ts'
import { providerNamed } from '../ports/provider.ts'
import { cursorUuid } from '../core/cursor.ts'
import { priceDeposit, termsFor, type Price } from '../accounts/pricing.ts'
import { readHeld } from './held-payments.ts'
import type { Caller } from '../accounts/callers.ts'
import { claimIntent, holdIntent } from './intent-lease.ts'
import { findKeyHolder, type KeyUsed, type Intent } from './intents.ts'
import { ProviderError } from '../ports/provider.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type DepositRequest = {
  valueCents: Cents
  externalId: string | null
  description: string | null
  expiresInSeconds: number | null
}

// A code that can be paid for less than this is of no use to a payer.
const RESUME_MIN_MS = 60_000
// A query answers within this even when the provider does not.
const QUERY_PATIENCE_MS = 3_000

/**
 * Asks for a deposit. The intent is stored first, then the provider is asked, then the charge is PENDING and answered: at any crash in between, the same
 * idempotency key finds the intent and goes on with the same txid.
 */
export async function openDeposit(
  ctx: Context,
  caller: Caller,
  request: DepositRequest,
  idempotencyKey: string | null,
): Promise<{ charge: Charge; replayed: boolean }> {
  const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, requestHash: hashRequest(request) }
  const price = tryPrice(ctx, caller, request.valueCents)
  if (price instanceof Fault) return replay(ctx, caller.accountId, idempotency, price)
  const intent = prepareIntent(ctx, caller.accountId, { ...request, ...price, idempotency })
  await admitDeposit(ctx, caller.accountId, idempotencyKey)
  return holdIntent(ctx, intent.chargeId, async () => {
    let result = await ctx.intents.add(intent)
    if (result.kind === 'key_used' && isSame(result, idempotency!) && result.charge.status === 'FAILED') {
      // The earlier attempt came to nothing, and its caller was told so: the key is free for a new one.
      await forgetKey(ctx, result.charge)
      result = await ctx.intents.add(intent)
    }
    switch (result.kind) {
      case 'external_id_taken':
        throw new Fault('external_id_taken', 'externalId is already used by another deposit')
      case 'opened':
        return { charge: await accept(ctx, { ...intent, isResumed: false }), replayed: false }
      case 'key_used':
        return resumeOpening(ctx, idempotency!, result)
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

/** A deposit that was opened before prices and limits changed is answered as it was then. A new one is refused. */
async function replay(
  ctx: Context,
  accountId: string,
  idempotency: Intent['idempotency'],
  refusal: Fault,
): Promise<{ charge: Charge; replayed: boolean }> {
  const earlier = idempotency && (await findKeyHolder(ctx, ctx.now(), accountId, idempotency.key))
  if (!earlier || (isSame(earlier, idempotency) && earlier.charge.status === 'FAILED')) throw refusal
  return resumeOpening(ctx, idempotency, earlier)
}

type Wanted = DepositRequest & Price & { idempotency: Intent['idempotency'] }

function prepareIntent(ctx: Context, accountId: string, { expiresInSeconds, ...wanted }: Wanted): Intent {
  const now = ctx.now()
  const lifeSeconds = expiresInSeconds ?? ctx.settings.chargeExpiresSeconds
  const facts = {
    ...wanted,
    // Random through and through: whoever knows it may look at the payment page.
    paymentLinkId: randomUUID(),
    accountId,
    expiresAt: new Date(now.getTime() + lifeSeconds * 1000),
  }
  return {
    ...facts,
    chargeId: ctx.settings.chargeSeal.newId(now, facts),
    provider: preferredProvider(ctx).name,
    instance: ctx.instance,
  }
}

type Hashed = { requestHash: Buffer }

function isSame(one: Hashed, other: Hashed): boolean {
  return one.requestHash.equals(other.requestHash)
}

async function resumeOpening(
  ctx: Context,
  request: Hashed,
  earlier: KeyUsed,
): Promise<{ charge: Charge; replayed: boolean }> {
  if (!isSame(earlier, request)) {
    throw new Fault('idempotency_mismatch', 'Idempotency-Key was already used with a different request')
  }
  const { charge } = earlier
  if (isVisible(charge)) return { charge, replayed: true }
  const isWorthIt = charge.expiresAt.getTime() - ctx.now().getTime() >= RESUME_MIN_MS
  // One whose time is nearly over is left to the worker, which withdraws it and frees the key. That is due now, however long it would wait to ask again.
  if (!isWorthIt) await enqueueChecks(ctx, charge.provider, [{ txid: charge.id, endToEndId: null }])
  const resumed =
    charge.status === 'OPENING' &&
    isWorthIt &&
    (await claimIntent(ctx, charge, () => accept(ctx, { ...charge, chargeId: charge.id, isResumed: true })))
  if (!resumed) {
    throw new Fault('in_flight', 'A request with this Idempotency-Key is still in progress', { retryAfterSeconds: 1 })
  }
  return { charge: resumed, replayed: false }
}

async function forgetKey(core: Core, charge: StoredCharge): Promise<void> {
  await transact(core.pool, (tx) =>
    tx.run('delete from idempotency_keys where account_id = $1 and charge_id = $2', [
      charge.accountId,
      uuidFromHex(charge.id),
    ]),
  )
}

async function accept(ctx: Context, proposal: ProviderRequest): Promise<Charge> {
  await createAtProvider(ctx, proposal)
  const charge = await findChargeById(ctx, proposal.accountId, proposal.chargeId)
  // Another process took the intent over while this one stood still, and withdraws the charge.
  if (!charge || !isVisible(charge)) throw notConfirmed()
  return charge
}

/**
 * A PENDING charge is first checked with the provider. The check begins after the query does, so a payment that the provider confirmed before is in the
 * answer; when it fails or takes too long, the stored charge is answered, and the answer says so.
 */
export async function queryDeposit(
  ctx: Context,
  accountId: string,
  paymentLinkId: string,
): Promise<{ charge: Charge; check: 'fresh' | 'failed' | 'none' }> {
  const charge = visible(await findChargeByLink(ctx, accountId, paymentLinkId))
  if (charge.status !== 'PENDING') return { charge, check: 'none' }
  const checked = await withPatience(checkCharge(ctx, charge, accountId), QUERY_PATIENCE_MS)
  if (checked.ok) return { charge: visible(checked.result), check: 'fresh' }
  ctx.log.warn({ err: checked.error, chargeId: charge.id }, 'the provider could not be asked about a charge')
  // Read again: the charge may have been settled by somebody else while we waited.
  return { charge: visible(await findChargeByLink(ctx, accountId, paymentLinkId)), check: 'failed' }
}

async function withPatience<Result>(
  work: Promise<Result>,
  patienceMs: number,
): Promise<{ ok: true; result: Result } | { ok: false; error: unknown }> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ProviderError('unknown', `no answer within ${patienceMs} ms`)), patienceMs)
  })
  try {
    return { ok: true, result: await Promise.race([work, timeout]) }
  } catch (error) {
    if (error instanceof ProviderError || (error instanceof Fault && error.code === 'provider_unavailable'))
      return { ok: false, error }
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Withdraws a PENDING charge at the provider first: a charge that can still be paid is never shown as CANCELED. */
export async function cancelDeposit(ctx: Context, accountId: string, paymentLinkId: string): Promise<Charge> {
  const charge = visible(await findChargeByLink(ctx, accountId, paymentLinkId))
  if (charge.status === 'CANCELED') return charge
  if (charge.status !== 'PENDING') throw cannotCancel(charge.status)
  try {
    const outcome = await providerNamed(ctx, charge.provider).cancel(charge.id, { onBehalfOf: accountId })
    if (outcome === 'withdrawn') await markCanceled(ctx, charge.id)
    else if ((await checkCharge(ctx, charge, accountId)).status === 'PENDING' && (await isPaidOtherwise(ctx, charge)))
      await markCanceled(ctx, charge.id)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    ctx.log.warn({ err: error, chargeId: charge.id }, 'the provider did not withdraw a charge')
    if (error.isOverloaded) throw overloaded(error)
    throw new Fault('provider_unavailable', 'The payment provider did not confirm the cancellation, please try again', {
      retryAfterSeconds: 2,
      cause: error,
    })
  }
  const after = visible(await findChargeById(ctx, accountId, charge.id))
  if (after.status === 'PENDING') throw await notWithdrawn(ctx, after)
  if (after.status !== 'CANCELED') throw cannotCancel(after.status)
  return after
}

/** The provider holds it for paid, by a Pix that did not fit: nobody can pay it any more, and there is nothing left to withdraw. */
async function isPaidOtherwise(ctx: Context, charge: Charge): Promise<boolean> {
  const answer = await providerNamed(ctx, charge.provider).check(charge.id)
  return answer !== 'absent' && answer.status === 'paid' && answer.payments.length > 0
}

/** A charge that received another amount may be one that its provider does not withdraw any more. */
async function notWithdrawn(core: Core, charge: Charge): Promise<Fault> {
  const heldCents = (await readHeld(core, [charge.id])).get(charge.id)?.heldCents ?? 0
  return heldCents === 0
    ? new Fault('provider_refused', 'The payment provider refused to withdraw the charge')
    : new Fault(
        'payment_held',
        `A payment of ${heldCents} cents was received for this charge and is held: ask the operator to decide on it`,
        { details: { heldCents } },
      )
}

function cannotCancel(status: ChargeStatus): Fault {
  return new Fault('not_cancelable', `Charge is ${status} and cannot be canceled`, { details: { status } })
}

export type DepositFilter = {
  status?: ChargeStatus
  from?: Date
  to?: Date
  externalId?: string
  /** See charge-search.ts. */
  search?: string
  cursor?: string
  limit: number
}

// An id is made a moment before its charge is stored, by the queue of intents at most.
const ID_BEFORE_CREATION_MS = 60_000

/** Newest first. */
export async function listDeposits(
  core: Core,
  accountId: string,
  filter: DepositFilter,
): Promise<{ charges: Charge[]; nextCursor: string | null }> {
  const { status, from, to, search } = filter
  const found = search === undefined ? null : await searchCharges(core, accountId, search.trim())
  const rows = await query<ChargeRow>(
    core.pool,
    // Ids tell the time too, and bound what is looked at. So do checks for what is PENDING: each of these has one, and the oldest is
    // hardly older than a day, in a list that may be.
    `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id
     where c.account_id = $1 and c.id < $2 and c.status not in ('OPENING', 'FAILED')
       and ($3::text is null or c.status = $3)
       and ($4::timestamptz is null or c.created_at >= $4 and c.id >= $8)
       and ($5::timestamptz is null or c.created_at < $5 and c.id < $9)
       and ($6::text is null or c.external_id = $6)
       and ($7::uuid[] is null or c.id = any($7))
       and ($3::text is distinct from 'PENDING' or c.id >= (select min(subject)::uuid from checks where kind = 'charge'))
     order by c.id desc limit $10`,
    [
      accountId,
      cursorUuid(filter.cursor),
      status ?? null,
      from ?? null,
      to ?? null,
      filter.externalId ?? null,
      found,
      from ? uuidOfTime(new Date(from.getTime() - ID_BEFORE_CREATION_MS)) : null,
      to ? uuidOfTime(to) : null,
      filter.limit + 1,
    ],
  )
  const charges = rows.slice(0, filter.limit).map(chargeFromRow).filter(isVisible)
  return { charges, nextCursor: rows.length > filter.limit ? charges.at(-1)!.id : null }
}

/** For the payment page and the QR code: whoever has the link may look. */
export async function findPublicCharge(core: Core, paymentLinkId: string): Promise<Charge | undefined> {
  const charge = await findChargeByLink(core, null, paymentLinkId)
  return charge && isVisible(charge) ? charge : undefined
}

function visible(charge: StoredCharge | undefined): Charge {
  if (!charge || !isVisible(charge)) throw new Fault('not_found', 'Charge not found')
  return charge
}

async function findChargeByLink(
  core: Core,
  accountId: string | null,
  paymentLinkId: string,
): Promise<StoredCharge | undefined> {
  if (!isUuid(paymentLinkId)) return undefined
  const [row] = await query<ChargeRow>(
    core.pool,
    `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id
     where c.payment_link_id = $1 and ($2::uuid is null or c.account_id = $2)`,
    [paymentLinkId, accountId],
  )
  return row && chargeFromRow(row)
}

async function findChargeById(core: Core, accountId: string, chargeId: string): Promise<StoredCharge | undefined> {
  const [row] = await query<ChargeRow>(
    core.pool,
    `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id where c.id = $1 and c.account_id = $2`,
    [uuidFromHex(chargeId), accountId],
  )
  return row && chargeFromRow(row)
}
