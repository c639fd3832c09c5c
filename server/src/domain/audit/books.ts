import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { checkCodes } from './codes.ts'
import { eventChecks } from './events.ts'
import { EXCEPTION_CHECKS } from './exceptions.ts'
import { LEDGER_CHECKS } from './ledger.ts'
import { PAYMENT_CHECKS } from './payments.ts'
import { queueChecks } from './queues.ts'
import { refundChecks } from './refunds.ts'
import { rollupChecks } from './rollups.ts'
import type { Checks } from './rules.ts'
import { schemaChecks } from './schema.ts'
import { trailChecks } from './trail.ts'
import type { ChargeSeal } from '../core/charge-seal.ts'

/** Something that is not as it must be: which check found it, what it is about, and what is wrong in plain words. */
export type Difference = { check: string; subject: string; text: string }

/** What the books say of themselves. */
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

export type BooksOptions = {
  now: Date
  /** Of the service whose books they are. */
  seal: ChargeSeal
  /** Told before each check: its name, how many are done, and how many there are. */
  onStep?: (name: string, done: number, total: number) => void
}

// A hundred named differences tell as much as a million, and fit a screen's scrollback.
export const MAX_NAMED = 100
// An audit reads everything, so the statement bound for requests does not fit it.
const STATEMENT_TIMEOUT_MS = 10 * 60_000
// For each sort and each join; what does not fit goes to the disk in parts. Some five of them stand beside each other in a statement.
const WORK_MEM = '64MB'

/** All checks that are one statement each, by name. */
export function bookChecks(now: Date): Checks {
  return {
    ...schemaChecks(),
    ...LEDGER_CHECKS,
    ...PAYMENT_CHECKS,
    ...refundChecks(now),
    ...EXCEPTION_CHECKS,
    ...eventChecks(now),
    ...queueChecks(now),
    ...rollupChecks(now),
    ...trailChecks(now),
  }
}

/** Derives from first principles what each table must contain, and names each row that is otherwise. In one snapshot, which the caller opens. */
export async function auditBooks(tx: Tx, { now, seal, onStep }: BooksOptions): Promise<Books> {
  await prepareAudit(tx)
  const checks: [string, () => Promise<Omit<Difference, 'check'>[]>][] = [
    ...Object.entries(bookChecks(now)).map(([name, sql]): (typeof checks)[number] => [
      name,
      () => tx.rows(`${sql} limit ${MAX_NAMED + 1}`),
    ]),
    ['code', () => checkCodes(tx, seal, MAX_NAMED + 1)],
  ]
  const differences: Difference[] = []
  for (const [index, [check, find]] of checks.entries()) {
    onStep?.(check, index, checks.length)
    differences.push(...(await find()).map(({ subject, text }) => ({ check, subject, text })))
  }
  return { ...(await readTotals(tx)), differences }
}

/**
 * Whole tables are joined here, and PostgreSQL may still believe what it counted before a busy hour, that hardly any charge is COMPLETED, and compare each row
 * with each: minutes for ten thousand charges. Without nested loops the work grows with the books, whatever it believes. Where there is no other
 * way it takes one all the same, at a price that would make it compile every statement first.
 */
export async function prepareAudit(tx: Tx): Promise<void> {
  await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
  await tx.run('set local enable_nestloop = off')
  await tx.run('set local jit = off')
  await tx.run(`set local work_mem = '${WORK_MEM}'`)
}

async function readTotals(tx: Tx): Promise<Omit<Books, 'differences'>> {
  const [totals] = await tx.rows<Omit<Books, 'differences'>>(`
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
  return totals!
}
