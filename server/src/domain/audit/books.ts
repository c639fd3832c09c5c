import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { EVENT_CHECKS } from './events.ts'
import { checkTree, HISTORY_CHECKS, type TreeOptions } from './history.ts'
import { LEDGER_CHECKS } from './ledger.ts'
import { checkCodes, PAYMENT_CHECKS } from './payments.ts'
import { QUEUE_CHECKS } from './queues.ts'
import { REFUND_CHECKS } from './refunds.ts'
import { NOW, type Checks } from './rules.ts'
import { schemaChecks } from './schema.ts'
import { TRAIL_CHECKS } from './trail.ts'
import { MAX_NAMED } from '../reconciliation/differences.ts'
import type { ChargeSeal } from '../core/charge-facts.ts'

export type Difference = { check: string; subject: string; text: string }

export type Books = {
  charges: number
  payments: number
  transfers: number
  creditedCents: Cents
  feesCents: Cents
  suspenseCents: Cents
  refundedCents: Cents
  refundingCents: Cents
  /** Refunded by a provider without us, and not yet charged to anybody. */
  missingCents: Cents
  /** Kept by the operator's decision; negative for a loss. */
  writtenOffCents: Cents
  differences: Difference[]
}

export type BooksOptions = {
  now: Date
  seal: ChargeSeal
  tree: Omit<TreeOptions, 'limit'>
  onStep?: (name: string, done: number, total: number) => void
}

// An audit reads everything, so the time limit of requests does not fit it.
export const AUDIT_TIMEOUT_MS = 10 * 60_000
// For each sort and join, of which a statement runs about five at once; more goes to disk.
const WORK_MEM = '64MB'

export function bookChecks(now: Date): Checks {
  const money = { ...schemaChecks(), ...LEDGER_CHECKS, ...PAYMENT_CHECKS, ...REFUND_CHECKS }
  const checks = { ...money, ...EVENT_CHECKS, ...HISTORY_CHECKS, ...QUEUE_CHECKS, ...TRAIL_CHECKS }
  const at = `timestamptz '${now.toISOString()}'`
  return Object.fromEntries(Object.entries(checks).map(([name, sql]) => [name, sql.replaceAll(NOW, at)]))
}

/** Derives what each table must contain, and names each row that differs. The caller opens one snapshot for it. */
export async function auditBooks(tx: Tx, { now, seal, tree, onStep }: BooksOptions): Promise<Books> {
  await prepareAudit(tx)
  const checks: [string, () => Promise<Omit<Difference, 'check'>[]>][] = [
    ...Object.entries(bookChecks(now)).map(([name, sql]): (typeof checks)[number] => [
      name,
      () => tx.rows(`${sql} limit ${MAX_NAMED + 1}`),
    ]),
    ['code', () => checkCodes(tx, seal, MAX_NAMED + 1)],
    ['tree', () => checkTree(tx, { ...tree, limit: MAX_NAMED + 1 })],
  ]
  const differences: Difference[] = []
  for (const [index, [check, find]] of checks.entries()) {
    onStep?.(check, index, checks.length)
    differences.push(...(await find()).map(({ subject, text }) => ({ check, subject, text })))
  }
  return { ...(await readTotals(tx)), differences }
}

/** Turns nested loops off: with stale statistics they take minutes for ten thousand charges. */
export async function prepareAudit(tx: Tx): Promise<void> {
  await tx.setStatementTimeout(AUDIT_TIMEOUT_MS)
  await tx.run('set local enable_nestloop = off')
  await tx.run(`set local work_mem = '${WORK_MEM}'`)
}

function readTotals(tx: Tx): Promise<Omit<Books, 'differences'>> {
  return tx.one(`
    select (select count(*) from charges where status not in ('OPENING', 'FAILED')) as charges,
      (select count(*) from payments) as payments,
      moved.*, (select coalesce(sum(amount_cents), 0)::bigint from refunds where status = 'DONE') as "refundedCents", held.*
    from (
      select count(*) as transfers,
        coalesce(sum(amount_cents) filter (where kind in ('deposit', 'matched_deposit')), 0)::bigint as "creditedCents",
        coalesce(sum(case when kind = 'fee_returned' then -amount_cents else amount_cents end)
          filter (where kind in ('fee', 'fee_returned', 'fee_kept', 'matched_fee')), 0)::bigint as "feesCents"
      from transfers
    ) moved, (
      select coalesce(sum(cents) filter (where kind = 'suspense'), 0)::bigint as "suspenseCents",
        coalesce(sum(cents) filter (where kind = 'refunding'), 0)::bigint as "refundingCents",
        coalesce(-sum(cents) filter (where kind = 'missing'), 0)::bigint as "missingCents",
        coalesce(sum(cents) filter (where kind = 'written_off'), 0)::bigint as "writtenOffCents"
      from ledger_accounts l
      join (select ledger_account_id as id, credits_cents - debits_cents as cents from ledger_balances) b using (id)
    ) held`)
}
