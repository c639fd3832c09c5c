import { hexIdOf, newUuid7 } from '../../base/ids.ts'
import { prepared } from '../../db/prepared.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import { SYSTEM } from '../core/audit-log.ts'
import { policyOf } from '../core/payers.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import { bookPayments, type Matched, type Payment, type Settlement, type SuspenseKind } from './book-payments.ts'
import type { LockedCharge } from './charge-reads.ts'
import { isGone, NO_CODES, type Fit, type FitsOfCodes } from './code-payments.ts'
import { lockForPayments } from './order-locks.ts'
import { markDecided } from '../exceptions/exception-states.ts'

export type Settled = {
  completed: string[]
  /** How many of these were completed by a payment in suspense. */
  matched: number
  excepted: { endToEndId: string; kind: SuspenseKind }[]
  known: number
  /** Payments that are recorded under another provider. One Pix is booked once, so these are not booked. */
  duplicates: Duplicate[]
}

export type Duplicate = { endToEndId: string; provider: string; bookedUnder: string }

/**
 * The only way for money to enter the ledger. Notifications, queries, sweeps and the operator hand in payments as often
 * as they like, from any number of processes: each is booked once.
 *
 * A provider may report a payment first without its txid. It is booked to suspense, and completes its charge when the
 * provider reports the txid.
 *
 * Everyone takes locks in the same order: charges by id, exceptions by id, payments by endToEndId, balances by id,
 * external ids of charges that were paid late. So settlements wait for each other but never deadlock.
 *
 * A charge that is paid late also needs the lock of its order's open charge. transactOrders() gives it as `open`.
 * `codes` is what lockCodes() says of these payments.
 */
export async function settle(
  tx: Tx,
  now: Date,
  payments: ReceivedPayment[],
  open: string[] = [],
  codes: FitsOfCodes = NO_CODES,
): Promise<Settled> {
  const received = distinct(payments)
  // Our txids are the hexadecimal ids of charges; any other txid names no charge.
  const ids = received.flatMap(({ txid }) => hexIdOf(txid) ?? [])
  const charges = await lockForPayments(tx, ids, open)
  // A later statement than the locks, so that it sees what was recorded while we waited for them.
  const recorded = await recordedPayments(tx, received)
  const fresh = received.filter((payment) => !recorded.has(payment.endToEndId))
  const fitOf = (payment: ReceivedPayment, paid?: Set<string>) =>
    codes(payment) ?? fitOfCharge(payment, chargeOf(payment, charges), paid)
  const held = await lockHeld(tx, received.flatMap(matchable(recorded, fitOf)))
  const settlements = decide(now, [...fresh.map((payment) => ({ payment })), ...held], { charges, fitOf })
  const kept = await bookPayments(tx, now, settlements)
  const matched = kept.filter((settlement) => settlement.kind === 'matched')
  await resolveMatched(tx, now, matched)

  const duplicates = await findDuplicates(tx, received, recorded, kept)
  return {
    completed: kept.flatMap((settlement) => (settlement.kind === 'excepted' ? [] : [settlement.charge.id])),
    matched: matched.length,
    excepted: kept.flatMap((settlement) =>
      settlement.kind === 'excepted' ? [{ endToEndId: settlement.payment.endToEndId, kind: settlement.exception }] : [],
    ),
    known: received.length - kept.length - duplicates.length,
    duplicates,
  }
}

/** Completes a charge by a decision. The caller holds both locks, and resolves the exception. */
export async function completeFromSuspense(tx: Tx, now: Date, match: Omit<Matched, 'kind'>): Promise<void> {
  await bookPayments(tx, now, [{ kind: 'matched', ...match }])
}

/** Fresh, or in suspense and then with its id and its exception. */
type Held = { payment: ReceivedPayment; paymentId: string; heldBy: string }
type Candidate = { payment: ReceivedPayment; heldBy?: undefined } | Held

/** Pure. By time of payment, the first that fits completes its charge. In suspense, what does not fit stays. */
function decide(
  now: Date,
  candidates: Candidate[],
  { charges, fitOf }: { charges: Map<string, LockedCharge>; fitOf: FitOf },
): Settlement[] {
  const paid = new Set<string>()
  const inOrder = candidates.toSorted((a, b) => a.payment.occurredAt.getTime() - b.payment.occurredAt.getTime())
  return inOrder.flatMap((candidate): Settlement[] => {
    const { payment } = candidate
    const { charge, code, exception } = fitOf(payment, paid)
    if (charge) paid.add(orderOf(charge))
    if (candidate.heldBy !== undefined) return charge ? [{ kind: 'matched', ...candidate, charge }] : []
    const paymentId = newUuid7(now)
    return charge
      ? [{ kind: 'credited', paymentId, payment, charge }]
      : [{ kind: 'excepted', paymentId, payment, charge: chargeOf(payment, charges), code, exception }]
  })
}

/** `paid` are orders that other payments of the batch completed. */
type FitOf = (payment: ReceivedPayment, paid?: Set<string>) => Fit

/** What is paid once: the order, or the charge if it has none. */
function orderOf({ id, accountId, externalId }: LockedCharge): string {
  return externalId === null ? id : `${accountId} ${externalId}`
}

