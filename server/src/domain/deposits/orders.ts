import { Fault } from '../../base/fault.ts'
import { query } from '../../db/tx.ts'
import type { Caller } from '../accounts/callers.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import { isSamePayer } from '../core/payers.ts'
import { priceDeposit, termsFor } from '../core/terms.ts'
import { CHARGE_COLUMNS, isVisible, type Charge, type StoredCharge } from './charge-reads.ts'
import type { Queried } from './lanes.ts'
import { openDeposit, resumeIntent, type DepositRequest } from './open-deposit.ts'
import { cancelDeposit, queryDeposit } from './query-deposit.ts'

export type OrderRequest = DepositRequest & { externalId: string }

export type Ensured = Queried & { isNew: boolean }

// Each turn follows a change by somebody else. Callers that want different values at once could go on without end.
const MAX_TURNS = 5

/**
 * The one live charge of an order, however often it is asked for and by how many: the row of the external id decides
 * who makes it. It is made when there is none, and replaced when the value or the payer changed. The next one is only
 * made after the provider withdrew the one before, or it expired unpaid: nobody can pay both. If this stops between two
 * steps, a repetition finds what was done and continues.
 */
export async function ensureDeposit(ctx: Context, caller: Caller, request: OrderRequest): Promise<Ensured> {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const { open, paid } = await readOrder(ctx, caller.accountId, request.externalId)
    if (paid && !open) return answerPaid(ctx, paid, request)
    const ensured = open
      ? await continueWith(ctx, caller, { open, request, isOrderPaid: paid !== undefined })
      : await openForOrder(ctx, caller, request)
    if (ensured) return ensured
  }
  throw busy()
}

/** `hasKey`: it is OPENING, and was requested with an idempotency key. */
type Open = StoredCharge & { hasKey: boolean }

type Order = {
  /** The one that is OPENING or PENDING. */
  open: Open | undefined
  /** A charge that was paid after it had ended may stand beside an open one. */
  paid: Charge | undefined
}

const SELECT_ORDER = `
  select ${CHARGE_COLUMNS}, c.status = 'OPENING' and exists (
    select from idempotency_keys i where i.account_id = c.account_id and i.charge_id = c.id
  ) as "hasKey"
  from charges c
  where c.account_id = $1 and c.external_id = $2 and c.status in ('OPENING', 'PENDING', 'COMPLETED')
  order by c.status = 'COMPLETED', c.id limit 2`

async function readOrder(core: Core, accountId: string, externalId: string): Promise<Order> {
  const charges = await query<Open>(core.pool, SELECT_ORDER, [accountId, externalId])
  const paid = charges.find(({ status }) => status === 'COMPLETED')
  return {
    open: charges.find(({ status }) => status !== 'COMPLETED'),
    paid: paid && isVisible(paid) ? paid : undefined,
  }
}

function answerPaid(core: Core, charge: Charge, request: OrderRequest): Ensured {
  const { paymentLinkId, originalValueCents } = charge
  // Without a payer in the request, whoever paid is welcome.
  const isSame = !request.payer || isSamePayer(core.settings.secretBox, charge, request.payer)
  if (hasValueOf(request, charge) && isSame) return { charge, check: 'none', isNew: false }
  const text = isSame
    ? `The order was paid with another value, which is ${originalValueCents} (cents)`
    : 'The order was paid by a deposit that names another payer, or none'
  throw new Fault('order_paid', text, { details: { paymentLinkId } })
}

/** The live charge stays as it is when only its description, its metadata or its time differ. */
function hasValueOf({ valueCents }: OrderRequest, { originalValueCents }: StoredCharge | Charge): boolean {
  return valueCents === originalValueCents
}

/** Undefined if another charge of the order was opened meanwhile. */
async function openForOrder(ctx: Context, caller: Caller, request: OrderRequest): Promise<Ensured | undefined> {
  try {
    const { charge } = await openDeposit(ctx, caller, request, null)
    return { charge, check: 'none', isNew: true }
  } catch (error) {
    if (error instanceof Fault && (error.code === 'external_id_taken' || error.code === 'in_flight')) return undefined
    throw error
  }
}

type Step = { open: Open; request: OrderRequest; isOrderPaid: boolean }

/** Undefined if the charge has ended, or was not yet withdrawn when it was made: the order must be read again. */
async function continueWith(ctx: Context, caller: Caller, step: Step): Promise<Ensured | undefined> {
  const { open, request, isOrderPaid } = step
  const isSame = hasValueOf(request, open) && isSamePayer(ctx.settings.secretBox, open, request.payer ?? null)
  const isWanted = !isOrderPaid && isSame
  if (open.status === 'OPENING') {
    const charge = await resumeIntent(ctx, open, { hasKey: open.hasKey, busyText: BUSY })
    return isWanted && charge.status === 'PENDING' ? { charge, check: 'none', isNew: true } : undefined
  }
  if (isWanted) {
    const queried = await queryDeposit(ctx, caller.accountId, open.paymentLinkId)
    const { status } = queried.charge
    return status === 'PENDING' || status === 'COMPLETED' ? { ...queried, isNew: false } : undefined
  }
  // Before the withdrawal: a value that is refused must leave the order its charge.
  if (!isOrderPaid) priceDeposit(termsFor(ctx.settings.terms, caller.overrides), request.valueCents)
  await withdraw(ctx, open)
  return undefined
}

async function withdraw(ctx: Context, { accountId, paymentLinkId }: StoredCharge): Promise<void> {
  try {
    await cancelDeposit(ctx, accountId, paymentLinkId)
  } catch (error) {
    // It was paid or expired meanwhile.
    if (!(error instanceof Fault && error.code === 'not_cancelable')) throw error
  }
}

const BUSY = 'Another request for this order is in progress'

function busy(): Fault {
  return new Fault('in_flight', BUSY, { retryAfterSeconds: 1 })
}
