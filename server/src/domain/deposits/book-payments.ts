import { newUuid7 } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { prepared } from '../../db/prepared.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import { makeLedgerAccounts, makeTally, OWING, payDebts, POST_LINES } from '../ledger/ledger.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import { policyOf } from '../core/payers.ts'
import { DEPOSIT_PAID, type HeldReason } from '../webhooks/deposit-event-kinds.ts'
import { dataOf } from '../webhooks/event-fields.ts'
import { eventBody, sealEvent, TELL, type NewEvent, type StoredEvent } from '../webhooks/events.ts'
import { hasEnded, isVisible, type LockedCharge } from './charge-reads.ts'
import { COMPLETE_CHARGES, EXPIRY_GRACE_MS, MAKE_CHARGES, markOrderPaid, reclaimExternalIds } from './charge-states.ts'
import { enqueuePayerChecks } from './checks/check-queue.ts'
import { heldEvent, releasedEvent, type HeldFor, type NamedCode } from './held-events.ts'
import { requireTaken } from './order-locks.ts'
import { resolveUnnamed } from '../exceptions/exception-states.ts'

/** Why a payment completes no charge. */
export type SuspenseKind = 'unknown_charge' | HeldReason

/** Of a code that was closed, or whose limits, or those of its account, the value does not fit. */
export type CodeRefusal = Extract<HeldReason, `code_${string}`>

export type Payment = Pick<ReceivedPayment, 'provider' | 'endToEndId' | 'txid' | 'amountCents' | 'occurredAt'>

/** What becomes of one payment. */
export type Settlement = Credited | Matched | Excepted
type Credited = { kind: 'credited'; paymentId: string; payment: Payment; charge: LockedCharge }
/** `heldBy` is the exception that held the payment in suspense until now. */
export type Matched = Omit<Credited, 'kind'> & { kind: 'matched'; heldBy: string; isPayerConfirmed?: boolean }
type Excepted = Omit<Credited, 'kind' | 'charge'> & {
  kind: 'excepted'
  charge: LockedCharge | undefined
  /** That the payment names. */
  code: NamedCode | undefined
  exception: SuspenseKind
}

/**
 * `ownId` is the id of the event or the exception. `news` tells of a payment that is held, or was. The nets come from
 * makeTally(), this settlement included: source is the ledger account that the money comes from, target the balance or
 * suspense that it goes to.
 */
type Row = {
  settlement: Settlement
  ownId: string
  body: string | null
  news: (NewEvent & StoredEvent & { seal: Buffer }) | undefined
  seal: Buffer | null
  sourceNet: Cents
  targetNet: Cents
  feesNet: Cents
}

const COLUMNS: Columns<Row> = {
  kind: ['text', ({ settlement }) => settlement.kind],
  payment_id: ['uuid', ({ settlement }) => settlement.paymentId],
  provider: ['text', ({ settlement }) => settlement.payment.provider],
  end_to_end_id: ['text', ({ settlement }) => settlement.payment.endToEndId],
  txid: ['text', ({ settlement }) => settlement.payment.txid],
  amount_cents: ['bigint', ({ settlement }) => settlement.payment.amountCents],
  occurred_at: ['timestamptz', ({ settlement }) => settlement.payment.occurredAt],
  charge_id: ['uuid', ({ settlement: { charge } }) => charge?.id],
  account_id: ['uuid', ({ settlement: { charge } }) => charge?.accountId],
  fee_cents: ['bigint', ({ settlement: { charge } }) => charge?.feeCents],
  paid_late: ['boolean', ({ settlement: { charge, payment } }) => charge !== undefined && isLate(charge, payment)],
  // Of a charge that the payment makes by a code.
  code_id: ['uuid', ({ settlement: { charge } }) => charge?.made?.codeId],
  code_version: ['int', ({ settlement: { charge } }) => charge?.made?.codeVersion],
  description: ['text', ({ settlement: { charge } }) => charge?.made?.description],
  payment_link_id: ['uuid', ({ settlement: { charge } }) => charge?.made && charge.paymentLinkId],
  expires_at: ['timestamptz', ({ settlement: { charge } }) => charge?.made && charge.expiresAt],
  held_by: ['uuid', ({ settlement }) => (settlement.kind === 'matched' ? settlement.heldBy : null)],
  exception: ['text', ({ settlement }) => (settlement.kind === 'excepted' ? settlement.exception : null)],
  own_id: ['uuid', ({ ownId }) => ownId],
  body: ['json', ({ body }) => body],
  news_id: ['uuid', ({ news }) => news?.id],
  news_account: ['uuid', ({ news }) => news?.accountId],
  news_kind: ['text', ({ news }) => news?.kind],
  news_subject: ['uuid', ({ news }) => news?.subjectId],
  news_body: ['json', ({ news }) => news?.body],
  news_seal: ['bytea', ({ news }) => news?.seal],
  seal: ['bytea', ({ seal }) => seal],
  source_net: ['bigint', ({ sourceNet }) => sourceNet],
  target_net: ['bigint', ({ targetNet }) => targetNet],
  fees_net: ['bigint', ({ feesNet }) => feesNet],
}

