import { hexFromUuid, isHexId, newUuid7, uuidFromHex } from '../base/ids.ts'
import type { Cents } from '../base/money.ts'
import type { Tx } from '../db/tx.ts'
import { CHARGE_COLUMNS, chargeFromRow, markCompleted, type ChargeRow, type StoredCharge } from './charges.ts'
import { insertEvents, type NewEvent } from './events.ts'
import { postTransfers, type Transfer } from './ledger.ts'
import type { ReceivedPayment } from './provider.ts'

export type Settled = {
  /** Ids of the charges completed by this call. */
  completed: string[]
  /** Payments that completed nothing and wait for the operator. */
  excepted: { endToEndId: string; kind: ExceptionKind }[]
  /** Payments that were recorded before. */
  known: number
}

export type ExceptionKind = 'unknown_charge' | 'wrong_provider' | 'wrong_amount' | 'second_payment'

/** What becomes of one payment: it completes its charge, or it is an exception. */
type Decision = {
  paymentId: string
  payment: ReceivedPayment
  charge: StoredCharge | undefined
  exception: ExceptionKind | undefined
}

/**
 * The one way in which money enters the books. Whoever learns of payments (a notification, a query, a sweep, the operator) hands them in, as often as
 * they like and from as many processes: each is booked once.
 *
 * Locks are taken in one order by everyone: charges by id, payments by provider and endToEndId, balances by id. So settlements wait for each other, and
 * never in a circle.
 */
export async function settle(tx: Tx, now: Date, payments: ReceivedPayment[]): Promise<Settled> {
  const received = distinct(payments)
  const charges = await lockCharges(tx, received)
  const recorded = await recordedPayments(tx, received)
  const fresh = received.filter((payment) => !recorded.has(paymentKey(payment)))
  const decisions = decide(now, fresh, charges)
  // A payment that another process recorded since we looked is dropped here: it holds no charge of ours, or we had waited for that charge's lock.
  const inserted = await recordPayments(tx, now, decisions)
  const kept = decisions.filter((decision) => inserted.has(decision.paymentId))
  const credited = kept.filter((decision) => !decision.exception)

  await markCompleted(tx, now, credited.map(completionOf))
  await postTransfers(tx, now, kept.flatMap(transfersOf))
  await insertEvents(
    tx,
    now,
    credited.map((decision) => depositEvent(now, decision)),
  )
  await openExceptions(tx, now, kept)
  return {
    completed: credited.map((decision) => decision.charge!.id),
    excepted: kept.flatMap((one) =>
      one.exception ? [{ endToEndId: one.payment.endToEndId, kind: one.exception }] : [],
    ),
    known: received.length - kept.length,
  }
}

/** Pure. In the order in which the payments were made, the first that fits completes its charge. */
function decide(now: Date, payments: ReceivedPayment[], charges: Map<string, StoredCharge>): Decision[] {
  const completed = new Set<string>()
  const inOrder = payments.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime())
  return inOrder.map((payment) => {
    const charge = payment.txid === null ? undefined : charges.get(payment.txid)
    const exception = exceptionOf(payment, charge, charge !== undefined && completed.has(charge.id))
    if (charge && !exception) completed.add(charge.id)
    return { paymentId: newUuid7(now), payment, charge, exception }
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

function completionOf({ charge, payment }: Decision) {
  return {
    chargeId: charge!.id,
    endToEndId: payment.endToEndId,
    paidAt: payment.occurredAt,
    paidLate: charge!.status !== 'PENDING' && charge!.status !== 'OPENING',
  }
}

function transfersOf({ paymentId, payment, charge, exception }: Decision): Transfer[] {
  const cash = { kind: 'cash', provider: payment.provider } as const
  const common = { paymentId, chargeId: charge ? uuidFromHex(charge.id) : null, occurredAt: payment.occurredAt }
  if (exception) {
    return [
      { ...common, kind: 'suspense', debit: cash, credit: { kind: 'suspense' }, amountCents: payment.amountCents },
    ]
  }
  const { valueCents, feeCents, accountId } = charge!
  const credit: Transfer = {
    ...common,
    kind: 'deposit',
    debit: cash,
    credit: { kind: 'balance', accountId },
    amountCents: valueCents - feeCents,
  }
  const fee: Transfer = { ...common, kind: 'fee', debit: cash, credit: { kind: 'fees' }, amountCents: feeCents }
  return feeCents > 0 ? [credit, fee] : [credit]
}

/** As it was before its payment. */
type CompletedCharge = Pick<
  StoredCharge,
  'id' | 'paymentLinkId' | 'externalId' | 'valueCents' | 'originalValueCents' | 'feeCents' | 'accountId' | 'status'
>

export function depositEvent(
  now: Date,
  {
    charge,
    payment,
  }: { charge: CompletedCharge | undefined; payment: Pick<ReceivedPayment, 'endToEndId' | 'occurredAt'> },
): NewEvent {
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
      creditedValue: valueCents - feeCents,
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

async function recordedPayments(tx: Tx, payments: ReceivedPayment[]): Promise<Set<string>> {
  const rows = await tx.rows<{ provider: string; end_to_end_id: string }>(
    `select p.provider, p.end_to_end_id from unnest($1::text[], $2::text[]) as n (provider, end_to_end_id)
     join payments p on p.provider = n.provider and p.end_to_end_id = n.end_to_end_id`,
    [payments.map((payment) => payment.provider), payments.map((payment) => payment.endToEndId)],
  )
  return new Set(rows.map((row) => `${row.provider} ${row.end_to_end_id}`))
}

async function recordPayments(tx: Tx, now: Date, decisions: Decision[]): Promise<Set<string>> {
  if (decisions.length === 0) return new Set()
  const rows = await tx.rows<{ id: string }>(
    `insert into payments (id, provider, end_to_end_id, txid, amount_cents, charge_id, credited, occurred_at, recorded_at)
     select id, provider, end_to_end_id, txid, amount_cents, charge_id, credited, occurred_at, $9
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::uuid[], $7::boolean[], $8::timestamptz[])
       as n (id, provider, end_to_end_id, txid, amount_cents, charge_id, credited, occurred_at)
     order by provider, end_to_end_id
     on conflict (provider, end_to_end_id) do nothing
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

function distinct(payments: ReceivedPayment[]): ReceivedPayment[] {
  return [...new Map(payments.map((payment) => [paymentKey(payment), payment])).values()]
}

function paymentKey(payment: ReceivedPayment): string {
  return `${payment.provider} ${payment.endToEndId}`
}
