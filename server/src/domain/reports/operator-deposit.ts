import type { Cents } from '../../base/money.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { withGenuineCodes } from '../deposits/charge-codes.ts'
import { readAccountRow, type Account } from '../accounts/accounts.ts'
import type { Core } from '../core/core.ts'
import { findPosition } from '../history/receipts.ts'
import { refundSubjects } from '../refunds/refund-events.ts'
import { SENT_KINDS } from '../webhooks/event-kinds.ts'
import { derivedSubject, eventName } from '../webhooks/events.ts'
import { hexId } from '../../db/sql-values.ts'
import { readTimelineIn, type Timeline } from './timeline.ts'

// All that an operator can know of one deposit.

export type OperatorDeposit = Timeline & {
  account: Account
  ledger: LedgerLine[]
  history: HistoryPlace[]
  exceptions: string[]
}

export type LedgerLine = {
  transferId: string
  at: Date
  kind: string
  /** The ledger account: its kind, and behind a colon the provider, if it has one. */
  debit: string
  credit: string
  valueCents: Cents
  /** Of the account's available balance; null if the transfer does not move it. */
  balanceAfterCents: Cents | null
}

/** Null while the event has no position yet. */
export type HistoryPlace = { position: number | null; id: string; event: string; at: Date }

// A deposit with a hundred refunds, all of which failed, has so many.
const MAX_LINES = 1_000
const MAX_EVENTS = 100
const MAX_EXCEPTIONS = 100

export async function readOperatorDeposit(core: Core, paymentLinkId: string): Promise<OperatorDeposit> {
  const { events, ...read } = await transact(core.pool, (tx) => readParts(tx, paymentLinkId), {
    isolation: 'repeatable read',
  })
  const [charge] = await withGenuineCodes(core, [read.charge])
  const history: HistoryPlace[] = []
  for (const { id, kind, subjectId, at } of events) {
    const position = await findPosition(core, read.charge.accountId, { id, at })
    history.push({ position, id: eventName({ kind, subjectId }), event: kind, at })
  }
  return { ...read, charge: charge!, history }
}

async function readParts(tx: Tx, paymentLinkId: string) {
  const timeline = await readTimelineIn(tx, null, paymentLinkId)
  const { charge, refunds, heldPayments } = timeline
  const subjects = [
    charge.id,
    ...refunds.flatMap((refund) => refundSubjects({ ...refund, chargeId: charge.id })),
    ...heldPayments.map(({ endToEndId }) => derivedSubject(endToEndId)),
  ]
  return {
    ...timeline,
    account: await readAccountRow<Account>(tx, charge.accountId, 'a.id as "accountId", a.email, a.name'),
    ledger: await tx.rows<LedgerLine>(LEDGER, [charge.id, MAX_LINES]),
    exceptions: (await tx.rows<{ id: string }>(EXCEPTIONS, [charge.id, MAX_EXCEPTIONS])).map(({ id }) => id),
    events: await tx.rows<{ id: string; kind: string; subjectId: string; at: Date }>(EVENTS, [
      charge.accountId,
      SENT_KINDS,
      subjects,
      MAX_EVENTS,
    ]),
  }
}

/** In SQL, the payments that are of charge $1, with the index of each kind. */
const PAYMENTS = `
  p as materialized (
    select id from payments where charge_id = $1 and credited
    union all
    select id from payments where charge_id = $1 and not credited
  )`

const nameOf = (account: string) => `${account}.kind || coalesce(':' || ${account}.provider, '')`

// No index has the charge of a transfer. Those of its payments and refunds have one.
const LEDGER = `
  with ${PAYMENTS}, r as materialized (
    select id from refunds where charge_id = $1
  ), t as (
    select * from transfers where payment_id = any(array(select id from p)) and refund_id is null
    union all
    select * from transfers where refund_id = any(array(select id from r)) and refund_id is not null
  )
  select t.id::text as "transferId", t.recorded_at as at, t.kind, ${nameOf('d')} as debit, ${nameOf('c')} as credit,
    t.amount_cents as "valueCents",
    case 'balance' when c.kind then t.credit_after_cents when d.kind then t.debit_after_cents end as "balanceAfterCents"
  from t join ledger_accounts d on d.id = t.debit_id join ledger_accounts c on c.id = t.credit_id
  order by t.id limit $2`

const EXCEPTIONS = `
  with ${PAYMENTS}
  select ${hexId('x.id')} as id from exceptions x
  where x.charge_id = $1
    or x.payment_id = any(array(select id from p)) and x.refund_id is null
    or x.refund_id = any(array(select id from refunds where charge_id = $1))
  order by x.id limit $2`

const EVENTS = `
  select id, kind, subject_id as "subjectId", created_at as at from events
  where kind = any($2) and subject_id = any($3) and account_id = $1 order by id limit $4`