const SCALARS = Object.keys(COLUMNS).length
const NOW = `$${SCALARS + 1}::timestamptz`
/** The payments are recorded already. */
const IS_RECORDED = `$${SCALARS + 2}::boolean`
/** Charges that may lose the row of their order. */
const TAKES_FROM = `$${SCALARS + 3}::uuid[]`

// `held` of POST_LINES locks balances after all payments are inserted, because it sorts what follows from them. That is
// the order of locks of settle(). Charges and events are written before it, so that others wait for less.
const BOOK = prepared(`
  with cash as (
    select provider, id as cash from ledger_accounts where kind = 'cash'
  ), shared as (
    select max(id) filter (where kind = 'suspense') as suspense, max(id) filter (where kind = 'fees') as fees
    from ledger_accounts where kind in ('suspense', 'fees')
  ), n as materialized (
    select n.*, cash, suspense, fees, ${NOW} as now
    from ${unnestOf(COLUMNS)} left join cash using (provider) cross join shared
  ), lacking as (
    select distinct provider from n where cash is null or fees is null
  ), recorded as (
    insert into payments (id, provider, end_to_end_id, txid, amount_cents, charge_id, account_id, credited, occurred_at,
      recorded_at)
    select payment_id, provider, end_to_end_id, txid, amount_cents, charge_id, account_id, kind = 'credited',
      occurred_at, now
    from n where kind <> 'matched' and not ${IS_RECORDED}
    order by end_to_end_id, kind = 'credited' desc
    on conflict (end_to_end_id) do nothing
    returning id
  ), credited as (
    update payments p set credited = true, charge_id = n.charge_id, account_id = n.account_id,
      txid = coalesce(p.txid, n.txid)
    from n where p.id = n.payment_id and n.kind = 'matched' and not ${IS_RECORDED} and not p.credited
    returning p.id
  ), dropped as (
    select payment_id from n
    where not ${IS_RECORDED} and payment_id not in (select id from recorded) and payment_id not in (select id from credited)
  ), kept as materialized (
    -- Money leaves suspense at the time of the decision, as with every resolved exception.
    select n.*, kind = 'matched' as is_match, case when kind = 'matched' then suspense else cash end as source,
      case when kind = 'matched' then now else occurred_at end as booked_at
    from n where not exists (select from dropped) and not exists (select from lacking)
  ), completed as (
    ${COMPLETE_CHARGES}
  ), made as (
    ${MAKE_CHARGES}
  ), reclaimed as (
    ${reclaimExternalIds(TAKES_FROM)}
  ), opened as (
    insert into exceptions (id, payment_id, kind, opened_at)
    select own_id, payment_id, exception, now from kept where kind = 'excepted'
  ), telling as (
    select news_id as id, news_account as account_id, news_kind as kind, news_subject as subject_id, news_body as body,
      now as created_at, now as due_at, news_seal as seal, 2 * place as place
    from kept where news_id is not null
    union all
    select own_id as id, account_id, 'DEPOSIT_ASSET_SUCCESS' as kind, charge_id as subject_id, body, now as created_at,
      now as due_at, seal, 2 * place + 1
    from kept where kind <> 'excepted'
  ), ${TELL}, lines as materialized (
    select 2 * place as place, case when is_match then 'matched_deposit' else 'deposit' end as kind,
      source as debit_id, (select id from ledger_accounts where kind = 'balance' and account_id = n.account_id) as credit_id,
      amount_cents - fee_cents as amount_cents, source_net + fee_cents as debit_net, target_net as credit_net,
      payment_id, charge_id, account_id, null::uuid as refund_id, held_by as exception_id,
      null::uuid as payout_id, null::uuid as dispute_id, booked_at as occurred_at, now as recorded_at
    from kept n where kind <> 'excepted'
    union all
    select 2 * place + 1, case when is_match then 'matched_fee' else 'fee' end, source, fees, fee_cents, source_net,
      fees_net, payment_id, charge_id, account_id, null, held_by, null, null, booked_at, now
    from kept where kind <> 'excepted' and fee_cents > 0
    union all
    select 2 * place, 'suspense', source, suspense, amount_cents, source_net, target_net, payment_id, charge_id,
      account_id, null, null, null, null, booked_at, now
    from kept where kind = 'excepted'
  ), ${POST_LINES}
  select array(select payment_id from dropped) as dropped, array(select provider from lacking) as lacking,
    array(select ${hexId('charge_id')} from reclaimed) as taken,
    (select count(*) from completed) + (select count(*) from made) as completed, (select count(*) from told) as told,
    (select count(*) from posted) as posted, ${OWING} as owing,
    array(
      select distinct ${hexId('x.id')} from kept n join exceptions x on x.charge_id = n.charge_id and x.resolution is null
    ) as unnamed`)

