import { newHexId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { hexId, isoTime } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import { SYSTEM, writeAudit, type Actor, type AuditAction } from '../core/audit-log.ts'
import { holdBalances, postTransfers, type LedgerKey } from '../ledger/ledger.ts'
import type { ProviderDispute } from '../ports/provider.ts'
import { DISPUTE_ENDED, DISPUTE_OPENED } from '../webhooks/dispute-event-kinds.ts'
import { dataOf } from '../webhooks/event-fields.ts'
import { derivedSubject, insertEvents } from '../webhooks/events.ts'

export const DISPUTE_STATUSES = ['OPEN', 'ACCEPTED', 'REJECTED', 'CANCELED'] as const
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number]

export const EVIDENCE_TYPES = ['application/pdf', 'image/png', 'image/jpeg'] as const
export type EvidenceType = (typeof EVIDENCE_TYPES)[number]
export const EVIDENCE_STATUSES = ['SENDING', 'SENT', 'REFUSED'] as const

export type Evidence = {
  id: string // 32 hexadecimal digits
  fileName: string
  fileType: EvidenceType
  fileBytes: number
  sha256: string // hexadecimal
  description: string | null
  status: (typeof EVIDENCE_STATUSES)[number]
  /** Why the provider did not take it. */
  failure: string | null
  givenBy: Actor
  givenAt: string // ISO 8601
  endedAt: string | null
}

export type Dispute = {
  id: string // 32 hexadecimal digits
  provider: string
  providerDisputeId: string
  paymentId: string
  endToEndId: string
  paidCents: Cents
  chargeId: string | null
  paymentLinkId: string | null
  externalId: string | null
  /** Null: the payment was in suspense. */
  accountId: string | null
  email: string | null
  amountCents: Cents
  heldCents: Cents
  reason: string | null
  status: DisputeStatus
  openedAt: Date
  deadlineAt: Date
  recordedAt: Date
  endedAt: Date | null
  /** In the order in which it was given. */
  evidence: Evidence[]
}

/** The payment that a dispute is about. `chargeId` and `accountId` are those to which it was credited. */
export type DisputedPayment = {
  paymentId: string
  provider: string
  amountCents: Cents
  chargeId: string | null
  accountId: string | null
}

// The states of a dispute, in the order of its life. The money moves, the line of the audit log and the event are
// written in the same transaction. Locks are taken in the order: check of the dispute, charge, exceptions, dispute,
// refunds, balances by id.

// Providers tell of no deadline. By the central bank's rule the receiver's bank has this long to decide.
const DEADLINE_DAYS = 7
const MAX_REASON_LENGTH = 500

/**
 * Sets aside what the payer wants back, or as much of it as is available: what is missing is not held. Nothing is held
 * for a dispute that has ended already, or about money in suspense. Undefined if another process opened it.
 */
export async function openDispute(
  tx: Tx,
  now: Date,
  payment: DisputedPayment,
  found: ProviderDispute,
): Promise<Dispute | undefined> {
  const { paymentId, provider, chargeId, accountId } = payment
  const id = newHexId(now)
  const amountCents = Math.min(found.amountCents ?? payment.amountCents, payment.amountCents)
  const heldCents = accountId !== null && found.status === 'open' ? await availableOf(tx, accountId, amountCents) : 0
  const openedAt = found.openedAt && found.openedAt < now ? found.openedAt : now
  const row = {
    id,
    provider,
    provider_dispute_id: found.id,
    payment_id: paymentId,
    charge_id: chargeId,
    account_id: accountId,
    amount_cents: amountCents,
    held_cents: heldCents,
    reason: reasonOf(found),
    status: 'OPEN',
    opened_at: openedAt,
    deadline_at: new Date(openedAt.getTime() + DEADLINE_DAYS * 86_400_000),
    recorded_at: now,
  }
  const inserted = await insertRow(tx, 'disputes', row, 'on conflict do nothing returning id')
  if (inserted.length === 0) return undefined
  const dispute = await readDisputeRow(tx, id)
  await move(tx, now, dispute, 'dispute_held')
  await sendEvent(tx, now, dispute)
  await tell(tx, now, dispute, 'dispute.opened')
  return dispute
}

/** What was held is available again. The caller holds its lock, and has seen that it is OPEN. */
export async function endDispute(
  tx: Tx,
  now: Date,
  disputeId: string,
  status: Exclude<DisputeStatus, 'OPEN'>,
): Promise<Dispute> {
  const ended = await tx.run(`update disputes set status = $2, ended_at = $3 where id = $1 and status = 'OPEN'`, [
    disputeId,
    status,
    now,
  ])
  if (ended !== 1) throw new Error('a dispute that is not OPEN cannot end')
  const dispute = await readDisputeRow(tx, disputeId)
  await move(tx, now, dispute, 'dispute_released')
  await sendEvent(tx, now, dispute)
  await tell(tx, now, dispute, 'dispute.ended')
  return dispute
}

