import { Fault } from '../../base/fault.ts'
import { transact } from '../../db/tx.ts'
import { readAccountRow } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import { closeCodesOf } from './codes.ts'
import { cancelDeposit } from './query-deposit.ts'

// Below the rate of any provider, and a few thousand charges take minutes.
const AT_ONCE = 8
const PAGE_ROWS = 200
// An account may have millions of charges, and each is asked whether it is open.
const STATEMENT_TIMEOUT_MS = 5 * 60_000

/** `left` are those that may still be paid. */
export type CanceledCharges = { canceled: number; left: { paymentLinkId: string; why: string }[] }

/** Withdraws all PENDING charges of a suspended account, and closes its codes. 'in_use': it is not suspended. */
export async function cancelOpenCharges(
  ctx: Context,
  actor: Actor,
  accountId: string,
  reason: string,
): Promise<CanceledCharges | 'in_use'> {
  // Recorded before the first call, because a run that fails has canceled what it has canceled.
  if (!(await recordDecision(ctx, actor, accountId, checkReason(reason)))) return 'in_use'
  const result: CanceledCharges = { canceled: 0, left: [] }
  for (let after = FIRST; ;) {
    const page = await readOpen(ctx, accountId, after)
    for (let next = 0; next < page.length; next += AT_ONCE)
      await Promise.all(
        page.slice(next, next + AT_ONCE).map(async ({ paymentLinkId }) => {
          const why = await cancelOne(ctx, accountId, paymentLinkId)
          if (why === 'canceled') result.canceled++
          else if (why !== 'ended') result.left.push({ paymentLinkId, why })
        }),
      )
    const last = page.at(-1)
    if (!last || page.length < PAGE_ROWS) return result
    after = last.id
  }
}

const FIRST = '00000000-0000-0000-0000-000000000000'

type Open = { id: string; paymentLinkId: string }

function readOpen(ctx: Context, accountId: string, after: string): Promise<Open[]> {
  return transact(ctx.pool, async (tx) => {
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    return tx.rows(
      `select id, payment_link_id as "paymentLinkId" from charges
       where account_id = $1 and id > $2 and status = 'PENDING' order by id limit $3`,
      [accountId, after, PAGE_ROWS],
    )
  })
}

function recordDecision(ctx: Context, actor: Actor, accountId: string, reason: string): Promise<boolean> {
  return transact(ctx.pool, async (tx) => {
    const { isSuspended } = await readAccountRow<{ isSuspended: boolean }>(
      tx,
      accountId,
      'a.suspended_at is not null as "isSuspended"',
      'for no key update',
    )
    if (!isSuspended) return false
    const subject = `account ${accountId}`
    await writeAudit(tx, ctx.now(), actor, { action: 'account.charges_canceled', subject, accountId, reason })
    await closeCodesOf(tx, ctx.now(), actor, accountId)
    return true
  })
}

async function cancelOne(ctx: Context, accountId: string, paymentLinkId: string): Promise<string> {
  try {
    await cancelDeposit(ctx, accountId, paymentLinkId)
    return 'canceled'
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.code === 'not_cancelable' ? 'ended' : error.message
  }
}