/**
 * `dropped` are ids of payments. `lacking` are providers without ledger accounts. `taken` are ids of charges that were
 * paid late and have the row of their order. `owing` are accounts that were credited and owe something. `unnamed` are
 * ids of open exceptions of charges that their provider called paid before it named a Pix.
 */
type Booked = {
  dropped: string[]
  lacking: string[]
  taken: string[]
  completed: number
  told: number
  posted: number
  owing: string[]
  unnamed: string[]
}

/**
 * Books settlements in one statement. The caller holds the locks of their charges, and of the exceptions of matched
 * payments. Returns what was booked: not a payment that another transaction has recorded since the caller read. Such a
 * payment names no charge, or named none when it was recorded.
 */
export async function bookPayments(tx: Tx, now: Date, settlements: Settlement[]): Promise<Settlement[]> {
  if (settlements.length === 0) return []
  const booked = await book(tx, now, settlements, false)
  const dropped = new Set(booked.dropped)
  if (settlements.some(({ kind, paymentId }) => kind === 'matched' && dropped.has(paymentId)))
    throw new Error('a payment was credited twice')
  if (dropped.size === 0 && booked.lacking.length === 0) return finish(tx, now, booked, settlements)
  // Rare: the statement inserted the payments and posted nothing. Post the new ones in a second statement, after
  // creating the ledger accounts if they are missing.
  const kept = settlements.filter(({ paymentId }) => !dropped.has(paymentId))
  if (booked.lacking.length > 0) {
    const providers = new Set(kept.map(({ payment }) => payment.provider))
    const cash = booked.lacking.flatMap((provider) =>
      providers.has(provider) ? ({ kind: 'cash', provider } as const) : [],
    )
    await makeLedgerAccounts(tx, [{ kind: 'fees' }, ...cash])
  }
  return finish(tx, now, await book(tx, now, kept, true), kept)
}

async function book(tx: Tx, now: Date, settlements: Settlement[], isRecorded: boolean): Promise<Booked> {
  const tally = makeTally()
  const rows = settlements.map((settlement) => rowOf(tx, now, settlement, tally))
  const takesFrom = completing(settlements).flatMap((charge) => charge.takesFrom)
  const booked = await tx.one<Booked>(BOOK, [...valuesOf(COLUMNS, rows), now, isRecorded, takesFrom])
  await resolveUnnamed(tx, now, booked.unnamed)
  return booked
}

function completing(settlements: Settlement[]): LockedCharge[] {
  return settlements.flatMap((settlement) => (settlement.kind === 'excepted' ? [] : settlement.charge))
}

async function finish(tx: Tx, now: Date, booked: Booked, kept: Settlement[]): Promise<Settlement[]> {
  requireBooked(booked, kept)
  await payDebts(tx, now, booked.owing)
  await enqueuePayerChecks(tx, now, kept.filter(asksPayer))
  await markOrderPaid(
    tx,
    now,
    completing(kept).flatMap(({ takesFrom }) => takesFrom),
  )
  return kept
}

