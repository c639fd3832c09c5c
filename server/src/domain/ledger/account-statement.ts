import { hexFromUuid } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import { cursorNumber } from '../core/cursor.ts'
import type { Core } from '../core/core.ts'

export async function readBalance(core: Core, accountId: string): Promise<{ balanceCents: Cents }> {
  const [row] = await query<{ balance_cents: number }>(
    core.pool,
    `select b.credits_cents - b.debits_cents as balance_cents
     from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
     where l.kind = 'balance' and l.account_id = $1`,
    [accountId],
  )
  if (!row) throw new Error(`account ${accountId} has no ledger account`)
  return { balanceCents: row.balance_cents }
}

export type StatementLine = {
  id: string
  kind: string
  amountCents: Cents // credits positive
  balanceCents: Cents // after this line
  chargeId: string | null
  paymentLinkId: string | null
  refundId: string | null
  /** Of the deposit that the line credits: what was paid, and the fee that was taken of it; null for other lines. */
  grossCents: Cents | null
  feeCents: Cents | null
  externalId: string | null
  description: string | null
  occurredAt: Date
  recordedAt: Date
}

/** Newest first. Two index scans merged, so that a page costs the same however long the history is. */
export async function readStatement(
  core: Core,
  accountId: string,
  page: { cursor?: string; limit: number; from?: Date; to?: Date },
): Promise<{ lines: StatementLine[]; nextCursor: string | null }> {
  const rows = await query<StatementRow>(
    core.pool,
    `with mine as (select id from ledger_accounts where kind = 'balance' and account_id = $1),
     lines as (
       (select t.*, 1 as sign, t.credit_after_cents as after from transfers t
        where t.credit_id = (select id from mine) and t.id < $2
          and ($4::timestamptz is null or t.recorded_at >= $4) and ($5::timestamptz is null or t.recorded_at < $5)
        order by t.id desc limit $3)
       union all
       (select t.*, -1 as sign, t.debit_after_cents as after from transfers t
        where t.debit_id = (select id from mine) and t.id < $2
          and ($4::timestamptz is null or t.recorded_at >= $4) and ($5::timestamptz is null or t.recorded_at < $5)
        order by t.id desc limit $3)
     )
     select l.id, l.kind, l.sign * l.amount_cents as amount_cents, l.after as balance_cents, l.charge_id, c.payment_link_id,
       l.refund_id, l.occurred_at, l.recorded_at, c.fee_cents, c.external_id, c.description
     from lines l left join charges c on c.id = l.charge_id
     order by l.id desc limit $3`,
    [accountId, cursorNumber(page.cursor), page.limit + 1, page.from ?? null, page.to ?? null],
  )
  const lines = rows.slice(0, page.limit).map(lineFromRow)
  return { lines, nextCursor: rows.length > page.limit ? lines.at(-1)!.id : null }
}

type StatementRow = {
  id: number
  kind: string
  amount_cents: number
  balance_cents: number
  charge_id: string | null
  payment_link_id: string | null
  refund_id: string | null
  fee_cents: number | null
  external_id: string | null
  description: string | null
  occurred_at: Date
  recorded_at: Date
}

// The lines that bring a deposit's money; all others of its charge move what came with these.
const CREDITING = ['deposit', 'matched_deposit']

function lineFromRow(row: StatementRow): StatementLine {
  const feeCents = CREDITING.includes(row.kind) ? row.fee_cents : null
  return {
    id: String(row.id),
    kind: row.kind,
    amountCents: row.amount_cents,
    balanceCents: row.balance_cents,
    chargeId: row.charge_id && hexFromUuid(row.charge_id),
    paymentLinkId: row.payment_link_id,
    refundId: row.refund_id && hexFromUuid(row.refund_id),
    grossCents: feeCents === null ? null : row.amount_cents + feeCents,
    feeCents,
    externalId: row.external_id,
    description: row.description,
    occurredAt: row.occurred_at,
    recordedAt: row.recorded_at,
  }
}