async function availableOf(tx: Tx, accountId: string, amountCents: Cents): Promise<Cents> {
  const { available, held } = accountsOf(accountId)
  const cents = await holdBalances(tx, [available, held])
  return Math.min(amountCents, cents(available))
}

function accountsOf(accountId: string): Record<'available' | 'held', LedgerKey> {
  return { available: { kind: 'balance', accountId }, held: { kind: 'held', accountId } }
}

async function move(tx: Tx, now: Date, dispute: Dispute, kind: 'dispute_held' | 'dispute_released'): Promise<void> {
  const { id: disputeId, chargeId, accountId, heldCents: amountCents } = dispute
  if (amountCents === 0) return
  const { available, held } = accountsOf(accountId!)
  const [debit, credit] = kind === 'dispute_held' ? [available, held] : [held, available]
  await postTransfers(tx, now, [{ kind, debit, credit, amountCents, disputeId, chargeId, occurredAt: now }])
}

/** Account holders are told of disputes about their deposits. */
async function sendEvent(tx: Tx, now: Date, dispute: Dispute): Promise<void> {
  const { provider, providerDisputeId, chargeId, accountId, paymentLinkId, externalId, status } = dispute
  if (chargeId === null || accountId === null || paymentLinkId === null) return
  const [kind, fields] =
    status === 'OPEN' ? (['DISPUTE_OPENED', DISPUTE_OPENED] as const) : (['DISPUTE_ENDED', DISPUTE_ENDED] as const)
  const data = dataOf(fields, { ...dispute, charge: { id: chargeId, paymentLinkId, externalId } })
  // As its provider knows it, so that it has the same event after a restored backup. DISPUTE_SUBJECT does the same.
  const subjectId = derivedSubject(`dispute ${provider} ${providerDisputeId}`)
  await insertEvents(tx, now, [{ kind, accountId, subjectId, createdAt: now, data }])
}

function tell(tx: Tx, now: Date, dispute: Dispute, action: AuditAction): Promise<void> {
  const { id, accountId, endToEndId, amountCents, heldCents, status } = dispute
  const details = { endToEndId, amountCents, heldCents, status }
  return writeAudit(tx, now, SYSTEM, { action, subject: `dispute ${id}`, accountId, details, rows: [['dispute', id]] })
}

/** Anybody can have typed it. */
function reasonOf({ reason }: ProviderDispute): string | null {
  const text = (reason ?? '').replaceAll(/\p{C}/gu, ' ').trim()
  return Array.from(text).slice(0, MAX_REASON_LENGTH).join('').trim() || null
}

const EVIDENCE = `(
  select coalesce(json_agg(json_build_object(
    'id', ${hexId('e.id')}, 'fileName', e.file_name, 'fileType', e.file_type, 'fileBytes', e.file_bytes,
    'sha256', encode(e.sha256, 'hex'), 'description', e.description, 'status', e.status, 'failure', e.failure,
    'givenBy', json_build_object('kind', e.given_by_kind, 'name', e.given_by),
    'givenAt', ${isoTime('e.given_at')}, 'endedAt', ${isoTime('e.ended_at')}
  ) order by e.id), '[]')
  from dispute_evidence e where e.dispute_id = d.id
)`

/** Of `disputes d`. */
export const SELECT_DISPUTES = `
  select
    ${hexId('d.id')} as id,
    d.provider,
    d.provider_dispute_id as "providerDisputeId",
    d.payment_id as "paymentId",
    p.end_to_end_id as "endToEndId",
    p.amount_cents as "paidCents",
    ${hexId('d.charge_id')} as "chargeId",
    c.payment_link_id as "paymentLinkId",
    c.external_id as "externalId",
    d.account_id as "accountId",
    (select a.email from accounts a where a.id = d.account_id) as email,
    d.amount_cents as "amountCents",
    d.held_cents as "heldCents",
    d.reason,
    d.status,
    d.opened_at as "openedAt",
    d.deadline_at as "deadlineAt",
    d.recorded_at as "recordedAt",
    d.ended_at as "endedAt",
    ${EVIDENCE} as evidence
  from disputes d join payments p on p.id = d.payment_id left join charges c on c.id = d.charge_id`

export function readDisputeRow(tx: Tx, disputeId: string): Promise<Dispute> {
  return tx.one<Dispute>(`${SELECT_DISPUTES} where d.id = $1`, [disputeId])
}
