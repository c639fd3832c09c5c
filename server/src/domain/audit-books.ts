import type { Cents } from '../base/money.ts'
import type { Tx } from '../db/tx.ts'
import { BOOK_CHECKS } from './audit-checks.ts'

export type Difference = { check: string; subject: string; text: string }

export type Books = {
  charges: number
  payments: number
  transfers: number
  creditedCents: Cents
  feesCents: Cents
  suspenseCents: Cents
  /** Given back to payers, and on its way there. */
  refundedCents: Cents
  refundingCents: Cents
  /** Left a provider without us, and nobody has borne it yet. */
  missingCents: Cents
  /** What the operator kept by decision; a loss is below zero. */
  writtenOffCents: Cents
  differences: Difference[]
}

export type AuditBooksOptions = { onStep?: (name: string, done: number, total: number) => void }

// A hundred named differences tell as much as a million, and fit a screen's scrollback.
const MAX_NAMED = 100
// An audit reads everything, so the statement bound for requests does not fit it.
const STATEMENT_TIMEOUT_MS = 10 * 60_000

/** Proves that the books agree with themselves. Everything is read in one snapshot, which the transaction must have. */
export async function auditBooks(tx: Tx, { onStep }: AuditBooksOptions = {}): Promise<Books> {
  await prepareAudit(tx)
  const differences: Difference[] = []
  const checks = Object.entries(BOOK_CHECKS)
  for (const [index, [check, sql]] of checks.entries()) {
    onStep?.(check, index, checks.length)
    const rows = await tx.rows<{ subject: string; text: string }>(`${sql} limit ${MAX_NAMED + 1}`)
    differences.push(...rows.map((row) => ({ check, ...row })))
  }
  const [totals] = await tx.rows<Omit<Books, 'differences'>>(`
    select (select count(*) from charges where status not in ('OPENING', 'FAILED')) as charges,
      (select count(*) from payments) as payments,
      (select count(*) from transfers) as transfers,
      (select coalesce(sum(amount_cents), 0)::bigint from transfers where kind = 'deposit') as "creditedCents",
      (select coalesce(sum(case when kind = 'fee_returned' then -amount_cents else amount_cents end), 0)::bigint from transfers
       where kind in ('fee', 'fee_returned', 'fee_kept')) as "feesCents",
      (select coalesce(sum(amount_cents), 0)::bigint from refunds where status = 'DONE') as "refundedCents",
      held.*
    from (
      select coalesce(sum(cents) filter (where kind = 'suspense'), 0)::bigint as "suspenseCents",
        coalesce(sum(cents) filter (where kind = 'refunding'), 0)::bigint as "refundingCents",
        coalesce(-sum(cents) filter (where kind = 'missing'), 0)::bigint as "missingCents",
        coalesce(sum(cents) filter (where kind = 'written_off'), 0)::bigint as "writtenOffCents"
      from ledger_accounts l
      join (select ledger_account_id as id, credits_cents - debits_cents as cents from ledger_balances) b using (id)
    ) held`)
  return { ...totals!, differences }
}

/**
 * Whole tables are joined here, and PostgreSQL may still believe what it counted before a busy hour, that hardly any charge is COMPLETED, and compare each row
 * with each: minutes for ten thousand charges. Without nested loops the work grows with the books, whatever it believes.
 */
export async function prepareAudit(tx: Tx): Promise<void> {
  await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
  await tx.run('set local enable_nestloop = off')
}
