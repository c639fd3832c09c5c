import { hexFromUuid, isHexId, newUuid7, uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { writeAudit, SYSTEM } from '../core/audit-log.ts'
import {
  CHARGE_COLUMNS,
  chargeFromRow,
  markCompleted,
  type ChargeRow,
  type Completion,
  type StoredCharge,
} from './charge-states.ts'
import { insertEvents, type NewEvent } from '../webhooks/events.ts'
import { markDecided } from './exception-states.ts'
import { postTransfers, type Transfer } from '../ledger/ledger.ts'
import type { ReceivedPayment } from '../ports/provider.ts'

export type Settled = {
  /** Ids of the charges completed by this call. */
  completed: string[]
  /** How many of these were completed by a payment that lay in suspense. */
  matched: number
  /** Payments that completed nothing and wait for the operator. */
  excepted: { endToEndId: string; kind: ExceptionKind }[]
  /** Payments that were recorded before, and stay as they are. */
  known: number
  /** Payments that stand in the books under another provider. One Pix is booked once, so these are not booked. */
  duplicates: Duplicate[]
}

export type Duplicate = { endToEndId: string; provider: string; bookedUnder: string }

export type ExceptionKind = 'unknown_charge' | 'wrong_provider' | 'wrong_amount' | 'second_payment'

/** What becomes of one payment: it completes its charge, or it is an exception. */
type Decision = {
  paymentId: string // a UUID
  payment: Pick<ReceivedPayment, 'provider' | 'endToEndId' | 'txid' | 'amountCents' | 'occurredAt'>
  charge: StoredCharge | undefined
  exception: ExceptionKind | undefined
  /** A UUID. Of the exception that held the payment's money until now, if the payment lies in suspense. */
  heldBy: string | undefined
}

/**
 * The one way in which money enters the books. Whoever learns of payments (a notification, a query, a sweep, the operator) hands them in, as often as
 * they like and from as many processes: each is booked once.
 *
 * A provider may tell of a payment first without its txid, and later with it. Such a payment lies in suspense, and completes its charge then.
 *
 * Locks are taken in one order by everyone: charges by id, exceptions by id, payments by endToEndId, balances by id. So settlements wait for each other,
 * and never in a circle.
 */
export async function settle(tx: Tx, now: Date, payments: ReceivedPayment[]): Promise<Settled> {
  const received = distinct(payments)
  const charges = await lockCharges(tx, received)
  const recorded = await recordedPayments(tx, received)
  const fresh = received.filter((payment) => !recorded.has(paymentKey(payment)))
  const held = await lockHeld(tx, received.flatMap(matchable(recorded, charges)))
  const decisions = decide(now, [...fresh.map((payment) => ({ payment })), ...held], charges)
  // A payment that another process recorded since we looked is dropped here: it holds no charge of ours, or we had waited for that charge's lock.
  const inserted = await recordPayments(
    tx,
    now,
    decisions.filter((decision) => !decision.heldBy),
  )
  const kept = decisions.filter((decision) => decision.heldBy || inserted.has(decision.paymentId))
  const matched = kept.filter((decision) => decision.heldBy)
  await book(tx, now, kept)
  await resolveMatched(tx, now, matched)

  const duplicates = await findDuplicates(tx, received, recorded, kept)
  return {
    completed: kept.flatMap((decision) => (decision.exception ? [] : [decision.charge!.id])),
    matched: matched.length,
    excepted: kept.flatMap((one) =>
      one.exception ? [{ endToEndId: one.payment.endToEndId, kind: one.exception }] : [],
    ),
    known: received.length - kept.length - duplicates.length,
    duplicates,
  }
}

/** A payment that lies in suspense, and the charge that it completes by an operator's decision, whatever its amount. All ids are UUIDs but the charge's own. */
export type Match = {
  paymentId: string
  payment: Decision['payment']
  charge: StoredCharge
  exceptionId: string
}

/** The caller holds the locks of the charge and of the exception, has seen that neither has ended, and resolves the exception. */
export function completeFromSuspense(tx: Tx, now: Date, { exceptionId, ...match }: Match): Promise<void> {
  return book(tx, now, [{ ...match, exception: undefined, heldBy: exceptionId }])
}

async function book(tx: Tx, now: Date, decisions: Decision[]): Promise<void> {
  const credited = decisions.filter((decision) => !decision.exception)
  await markCompleted(tx, now, credited.map(completionOf))
  await creditPayments(
    tx,
    credited.filter((decision) => decision.heldBy),
  )
  await postTransfers(
    tx,
    now,
    decisions.flatMap((decision) => transfersOf(now, decision)),
  )
  await insertEvents(
    tx,
    now,
    credited.map((decision) => depositEvent(now, decision)),
  )
  await openExceptions(tx, now, decisions)
}

/** With its id and its exception, if it lies in suspense. */
type Candidate = { payment: ReceivedPayment; paymentId?: string; heldBy?: string }

/** Pure. In the order in which the payments were made, the first that fits completes its charge. One in suspense that does not fit stays there. */
function decide(now: Date, candidates: Candidate[], charges: Map<string, StoredCharge>): Decision[] {
  const completed = new Set<string>()
  const inOrder = candidates.toSorted((a, b) => a.payment.occurredAt.getTime() - b.payment.occurredAt.getTime())
  return inOrder.flatMap(({ payment, paymentId = newUuid7(now), heldBy }) => {
    const charge = payment.txid === null ? undefined : charges.get(payment.txid)
    const exception = exceptionOf(payment, charge, charge !== undefined && completed.has(charge.id))
    if (heldBy && exception) return []
    if (charge && !exception) completed.add(charge.id)
    return [{ paymentId, payment, charge, exception, heldBy }]
  })
}

function exceptionOf(
  payment: ReceivedPayment,
  charge: StoredCharge | undefined,
  paidJustNow: boolean,
): ExceptionKind | undefined {
  if (!charge) return 'unknown_charge'
  if (charge.provider !== payment.provider) return 'wrong_provider'
  if (charge.status === 'COMPLETED' || paidJustNow) return 'second_payment'
  if (charge.valueCents !== payment.amountCents) return 'wrong_amount'
  return undefined
}

function completionOf({ charge, payment }: Decision): Completion {
  return {
    chargeId: charge!.id,
    endToEndId: payment.endToEndId,
    paidAt: payment.occurredAt,
    paidLate: charge!.status !== 'PENDING' && charge!.status !== 'OPENING',
    receivedCents: payment.amountCents === charge!.valueCents ? null : payment.amountCents,
  }
}

function transfersOf(now: Date, { paymentId, payment, charge, exception, heldBy }: Decision): Transfer[] {
  const cash = { kind: 'cash', provider: payment.provider } as const
  const common = { paymentId, chargeId: charge ? uuidFromHex(charge.id) : null, occurredAt: payment.occurredAt }
  if (exception) {
    return [
      { ...common, kind: 'suspense', debit: cash, credit: { kind: 'suspense' }, amountCents: payment.amountCents },
    ]
  }
  const { valueCents, feeCents, accountId } = heldBy ? { ...charge!, valueCents: payment.amountCents } : charge!
  // Out of suspense it comes when that is decided, like all that exceptions do.
  const from = heldBy
    ? ({ debit: { kind: 'suspense' }, exceptionId: heldBy, occurredAt: now } as const)
    : { debit: cash }
  const credit: Transfer = {
    ...common,
    ...from,
    kind: heldBy ? 'matched_deposit' : 'deposit',
    credit: { kind: 'balance', accountId },
    amountCents: valueCents - feeCents,
  }
  const fee: Transfer = {
    ...common,
    ...from,
    kind: heldBy ? 'matched_fee' : 'fee',
    credit: { kind: 'fees' },
    amountCents: feeCents,
  }
  return feeCents > 0 ? [credit, fee] : [credit]
}

/** The charge is as it was before its payment. */
function depositEvent(now: Date, { charge, payment }: Decision): NewEvent {
  const { id, paymentLinkId, externalId, valueCents, originalValueCents, feeCents, accountId, status } = charge!
  return {
    kind: 'DEPOSIT_ASSET_SUCCESS',
    accountId,
    subjectId: uuidFromHex(id),
    createdAt: now,
    data: {
      transactionId: id,
      paymentLinkId,
      externalId,
      value: valueCents,
      originalValue: originalValueCents,
      fee: feeCents,
      creditedValue: payment.amountCents - feeCents,
      status: 'COMPLETED',
      paidLate: status !== 'PENDING' && status !== 'OPENING',
      endToEndId: payment.endToEndId,
      paidAt: payment.occurredAt.toISOString(),
    },
  }
}

async function lockCharges(tx: Tx, payments: ReceivedPayment[]): Promise<Map<string, StoredCharge>> {
  // Our txids are the hexadecimal ids of charges; anything else belongs to none.
  const ids = payments.flatMap(({ txid }) => (txid !== null && isHexId(txid) ? [uuidFromHex(txid)] : []))
  if (ids.length === 0) return new Map()
  const rows = await tx.rows<ChargeRow>(
    `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id
     where c.id = any($1) order by c.id for no key update of c`,
    [ids],
  )
  return new Map(rows.map((row) => [hexFromUuid(row.id), chargeFromRow(row)]))
}

/** As it stands in the books. */
type Recorded = {
  paymentId: string
  provider: string
  txid: string | null
  amountCents: Cents
  /** Of an open exception that found no charge for it. */
  exceptionId: string | null
}

/** By endToEndId, which is unique in all of Pix and not only at its provider. */
async function recordedPayments(tx: Tx, payments: { endToEndId: string }[]): Promise<Map<string, Recorded>> {
  const rows = await tx.rows<Recorded & { endToEndId: string }>(
    `select p.end_to_end_id as "endToEndId", p.id as "paymentId", p.provider, p.txid, p.amount_cents as "amountCents", x.id as "exceptionId"
     from payments p
     left join exceptions x on x.payment_id = p.id and x.refund_id is null and x.kind = 'unknown_charge' and x.resolution is null
     where p.end_to_end_id = any($1)`,
    [payments.map((payment) => payment.endToEndId)],
  )
  return new Map(rows.map(({ endToEndId, ...row }) => [endToEndId, row]))
}

/** Pure. The payments in suspense that would complete a charge, now that their txid is told. Whatever does not fit is left to the operator. */
function matchable(recorded: Map<string, Recorded>, charges: Map<string, StoredCharge>) {
  return (payment: ReceivedPayment): Required<Candidate>[] => {
    const { paymentId, provider, txid, amountCents, exceptionId } = recorded.get(paymentKey(payment)) ?? {}
    if (!paymentId || !exceptionId || payment.txid === null) return []
    const isSame =
      provider === payment.provider && amountCents === payment.amountCents && (txid ?? payment.txid) === payment.txid
    const exception = exceptionOf(payment, charges.get(payment.txid), false)
    return isSame && !exception ? [{ payment, paymentId, heldBy: exceptionId }] : []
  }
}

/**
 * Those whose exception is still open, which it is until we are done. Not those of which a refund was made or is under way: what is left of the payment is
 * less than the charge's value.
 */
async function lockHeld(tx: Tx, candidates: Required<Candidate>[]): Promise<Required<Candidate>[]> {
  if (candidates.length === 0) return []
  const ids = candidates.map((one) => one.heldBy)
  await tx.run('select from exceptions where id = any($1) order by id for no key update', [ids])
  // Apart from the locking: a refund that was booked while we waited for the lock is seen.
  const rows = await tx.rows<{ id: string }>(
    `select x.id from exceptions x where x.id = any($1) and x.resolution is null
       and not exists (select from refunds r where r.payment_id = x.payment_id and r.status <> 'FAILED')`,
    [ids],
  )
  const open = new Set(rows.map((row) => row.id))
  return candidates.filter((one) => open.has(one.heldBy))
}

async function recordPayments(tx: Tx, now: Date, decisions: Decision[]): Promise<Set<string>> {
  if (decisions.length === 0) return new Set()
  const rows = await tx.rows<{ id: string }>(
    `insert into payments (id, provider, end_to_end_id, txid, amount_cents, charge_id, credited, occurred_at, recorded_at)
     select id, provider, end_to_end_id, txid, amount_cents, charge_id, credited, occurred_at, $9
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::uuid[], $7::boolean[], $8::timestamptz[])
       as n (id, provider, end_to_end_id, txid, amount_cents, charge_id, credited, occurred_at)
     order by end_to_end_id, credited desc
     on conflict (end_to_end_id) do nothing
     returning id`,
    [
      decisions.map((one) => one.paymentId),
      decisions.map((one) => one.payment.provider),
      decisions.map((one) => one.payment.endToEndId),
      decisions.map((one) => one.payment.txid),
      decisions.map((one): Cents => one.payment.amountCents),
      decisions.map((one) => (one.charge ? uuidFromHex(one.charge.id) : null)),
      decisions.map((one) => !one.exception),
      decisions.map((one) => one.payment.occurredAt),
      now,
    ],
  )
  return new Set(rows.map((row) => row.id))
}

async function creditPayments(tx: Tx, decisions: Decision[]): Promise<void> {
  if (decisions.length === 0) return
  const moved = await tx.run(
    `update payments p set credited = true, charge_id = n.charge_id, txid = n.txid
     from unnest($1::uuid[], $2::uuid[], $3::text[]) as n (id, charge_id, txid)
     where p.id = n.id and not p.credited`,
    [
      decisions.map((one) => one.paymentId),
      decisions.map((one) => uuidFromHex(one.charge!.id)),
      decisions.map((one) => one.charge!.id),
    ],
  )
  if (moved !== decisions.length) throw new Error('a payment was credited twice')
}

// Rare, so one after another.
async function resolveMatched(tx: Tx, now: Date, decisions: Decision[]): Promise<void> {
  const reason = 'the provider named the charge of this payment later'
  for (const { heldBy, charge, payment } of decisions) {
    const exceptionId = hexFromUuid(heldBy!)
    await markDecided(tx, { exceptionId, how: 'match', accountId: null, actor: SYSTEM, reason, resolvedAt: now })
    await writeAudit(tx, now, SYSTEM, {
      action: 'exception.resolved',
      subject: `exception ${exceptionId}`,
      accountId: null,
      reason,
      details: { kind: 'unknown_charge', how: 'match', amountCents: payment.amountCents, chargeId: charge!.id },
    })
  }
}

async function openExceptions(tx: Tx, now: Date, decisions: Decision[]): Promise<void> {
  const exceptions = decisions.filter((decision) => decision.exception)
  if (exceptions.length === 0) return
  await tx.run(
    `insert into exceptions (id, payment_id, kind, opened_at)
     select id, payment_id, kind, $4 from unnest($1::uuid[], $2::uuid[], $3::text[]) as n (id, payment_id, kind)`,
    [
      exceptions.map(() => newUuid7(now)),
      exceptions.map((one) => one.paymentId),
      exceptions.map((one) => one.exception),
      now,
    ],
  )
}

/** Those that were recorded before we looked, or by somebody else while we decided, under another provider's name. */
async function findDuplicates(
  tx: Tx,
  received: ReceivedPayment[],
  recorded: Map<string, Recorded>,
  kept: Decision[],
): Promise<Duplicate[]> {
  const booked = new Set(kept.map(({ payment }) => providerKey(payment)))
  const rest = received.filter((payment) => !booked.has(providerKey(payment)))
  const lost = rest.filter((payment) => !recorded.has(paymentKey(payment)))
  const found = lost.length > 0 ? new Map([...recorded, ...(await recordedPayments(tx, lost))]) : recorded
  return rest.flatMap((payment) => {
    const bookedUnder = found.get(paymentKey(payment))?.provider ?? payment.provider
    const { endToEndId, provider } = payment
    return bookedUnder === provider ? [] : [{ endToEndId, provider, bookedUnder }]
  })
}

function distinct(payments: ReceivedPayment[]): ReceivedPayment[] {
  return [...new Map(payments.map((payment) => [providerKey(payment), payment])).values()]
}

function paymentKey(payment: { endToEndId: string }): string {
  return payment.endToEndId
}

function providerKey(payment: { provider: string; endToEndId: string }): string {
  return `${payment.provider} ${payment.endToEndId}`
}
