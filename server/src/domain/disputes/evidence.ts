import { createHash, randomBytes } from 'node:crypto'
import { Fault, invalidField } from '../../base/fault.ts'
import { newHexId } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { hexId } from '../../db/sql-values.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { retryAt } from '../deposits/checks/check-queue.ts'
import { ProviderError, providerNamed } from '../ports/provider.ts'
import { readDisputeRow, type Dispute, type DisputeStatus, type EvidenceType } from './dispute-states.ts'
import { readDispute } from './disputes.ts'

// Evidence is a file. It is stored first and then sent by the worker, so that it is not lost. The provider fetches it
// from an address with a secret of its own. Its bytes are deleted when it was sent or refused.

// A photo or a scanned document. The provider allows 10 MiB.
export const MAX_EVIDENCE_BYTES = 3 * 1024 * 1024
// Of a dispute.
const MAX_EVIDENCE = 10
// Longer than any call to a provider.
const LEASE_MS = 60_000

const SIGNATURES: [EvidenceType, Buffer][] = [
  ['application/pdf', Buffer.from('%PDF-')],
  ['image/png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
  ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff])],
]

export type NewEvidence = { fileName: string; content: Buffer; description: string | null }

/** Until the dispute ends. The same file again changes nothing, unless it was refused. */
export async function giveEvidence(
  core: Core,
  actor: Actor,
  { accountId, disputeId }: { accountId: string | null; disputeId: string },
  evidence: NewEvidence,
): Promise<Dispute> {
  const { id } = await readDispute(core, accountId, disputeId)
  const fileType = typeOf(evidence.content)
  return transact(core.pool, async (tx) => {
    await lockOpen(tx, id)
    await insertEvidence(tx, core.now(), actor, { ...evidence, disputeId: id, fileType })
    return readDisputeRow(tx, id)
  })
}

/** What it says of itself is not believed. */
function typeOf(content: Buffer): EvidenceType {
  const [type] = SIGNATURES.find(([, bytes]) => content.subarray(0, bytes.length).equals(bytes)) ?? []
  if (!type) throw invalidField('content', 'content must be a PDF, PNG or JPEG file')
  if (content.length <= MAX_EVIDENCE_BYTES) return type
  throw invalidField('content', `content must be at most ${MAX_EVIDENCE_BYTES / 1024 / 1024} MiB`)
}

async function lockOpen(tx: Tx, disputeId: string): Promise<void> {
  const sql = 'select status from disputes where id = $1 for no key update'
  const { status } = await tx.one<{ status: DisputeStatus }>(sql, [disputeId])
  if (status === 'OPEN') return
  throw new Fault('dispute_ended', `Dispute is already ${status}`, { details: { status } })
}

async function insertEvidence(
  tx: Tx,
  now: Date,
  actor: Actor,
  { disputeId, fileName, fileType, content, description }: NewEvidence & { disputeId: string; fileType: EvidenceType },
): Promise<void> {
  const { count } = await tx.one<{ count: number }>('select count(*) from dispute_evidence where dispute_id = $1', [
    disputeId,
  ])
  const id = newHexId(now)
  const row = {
    id,
    dispute_id: disputeId,
    file_name: fileName,
    file_type: fileType,
    file_bytes: content.length,
    sha256: createHash('sha256').update(content).digest(),
    description,
    content,
    access: randomBytes(24).toString('base64url'),
    status: 'SENDING',
    given_by_kind: actor.kind,
    given_by: actor.name,
    given_at: now,
    due_at: now,
  }
  const inserted = await insertRow(tx, 'dispute_evidence', row, 'on conflict do nothing returning id')
  if (inserted.length === 0) return
  if (count >= MAX_EVIDENCE) {
    const text = `A dispute can have at most ${MAX_EVIDENCE} files`
    throw new Fault('evidence_limit', text, { details: { maxFiles: MAX_EVIDENCE } })
  }
  const { accountId } = await readDisputeRow(tx, disputeId)
  const details = { fileName, fileType, fileBytes: content.length, sha256: row.sha256.toString('hex') }
  const change = { action: 'dispute.evidence_given', subject: `dispute ${disputeId}`, accountId, details } as const
  await writeAudit(tx, now, actor, { ...change, rows: [['evidence', id]] })
}

