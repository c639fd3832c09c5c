import type { SpanContext } from '@opentelemetry/api'
import { randomUUID } from 'node:crypto'
import { hexIdOf } from '../../../base/ids.ts'
import { columnsOf, unnestOf, valuesOf, type Columns } from '../../../db/insert-rows.ts'
import { prepared } from '../../../db/prepared.ts'
import { query, type Tx } from '../../../db/tx.ts'
import type { Core } from '../../core/core.ts'
import type { Hint } from '../../ports/provider.ts'
import type { StoredCharge, StoredStatus } from '../charge-reads.ts'
import { EXPIRY_GRACE_MS } from '../charge-states.ts'

/**
 * A question to a provider that is due at some time, claimed by this process. The subject is a txid, the endToEndId of
 * a payment, or for a question about its payer that behind the kind.
 */
export type Check = {
  provider: string
  subject: string
  kind: 'charge' | 'payment' | 'withdrawal' | 'payer'
  /** How often it was asked about, this time included. */
  attempts: number
  /** Stands in the row until something else changes it, so a claim that lost its row cannot end it. */
  claim: string
  leasedUntil: Date
  /** The charge when it was claimed, for a check of that kind. */
  charge: { provider: string; status: StoredStatus; expiresAt: Date; orderPaid: boolean } | null
  /** It is due because the time of its charge is over, and not by a notification. */
  isExpiry: boolean
  /** Payments that notifications named; empty where none did, and in a check that was claimed from the queue. */
  endToEndIds: string[]
  /**
   * A list of received Pix shows what it is about if it goes back to `from` and began after `until`, when the
   * notification had come. Null where that is unknown.
   */
  listed: { from: Date; until: Date } | null
  /** The span of the notification that named it first. */
  cause?: SpanContext | undefined
}

// After this, other workers take over the checks of a worker that died. Longer than any provider call.
const LEASE_MS = 30_000
const MAX_BACKOFF_MS = 5 * 60_000
// A notification without a time is about a Pix of this long ago at most. If it is older, the list does not show it.
const HINT_DELAY_MS = 5_000

// Before all that a list is asked for.
const ASK_ALONE = new Date(0)

/** The hints of one notification, and its span. */
export type Hints = { provider: string; hints: Hint[]; cause?: SpanContext | undefined }

type NamedHint = Hint & Pick<Hints, 'provider' | 'cause'>

const HINT_COLUMNS: Columns<NamedHint> = {
  provider: ['text', ({ provider }) => provider],
  txid: ['text', ({ txid }) => txid],
  end_to_end_id: ['text', ({ endToEndId }) => endToEndId],
  mentions_refunds: ['boolean', ({ mentionsRefunds }) => mentionsRefunds ?? false],
}

// A PENDING charge has its check already, and only the due time moves. A payment that is booked needs no check, unless
// the provider now reports refunds of it, or it was booked without its txid and may complete its charge.
const RECORD_HINTS = prepared(`
  with hinted as (
    select n.*, c.account_id, p.provider = n.provider and p.txid is not null as is_booked
    from ${unnestOf(HINT_COLUMNS)}
    left join charges c on c.id = n.txid::uuid
    left join payments p on p.end_to_end_id = n.end_to_end_id
  ), claimed as (
    insert into checks (provider, subject, kind, account_id, due_at, claim)
    select distinct on (1, 2)
      provider collate "C",
      case when account_id is null then end_to_end_id else txid end collate "C",
      case when account_id is null then 'payment' else 'charge' end,
      account_id,
      $5::timestamptz,
      $6::uuid
    from hinted
    where (account_id is not null or end_to_end_id is not null) and (mentions_refunds or is_booked is not true)
    order by 1, 2, 3
    on conflict (provider, subject) do update set
      due_at = case when $6 is null then least(checks.due_at, excluded.due_at) else excluded.due_at end,
      claim = $6,
      attempts = 0
    returning provider, subject, kind, attempts, null::timestamptz as was_due
  )
  ${selectClaimed()}`)

/**
 * A notification is only a hint: it is stored as a check, and after that the caller may answer it. `isClaimed`: this
 * process asks at once, and the checks are stored as claimed by it. Otherwise they are due now, for any process.
 */
