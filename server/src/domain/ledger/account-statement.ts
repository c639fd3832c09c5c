import type { Cents } from '../../base/money.ts'
import { hexId, isoTime } from '../../db/sql-values.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { query } from '../../db/tx.ts'
import { cursorNumber, page } from '../core/cursor.ts'
import type { Core } from '../core/core.ts'
import type { Nature } from '../ports/provider.ts'
import { FEE, HAS_LINE, IS_FEE_BEHIND, IS_NET, type LineKindName } from './line-kinds.ts'

export type Balance = {
  /** What the account is owed: available, reserved and held. */
  balanceCents: Cents
  availableCents: Cents
  /** For payouts that are REQUESTED. */
  reservedCents: Cents
  /** While payers contest payments. */
  heldCents: Cents
  /** What the account owes for reversals. */
  owedCents: Cents
}

/** In SQL, what the ledger accounts of these kinds hold for an account. */
export function heldFor(account: string, ...kinds: ('balance' | 'reserved' | 'held' | 'owed')[]): string {
  const named = kinds.map((kind) => `'${kind}'`).join(', ')
  return `(
    select coalesce(sum(b.credits_cents - b.debits_cents), 0)::bigint
    from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
    where l.kind in (${named}) and l.account_id = ${account}
  )`
}

