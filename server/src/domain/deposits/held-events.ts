import type { Cents } from '../../base/money.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import type { Resolution } from '../exceptions/exception-states.ts'
import {
  DEPOSIT_HELD,
  DEPOSIT_PAYER_CHECKED,
  DEPOSIT_RELEASED,
  type HeldReason,
  type PayerAnswered,
  type Released,
} from '../webhooks/deposit-event-kinds.ts'
import { dataOf, type EventCharge, type WithMetadata } from '../webhooks/event-fields.ts'
import { derivedSubject, insertEvents, type NewEvent } from '../webhooks/events.ts'

// What account holders are told of held payments. A payment is held and released once, and both events have its
// subject. It follows from the endToEndId, so a payment that a restored backup lacks is told under the same name.

/** The code that a payment names. */
export type NamedCode = { accountId: string; externalId: string; txid: string }

export type HeldFor = NamedCode | (EventCharge & WithMetadata & { accountId: string; valueCents: Cents })

type HeldPix = { amountCents: Cents; endToEndId: string; occurredAt: Date }

/** book-payments.ts inserts it in the statement that books the payment. */
export function heldEvent(now: Date, heldFor: HeldFor, payment: HeldPix, reason: HeldReason): NewEvent {
  const subjectId = derivedSubject(payment.endToEndId)
  const about = { kind: 'DEPOSIT_HELD', subjectId, createdAt: now } as const
  if ('txid' in heldFor) {
    const { accountId, externalId: code } = heldFor
    return {
      ...about,
      accountId,
      data: dataOf(DEPOSIT_HELD, { charge: null, code, valueCents: null, payment, reason }),
    }
  }
  const { accountId, valueCents } = heldFor
  return {
    ...about,
    accountId,
    data: dataOf(DEPOSIT_HELD, { charge: heldFor, code: null, valueCents, payment, reason }),
  }
}

export function releasedEvent(now: Date, accountId: string, released: Released): NewEvent {
  const data = dataOf(DEPOSIT_RELEASED, released)
  const subjectId = derivedSubject(released.payment.endToEndId)
  return { kind: 'DEPOSIT_RELEASED', accountId, subjectId, createdAt: now, data }
}

/** What the provider said of the payer of this payment. */
export function payerEvent(now: Date, accountId: string, answered: PayerAnswered): NewEvent {
  const data = dataOf(DEPOSIT_PAYER_CHECKED, answered)
  const subjectId = derivedSubject(answered.endToEndId)
  return { kind: 'DEPOSIT_PAYER_CHECKED', accountId, subjectId, createdAt: now, data }
}

/** What an operator credited, and what the provider had refunded by then. */
export type Shares = { creditedCents: Cents; returnedCents: Cents }

type Decided = {
  endToEndId: string
  amountCents: Cents
  how: Exclude<Resolution['how'], 'match' | 'charge_account'>
  creditedAccountId: string | null
  charge: (EventCharge & WithMetadata & { accountId: string; status: string }) | null
  code: Pick<NamedCode, 'accountId' | 'externalId'> | null
}

/**
 * The exception is resolved, and not by a match. Nobody is told of money that names no charge and no code, unless it
 * was credited, nor of the decision about a refund. Without shares, the payer has all of it.
 */
export async function tellReleased(tx: Tx, now: Date, exceptionId: string, shares?: Shares): Promise<void> {
  const [decided] = await tx.rows<Decided>(SELECT_DECIDED, [exceptionId])
  if (!decided) return
  const { endToEndId, amountCents, how, charge, code, creditedAccountId } = decided
  const accountId = charge?.accountId ?? code?.accountId ?? creditedAccountId
  if (accountId === null) return
  const { creditedCents, returnedCents } = shares ?? { creditedCents: 0, returnedCents: amountCents }
  const isOwn = creditedAccountId === accountId
  const event = releasedEvent(now, accountId, {
    charge,
    code: code?.externalId ?? null,
    outcome: how === 'credit' ? (isOwn ? 'credited' : 'credited_elsewhere') : OUTCOMES[how],
    payment: { endToEndId, amountCents },
    creditedCents: isOwn ? creditedCents : 0,
    returnedCents,
    isPayable: charge?.status === 'PENDING',
  })
  await insertEvents(tx, now, [event])
}

const OUTCOMES = { refund: 'refunded', write_off: 'written_off' } as const

/** Payment p of exception x is held of code k. One that was booked before its code was known is held of nothing. */
export const IS_HELD_OF_CODE = `
  p.charge_id is null and k.txid = lower(p.txid) and k.provider = p.provider and x.refund_id is null
    and x.kind <> 'unknown_charge'`

// A charge that was never visible is none.
const SELECT_DECIDED = `
  select
    p.end_to_end_id as "endToEndId",
    p.amount_cents as "amountCents",
    x.resolution as how,
    x.account_id as "creditedAccountId",
    case when c.id is not null then json_build_object(
      'id', ${hexId('c.id')},
      'paymentLinkId', c.payment_link_id,
      'externalId', c.external_id,
      'metadata', c.metadata,
      'accountId', c.account_id,
      'status', c.status
    ) end as charge,
    case when k.id is not null then json_build_object('accountId', k.account_id, 'externalId', k.external_id) end as code
  from exceptions x
  join payments p on p.id = x.payment_id
  left join charges c on c.id = p.charge_id and c.status not in ('OPENING', 'FAILED')
  left join codes k on ${IS_HELD_OF_CODE}
  where x.id = $1 and x.refund_id is null`