export async function recordHints(core: Core, given: Hints[], isClaimed: boolean): Promise<Check[]> {
  const now = core.now()
  const claim = isClaimed ? randomUUID() : null
  const leasedUntil = isClaimed ? leaseFrom(now) : now
  const hints = given.flatMap(({ provider, hints: some, cause }) =>
    some.map((hint): NamedHint => ({ ...hint, provider, cause, txid: hexIdOf(hint.txid) })),
  )
  const rows = await query<ClaimedRow>(core.pool, RECORD_HINTS, [...valuesOf(HINT_COLUMNS, hints), leasedUntil, claim])
  if (claim === null) return []
  const bySubject = new Map(rows.map((row) => [`${row.provider} ${row.subject}`, toCheck(row, claim, leasedUntil)]))
  for (const { provider, txid, endToEndId, occurredAt, mentionsRefunds, cause } of hints) {
    const check = bySubject.get(`${provider} ${txid}`) ?? bySubject.get(`${provider} ${endToEndId}`)
    if (!check) continue
    check.cause ??= cause
    if (endToEndId !== null) check.endToEndIds.push(endToEndId)
    // A list may be behind with refunds, and then nothing would tell of them again.
    const from = mentionsRefunds ? ASK_ALONE : (occurredAt ?? new Date(now.getTime() - HINT_DELAY_MS))
    if (!check.listed || from < check.listed.from) check.listed = { from, until: now }
  }
  return [...bySubject.values()]
}

const CLAIM_CHECKS = prepared(`
  with due as materialized (
    select provider, subject, due_at from checks where due_at <= $1 order by due_at limit $3 for update skip locked
  ), claimed as (
    update checks k set due_at = $2, claim = $4::uuid
    from due d where k.provider = d.provider and k.subject = d.subject
    returning k.provider, k.subject, k.kind, k.attempts, d.due_at as was_due
  )
  ${selectClaimed()}`)

/** Any number of processes may claim at once: each check goes to one of them, until its lease ends. */
export async function claimChecks(core: Core, limit: number): Promise<Check[]> {
  const now = core.now()
  const claim = randomUUID()
  const leasedUntil = leaseFrom(now)
  const rows = await query<ClaimedRow>(core.pool, CLAIM_CHECKS, [now, leasedUntil, limit, claim])
  return rows.map((row) => toCheck(row, claim, leasedUntil))
}

