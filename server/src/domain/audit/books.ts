import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { DISPUTE_CHECKS } from './disputes.ts'
import { EVENT_CHECKS } from './events.ts'
import { checkTree, HISTORY_CHECKS, type TreeOptions } from './history.ts'
import { LEDGER_CHECKS } from './ledger.ts'
import { checkCodes, PAYMENT_CHECKS } from './payments.ts'
import { QUEUE_CHECKS } from './queues.ts'
import { REFUND_CHECKS } from './refunds.ts'
import { atTime, type Checks, type Found } from './rules.ts'
import { schemaChecks } from './schema.ts'
import { sealChecks } from './seals.ts'
import { MAX_NAMED } from '../reconciliation/differences.ts'
import type { ChargeSeal } from '../core/charge-facts.ts'

export type Difference = Found & { check: string }

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

// An audit reads everything, so the time limit of requests does not fit it.
export const AUDIT_TIMEOUT_MS = 10 * 60_000

export type BooksOptions = {
  now: Date
  seal: ChargeSeal
  tree: Omit<TreeOptions, 'limit'>
  /** False while a release that writes rows without seals runs. */
  checksSeals?: boolean
  onStep?: (name: string, done: number, total: number) => void
}

// For each sort and join, of which a statement runs about five at once; more goes to disk.
const WORK_MEM = '64MB'

export function bookChecks(now: Date): Checks {
  const money = { ...schemaChecks(), ...LEDGER_CHECKS, ...PAYMENT_CHECKS, ...REFUND_CHECKS, ...DISPUTE_CHECKS }
  const checks = { ...money, ...EVENT_CHECKS, ...HISTORY_CHECKS, ...QUEUE_CHECKS }
  return Object.fromEntries(Object.entries(checks).map(([name, sql]) => [name, atTime(sql, now)]))
}

/** Derives what each table must contain, and names each row that differs. The caller opens one snapshot for it. */
export async function auditBooks(
  tx: Tx,
  { now, seal, tree, checksSeals = true, onStep }: BooksOptions,
): Promise<Books> {
  await prepareAudit(tx)
  const limit = MAX_NAMED + 1
  const checks = new Map<string, () => Promise<Found[]>>()
  for (const [name, sql] of Object.entries(bookChecks(now))) checks.set(name, () => tx.rows(`${sql} limit ${limit}`))
  checks.set('code', () => checkCodes(tx, seal, limit)).set('tree', () => checkTree(tx, { ...tree, limit }))
  for (const [name, find] of Object.entries(checksSeals ? await sealChecks(tx) : {}))
    checks.set(name, () => find(tx, now, limit))
  const differences: Difference[] = []
  for (const [index, [check, find]] of [...checks].entries()) {
    onStep?.(check, index, checks.size)
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
      (select count(*) from payments) as payments, (select count(*) from transfers) as transfers,
      (select coalesce(sum(amount_cents), 0)::bigint from transfers where kind in ('deposit', 'matched_deposit')) as "creditedCents",
      (select coalesce(sum(amount_cents), 0)::bigint from refunds where status = 'DONE') as "refundedCents",
      coalesce(sum(cents) filter (where kind = 'fees'), 0)::bigint as "feesCents",
      coalesce(sum(cents) filter (where kind = 'suspense'), 0)::bigint as "suspenseCents",
      coalesce(sum(cents) filter (where kind = 'refunding'), 0)::bigint as "refundingCents",
      coalesce(-sum(cents) filter (where kind = 'missing'), 0)::bigint as "missingCents",
      coalesce(sum(cents) filter (where kind = 'written_off'), 0)::bigint as "writtenOffCents"
    from (
      select l.kind, b.credits_cents - b.debits_cents as cents
      from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
    ) held`)
}
