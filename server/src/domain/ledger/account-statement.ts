import type { Cents } from '../../base/money.ts'
import { hexId, isoTime } from '../../db/sql-values.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { query } from '../../db/tx.ts'
import { cursorNumber, page, type ListFilter } from '../core/cursor.ts'
import type { Core } from '../core/core.ts'

export type Balance = {
  /** What the account is owed: available and reserved. */
  balanceCents: Cents
  availableCents: Cents
  /** For payouts that are REQUESTED. */
  reservedCents: Cents
}

/** In SQL, what the ledger accounts of these kinds hold for an account. */
export function heldFor(account: string, ...kinds: ('balance' | 'reserved')[]): string {
  const named = kinds.map((kind) => `'${kind}'`).join(', ')
  return `(
    select coalesce(sum(b.credits_cents - b.debits_cents), 0)::bigint
    from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
    where l.kind in (${named}) and l.account_id = ${account}
  )`
}

const BALANCES: SharedRead<Balance & { accountId: string }> = {
  sql: `
    select account_id as "accountId", sum(cents)::bigint as "balanceCents",
      sum(cents) filter (where kind = 'balance')::bigint as "availableCents",
      coalesce(sum(cents) filter (where kind = 'reserved'), 0)::bigint as "reservedCents"
    from (
      select l.account_id, l.kind, b.credits_cents - b.debits_cents as cents
      from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
      where l.kind in ('balance', 'reserved') and l.account_id = any($1)
    ) held
    group by account_id`,
  keyOf: ({ accountId }) => accountId,
}

export async function readBalance(core: Core, accountId: string): Promise<Balance & { accountId: string }> {
  const balance = await core.readShared(BALANCES, accountId)
  if (!balance) throw new Error(`account ${accountId} has no balance`)
  return balance
}

export type StatementLine = {
  id: string
  kind: string
  amountCents: Cents // credits positive
  balanceCents: Cents // the available balance after this line
  chargeId: string | null
  paymentLinkId: string | null
  refundId: string | null
  payoutId: string | null
  /** As it is now. */
  payout: { status: 'REQUESTED' | 'PAID' | 'REJECTED'; reference: string | null; paidAt: string | null } | null
  /** If the line credits a deposit: what was paid, and the fee. Null for other lines. */
  grossCents: Cents | null
  feeCents: Cents | null
  externalId: string | null
  description: string | null
  occurredAt: string // ISO 8601
  recordedAt: string
}

// The lines that bring a deposit's money. All other lines of its charge move that money on.
const CREDITING = `l.kind in ('deposit', 'matched_deposit')`

/**
 * The history of the available balance, newest first. Two index scans merged, so that a page costs the same however
 * long the history is.
 */
export async function readStatement(
  core: Core,
  accountId: string,
  { cursor, limit, from, to }: ListFilter,
): Promise<{ lines: StatementLine[]; nextCursor: string | null }> {
  const rows = await query<StatementLine>(
    core.pool,
    `with mine as (select id from ledger_accounts where kind = 'balance' and account_id = $1),
     lines as (${side('credit', 1, CREDITS)} union all ${side('debit', -1, DEBITS)})
     select
       l.id::text as id,
       l.kind,
       l.amount as "amountCents",
       l.after as "balanceCents",
       ${hexId('l.charge_id')} as "chargeId",
       c.payment_link_id as "paymentLinkId",
       ${hexId('l.refund_id')} as "refundId",
       ${hexId('l.payout_id')} as "payoutId",
       case when o.id is not null then json_build_object(
         'status', o.status, 'reference', o.reference, 'paidAt', o.paid_at::text
       ) end as payout,
       case when ${CREDITING} then l.amount + c.fee_cents end as "grossCents",
       case when ${CREDITING} then c.fee_cents end as "feeCents",
       c.external_id as "externalId",
       c.description,
       ${isoTime('l.occurred_at')} as "occurredAt",
       ${isoTime('l.recorded_at')} as "recordedAt"
     from lines l left join charges c on c.id = l.charge_id left join payouts o on o.id = l.payout_id
     order by l.id desc limit $3`,
    [accountId, cursorNumber(cursor), limit + 1, from, to],
  )
  const { items: lines, nextCursor } = page(rows, limit, ({ id }) => id)
  return { lines, nextCursor }
}

// A payment's other transfers touch no balance on that side. The indexes of both sides leave them out, so each query of
// a balance's transfers has to as well.
export const CREDITS = `kind not in ('fee', 'suspense')`
export const DEBITS = `kind not in ('deposit', 'fee', 'suspense')`

/** In SQL, the transfers that debit or credit the balance. */
function side(name: 'credit' | 'debit', sign: 1 | -1, kinds: string): string {
  return `(
    select t.*, ${sign} * t.amount_cents as amount, t.${name}_after_cents as after from transfers t
    where t.${name}_id = (select id from mine)
      and t.${kinds}
      and t.id < $2
      and ($4::timestamptz is null or t.recorded_at >= $4)
      and ($5::timestamptz is null or t.recorded_at < $5)
    order by t.id desc limit $3
  )`
}
