import { isHexId, uuidFromHex } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import {
  CHARGE_COLUMNS,
  chargeFromRow,
  EXPIRY_GRACE_MS,
  markCanceled,
  markExpired,
  markFailed,
  type ChargeRow,
  type StoredCharge,
} from './charge-states.ts'
import { providerNamed } from '../ports/provider.ts'
import { claimIntent } from './intent-lease.ts'
import { ProviderError, type Hint, type ReceivedPayment } from '../ports/provider.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

// ---- Asking the provider about one charge, for whoever wants to know ----

/**
 * Asks the provider and applies its answer; resolves to the charge as it stands then. Callers at the same time share calls, never
 * one that was sent before they asked. The account is named when its caller waits for the answer.
 */
export function checkCharge(
  ctx: Context,
  charge: Pick<StoredCharge, 'id' | 'provider'>,
  onBehalfOf?: string,
): Promise<StoredCharge> {
  return ctx.checkCalls(`${charge.provider} ${charge.id}`, () => askAndApply(ctx, charge, onBehalfOf))
}

async function askAndApply(
  ctx: Context,
  { id, provider }: Pick<StoredCharge, 'id' | 'provider'>,
  onBehalfOf: string | undefined,
): Promise<StoredCharge> {
  // Before the question: an answer that was on its way when the grace ended may be older than a payment in its last moment.
  const askedAt = ctx.now()
  const answer = await providerNamed(ctx, provider).check(id, { onBehalfOf })
  if (answer !== 'absent' && answer.payments.length > 0) await ctx.settlements.add(answer.payments)
  const charge = await readCharge(ctx, id)
  if (charge.status !== 'PENDING') return charge
  // A provider that does not know the charge is no reason to end it before its time: a misrouted gateway says the same of every charge.
  if (answer === 'absent')
    ctx.log.warn({ chargeId: id, provider }, 'the provider does not know a charge that it accepted')
  const isWithdrawn = answer !== 'absent' && answer.status === 'withdrawn'
  const isLate = askedAt.getTime() >= charge.expiresAt.getTime() + EXPIRY_GRACE_MS
  // Half an answer: it was paid, and nobody knows by which Pix. If the provider does say, and the charge is PENDING still, none of them fitted.
  if (answer !== 'absent' && answer.status === 'paid' && answer.payments.length === 0) {
    throw new ProviderError('unknown', `${provider}: check: the charge was paid, and no Pix is named that paid it`)
  }
  if (!isWithdrawn && !isLate) return charge
  await (isWithdrawn ? markCanceled(ctx, id) : markExpired(ctx, id))
  return readCharge(ctx, id)
}

// ---- The queue of what is to be asked ----

export type Check = {
  provider: string
  subject: string
  kind: 'charge' | 'payment' | 'withdrawal'
  dueAt: Date
  attempts: number
}

// A worker that dies while asking leaves its rows to others after this; longer than any provider call.
const LEASE_MS = 30_000
const MAX_BACKOFF_MS = 5 * 60_000
// A payment that the provider told us of and then does not know, asked this often over some minutes, is not there.
const MAX_PAYMENT_ATTEMPTS = 8
// About a minute, after which a provider's books have caught up with its notifications.
const MAX_HINT_ATTEMPTS = 6

/** A notification is a hint: it is stored as a question to the provider, due now. The caller may answer as soon as this returns. */
export async function enqueueChecks(core: Core, provider: string, hints: Hint[]): Promise<void> {
  await transact(core.pool, async (tx) => {
    const ours = await findOurTxids(tx, hints)
    const subjects = new Map<string, Check['kind']>()
    for (const { txid, endToEndId } of hints) {
      if (txid !== null && ours.has(txid)) subjects.set(txid, 'charge')
      else if (endToEndId !== null) subjects.set(endToEndId, 'payment')
    }
    await tx.run(
      `insert into checks (provider, subject, kind, due_at)
       select $1, subject, kind, $4 from unnest($2::text[], $3::text[]) as n (subject, kind) order by subject
       on conflict (provider, subject) do update set due_at = least(checks.due_at, excluded.due_at), attempts = 0`,
      [provider, [...subjects.keys()], [...subjects.values()], core.now()],
    )
  })
  core.wakeChecks()
}

async function findOurTxids(tx: Tx, hints: Hint[]): Promise<Set<string>> {
  const txids = hints.flatMap(({ txid }) => (txid !== null && isHexId(txid) ? [txid] : []))
  if (txids.length === 0) return new Set()
  const rows = await tx.rows<{ txid: string }>(
    `select replace(id::text, '-', '') as txid from charges where id = any($1)`,
    [txids.map(uuidFromHex)],
  )
  return new Set(rows.map((row) => row.txid))
}

/** Any number of processes may claim at once: each row goes to one of them, until its lease ends. */
export function claimChecks(core: Core, limit: number): Promise<Check[]> {
  return transact(core.pool, (tx) =>
    tx.rows<Check>(
      `update checks set due_at = $2, attempts = attempts + 1
       where (provider, subject) in (
         select provider, subject from checks where due_at <= $1 order by due_at limit $3 for update skip locked
       )
       returning provider, subject, kind, due_at as "dueAt", attempts`,
      [core.now(), new Date(core.now().getTime() + LEASE_MS), limit],
    ),
  )
}

