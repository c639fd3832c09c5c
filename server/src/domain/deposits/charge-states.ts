import { makeLane, type Lane } from '../../base/lane.ts'
import type { Sealer } from '../../base/sealer.ts'
import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { prepared } from '../../db/prepared.ts'
import { autocommit, queryOne, transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { DEPOSIT_CANCELED, DEPOSIT_EXPIRED } from '../webhooks/deposit-event-kinds.ts'
import { dataOf } from '../webhooks/event-fields.ts'
import { insertEvents } from '../webhooks/events.ts'
import { CODE, END, type SealedCode } from '../core/seals.ts'
import { CHARGE_COLUMNS, type StoredCharge } from './charge-reads.ts'
import { hexId } from '../../db/sql-values.ts'

// The states of a charge, in the order of its life. Each move names the state it leaves, so a charge that moved
// meanwhile stays as it is.

// After its expiry we wait this long for a Pix that the payer confirmed in the last second, and for clock skew between
// us and the provider.
export const EXPIRY_GRACE_MS = 60_000

export type Acceptance = SealedCode

const COLUMNS: Columns<Acceptance & { seal: Buffer }> = {
  id: ['uuid', ({ chargeId }) => chargeId],
  emv: ['text', ({ emv }) => emv],
  code_seal: ['bytea', ({ seal }) => seal],
}

// Returns only the charges that were not updated, so usually no rows.
const MARK_PENDING = prepared(`
  with n as (
    select * from ${unnestOf(COLUMNS)}
  ), accepted as (
    update charges c set status = 'PENDING', emv = n.emv, code_seal = n.code_seal, opening_instance = null
    from n
    where c.id = n.id and c.status = 'OPENING' and c.opening_instance = $4
    returning c.id, c.provider, c.order_paid, c.created_at, c.expires_at
  ), moved as (
    update checks k set
      -- Its order was paid meanwhile: the check is due, and withdraws it.
      due_at = case when a.order_paid then a.created_at else a.expires_at + ${EXPIRY_GRACE_MS} * interval '1 millisecond' end,
      claim = null,
      attempts = 0
    from accepted a
    where k.provider = a.provider and k.subject = ${hexId('a.id')}
  )
  select ${hexId('id')} as id from n where id not in (select id from accepted)`)

/**
 * The provider accepted the charge: it can be paid. Only this process's own intents move. A process that was suspended
 * for a minute may have lost an intent to another one, which withdraws it; false stands for such a charge.
 */
export async function markPending(
  db: Pick<Tx, 'rows' | 'sealer'>,
  instance: number,
  accepted: Acceptance[],
): Promise<boolean[]> {
  const sealed = accepted.map((code) => ({ ...code, seal: db.sealer.seal(CODE.textOf(code)) }))
  const rows = await db.rows<{ id: string }>(MARK_PENDING, [...valuesOf(COLUMNS, sealed), instance])
  const lost = new Set(rows.map(({ id }) => id))
  return accepted.map(({ chargeId }) => !lost.has(chargeId))
}

/** The lane to markPending(). */
export function makeAcceptanceLane(core: Core): Lane<Acceptance, boolean> {
  return makeLane(core, 'acceptances', async (accepted: Acceptance[]) => {
    const results = await markPending(autocommit(core.pool), core.instance, accepted)
    core.metrics.deposits.inc({ state: 'opened' }, results.filter(Boolean).length)
    return results
  })
}

/**
 * How the work on an intent ended without a code. 'failed': the provider made no charge, or withdrew one that nobody
 * was shown. 'unknown': nobody knows whether it was made, and a repeated request or the worker continues with it.
 */
export type IntentEnd = { chargeId: string; outcome: 'failed' | 'unknown' }

const END_COLUMNS: Columns<IntentEnd & { seal: Buffer }> = {
  id: ['uuid', ({ chargeId }) => chargeId],
  has_failed: ['boolean', ({ outcome }) => outcome === 'failed'],
  end_seal: ['bytea', ({ seal }) => seal],
}

// A charge that surely does not exist needs no question, so its check goes with it. Otherwise the provider would be
// asked about every deposit that failed in an outage. One that a notification or a worker claimed stays.
const END_INTENTS = prepared(`
  with n as (
    select * from ${unnestOf(END_COLUMNS)}
  ), ended as (
    update charges c set
      status = case when n.has_failed then 'FAILED' else c.status end,
      closed_at = case when n.has_failed then $4::timestamptz end,
      end_seal = case when n.has_failed then n.end_seal end,
      opening_instance = null
    from n
    where c.id = n.id and c.status = 'OPENING' and c.opening_instance = $5
    returning c.id, c.status, c.account_id, c.external_id, c.provider
  ), failed as (
    select * from ended where status = 'FAILED'
  ), released as (
    delete from external_ids e using failed f
    where e.account_id = f.account_id and e.external_id = f.external_id and e.charge_id = f.id
  ), unchecked as (
    delete from checks k using failed f
    where k.provider = f.provider and k.subject = ${hexId('f.id')} and k.claim is null
  )
  select count(*) as failed from failed`)

function sealEnd(sealer: Sealer, end: Parameters<typeof END.textOf>[0]): Buffer {
  return sealer.seal(END.textOf(end))
}

/** Ends or releases intents of this process, and leaves those of others alone. */
export async function endIntents(core: Core, ends: IntentEnd[]): Promise<void> {
  const now = core.now()
  const { sealer } = core.settings
  const sealed = ends.map((end) => ({ ...end, seal: sealEnd(sealer, { ...end, status: 'FAILED', closedAt: now }) }))
  const params = [...valuesOf(END_COLUMNS, sealed), now, core.instance]
  const { failed } = await queryOne<{ failed: number }>(core.pool, END_INTENTS, params)
  core.metrics.deposits.inc({ state: 'failed' }, failed)
}

/**
 * In SQL, for book-payments.ts alone: completes the charges of the CTE `kept`, whose locks the transaction holds. The
 * amount paid differs from the charge's value only if an operator accepted it.
 */
export const COMPLETE_CHARGES = `
  update charges c set
    status = 'COMPLETED',
    end_to_end_id = n.end_to_end_id,
    paid_at = n.occurred_at,
    paid_late = n.paid_late,
    received_cents = nullif(n.amount_cents, c.value_cents),
    -- Paid after it ended: its history keeps the end.
    closed_at = coalesce(c.closed_at, n.now)
  from kept n
  where c.id = n.charge_id and n.kind <> 'excepted' and c.status <> 'COMPLETED'
  returning c.id, c.account_id, c.external_id, c.paid_late`

/** In SQL, the same for charges that payments make by codes: they are COMPLETED from their first moment. */
export const MAKE_CHARGES = `
  insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents,
    description, created_at, expires_at, end_to_end_id, paid_at, closed_at, code_id, code_version)
  select charge_id, payment_link_id, account_id, provider, 'COMPLETED', amount_cents, amount_cents, fee_cents,
    description, now, expires_at, end_to_end_id, occurred_at, now, code_id, code_version
  from kept where code_id is not null and kind <> 'excepted'
  returning id`

/**
 * In SQL, after it: a charge that is paid late has its external id again, and no other charge has it. It takes the row
 * from the charges in `takesFrom`, whose locks the transaction holds. Any other was opened or paid meanwhile.
 */
export function reclaimExternalIds(takesFrom: string): string {
  return `
  insert into external_ids (account_id, external_id, charge_id)
  select account_id, external_id, id from completed where paid_late and external_id is not null
  order by account_id, external_id
  on conflict (account_id, external_id) do update set charge_id = excluded.charge_id
  where external_ids.charge_id = excluded.charge_id or external_ids.charge_id = any(${takesFrom})
  returning charge_id`
}

// Locks no check that somebody else changes at this moment: that one is asked about soon anyway, and nobody waits.
const MARK_ORDER_PAID = `
  with marked as (
    update charges c set order_paid = true where c.id = any($1) and c.status in ('OPENING', 'PENDING')
    returning c.id, c.provider
  ), due as (
    select k.provider, k.subject from checks k join marked m on m.provider = k.provider and k.subject = ${hexId('m.id')}
    for update of k skip locked
  )
  update checks k set due_at = $2, claim = null, attempts = 0
  from due d where k.provider = d.provider and k.subject = d.subject`

/** Their orders were paid by charges that had ended. Checks withdraw them. The caller holds their locks. */
export async function markOrderPaid(tx: Tx, now: Date, chargeIds: string[]): Promise<void> {
  if (chargeIds.length > 0) await tx.run(MARK_ORDER_PAID, [chargeIds, now])
}

/** Its expiry and grace are over, and the provider, asked after that, said unpaid. */
export function markExpired(core: Core, chargeId: string): Promise<StoredCharge | undefined> {
  return close(core, chargeId, 'EXPIRED')
}

/** The provider withdrew it. */
export function markCanceled(core: Core, chargeId: string): Promise<StoredCharge | undefined> {
  return close(core, chargeId, 'CANCELED')
}

const ENDS = {
  EXPIRED: { kind: 'DEPOSIT_EXPIRED', fields: DEPOSIT_EXPIRED },
  CANCELED: { kind: 'DEPOSIT_CANCELED', fields: DEPOSIT_CANCELED },
} as const
type End = keyof typeof ENDS

async function close(core: Core, chargeId: string, end: End): Promise<StoredCharge | undefined> {
  const closed = await transact(core.pool, (tx) => endCharge(tx, core.now(), chargeId, end))
  if (!closed) return undefined
  core.metrics.deposits.inc({ state: end.toLowerCase() })
  core.wakeDeliveries()
  return closed
}

const END_CHARGE = `
  with ended as (
    update charges c set status = $2, closed_at = $3, end_seal = $4, opening_instance = null
    where c.id = $1 and c.status = 'PENDING'
    returning ${CHARGE_COLUMNS}
  ), released as (
    delete from external_ids e using ended d
    where e.account_id = d."accountId" and e.external_id = d."externalId" and e.charge_id = $1
  )
  select * from ended`

/** Undefined when it is not PENDING any more. */
export async function endCharge(tx: Tx, now: Date, chargeId: string, end: End): Promise<StoredCharge | undefined> {
  const [charge] = await tx.rows<StoredCharge>(END_CHARGE, [
    chargeId,
    end,
    now,
    sealEnd(tx.sealer, { chargeId, status: end, closedAt: now }),
  ])
  if (!charge) return undefined
  const { kind, fields } = ENDS[end]
  const data = dataOf(fields, { charge })
  await insertEvents(tx, now, [{ kind, accountId: charge.accountId, subjectId: chargeId, createdAt: now, data }])
  return charge
}
