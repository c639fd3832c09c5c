import { Fault } from '../../base/fault.ts'
import { hexId } from '../../db/sql-values.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import type { Terms } from '../core/terms.ts'
import { retryAt } from '../deposits/checks/check-queue.ts'
import { holdBalances, type LedgerKey } from '../ledger/ledger.ts'
import { ProviderError, providerNamed, type Provider, type ProviderDispute } from '../ports/provider.ts'
import { bookReturn, lockReturned } from '../refunds/external-refunds.ts'
import { endDispute, openDispute, type Dispute, type DisputedPayment, type DisputeStatus } from './dispute-states.ts'

// A notification and the provider's list only say which dispute to ask about. What is booked is the provider's answer
// about that one.

const LEASE_MS = 30_000
// While a dispute is open, in case its end is told by nobody.
const OPEN_AGAIN_MS = 3_600_000
// Until then the Pix was in no answer of its provider, so it is none that arrived here.
const MAX_UNKNOWN_ATTEMPTS = 12

const STATUS_OF: Record<ProviderDispute['status'], DisputeStatus> = {
  open: 'OPEN',
  accepted: 'ACCEPTED',
  rejected: 'REJECTED',
  canceled: 'CANCELED',
}

export type DisputeCheck = { provider: string; endToEndId: string; attempts: number; leasedUntil: Date }

/** Also of a check that is just being answered: its answer may be older than this notification. */
export async function recordDisputeHints(core: Core, provider: string, endToEndIds: string[]): Promise<void> {
  await query(
    core.pool,
    `insert into dispute_checks (provider, end_to_end_id, due_at)
     select distinct $1::text, id, $3::timestamptz from unnest($2::text[]) as id order by 2
     on conflict (provider, end_to_end_id) do update set due_at = least(dispute_checks.due_at, $3), attempts = 0`,
    [provider, endToEndIds, core.now()],
  )
}

/** Any number of processes may claim at once: each check goes to one of them, until its lease ends. */
export function claimDisputeChecks(core: Core, limit: number): Promise<DisputeCheck[]> {
  const leasedUntil = new Date(core.now().getTime() + LEASE_MS)
  return query<DisputeCheck>(
    core.pool,
    `update dispute_checks k set due_at = $2, attempts = attempts + 1
     from (
       select provider, end_to_end_id from dispute_checks where due_at <= $1 order by due_at limit $3
       for update skip locked
     ) d
     where (k.provider, k.end_to_end_id) = (d.provider, d.end_to_end_id)
     returning k.provider, k.end_to_end_id as "endToEndId", k.attempts, k.due_at as "leasedUntil"`,
    [core.now(), leasedUntil, limit],
  )
}

export async function answerDisputeCheck(ctx: Context, check: DisputeCheck): Promise<void> {
  const { provider, endToEndId, attempts } = check
  try {
    const found = await providerNamed(ctx, provider).disputes?.find(endToEndId)
    if (found === undefined || found === 'absent') return await dropUnlessOpen(ctx, check)
    const booked = await transact(ctx.pool, (tx) => bookAnswer(tx, ctx.now(), check, found, ctx.settings.terms))
    if (booked === 'unknown_payment') return await askForPayment(ctx, check)
    if (booked === 'contradicted') {
      const fields = { provider, endToEndId, status: STATUS_OF[found.status] }
      ctx.log.warn(fields, 'a provider changed its mind about a dispute that had ended: ask the provider')
    }
    return ctx.wakeDeliveries()
  } catch (err) {
    const isExpected = err instanceof ProviderError || err instanceof Fault
    ctx.log[isExpected ? 'warn' : 'error']({ err, ...check }, 'a dispute could not be checked')
  }
  await putOff(ctx, check, retryAt(ctx.now(), attempts))
}

type Booked = 'booked' | 'contradicted' | 'overtaken' | 'unknown_payment'

/** Repeated answers change nothing. */
async function bookAnswer(
  tx: Tx,
  now: Date,
  check: DisputeCheck,
  found: ProviderDispute,
  terms: Terms,
): Promise<Booked> {
  const payment = await readPayment(tx, check)
  if (!payment) return 'unknown_payment'
  if (!(await moveCheck(tx, now, check, found))) return 'overtaken'
  const returned = await lockReturned(tx, payment)
  // Its charge and account cannot change any more, or it is in suspense.
  const locked = await readPayment(tx, check)
  const known = await lockDispute(tx, check, found)
  const before: KnownDispute | undefined = known ?? (await openDispute(tx, now, locked!, found))
  if (!before) throw new Error('a dispute appeared while its check was held')
  const status = STATUS_OF[found.status]
  if (before.status === status) return 'booked'
  if (before.status !== 'OPEN') {
    // The money is gone all the same, and what it was decided before stays as it was told.
    if (status === 'ACCEPTED') await bookReturn(tx, now, { ...returned, ...disputed(before) }, terms)
    return 'contradicted'
  }
  if (status === 'OPEN') return 'booked'
  if (status === 'ACCEPTED') await holdTouched(tx, locked!)
  const dispute = await endDispute(tx, now, before.id, status)
  if (status === 'ACCEPTED') await bookReturn(tx, now, { ...returned, ...disputed(dispute) }, terms)
  return 'booked'
}

/** All balances that a release and a return move, so that they are locked in the one order. */
async function holdTouched(tx: Tx, { provider, accountId }: DisputedPayment): Promise<void> {
  const own: LedgerKey[] =
    accountId === null
      ? []
      : [
          { kind: 'balance', accountId },
          { kind: 'held', accountId },
        ]
  await holdBalances(tx, [...own, { kind: 'cash', provider }, { kind: 'missing' }, { kind: 'suspense' }])
}