/** Finds out what the row asks, and says when to ask again: null for never. */
export async function answerCheck(ctx: Context, check: Check): Promise<Date | null> {
  switch (check.kind) {
    case 'payment':
      return answerPayment(ctx, check)
    case 'charge':
      return answerCharge(ctx, check)
    case 'withdrawal':
      return answerWithdrawal(ctx, check)
  }
}

/** Ends a claim. A hint that came in meanwhile moved due_at, and its question stays. */
export async function finishChecks(ctx: Context, finished: { check: Check; nextDueAt: Date | null }[]): Promise<void> {
  await transact(ctx.pool, (tx) => endChecks(tx, finished))
}

/** The same in a transaction of the caller's. */
export async function endChecks(tx: Tx, finished: { check: Check; nextDueAt: Date | null }[]): Promise<void> {
  const over = finished.filter((one) => one.nextDueAt === null).map((one) => one.check)
  const again = finished.filter((one) => one.nextDueAt !== null)
  await tx.run(
    `delete from checks k using unnest($1::text[], $2::text[], $3::timestamptz[]) as n (provider, subject, due_at)
       where k.provider = n.provider and k.subject = n.subject and k.due_at = n.due_at`,
    [over.map((check) => check.provider), over.map((check) => check.subject), over.map((check) => check.dueAt)],
  )
  await tx.run(
    `update checks k set due_at = n.next_due_at
       from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as n (provider, subject, due_at, next_due_at)
       where k.provider = n.provider and k.subject = n.subject and k.due_at = n.due_at`,
    [
      again.map((one) => one.check.provider),
      again.map((one) => one.check.subject),
      again.map((one) => one.check.dueAt),
      again.map((one) => one.nextDueAt),
    ],
  )
}

/** When to try again after a failure: soon at first, then less and less often. */
export function retryAt(now: Date, attempts: number): Date {
  return new Date(now.getTime() + Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** Math.min(attempts, 20)))
}

async function answerPayment(ctx: Context, check: Check): Promise<Date | null> {
  const payment = await providerNamed(ctx, check.provider).findPayment(check.subject)
  if (payment === 'absent') return check.attempts < MAX_PAYMENT_ATTEMPTS ? retryAt(ctx.now(), check.attempts) : null
  const payments: ReceivedPayment[] = [payment]
  await ctx.settlements.add(payments)
  return null
}

async function answerCharge(ctx: Context, check: Check): Promise<Date | null> {
  const charge = await readCharge(ctx, check.subject)
  // Another provider than the charge's has something to say of it: at most a payment that should not have been possible.
  if (charge.provider !== check.provider) return answerWithdrawal(ctx, check)
  if (charge.status === 'OPENING') return clearOpening(ctx, charge, check)
  const after = await checkCharge(ctx, charge)
  if (after.status !== 'PENDING') return null
  const now = ctx.now()
  const decisiveAt = new Date(after.expiresAt.getTime() + EXPIRY_GRACE_MS)
  // Before its time only a notification asks, and some providers notify before their own books know: ask a few times more. After
  // its time it should be over, and if it is not, the provider contradicts itself.
  const asksAgain = now >= decisiveAt || check.attempts < MAX_HINT_ATTEMPTS
  return asksAgain ? retryAt(now, check.attempts) : decisiveAt
}

/** A charge that was never answered to anybody: if the provider made it after all, it is withdrawn there, so that it can never be paid. */
async function clearOpening(ctx: Context, charge: StoredCharge, check: Check): Promise<Date | null> {
  const isCleared = await claimIntent(ctx, charge, async () => {
    const provider = providerNamed(ctx, charge.provider)
    const outcome = await provider.cancel(charge.id)
    const answer = outcome === 'not_active' ? await provider.check(charge.id) : outcome
    const payments = typeof answer === 'object' ? answer.payments : []
    if (payments.length > 0) await ctx.settlements.add(payments)
    // Paid, they say, and do not say by what: ask again.
    else if (typeof answer === 'object' && answer.status === 'paid') return false
    else await markFailed(ctx, charge.id)
    return true
  })
  return isCleared ? null : retryAt(ctx.now(), check.attempts)
}

/** The deposit went to another provider while this one may still have made its charge. If it was paid after all, the payment becomes an exception. */
async function answerWithdrawal(ctx: Context, check: Check): Promise<Date | null> {
  const provider = providerNamed(ctx, check.provider)
  if ((await provider.cancel(check.subject)) !== 'not_active') return null
  const answer = await provider.check(check.subject)
  if (answer !== 'absent' && answer.payments.length > 0) await ctx.settlements.add(answer.payments)
  return null
}

async function readCharge(core: Core, chargeId: string): Promise<StoredCharge> {
  const [row] = await query<ChargeRow>(
    core.pool,
    `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id where c.id = $1`,
    [uuidFromHex(chargeId)],
  )
  if (!row) throw new Error(`charge ${chargeId} is gone`)
  return chargeFromRow(row)
}