function fitOfCharge(payment: ReceivedPayment, charge: LockedCharge | undefined, paid?: Set<string>): Fit {
  if (!charge) return { exception: 'unknown_charge' }
  if (charge.provider !== payment.provider) return { exception: 'wrong_provider' }
  if (charge.status === 'COMPLETED' || charge.orderPaid || paid?.has(orderOf(charge)))
    return { exception: 'second_payment' }
  if (charge.valueCents !== payment.amountCents) return { exception: 'wrong_amount' }
  if (isGone(payment)) return { exception: 'refunded_payment' }
  // answer-payer.ts completes it, once the provider has said who paid.
  if (policyOf(charge) === 'require') return { exception: 'payer_unconfirmed' }
  return { charge }
}

function chargeOf({ txid }: ReceivedPayment, charges: Map<string, LockedCharge>): LockedCharge | undefined {
  return charges.get(hexIdOf(txid) ?? '')
}

/** `exceptionId` is the open exception that found no charge for the payment. */
type Recorded = Omit<Payment, 'occurredAt'> & { paymentId: string; exceptionId: string | null }

/** By endToEndId, which is unique in all of Pix and not only at its provider. */
async function recordedPayments(tx: Tx, payments: { endToEndId: string }[]): Promise<Map<string, Recorded>> {
  const rows = await tx.rows<Recorded>(FIND_RECORDED, [payments.map(({ endToEndId }) => endToEndId)])
  return new Map(rows.map((row) => [row.endToEndId, row]))
}

const FIND_RECORDED = prepared(`
  select
    p.end_to_end_id as "endToEndId",
    p.id as "paymentId",
    p.provider,
    p.txid,
    p.amount_cents as "amountCents",
    (
      select ${hexId('x.id')} from exceptions x
      where x.payment_id = p.id and x.refund_id is null and x.kind = 'unknown_charge' and x.resolution is null
    ) as "exceptionId"
  from payments p where p.end_to_end_id = any($1)`)

/** Pure. Payments in suspense that complete a charge now that the provider reports their txid. */
function matchable(recorded: Map<string, Recorded>, fitOf: FitOf) {
  return (payment: ReceivedPayment): Held[] => {
    const known = recorded.get(payment.endToEndId)
    if (!known?.exceptionId || payment.txid === null) return []
    const isSame =
      known.provider === payment.provider &&
      known.amountCents === payment.amountCents &&
      (known.txid ?? payment.txid).toLowerCase() === payment.txid.toLowerCase()
    const { charge } = fitOf(payment)
    return isSame && charge ? [{ payment, paymentId: known.paymentId, heldBy: known.exceptionId }] : []
  }
}

/** Those whose exception stays open until we commit, and that no refund has reduced. */
async function lockHeld(tx: Tx, candidates: Held[]): Promise<Held[]> {
  if (candidates.length === 0) return []
  const ids = candidates.map(({ heldBy }) => heldBy)
  await tx.run('select from exceptions where id = any($1) order by id for no key update', [ids])
  // A second statement, so that it sees a refund that was booked while we waited for the lock.
  const rows = await tx.rows<{ id: string }>(
    `select ${hexId('x.id')} as id from exceptions x
     where x.id = any($1)
       and x.resolution is null
       and not exists (select from refunds r where r.payment_id = x.payment_id and r.status <> 'FAILED')`,
    [ids],
  )
  const open = new Set(rows.map((row) => row.id))
  return candidates.filter(({ heldBy }) => open.has(heldBy))
}

async function resolveMatched(tx: Tx, now: Date, matched: Matched[]): Promise<void> {
  for (const { heldBy, charge, payment } of matched) {
    await markDecided(tx, now, {
      exceptionId: heldBy,
      how: 'match',
      accountId: null,
      actor: SYSTEM,
      reason: 'The provider reported the txid of this payment later',
      resolvedAt: now,
      details: { kind: 'unknown_charge', how: 'match', amountCents: payment.amountCents, chargeId: charge.id },
    })
  }
}

/** Payments recorded under another provider, before we read or by another process while we decided. */
async function findDuplicates(
  tx: Tx,
  received: ReceivedPayment[],
  recorded: Map<string, Recorded>,
  kept: Settlement[],
): Promise<Duplicate[]> {
  const booked = new Set(kept.map(({ payment }) => providerKey(payment)))
  const rest = received.filter((payment) => !booked.has(providerKey(payment)))
  const lost = rest.filter((payment) => !recorded.has(payment.endToEndId))
  const found = lost.length > 0 ? new Map([...recorded, ...(await recordedPayments(tx, lost))]) : recorded
  return rest.flatMap(({ endToEndId, provider }) => {
    const bookedUnder = found.get(endToEndId)?.provider ?? provider
    return bookedUnder === provider ? [] : [{ endToEndId, provider, bookedUnder }]
  })
}

function distinct(payments: ReceivedPayment[]): ReceivedPayment[] {
  return [...new Map(payments.map((payment) => [providerKey(payment), payment])).values()]
}

function providerKey(payment: { provider: string; endToEndId: string }): string {
  return `${payment.provider} ${payment.endToEndId}`
}