function leaseFrom(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

function selectClaimed(): string {
  return `
    select k.*, c.provider as "chargeProvider", c.status as "chargeStatus", c.expires_at as "expiresAt",
      c.order_paid as "orderPaid"
    from claimed k left join charges c on c.id = case when k.kind = 'charge' then k.subject::uuid end`
}

type ClaimedRow = Pick<Check, 'provider' | 'subject' | 'kind' | 'attempts'> & {
  was_due: Date | null
  chargeProvider: string | null
  chargeStatus: StoredStatus
  expiresAt: Date
  orderPaid: boolean
}

function toCheck(row: ClaimedRow, claim: string, leasedUntil: Date): Check {
  const { provider, subject, kind, was_due: wasDue, chargeProvider, chargeStatus, expiresAt, orderPaid } = row
  const isExpiry = chargeProvider !== null && wasDue?.getTime() === expiresAt.getTime() + EXPIRY_GRACE_MS
  const isHint = wasDue !== null && row.attempts === 0 && !isExpiry
  return {
    provider,
    subject,
    kind,
    claim,
    attempts: row.attempts + 1,
    leasedUntil,
    charge: chargeProvider === null ? null : { provider: chargeProvider, status: chargeStatus, expiresAt, orderPaid },
    isExpiry,
    endToEndIds: [],
    // Its notification came when it was due, or up to a lease before: then the process that was to ask has ended.
    listed: isHint ? { from: new Date(wasDue.getTime() - LEASE_MS - HINT_DELAY_MS), until: wasDue } : null,
  }
}

/** `untilEnded`: it is due again only if its charge has not ended. `wasAsked`: the attempt counts. */
export type FinishedCheck = { check: Check; nextDueAt: Date | null; untilEnded: boolean; wasAsked: boolean }

const CLAIM_COLUMNS: Columns<Check> = {
  provider: ['text', ({ provider }) => provider],
  subject: ['text', ({ subject }) => subject],
  claim: ['uuid', ({ claim }) => claim],
}

const FINISHED_COLUMNS: Columns<Check & Omit<FinishedCheck, 'check'>> = {
  ...CLAIM_COLUMNS,
  next_due_at: ['timestamptz', ({ nextDueAt }) => nextDueAt],
  until_ended: ['boolean', ({ untilEnded }) => untilEnded],
  was_asked: ['boolean', ({ wasAsked }) => wasAsked],
}

/** In SQL, the rows of `columns` whose claim still holds, locked in the order in which RECORD_HINTS locks them. */
function mine(columns: string): string {
  return `
    select n.* from checks k join ${columns} on n.provider = k.provider and n.subject = k.subject
    where k.claim = n.claim order by k.provider collate "C", k.subject collate "C" for update of k`
}

const FINISH_CHECKS = prepared(`
  with n as (${mine(unnestOf(FINISHED_COLUMNS))}), finished as (
    select n.*, n.next_due_at is null or (n.until_ended and c.status not in ('OPENING', 'PENDING')) as is_over
    from n left join charges c on c.id = case when n.until_ended then n.subject::uuid end
  ), ended as (
    delete from checks k using finished n where n.is_over and k.provider = n.provider and k.subject = n.subject
  )
  update checks k set due_at = n.next_due_at, claim = null, attempts = k.attempts + n.was_asked::int
  from finished n where n.is_over is not true and k.provider = n.provider and k.subject = n.subject`)

/** Ends claims; without a next time the check is removed. A hint that arrived meanwhile took the row, and it stays. */
export async function finishChecks(core: Core, finished: FinishedCheck[]): Promise<void> {
  const checks = finished.map(({ check, ...rest }) => ({ ...check, ...rest }))
  await query(core.pool, FINISH_CHECKS, valuesOf(FINISHED_COLUMNS, checks))
}

const END_CHECKS = prepared(`
  with n as (${mine(unnestOf(CLAIM_COLUMNS))})
  delete from checks k using n where k.provider = n.provider and k.subject = n.subject`)

/** The same for checks that end with the transaction that answers them. */
export async function endChecks(tx: Tx, checks: Check[]): Promise<void> {
  if (checks.length > 0) await tx.run(END_CHECKS, valuesOf(CLAIM_COLUMNS, checks))
}

/** The check withdraws the charge at its provider, if that still has it. */
export async function enqueueWithdrawal(
  tx: Tx,
  charge: Pick<StoredCharge, 'provider' | 'id'>,
  dueAt: Date,
): Promise<void> {
  await tx.run(
    `insert into checks (provider, subject, kind, due_at) values ($1, $2, 'withdrawal', $3)
     on conflict (provider, subject) do update set kind = 'withdrawal', due_at = $3, claim = null, attempts = 0`,
    [charge.provider, charge.id, dueAt],
  )
}

/** Asks who made these payments. */
export async function enqueuePayerChecks(
  tx: Tx,
  now: Date,
  settlements: { payment: { provider: string; endToEndId: string } }[],
): Promise<void> {
  if (settlements.length === 0) return
  const payments = settlements.map(({ payment }) => payment)
  await tx.run(
    `insert into checks (provider, subject, kind, due_at)
     select provider, 'payer ' || end_to_end_id, 'payer', $3 from unnest($1::text[], $2::text[]) as n (provider, end_to_end_id)
     on conflict do nothing`,
    [...columnsOf(payments, 'provider', 'endToEndId'), now],
  )
}

/** Of a charge that its provider counts as paid, and that is. */
export async function dropCheck(tx: Tx, { provider, id }: Pick<StoredCharge, 'provider' | 'id'>): Promise<void> {
  await tx.run('delete from checks where provider = $1 and subject = $2', [provider, id])
}

/** When to try again after a failure: soon at first, then less and less often. */
export function retryAt(now: Date, attempts: number): Date {
  return new Date(now.getTime() + Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** Math.min(attempts, 20)))
}