function requireBooked({ completed, taken, told, posted }: Booked, kept: Settlement[]): void {
  const charges = completing(kept)
  const events = charges.length + kept.filter(hasNews).length
  if (completed !== charges.length || told !== events) throw new Error('a charge was completed twice')
  requireTaken(charges, taken)
  const fees = charges.filter(({ feeCents }) => feeCents > 0)
  if (posted !== kept.length + fees.length) throw new Error('a ledger account is missing')
}

function rowOf(tx: Pick<Tx, 'sealer'>, now: Date, settlement: Settlement, tally: ReturnType<typeof makeTally>): Row {
  const { kind, payment, charge } = settlement
  const { amountCents } = payment
  // In the order of events: a payment is released, and then completes its charge.
  const news = newsOf(tx, now, settlement)
  const ownId = newUuid7(now)
  const sourceNet = tally(kind === 'matched' ? 'suspense' : `cash ${payment.provider}`, -amountCents)
  if (kind === 'excepted')
    return {
      settlement,
      ownId,
      body: null,
      news,
      seal: null,
      sourceNet,
      targetNet: tally('suspense', amountCents),
      feesNet: 0,
    }
  const event = depositEvent(now, settlement)
  const body = eventBody(event)
  return {
    settlement,
    ownId,
    body,
    news,
    seal: sealEvent(tx, { ...event, id: ownId, body }),
    sourceNet,
    targetNet: tally(charge.accountId, amountCents - charge.feeCents),
    feesNet: tally('fees', charge.feeCents),
  }
}

/**
 * The charge had ended, or the bank dates the payment past its expiry and grace. A restored backup may not know that
 * the charge had ended; the bank's date stays the same.
 */
function isLate(charge: LockedCharge, { occurredAt }: Payment): boolean {
  return hasEnded(charge) || occurredAt.getTime() > charge.expiresAt.getTime() + EXPIRY_GRACE_MS
}

function newsOf(tx: Pick<Tx, 'sealer'>, now: Date, settlement: Settlement): Row['news'] {
  const event = heldOrReleased(now, settlement)
  if (!event) return undefined
  const stored = { ...event, id: newUuid7(now), body: eventBody(event) }
  return { ...stored, seal: sealEvent(tx, stored) }
}

/** Of a charge that is credited without an answer, or only with one. An operator's decision needs none. */
function asksPayer(settlement: Settlement): boolean {
  if (settlement.kind === 'excepted') return settlement.exception === 'payer_unconfirmed'
  return policyOf(settlement.charge) === 'verify'
}

function hasNews(settlement: Settlement): boolean {
  return settlement.kind === 'excepted' ? whatHeldFor(settlement) !== undefined : settlement.kind === 'matched'
}

/** A visible charge or a code. */
function whatHeldFor({ charge, code, exception }: Excepted): HeldFor | undefined {
  if (exception === 'unknown_charge') return undefined
  return code ?? (charge && isVisible(charge) ? charge : undefined)
}

function heldOrReleased(now: Date, settlement: Settlement): NewEvent | undefined {
  if (settlement.kind === 'credited') return undefined
  const { payment } = settlement
  if (settlement.kind === 'excepted') {
    const [heldFor, reason] = [whatHeldFor(settlement), settlement.exception]
    return heldFor && reason !== 'unknown_charge' ? heldEvent(now, heldFor, payment, reason) : undefined
  }
  const { charge } = settlement
  const creditedCents = payment.amountCents - charge.feeCents
  const released = { charge, code: charge.code, payment, creditedCents, returnedCents: 0, isPayable: false }
  return releasedEvent(now, charge.accountId, { ...released, outcome: 'completed' })
}

function depositEvent(now: Date, settlement: Credited | Matched): NewEvent {
  const { charge, payment } = settlement
  const isPayerConfirmed = settlement.kind === 'matched' && settlement.isPayerConfirmed === true
  return {
    kind: 'DEPOSIT_ASSET_SUCCESS',
    accountId: charge.accountId,
    subjectId: charge.id,
    createdAt: now,
    data: dataOf(DEPOSIT_PAID, { charge, payment, isLate: isLate(charge, payment), isPayerConfirmed }),
  }
}