const BALANCES: SharedRead<Balance & { accountId: string }> = {
  sql: `
    select account_id as "accountId", sum(cents) filter (where kind <> 'owed')::bigint as "balanceCents",
      sum(cents) filter (where kind = 'balance')::bigint as "availableCents",
      coalesce(sum(cents) filter (where kind = 'reserved'), 0)::bigint as "reservedCents",
      coalesce(sum(cents) filter (where kind = 'held'), 0)::bigint as "heldCents",
      coalesce(-sum(cents) filter (where kind = 'owed'), 0)::bigint as "owedCents"
    from (
      select l.account_id, l.kind, b.credits_cents - b.debits_cents as cents
      from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
      where l.kind in ('balance', 'reserved', 'held', 'owed') and l.account_id = any($1)
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
  kind: LineKindName
  /** Gross less fee: what the line added to the balance, or took from it. */
  netCents: Cents
  balanceCents: Cents // the available balance after this line
  chargeId: string | null
  paymentLinkId: string | null
  refundId: string | null
  nature: Nature | null
  payoutId: string | null
  disputeId: string | null
  /** As it is now. */
  payout: { status: 'REQUESTED' | 'PAID' | 'REJECTED'; reference: string | null; paidAt: string | null } | null
  endToEndId: string | null
  grossCents: Cents
  feeCents: Cents // negative if it came back
  externalId: string | null
  description: string | null
  occurredAt: string // ISO 8601
  recordedAt: string
}

// A payment's other transfers touch no balance on that side. The indexes of both sides leave them out, so each query of
// a balance's transfers has to as well.
export const CREDITS = `kind not in ('fee', 'suspense')`
export const DEBITS = `kind not in ('deposit', 'fee', 'suspense')`

/** A part of a statement: the lines behind one and up to another. Both keep their place for ever. */
export type Period = { afterId: number; lastId: number; openingCents: Cents; closingCents: Cents }

// No statement reaches so far. A power of two, so that the same lines are looked at by every search.
const PAST_ALL_IDS = 2 ** 50

/**
 * The lines from one moment to before another. Lines are ordered as they were booked, and their times by the clock of
 * whoever booked them, so two neighbours may have their times the wrong way round. The period is cut between two lines
 * all the same, so that each closing balance is the next opening balance.
 */
export async function findPeriod(
  core: Core,
  accountId: string,
  { from, to }: { from?: Date | undefined; to?: Date | undefined },
): Promise<Period> {
  const rows = await query<{ id: number; cents: Cents }>(core.pool, FIND_CUTS, [
    accountId,
    [from?.toISOString() ?? '-infinity', to?.toISOString() ?? 'infinity'],
  ])
  const [first, last] = rows
  if (!first || !last) throw new Error(`account ${accountId} has no balance`)
  return { afterId: first.id, lastId: last.id, openingCents: first.cents, closingCents: last.cents }
}

// Bisects the ids, because no index has the times: 50 steps of two index probes each, however long the history is.
const FIND_CUTS = `
  with mine as materialized (select id from ledger_accounts where kind = 'balance' and account_id = $1)
  select coalesce(cut.id, 0)::bigint as id, coalesce(l.after - case when ${IS_FEE_BEHIND} then ${FEE} else 0 end, 0)::bigint as cents
  from unnest($2::timestamptz[]) with ordinality t (at, place)
  cross join lateral (
    with recursive search as (
      select 0::bigint as low, ${PAST_ALL_IDS}::bigint as high, null::bigint as id
      union all
      select
        case when probe.is_later then s.low else m.middle end,
        case when probe.is_later then m.middle else s.high end,
        case when probe.is_later is false then probe.id else s.id end
      from search s
      cross join lateral (select (s.low + s.high) / 2 as middle) m
      left join lateral (
        select newest.id, newest.recorded_at >= t.at as is_later
        from (${newest('credit', CREDITS)} union all ${newest('debit', DEBITS)}) newest
        order by newest.id desc limit 1
      ) probe on true
      where s.high - s.low > 1
    )
    select id from search order by high - low limit 1
  ) cut
  left join lateral (
    select x.*, case when x.credit_id = (select id from mine) then x.credit_after_cents else x.debit_after_cents end as after
    from transfers x where x.id = cut.id
  ) l on true
  left join charges c on c.id = l.charge_id
  left join refunds r on r.id = l.refund_id
  order by t.place`

type Order = 'newest first' | 'oldest first'

/** Bounds of the gross of a line, without its sign. */
export type Values = { minCents: Cents; maxCents: Cents }
const ANY_VALUE: Values = { minCents: 0, maxCents: Number.MAX_SAFE_INTEGER }

export type LineFilter = {
  order?: Order
  cursor?: string
  limit: number
  period?: Period | undefined
  /** Only in a period that has totals: no index has the amounts, so its lines are read one by one. */
  values?: Values | undefined
}

/** Two index scans merged, so that a page costs the same however long the history is. */
export async function readStatement(
  core: Core,
  accountId: string,
  { order = 'newest first', cursor, limit, period, values }: LineFilter,
): Promise<{ lines: StatementLine[]; nextCursor: string | null }> {
  const isOldestFirst = order === 'oldest first'
  const { afterId = 0, lastId = Number.MAX_SAFE_INTEGER } = period ?? {}
  const seen = cursor === undefined ? undefined : cursorNumber(cursor)
  const [after, last] = isOldestFirst
    ? [Math.max(afterId, seen ?? 0), lastId]
    : [afterId, Math.min(lastId, seen === undefined ? lastId : seen - 1)]
  const sql = values ? OF_VALUES : isOldestFirst ? OLDEST_FIRST : NEWEST_FIRST
  const bounds = values ? [values.minCents, values.maxCents] : []
  const rows = await query<StatementLine>(core.pool, sql, [accountId, after, last, limit + 1, ...bounds])
  const { items: lines, nextCursor } = page(rows, limit, ({ id }) => id)
  return { lines, nextCursor }
}

export type LineTotals = { kind: LineKindName; count: number; grossCents: Cents; feeCents: Cents; netCents: Cents }

// Counting so many takes half a second.
export const MAX_TOTALED_LINES = 100_000

/** How many lines of each kind a period has, and their sums. Undefined if the period has too many to count. */
export async function readTotals(
  core: Core,
  accountId: string,
  { afterId, lastId }: Period,
  { values = ANY_VALUE, maxLines = MAX_TOTALED_LINES }: { values?: Values | undefined; maxLines?: number } = {},
): Promise<LineTotals[] | undefined> {
  const given = [accountId, afterId, lastId, maxLines + 1, values.minCents, values.maxCents]
  const totals = await query<LineTotals & { lines: number }>(core.pool, TOTALS, given)
  if (totals.reduce((sum, { lines }) => sum + lines, 0) > maxLines) return undefined
  return totals.flatMap(({ kind, count, grossCents, feeCents, netCents }) =>
    count > 0 ? [{ kind, count, grossCents, feeCents, netCents }] : [],
  )
}

const MINE = `mine as (select id from ledger_accounts where kind = 'balance' and account_id = $1)`
const FACTS = `left join charges c on c.id = l.charge_id left join refunds r on r.id = l.refund_id`
const SUMS = `l.amount + case when ${IS_NET} then ${FEE} else 0 end as gross, ${FEE} as fee,
  l.amount - case when ${IS_NET} then 0 else ${FEE} end as net`

const HAS_VALUE = `abs(gross) between $5 and $6`

const NEWEST_FIRST = linesSql('desc')
const OLDEST_FIRST = linesSql('asc')
const OF_VALUES = linesSql('desc', { read: `${MAX_TOTALED_LINES + 1}`, where: `where ${HAS_VALUE}` })

/** Without a condition each line that is read is one of the page. */
function linesSql(direction: 'asc' | 'desc', { read, where } = { read: '$4', where: '' }): string {
  const end = `order by t.id ${direction} limit ${read}`
  return `
    with ${MINE}, lines as (${side('credit', 1, CREDITS, end)} union all ${side('debit', -1, DEBITS, end)})
    select
      l.id::text as id,
      l.kind,
      s.net as "netCents",
      l.after - case when ${IS_FEE_BEHIND} then s.fee else 0 end as "balanceCents",
      ${hexId('l.charge_id')} as "chargeId",
      c.payment_link_id as "paymentLinkId",
      ${hexId('l.refund_id')} as "refundId",
      r.nature,
      ${hexId('l.payout_id')} as "payoutId",
      ${hexId('l.dispute_id')} as "disputeId",
      case when o.id is not null then json_build_object(
        'status', o.status, 'reference', o.reference, 'paidAt', o.paid_at::text
      ) end as payout,
      (select end_to_end_id from payments where id = coalesce(l.payment_id, (select payment_id from disputes where id = l.dispute_id))) as "endToEndId",
      s.gross as "grossCents",
      s.fee as "feeCents",
      coalesce(c.external_id, (select k.external_id from codes k where k.id = c.code_id)) as "externalId",
      c.description,
      ${isoTime('l.occurred_at')} as "occurredAt",
      ${isoTime('l.recorded_at')} as "recordedAt"
    from lines l ${FACTS} left join payouts o on o.id = l.payout_id cross join lateral (select ${SUMS}) s
    ${where}
    order by l.id ${direction} limit $4`
}

const TOTALS = `
  with ${MINE}, lines as (${side('credit', 1, CREDITS, 'limit $4')} union all ${side('debit', -1, DEBITS, 'limit $4')})
  select kind, count(*) as lines, count(*) filter (where ${HAS_VALUE}) as count, ${sumOf('gross')}, ${sumOf('fee')}, ${sumOf('net')}
  from (select l.kind, ${SUMS} from lines l ${FACTS}) summed group by kind order by min(kind)`

function sumOf(column: 'gross' | 'fee' | 'net'): string {
  return `coalesce(sum(${column}) filter (where ${HAS_VALUE}), 0)::bigint as "${column}Cents"`
}

/** In SQL, the lines that debit or credit the balance, of the period behind $2 and up to $3. */
function side(name: 'credit' | 'debit', sign: 1 | -1, kinds: string, end: string): string {
  return `(
    select t.*, ${sign} * t.amount_cents as amount, t.${name}_after_cents as after from transfers t
    where t.${name}_id = (select id from mine) and t.${kinds} and t.${HAS_LINE} and t.id > $2 and t.id <= $3 ${end}
  )`
}

/** In SQL, the newest line of that side between the bounds of a search. */
function newest(name: 'credit' | 'debit', kinds: string): string {
  return `(
    select x.id, x.recorded_at from transfers x
    where x.${name}_id = (select id from mine) and x.${kinds} and x.${HAS_LINE} and x.id > s.low and x.id <= m.middle
    order by x.id desc limit 1
  )`
}