/** The file of an address that a provider was given, until it was sent. */
export async function readEvidenceFile(
  core: Core,
  access: string,
): Promise<{ type: EvidenceType; bytes: Buffer } | undefined> {
  const [file] = await query<{ type: EvidenceType; bytes: Buffer }>(
    core.pool,
    'select file_type as type, content as bytes from dispute_evidence where access = $1',
    [access],
  )
  return file
}

// ---- Sending ----

export type ClaimedEvidence = {
  id: string
  provider: string
  providerDisputeId: string
  disputeStatus: DisputeStatus
  description: string | null
  access: string
  attempts: number
  leasedUntil: Date
}

/** Any number of processes may claim at once: each file goes to one of them, until its lease ends. */
export function claimEvidence(core: Core, limit: number): Promise<ClaimedEvidence[]> {
  const leasedUntil = new Date(core.now().getTime() + LEASE_MS)
  return query<ClaimedEvidence>(
    core.pool,
    `update dispute_evidence e set due_at = $2, attempts = e.attempts + 1
     from disputes d
     where d.id = e.dispute_id and e.id in (
       select id from dispute_evidence where due_at <= $1 order by due_at limit $3 for update skip locked
     )
     returning ${hexId('e.id')} as id, d.provider, d.provider_dispute_id as "providerDisputeId",
       d.status as "disputeStatus", e.description, e.access, e.attempts, e.due_at as "leasedUntil"`,
    [core.now(), leasedUntil, limit],
  )
}

/**
 * After an unknown outcome it is sent again, with the same id: nobody can ask whether the provider has it, and a file
 * that arrives twice costs nothing. It is given up when the dispute ends.
 */
export async function sendEvidence(ctx: Context, claimed: ClaimedEvidence): Promise<void> {
  const { id: evidenceId, provider, providerDisputeId: disputeId, description, access, attempts } = claimed
  const doubt = attempts > 1 ? '; an earlier request may have got through' : ''
  const url = `${ctx.settings.publicUrl}/dispute-evidence/${access}`
  try {
    const { disputes } = providerNamed(ctx, provider)
    if (claimed.disputeStatus !== 'OPEN') return await endEvidence(ctx, claimed, `the dispute has ended${doubt}`)
    if (!disputes) return await endEvidence(ctx, claimed, 'the provider takes no evidence')
    await disputes.sendEvidence({ disputeId, evidenceId, url, description })
    return await endEvidence(ctx, claimed, null)
  } catch (err) {
    if (err instanceof ProviderError && err.outcome === 'refused')
      return endEvidence(ctx, claimed, `${err.message}${doubt}`)
    const isExpected = err instanceof ProviderError || err instanceof Fault
    ctx.log[isExpected ? 'warn' : 'error']({ err, evidenceId, provider, attempts }, 'evidence could not be sent')
  }
  const sql = 'update dispute_evidence set due_at = $3 where id = $1 and due_at = $2'
  await query(ctx.pool, sql, [evidenceId, claimed.leasedUntil, retryAt(ctx.now(), attempts)])
}

/** Its bytes go with it. */
async function endEvidence(core: Core, { id, leasedUntil }: ClaimedEvidence, failure: string | null): Promise<void> {
  await query(
    core.pool,
    `update dispute_evidence set status = case when $3::text is null then 'SENT' else 'REFUSED' end, failure = $3,
       ended_at = $4, content = null, access = null, due_at = null
     where id = $1 and due_at = $2`,
    [id, leasedUntil, failure, core.now()],
  )
}