type KnownDispute = Pick<Dispute, 'id' | 'status' | 'amountCents'>

function disputed({ id, amountCents }: KnownDispute) {
  return { disputeId: id, amountCents }
}

async function readPayment(tx: Tx, { provider, endToEndId }: DisputeCheck): Promise<DisputedPayment | undefined> {
  const [payment] = await tx.rows<DisputedPayment>(
    `select p.id as "paymentId", p.provider, p.amount_cents as "amountCents", ${hexId('c.id')} as "chargeId",
       c.account_id as "accountId"
     from payments p left join charges c on c.id = p.charge_id and p.credited
     where p.provider = $1 and p.end_to_end_id = $2`,
    [provider, endToEndId],
  )
  return payment
}

async function lockDispute(
  tx: Tx,
  { provider }: DisputeCheck,
  { id }: ProviderDispute,
): Promise<KnownDispute | undefined> {
  const [dispute] = await tx.rows<KnownDispute>(
    `select ${hexId('d.id')} as id, d.status, d.amount_cents as "amountCents" from disputes d
     where d.provider = $1 and d.provider_dispute_id = $2 for no key update`,
    [provider, id],
  )
  return dispute
}

/** Due again while it is open. False if the lease is over, or a notification arrived since the provider was asked. */
async function moveCheck(tx: Tx, now: Date, check: DisputeCheck, { status }: ProviderDispute): Promise<boolean> {
  const held = [check.provider, check.endToEndId, check.leasedUntil]
  const isMine = 'where provider = $1 and end_to_end_id = $2 and due_at = $3'
  const moved =
    status === 'open'
      ? await tx.run(`update dispute_checks set due_at = $4, attempts = 0 ${isMine}`, [
          ...held,
          new Date(now.getTime() + OPEN_AGAIN_MS),
        ])
      : await tx.run(`delete from dispute_checks ${isMine}`, held)
  return moved === 1
}

/** The Pix may be younger than our books: it is asked about as after any notification. */
async function askForPayment(ctx: Context, check: DisputeCheck): Promise<void> {
  const { provider, endToEndId, attempts } = check
  if (attempts < MAX_UNKNOWN_ATTEMPTS) {
    await ctx.hints.add({ provider, hints: [{ txid: null, endToEndId }] })
    return putOff(ctx, check, retryAt(ctx.now(), attempts))
  }
  ctx.log.warn({ provider, endToEndId }, 'a provider tells of a dispute about a payment that is not in our books')
  await dropUnlessOpen(ctx, check)
}

/** A provider that forgets a dispute does not end it: a question about an open one stays. */
async function dropUnlessOpen(core: Core, check: DisputeCheck): Promise<void> {
  const dropped = await query(
    core.pool,
    `delete from dispute_checks k where provider = $1 and end_to_end_id = $2 and due_at = $3 and not exists (
       select from disputes d join payments p on p.id = d.payment_id
       where p.provider = k.provider and p.end_to_end_id = k.end_to_end_id and d.status = 'OPEN'
     ) returning 1`,
    [check.provider, check.endToEndId, check.leasedUntil],
  )
  if (dropped.length === 0) await putOff(core, check, new Date(core.now().getTime() + OPEN_AGAIN_MS))
}

async function putOff(core: Core, { provider, endToEndId, leasedUntil }: DisputeCheck, dueAt: Date): Promise<void> {
  const sql = 'update dispute_checks set due_at = $4 where provider = $1 and end_to_end_id = $2 and due_at = $3'
  await query(core.pool, sql, [provider, endToEndId, leasedUntil, dueAt])
}

// ---- The provider's list ----

const SWEEP_EVERY_MS = 10 * 60_000
// A dispute is decided within eleven days; the rest is for a service that was down.
const SWEEP_DAYS = 30

/**
 * Asks about disputes that no notification told of. One process at a time, every ten minutes. Those about payments that
 * are not in our books wait until they are.
 */
export async function sweepDisputes(ctx: Context, provider: Provider): Promise<void> {
  const { name, disputes } = provider
  if (!disputes || !provider.isCallable() || !(await claimSweep(ctx, name))) return
  const to = ctx.now()
  const listed = await disputes.list({ from: new Date(to.getTime() - SWEEP_DAYS * 86_400_000), to })
  const statuses = listed.map(({ status }) => STATUS_OF[status])
  await query(
    ctx.pool,
    `insert into dispute_checks (provider, end_to_end_id, due_at)
     select distinct $1::text, n.id, $4::timestamptz
     from unnest($2::text[], $3::text[]) as n (id, status)
     join payments p on p.provider = $1 and p.end_to_end_id = n.id
     where not exists (select from disputes d where d.payment_id = p.id and d.status = n.status)
     order by 2
     on conflict (provider, end_to_end_id) do update set due_at = least(dispute_checks.due_at, $4)`,
    [name, listed.map(({ endToEndId }) => endToEndId), statuses, to],
  )
}

async function claimSweep(core: Core, provider: string): Promise<boolean> {
  const now = core.now()
  const claimed = await query(
    core.pool,
    `insert into followers as f (name, position, moved_at) values ($1, 0, $2)
     on conflict (name) do update set position = f.position + 1, moved_at = excluded.moved_at
     where f.moved_at <= $3 returning 1`,
    [`disputes ${provider}`, now, new Date(now.getTime() - SWEEP_EVERY_MS)],
  )
  return claimed.length > 0
}
